// SPDX-License-Identifier: Apache-2.0
// Watched directories that come and go: a filesystem may be mounted after the daemon has started,
// unmounted while it runs, and made anew.
#pragma once

#include <optional>
#include <vector>

#include "agent/model/world.hpp"
#include "agent/source/bpf_source.hpp"
#include "agent/source/scan.hpp"

namespace hintier {

class Roots {
public:
    Roots(const std::vector<Root>& roots, BpfSource* bpf)
        : roots_(roots), states_(roots.size()), bpf_(bpf) {}

    // Looks at every root; watches and reads those that are new at their place. True if any is.
    bool check();
    // Reads on below roots that have come, up to `entries`. What is found is `seen`.
    void scan(std::size_t entries, Nanos now, EventSink& sink);

    bool watching(std::size_t root) const { return states_[root].dir.has_value(); }
    bool scanning() const;

private:
    struct State {
        std::optional<FileId> dir;
        std::optional<Scan> scan;
        bool said = false; // that it is not there
    };

    void arrive(std::uint32_t index, const FileId& dir);
    void leave(std::uint32_t index, std::string_view why);

    const std::vector<Root>& roots_;
    std::vector<State> states_;
    BpfSource* bpf_; // nullptr: files are not watched, only read
};

} // namespace hintier
