// SPDX-License-Identifier: Apache-2.0
#include "agent/model/liveness.hpp"

#include <cmath>

namespace hintier {

namespace {

// Far more sessions than there ever are.
constexpr std::uint32_t most_sessions = 1U << 31;

constexpr double fade_every_s = 60;

} // namespace

Result<void> Liveness::Config::validate() const {
    if (auto ok = hazard.validate(); !ok) return ok;
    if (forked < 2) return failure("forked is at least 2 successors");
    if (shared <= forked) return failure("shared must be more than forked");
    if (max_requests < 1) return failure("max_requests must be more than 0");
    return {};
}

void Liveness::request(Nanos now, std::span<const Touch> chain) {
    if (chain.empty()) return;
    advance(now);
    const double at_s = in_seconds(now);
    const auto [session, matched] = turn_of(chain);
    const auto number = first_ + static_cast<std::uint32_t>(requests_.size());
    requests_.push_back({at_s, session, {}});

    unsigned fresh = 0;
    unsigned reads = 0;
    std::uint32_t full = 0;
    for (const Touch& touch : chain) {
        reads += touch.use == Use::read;
        fresh += touch.use == Use::written;
        full += !touch.partial;
    }
    if (reads > 0) hazard_.together(reads);
    Session& of = sessions_[session - first_session_];
    GroupKey key;
    key.turn = GroupKey::turn_of(of.turns++, matched >= config_.fork);
    key.size = GroupKey::size_of(fresh);
    of.full = full;
    of.ended = false;

    std::uint32_t depth = 0;
    Index before = none;
    for (const Touch& touch : chain) {
        if (touch.object >= objects_.size()) objects_.resize(touch.object + 1);
        Object& object = objects_[touch.object];
        const bool made = !object.known;
        if (!made) {
            if (touch.use == Use::read && object.request != none) {
                hazard_.read(object.group, at_s - object.touched_s);
            }
            leave(object);
        } else {
            object = {};
            object.known = true;
            object.session = session;
            object.partial = touch.partial;
            object.before = before;
            if (before != none) ++objects_[before].successors;
        }
        object.depth = depth++;
        object.lost = false; // the server makes it again
        object.touched_s = at_s;
        key.kind = kind_of(object, made);
        object.group = Hazard::group(key);
        enter(number, object);
        before = touch.object;
    }
    for (const Cell& cell : requests_.back().cells) {
        hazard_.enter(cell.group, 0, cell.count);
    }
}

void Liveness::ended(Nanos now, std::span<const Index> chain, std::vector<Index>& moved) {
    advance(now);
    std::uint32_t last = none; // the session's last request is what its last object was used by
    for (const Index index : chain) {
        if (known(index)) last = objects_[index].request;
    }
    const Request* by = find(last);
    if (!by) return;
    if (by->session >= first_session_) sessions_[by->session - first_session_].ended = true;
    for (const Index index : chain) {
        if (!known(index)) continue;
        Object& object = objects_[index];
        const std::uint32_t request = object.request;
        const Request* user = find(request);
        if (!user || !over(user->session) || !over(object.session)) continue;
        GroupKey key = Hazard::key(object.group);
        if (key.ended) continue;
        leave(object);
        key.ended = true;
        object.group = Hazard::group(key);
        enter(request, object);
        moved.push_back(index);
    }
}

bool Liveness::orphaned(Index index) const {
    const std::uint32_t request = objects_[index].request;
    std::uint32_t depth = objects_[index].depth;
    for (Index i = objects_[index].before; i != none; i = objects_[i].before) {
        // An index that was forgotten may mean something else by now.
        if (objects_[i].request != request || objects_[i].depth >= depth) return false;
        if (objects_[i].lost) return true;
        depth = objects_[i].depth;
    }
    return false;
}

void Liveness::forget(Index index) {
    if (!known(index)) return;
    leave(objects_[index]);
    objects_[index] = {};
}

void Liveness::advance(Nanos now) {
    const double now_s = in_seconds(now);
    const auto end = first_ + static_cast<std::uint32_t>(requests_.size());
    for (unsigned bin = 1; bin < age_bins; ++bin) {
        std::uint32_t& next = next_[bin];
        next = std::max(next, first_);
        for (; next < end; ++next) {
            const Request& request = requests_[next - first_];
            if (request.at_s + age_edges[bin] > now_s) break;
            for (const Cell& cell : request.cells) {
                hazard_.enter(cell.group, bin, cell.count);
            }
        }
    }
    while (requests_.size() > config_.max_requests) {
        requests_.pop_front();
        ++first_;
    }
    while (sessions_.size() > config_.max_requests) {
        sessions_.pop_front();
        ++first_session_;
    }
    if (!faded_s_) faded_s_ = now_s;
    if (now_s - *faded_s_ >= fade_every_s) {
        hazard_.fade(now_s - *faded_s_);
        faded_s_ = now_s;
    }
}

std::optional<std::pair<ObjectMemory, SessionMemory>> Liveness::memory(Index index) const {
    const Object& object = objects_[index];
    const std::uint32_t request = object.request;
    if (request == none || request < first_) return std::nullopt;
    const std::uint32_t used_by = requests_[request - first_].session;
    if (!remembered(used_by)) return std::nullopt;
    const Session& session = sessions_[used_by - first_session_];
    return std::pair(ObjectMemory{.used_s = object.touched_s,
                                  .made_by = object.session,
                                  .used_by = used_by,
                                  .depth = object.depth,
                                  .successors = object.successors,
                                  .group = object.group,
                                  .partial = object.partial},
                     SessionMemory{used_by, session.turns, session.full, session.ended});
}

// Requests get their objects when these are recalled. What an object was counted for before the
// restart is in the hazards already, so the bins that a request has reached by now are passed.
void Liveness::restore(Nanos now, Memories& before) {
    if (!sessions_.empty() || !requests_.empty()) return before.objects.clear();
    std::erase_if(before.sessions, [](const auto& one) { return one.number >= most_sessions; });
    std::uint32_t newest = 0;
    for (const SessionMemory& one : before.sessions)
        newest = std::max(newest, one.number);
    std::erase_if(before.sessions,
                  [&](const auto& one) { return newest - one.number >= config_.max_requests; });
    std::uint32_t oldest = newest;
    for (const SessionMemory& one : before.sessions)
        oldest = std::min(oldest, one.number);
    if (!before.sessions.empty()) {
        first_session_ = oldest;
        sessions_.resize(newest - oldest + 1UL);
    }
    for (const SessionMemory& one : before.sessions)
        sessions_[one.number - oldest] = {one.turns, one.full, one.ended};

    std::erase_if(before.objects, [&](const ObjectMemory& one) {
        return !one.id || !std::isfinite(one.used_s) || one.group >= Hazard::groups ||
               !remembered(one.made_by) || !remembered(one.used_by);
    });
    std::vector<std::pair<double, std::uint32_t>> uses;
    for (ObjectMemory& one : before.objects) {
        one.used_s = std::min(one.used_s, in_seconds(now)); // the clock of the wall was set back
        uses.emplace_back(one.used_s, one.used_by);
    }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (const auto& [at_s, session] : uses)
        requests_.push_back({at_s, session, {}});
    advance(now);
}

void Liveness::recall(Index index, const ObjectMemory& memory) {
    forget(index);
    if (index >= objects_.size()) objects_.resize(index + 1UL);
    Object& object = objects_[index];
    object.known = true;
    object.session = memory.made_by;
    object.depth = memory.depth;
    object.successors = memory.successors;
    object.touched_s = memory.used_s;
    object.group = memory.group;
    object.partial = memory.partial;
    enter(request_of(memory), object);
}

std::uint32_t Liveness::request_of(const ObjectMemory& memory) const {
    const auto wanted = std::pair(memory.used_s, memory.used_by);
    const auto key = [](const Request& request) {
        return std::pair(request.at_s, request.session);
    };
    const auto at = std::lower_bound(
        requests_.begin(), requests_.end(), wanted,
        [&](const Request& request, const auto& than) { return key(request) < than; });
    if (at == requests_.end() || key(*at) != wanted) return none;
    return first_ + static_cast<std::uint32_t>(at - requests_.begin());
}

// A request goes on with the session that made its deepest known object if it has all that was
// said there; anything else (a fork, an edit, a new chat) begins one.
Liveness::Turn Liveness::turn_of(std::span<const Touch> chain) {
    std::size_t matched = 0;
    while (matched < chain.size() && known(chain[matched].object)) {
        ++matched;
    }
    if (matched > 0) {
        const std::uint32_t session = objects_[chain[matched - 1].object].session;
        const std::uint32_t full =
            session < first_session_ ? 0 : sessions_[session - first_session_].full;
        if (full > 0 && matched >= full) return {session, matched};
    }
    sessions_.emplace_back();
    return {first_session_ + static_cast<std::uint32_t>(sessions_.size() - 1), matched};
}

unsigned Liveness::kind_of(const Object& object, bool made) const {
    if (object.partial) return GroupKey::tail;
    if (object.successors >= config_.shared) return GroupKey::shared;
    if (object.successors >= config_.forked) return GroupKey::forked;
    return made ? GroupKey::fresh : GroupKey::old;
}

Liveness::Request* Liveness::find(std::uint32_t request) {
    return request == none || request < first_ ? nullptr : &requests_[request - first_];
}

bool Liveness::over(std::uint32_t session) const {
    return session < first_session_ || sessions_[session - first_session_].ended;
}

void Liveness::leave(Object& object) {
    if (Request* request = find(object.request)) {
        for (Cell& cell : request->cells) {
            if (cell.group == object.group) --cell.count;
        }
    }
    object.request = none;
}

void Liveness::enter(std::uint32_t number, Object& object) {
    object.request = number;
    Request* request = find(number);
    if (!request) return;
    for (Cell& cell : request->cells) {
        if (cell.group == object.group) {
            ++cell.count;
            return;
        }
    }
    request->cells.push_back({object.group, 1});
}

} // namespace hintier
