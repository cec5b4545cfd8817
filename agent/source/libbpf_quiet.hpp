// SPDX-License-Identifier: Apache-2.0
// libbpf speaks to its developers; what went wrong is in errno. Each source calls this first.
#pragma once

#include <cstdarg>

#include <bpf/libbpf.h>

namespace hintier {

inline void quiet_libbpf() {
    libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
}

} // namespace hintier
