// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/sessions.hpp"

#include <algorithm>
#include <cerrno>
#include <unordered_set>

namespace hintier {

namespace {

Failure not_yours(const std::string& name) {
    return failure("session " + name + " was told of by another user", EPERM);
}

} // namespace

Result<void> Sessions::tell(const std::string& name, std::uint32_t teller, std::uint32_t root,
                            const std::vector<std::uint64_t>& objects) {
    if (name.empty() || name.size() > max_name) {
        return failure("a session's name has 1 to 256 bytes", EINVAL);
    }
    auto known = by_name_.find(name);
    if (known == by_name_.end()) {
        if (by_teller_[teller] >= max_each) {
            return failure("too many sessions of one user: tell of their ends", EAGAIN);
        }
        order_.push_back({name, {teller, root, {}}});
        known = by_name_.emplace(order_.back().name, std::prev(order_.end())).first;
        ++by_teller_[teller];
    } else {
        const Session& session = known->second->session;
        if (session.teller != teller && teller != 0) return not_yours(name);
        if (session.root != root) return failure("session " + name + " is below another root");
        order_.splice(order_.end(), order_, known->second);
    }
    Session& session = known->second->session;
    std::unordered_set<std::uint64_t> has(session.objects.begin(), session.objects.end());
    for (const std::uint64_t object : objects) {
        if (!has.insert(object).second) continue;
        if (session.objects.size() == max_objects) {
            return failure("too many blocks of one session: at most 65536", E2BIG);
        }
        session.objects.push_back(object);
        ++objects_;
    }
    while (order_.size() > 1 && (order_.size() > max_sessions || objects_ > max_all_objects)) {
        erase(order_.begin());
    }
    return {};
}

Result<const Session*> Sessions::find(const std::string& name, std::uint32_t teller) const {
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return failure("no session " + name + " was told of", ENOENT);
    const Session& session = known->second->session;
    if (session.teller != teller && teller != 0) return not_yours(name);
    return &session;
}

void Sessions::forget(const std::string& name) {
    if (const auto known = by_name_.find(name); known != by_name_.end()) {
        erase(known->second);
    }
}

std::string Sessions::of(std::uint64_t object) const {
    for (auto entry = order_.rbegin(); entry != order_.rend(); ++entry) {
        const auto& objects = entry->session.objects;
        if (std::find(objects.begin(), objects.end(), object) != objects.end()) return entry->name;
    }
    return {};
}

void Sessions::erase(Order::iterator entry) {
    objects_ -= entry->session.objects.size();
    const auto teller = by_teller_.find(entry->session.teller);
    if (--teller->second == 0) {
        by_teller_.erase(teller);
    }
    by_name_.erase(entry->name);
    order_.erase(entry);
}

} // namespace hintier
