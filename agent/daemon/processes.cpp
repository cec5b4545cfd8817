// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/processes.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace hintier {

namespace {

std::string name_of(std::uint32_t pid) {
    std::ifstream in(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(in, name);
    return name;
}

} // namespace

void Processes::apply(const Event& event) {
    if (event.kind == EventKind::exited) {
        all_.erase(event.pid);
        return;
    }
    const bool call = event.kind == EventKind::called || event.kind == EventKind::returned;
    if (!event.pid || (!call && event.kind != EventKind::opened)) return;
    if (all_.size() >= most && !all_.contains(event.pid)) {
        all_.erase(std::min_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
            return a.second.seen < b.second.seen;
        }));
    }
    const auto [it, fresh] = all_.try_emplace(event.pid);
    Process& process = it->second;
    if (fresh) process.name = name_of(event.pid);
    process.seen = std::max(process.seen, event.time);
    if (event.kind == EventKind::opened) ++process.files;
    if (event.kind == EventKind::returned) process.inside = Call::none;
    if (event.kind != EventKind::called) return;
    process.inside = event.call;
    ++process.entered[static_cast<std::size_t>(event.call)];
    process.tokens += event.tokens;
}

} // namespace hintier
