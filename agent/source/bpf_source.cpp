// SPDX-License-Identifier: Apache-2.0
#include "agent/source/bpf_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/source/libbpf_quiet.hpp"
#include "agent/source/lost_count.hpp"
#include "bpf/files.skel.h"

namespace hintier {

namespace {

std::string_view last_component(std::string_view path) {
    const void* slash = memrchr(path.data(), '/', path.size());
    if (!slash) return path;
    path.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(slash) - path.data()) + 1);
    return path;
}

} // namespace

bool decode(const hintier_record& record, Event& event) {
    switch (record.type) {
    case HINTIER_REC_OPEN:
        event.kind = EventKind::opened;
        break;
    case HINTIER_REC_RENAME:
        event.kind = EventKind::renamed;
        break;
    case HINTIER_REC_UNLINK:
        event.kind = EventKind::unlinked;
        break;
    case HINTIER_REC_LOOKUP:
        event.kind = EventKind::lookup;
        break;
    case HINTIER_REC_EXIT:
        event.kind = EventKind::exited;
        break;
    default:
        return false;
    }
    event.created = record.flags & HINTIER_REC_CREATED;
    event.writing = record.flags & HINTIER_REC_WRITE;
    event.found = record.flags & HINTIER_REC_FOUND;
    event.outside = record.flags & HINTIER_REC_OUTSIDE;
    event.root = record.root;
    event.pid = record.pid;
    event.tid = record.tid;
    event.time = Nanos(static_cast<Nanos::rep>(record.time_ns));
    event.file = {record.dev, record.generation, record.ino};
    event.parent = {record.dev, record.parent_generation, record.parent_ino};
    event.replaced = record.replaced_ino;
    const std::size_t bytes = std::min<std::size_t>(record.name_bytes, HINTIER_TRACE_NAME - 1);
    event.name = last_component(std::string_view(record.name, bytes));
    return true;
}

struct BpfSource::Impl {
    hintier_files* skel = nullptr;
    ring_buffer* ring = nullptr;
    EventSink* sink = nullptr; // while draining

    ~Impl() {
        ring_buffer__free(ring);
        hintier_files::destroy(skel);
    }

    static int on_record(void* context, void* data, size_t size) {
        auto* self = static_cast<Impl*>(context);
        Event event;
        if (size >= sizeof(hintier_record) &&
            decode(*static_cast<const hintier_record*>(data), event)) {
            self->sink->event(event);
        }
        return 0;
    }
};

BpfSource::BpfSource() : impl_(std::make_unique<Impl>()) {}
BpfSource::~BpfSource() = default;

Result<std::unique_ptr<BpfSource>> BpfSource::open(const Config& config) {
    quiet_libbpf();
    std::unique_ptr<BpfSource> source(new BpfSource);
    Impl& impl = *source->impl_;

    impl.skel = hintier_files::open();
    if (!impl.skel) return system_failure("open BPF programs");
    impl.skel->rodata->self_pid = static_cast<__u32>(getpid());
    if (config.suffixes.size() > HINTIER_TRACE_SUFFIXES) {
        return failure("too many suffixes of file names", E2BIG);
    }
    std::size_t at = 0;
    for (const std::string& suffix : config.suffixes) {
        for (const char c : suffix) { // little endian: the last byte is the highest
            auto& [end, mask] = impl.skel->rodata->suffixes[at];
            end = end >> 8 | std::uint64_t{static_cast<unsigned char>(c)} << 56;
            mask = mask >> 8 | std::uint64_t{0xFF} << 56;
        }
        ++at;
    }
    bpf_map__set_max_entries(impl.skel->maps.records, config.ring_bytes);

    if (int error = hintier_files::load(impl.skel)) {
        return system_failure("load BPF programs (needs CAP_BPF, CAP_PERFMON and kernel BTF)",
                              -error);
    }
    if (int error = hintier_files::attach(impl.skel)) {
        return system_failure("attach BPF programs", -error);
    }
    impl.ring =
        ring_buffer__new(bpf_map__fd(impl.skel->maps.records), &Impl::on_record, &impl, nullptr);
    if (!impl.ring) return system_failure("map BPF ring buffer");
    return source;
}

int BpfSource::fd() const {
    return bpf_map__fd(impl_->skel->maps.records);
}

std::size_t BpfSource::drain(EventSink& sink) {
    impl_->sink = &sink;
    const int n = ring_buffer__consume(impl_->ring);
    impl_->sink = nullptr;
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void BpfSource::arm() {
    impl_->skel->bss->armed = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool BpfSource::armed() const {
    return std::atomic_ref(impl_->skel->bss->armed).load() != 0;
}

Result<void> BpfSource::watch(const FileId& dir, std::uint32_t root) {
    const hintier_root_key key = {.ino = dir.inode, .dev = dir.device, .reserved = 0};
    if (bpf_map_update_elem(bpf_map__fd(impl_->skel->maps.roots), &key, &root, BPF_ANY)) {
        return system_failure("watch directory");
    }
    auto& bss = *impl_->skel->bss;
    const auto known = std::find_if(std::begin(bss.devices), std::end(bss.devices),
                                    [&](__u32 one) { return !one || one == dir.device; });
    if (known != std::end(bss.devices))
        *known = dir.device;
    else
        bss.more_devices = 1;
    return {};
}

void BpfSource::unwatch(const FileId& dir) {
    // Its device stays in the list: other roots may be on it, and a stale entry costs little.
    const hintier_root_key key = {.ino = dir.inode, .dev = dir.device, .reserved = 0};
    (void)bpf_map_delete_elem(bpf_map__fd(impl_->skel->maps.roots), &key);
}

std::uint64_t BpfSource::lost() const {
    return lost_count(bpf_map__fd(impl_->skel->maps.lost), HINTIER_LOST_RECORDS);
}

} // namespace hintier
