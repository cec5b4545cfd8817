// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/source/bpf_source.hpp"
#include "agent/source/lost_count.hpp"
#include "bpf/io.skel.h"

namespace hintier {

struct IoCounter::Impl {
    hintier_io* skel = nullptr;

    ~Impl() { hintier_io::destroy(skel); }
};

IoCounter::IoCounter() : impl_(std::make_unique<Impl>()) {}
IoCounter::~IoCounter() = default;

Result<std::unique_ptr<IoCounter>> IoCounter::open() {
    std::unique_ptr<IoCounter> counter(new IoCounter);
    counter->impl_->skel = hintier_io::open_and_load();
    if (!counter->impl_->skel) return system_failure("load BPF program for hintier_io");
    if (int error = hintier_io::attach(counter->impl_->skel)) {
        return system_failure("attach to tracepoint hintier_io", -error);
    }
    return counter;
}

std::vector<IoCount> IoCounter::counts() const {
    const int map = bpf_map__fd(impl_->skel->maps.io);
    std::vector<hintier_io_count> each(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    std::vector<IoCount> all;
    hintier_io_key key{};
    for (const void* previous = nullptr; !bpf_map_get_next_key(map, previous, &key);
         previous = &key) {
        if (bpf_map_lookup_elem(map, &key, each.data())) continue;
        IoCount total{key, {}};
        for (const hintier_io_count& one : each) {
            total.sum.count += one.count;
            total.sum.bytes += one.bytes;
        }
        all.push_back(total);
    }
    return all;
}

std::vector<HeatRegion> IoCounter::hottest(std::size_t most) const {
    const int map = bpf_map__fd(impl_->skel->maps.heat);
    std::vector<HeatRegion> all;
    hintier_heat_key key{};
    for (const void* previous = nullptr; !bpf_map_get_next_key(map, previous, &key);
         previous = &key) {
        HeatRegion region{key, {}};
        if (!bpf_map_lookup_elem(map, &key, &region.heat)) {
            all.push_back(region);
        }
    }
    const auto hotter = [](const HeatRegion& a, const HeatRegion& b) {
        return a.heat.reads + a.heat.writes > b.heat.reads + b.heat.writes;
    };
    most = std::min(most, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end(),
                      hotter);
    all.resize(most);
    return all;
}

std::uint64_t IoCounter::lost() const {
    return lost_count(bpf_map__fd(impl_->skel->maps.lost), HINTIER_LOST_COUNTS);
}

} // namespace hintier
