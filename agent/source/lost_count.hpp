// SPDX-License-Identifier: Apache-2.0
// What BPF programs could not tell: an element of their per-CPU map `lost`, summed.
#pragma once

#include <cstdint>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "hintier/trace.h"

namespace hintier {

inline std::uint64_t lost_count(int map, hintier_lost what) {
    std::vector<__u64> each(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const auto key = static_cast<std::uint32_t>(what);
    if (bpf_map_lookup_elem(map, &key, each.data())) return 0;
    std::uint64_t sum = 0;
    for (const __u64 n : each) {
        sum += n;
    }
    return sum;
}

} // namespace hintier
