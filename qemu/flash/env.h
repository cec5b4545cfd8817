/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the pure part of the flash model may use: the same sources are compiled into the module
 * and, as user space, into the unit tests.
 */
#ifndef HT_FLASH_ENV_H
#define HT_FLASH_ENV_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef int64_t s64;
#endif

#ifdef __cplusplus
#define HT_C_BEGIN extern "C" {
#define HT_C_END }
#else
#define HT_C_BEGIN
#define HT_C_END
#endif

#endif
