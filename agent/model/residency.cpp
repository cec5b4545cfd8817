// SPDX-License-Identifier: Apache-2.0
#include "agent/model/residency.hpp"

#include <algorithm>

namespace hintier {

Residency::Residency(const std::vector<Nanos>& times) {
    for (const Nanos time : times) {
        windows_.emplace_back();
        windows_.back().row.kept = time;
    }
}

void Residency::use(std::uint64_t object, Nanos now, bool reads) {
    advance(now);
    const auto [it, fresh] = last_.try_emplace(object);
    if (reads && fresh) {
        ++unknown_;
    } else {
        ++(reads ? reads_ : writes_);
    }
    const std::uint64_t number = ++uses_;
    for (Window& window : windows_) {
        const bool held = !fresh && now_ - it->second.at <= window.row.kept;
        window.row.served += reads && held;
        window.row.written += !reads || !held;
        window.held += !held;
        window.row.most = std::max(window.row.most, window.held);
        window.uses.push_back({object, number, now_});
    }
    it->second = {number, now_};
}

void Residency::removed(std::uint64_t object, Nanos now) {
    advance(now);
    const auto it = last_.find(object);
    if (it == last_.end()) return;
    for (Window& window : windows_) {
        window.held -= now_ - it->second.at <= window.row.kept;
    }
    last_.erase(it);
}

void Residency::advance(Nanos now) {
    now_ = std::max(now_, now);
    for (Window& window : windows_) {
        while (!window.uses.empty() && now_ - window.uses.front().at > window.row.kept) {
            const Use& use = window.uses.front();
            const auto it = last_.find(use.object);
            window.held -= it != last_.end() && it->second.number == use.number;
            window.uses.pop_front();
        }
    }
}

std::vector<Residency::Row> Residency::rows() const {
    std::vector<Row> rows;
    for (const Window& window : windows_)
        rows.push_back(window.row);
    return rows;
}

} // namespace hintier
