// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/roots.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/base/log.hpp"
#include "agent/layout/handle.hpp"
#include "hintier/trace.h"

namespace hintier {

namespace {

// Without the generation: the map of roots has none.
Result<FileId> directory_at(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st)) return system_failure(path);
    if (!S_ISDIR(st.st_mode)) return failure(path + ": not a directory", ENOTDIR);
    FileId id;
    id.device = HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev));
    id.inode = st.st_ino;
    return id;
}

} // namespace

bool Roots::check() {
    bool arrived = false;
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
        State& state = states_[index];
        const auto dir = directory_at(roots_[index].path);
        if (!dir) {
            if (state.dir || !state.said) leave(index, dir.error().text);
        } else if (!state.dir || *state.dir != *dir) {
            arrive(index, *dir);
            arrived = true;
        }
    }
    return arrived;
}

void Roots::arrive(std::uint32_t index, const FileId& dir) {
    State& state = states_[index];
    if (state.dir && bpf_) {
        bpf_->unwatch(*state.dir);
    }
    state = State();
    if (bpf_) {
        if (auto watched = bpf_->watch(dir, index); !watched) {
            return leave(index, watched.error().text);
        }
    }
    state.dir = dir;
    auto scan = Scan::open(roots_[index].path, index, identify);
    if (scan) {
        state.scan = std::move(*scan);
    } else {
        log::warning("{}: files from before are not known: {}", roots_[index].path,
                     scan.error().text);
    }
    log::info("watching {} ({}{})", roots_[index].path, roots_[index].adapter->name,
              roots_[index].reap ? ", reaping" : "");
}

void Roots::leave(std::uint32_t index, std::string_view why) {
    State& state = states_[index];
    if (state.dir && bpf_) {
        bpf_->unwatch(*state.dir);
    }
    state = State();
    state.said = true;
    log::warning("{}; waiting for it", why);
}

void Roots::scan(std::size_t entries, Nanos now, EventSink& sink) {
    for (State& state : states_) {
        if (state.scan && !state.scan->step(entries, now, sink)) {
            state.scan.reset();
        }
    }
}

bool Roots::scanning() const {
    for (const State& state : states_) {
        if (state.scan) return true;
    }
    return false;
}

} // namespace hintier
