// SPDX-License-Identifier: Apache-2.0
#include "agent/source/fill_source.hpp"

#include <array>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/source/libbpf_quiet.hpp"
#include "agent/source/lost_count.hpp"
#include "bpf/fills.skel.h"

namespace hintier {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint32_t batch = 256;

Event event_of(const hintier_fill_key& key, const hintier_fill& fill) {
    Event event;
    event.kind = EventKind::filled;
    event.time = Nanos(static_cast<Nanos::rep>(fill.last_ns));
    event.pid = fill.pid;
    event.file = {key.dev, fill.generation, key.ino};
    event.offset = std::uint64_t{key.region} << HINTIER_FILL_SHIFT;
    event.bytes = fill.pages * page_bytes;
    return event;
}

hintier_root_key key_of(const FileId& file) {
    return {.ino = file.inode, .dev = file.device, .reserved = 0};
}

} // namespace

struct FillSource::Impl {
    hintier_fills* skel = nullptr;

    ~Impl() { hintier_fills::destroy(skel); }
};

FillSource::FillSource() : impl_(std::make_unique<Impl>()) {}
FillSource::~FillSource() = default;

Result<std::unique_ptr<FillSource>> FillSource::open() {
    quiet_libbpf();
    std::unique_ptr<FillSource> source(new FillSource);
    source->impl_->skel = hintier_fills::open_and_load();
    if (!source->impl_->skel) return system_failure("load BPF program for page-cache fills");
    if (int error = hintier_fills::attach(source->impl_->skel)) {
        return system_failure("attach BPF program for page-cache fills", -error);
    }
    return source;
}

Result<void> FillSource::watch(const FileId& file) {
    const hintier_root_key key = key_of(file);
    const __u32 yes = 1;
    if (bpf_map_update_elem(bpf_map__fd(impl_->skel->maps.files), &key, &yes, BPF_ANY)) {
        return system_failure("watch file");
    }
    return {};
}

void FillSource::unwatch(const FileId& file) {
    const hintier_root_key key = key_of(file);
    (void)bpf_map_delete_elem(bpf_map__fd(impl_->skel->maps.files), &key);
}

std::size_t FillSource::drain(EventSink& sink) {
    const int map = bpf_map__fd(impl_->skel->maps.fills);
    std::array<hintier_fill_key, batch> keys;
    std::array<hintier_fill, batch> values;
    std::size_t all = 0;
    __u32 at = 0;
    bool more = true;
    for (bool first = true; more; first = false) {
        __u32 count = batch;
        // ENOENT: these were the last; ENOSPC: a bucket has more than fit, and comes next time.
        more = bpf_map_lookup_and_delete_batch(map, first ? nullptr : &at, &at, keys.data(),
                                               values.data(), &count, nullptr) == 0;
        if (!more && errno != ENOENT) break;
        for (__u32 i = 0; i < count; ++i) {
            sink.event(event_of(keys[i], values[i]));
        }
        all += count;
    }
    return all;
}

std::uint64_t FillSource::lost() const {
    return lost_count(bpf_map__fd(impl_->skel->maps.lost), HINTIER_LOST_FILLS);
}

} // namespace hintier
