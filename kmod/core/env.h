/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that core may use of the world around it. Core has no locks, no allocation, no clock, no
 * I/O and no globals: the same bytes run in the module, in unit tests, fuzzers and simulators.
 */
#ifndef HT_CORE_ENV_H
#define HT_CORE_ENV_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

/* An index that was checked, also where the CPU runs ahead of the check. */
#define ht_index(i, n) array_index_nospec(i, n)

#else

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define ht_index(i, n) (i)

/* Of something that another thread may write meanwhile. */
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

#define cpu_to_le16(x) htole16(x)
#define cpu_to_le32(x) htole32(x)
#define cpu_to_le64(x) htole64(x)
#define le16_to_cpu(x) le16toh(x)
#define le32_to_cpu(x) le32toh(x)
#define le64_to_cpu(x) le64toh(x)

/* In C++ it is a keyword, and a macro of that name breaks the standard headers. */
#if !defined(static_assert) && !defined(__cplusplus)
#define static_assert(e, ...) _Static_assert(e, #e)
#endif

#endif /* __KERNEL__ */

#ifdef __cplusplus
#define HT_CORE_BEGIN extern "C" {
#define HT_CORE_END }
#else
#define HT_CORE_BEGIN
#define HT_CORE_END
#endif

#endif
