// SPDX-License-Identifier: Apache-2.0
#include "agent/source/call_source.hpp"

#include <cerrno>
#include <map>
#include <vector>

#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/source/elf_functions.hpp"
#include "agent/source/libbpf_quiet.hpp"
#include "agent/source/lost_count.hpp"
#include "bpf/calls.skel.h"

namespace hintier {

namespace {

struct LinkEnd {
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkEnd>;

// A file that was watched, and so that another at its path can be told from it.
struct Watched {
    dev_t device = 0;
    ino_t inode = 0;
    std::vector<Link> links;
};

// CAP_PERFMON is enough for all that is watched but functions.
Failure refused(const std::string& what) {
    const int code = errno;
    if (code != EACCES) return system_failure(what, code);
    return failure(what + ": the kernel wants CAP_SYS_ADMIN for that; see [[probe]] in "
                          "hintierd.toml(5)",
                   code);
}

bool begins(std::string_view text, std::string_view with) {
    return text.starts_with(with);
}

} // namespace

// llama_state_save_file, llama_state_seq_save_file, and so on; the names that older versions had.
Call call_named(std::string_view function) {
    if (function == "llama_decode") return Call::decode;
    if (function == "llama_encode") return Call::encode;
    if (function.find('.') != function.npos) return Call::none; // a part of one, as "….cold"
    if (!begins(function, "llama_state_") && !begins(function, "llama_save_session") &&
        !begins(function, "llama_load_session")) {
        return Call::none;
    }
    if (function.find("save") != function.npos) return Call::state_save;
    if (function.find("load") != function.npos) return Call::state_load;
    return Call::none;
}

bool decode(const hintier_call& call, Event& event) {
    event = Event();
    event.time = Nanos(static_cast<Nanos::rep>(call.time_ns));
    event.pid = call.pid;
    event.tid = call.tid;
    if (call.what == HINTIER_CALL_EXIT) {
        event.kind = EventKind::exited;
        return true;
    }
    if (call.what > HINTIER_CALL_STATE_LOAD) return false;
    event.kind = call.returned ? EventKind::returned : EventKind::called;
    event.call = static_cast<Call>(call.what);
    event.tokens = call.tokens;
    return true;
}

static_assert(static_cast<int>(Call::decode) == HINTIER_CALL_DECODE);
static_assert(static_cast<int>(Call::encode) == HINTIER_CALL_ENCODE);
static_assert(static_cast<int>(Call::state_save) == HINTIER_CALL_STATE_SAVE);
static_assert(static_cast<int>(Call::state_load) == HINTIER_CALL_STATE_LOAD);

struct CallSource::Impl {
    hintier_calls* skel = nullptr;
    ring_buffer* ring = nullptr;
    EventSink* sink = nullptr; // while draining
    Link exits;
    std::map<std::string, Watched> watched; // by path; gone before what it is attached to

    ~Impl() {
        watched.clear();
        exits.reset();
        ring_buffer__free(ring);
        hintier_calls::destroy(skel);
    }

    static int on_record(void* context, void* data, size_t size) {
        auto* self = static_cast<Impl*>(context);
        Event event;
        if (size >= sizeof(hintier_call) &&
            decode(*static_cast<const hintier_call*>(data), event)) {
            self->sink->event(event);
        }
        return 0;
    }

    Result<Link> attach(bpf_program* program, const std::string& path, const ElfFunction& function,
                        bool at_return) const {
        bpf_uprobe_opts options = {};
        options.sz = sizeof(options);
        options.bpf_cookie = static_cast<__u64>(call_named(function.name));
        options.retprobe = at_return;
        Link link(
            bpf_program__attach_uprobe_opts(program, -1, path.c_str(), function.offset, &options));
        if (!link) return refused(path + ": watch " + function.name);
        return link;
    }
};

CallSource::CallSource() : impl_(std::make_unique<Impl>()) {}
CallSource::~CallSource() = default;

Result<std::unique_ptr<CallSource>> CallSource::open() {
    quiet_libbpf();
    std::unique_ptr<CallSource> source(new CallSource);
    Impl& impl = *source->impl_;
    impl.skel = hintier_calls::open_and_load();
    if (!impl.skel) return system_failure("load BPF programs for calls");
    impl.exits.reset(bpf_program__attach(impl.skel->progs.on_caller_exit));
    if (!impl.exits) return system_failure("attach BPF program for calls");
    impl.ring =
        ring_buffer__new(bpf_map__fd(impl.skel->maps.calls), &Impl::on_record, &impl, nullptr);
    if (!impl.ring) return system_failure("map BPF ring buffer");
    return source;
}

Result<std::size_t> CallSource::watch(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st)) {
        impl_->watched.erase(path);
        return system_failure(path);
    }
    const auto known = impl_->watched.find(path);
    if (known != impl_->watched.end()) {
        if (known->second.device == st.st_dev && known->second.inode == st.st_ino) {
            return known->second.links.size() / 2;
        }
        impl_->watched.erase(known);
    }
    const auto functions =
        elf_functions(path, [](std::string_view name) { return call_named(name) != Call::none; });
    if (!functions) return Failure(functions.error());
    Watched now;
    now.device = st.st_dev;
    now.inode = st.st_ino;
    for (const ElfFunction& function : *functions) {
        for (const bool at_return : {false, true}) {
            bpf_program* program =
                at_return ? impl_->skel->progs.on_return : impl_->skel->progs.on_call;
            auto link = impl_->attach(program, path, function, at_return);
            if (!link) return Failure(std::move(link.error()));
            now.links.push_back(std::move(*link));
        }
    }
    const std::size_t watched = functions->size();
    impl_->watched.emplace(path, std::move(now));
    return watched;
}

std::size_t CallSource::drain(EventSink& sink) {
    impl_->sink = &sink;
    const int n = ring_buffer__consume(impl_->ring);
    impl_->sink = nullptr;
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::uint64_t CallSource::lost() const {
    return lost_count(bpf_map__fd(impl_->skel->maps.lost), HINTIER_LOST_CALLS);
}

} // namespace hintier
