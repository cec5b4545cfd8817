// SPDX-License-Identifier: Apache-2.0
// Which objects will be read again, as far as anyone can tell without being told: sessions, turns
// and the silence after them. README.md beside this file has the equations.
//
// Objects are numbers that stay small (World's indices). What is told: each request with the
// objects of its chain, in order; ends of sessions, where a server says so.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "agent/model/hazard.hpp"
#include "agent/model/memory.hpp"

namespace hintier {

class Liveness {
public:
    using Index = std::uint32_t;
    using Group = Hazard::Group;

    struct Config {
        Hazard::Config hazard;
        unsigned fork = 2;   // so many known objects at its head make a new session a fork
        unsigned forked = 2; // successors that make an object `forked`
        unsigned shared = 4; // and `shared`
        std::uint32_t max_requests = 1'000'000; // remembered, and sessions; the oldest age no
                                                // further

        Result<void> validate() const;
    };

    enum class Use : std::uint8_t {
        held,    // the server had it in memory
        read,    // asked of the tier, there or not
        written, // did not exist before
    };

    struct Touch {
        Index object = 0;
        Use use = Use::held;
        bool partial = false; // not a full block
    };

    explicit Liveness(const Config& config) : config_(config), hazard_(config.hazard) {}

    // A request has used these, head of the chain first.
    void request(Nanos now, std::span<const Touch> chain);
    // The session that used these last has ended. An object has ended when the session that made it
    // and the one that used it last both have: a sub-agent's end leaves its parent's head alone.
    // `moved` gets the objects whose group is another one now.
    void ended(Nanos now, std::span<const Index> chain, std::vector<Index>& moved);
    // The tier has dropped it, until it is written again.
    void lost(Index object) { objects_[object].lost = true; }
    // What its last user also used before it in the chain is lost: it is of no use without.
    bool orphaned(Index object) const;
    // The index will mean another object.
    void forget(Index object);
    // Lets objects age; before anything is asked.
    void advance(Nanos now);

    bool known(Index object) const { return object < objects_.size() && objects_[object].known; }
    Group group(Index object) const { return objects_[object].group; }
    std::uint32_t depth(Index object) const { return objects_[object].depth; }
    double touched_s(Index object) const { return objects_[object].touched_s; }
    const Hazard& hazard() const { return hazard_; }
    // What was learned before.
    bool restore(std::span<const double> counts) { return hazard_.restore(counts); }

    // What is known of an object, without its id, and of the session that used it last; nothing if
    // that is too long ago.
    std::optional<std::pair<ObjectMemory, SessionMemory>> memory(Index object) const;
    // Sessions go on and objects go on ageing from what was known before; of a new model only. What
    // cannot have been is removed, the rest is to be recalled.
    void restore(Nanos now, Memories& before);
    // The index means this object, one of those.
    void recall(Index object, const ObjectMemory& memory);
    std::size_t requests() const { return requests_.size(); }
    std::size_t sessions() const { return sessions_.size(); }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct Object {
        std::uint32_t request = none; // which used it last
        std::uint32_t session = none;
        std::uint32_t depth = 0;
        std::uint32_t successors = 0;
        Index before = none; // in its chain
        double touched_s = 0;
        Group group = 0;
        bool known = false;
        bool partial = false;
        bool lost = false;
    };
    struct Session {
        std::uint32_t turns = 0;
        std::uint32_t full = 0; // objects of its last request, without a partial one
        bool ended = false;
    };
    struct Cell { // objects of one group that a request used last
        Group group = 0;
        std::uint32_t count = 0;
    };
    struct Request {
        double at_s = 0;
        std::uint32_t session = none;
        std::vector<Cell> cells;
    };

    struct Turn {
        std::uint32_t session;
        std::size_t matched; // objects that were known
    };
    Turn turn_of(std::span<const Touch> chain);
    unsigned kind_of(const Object& object, bool made) const;
    void leave(Object& object);
    void enter(std::uint32_t request, Object& object);
    Request* find(std::uint32_t request);
    bool over(std::uint32_t session) const; // it has ended, or is forgotten
    bool remembered(std::uint32_t session) const {
        return session >= first_session_ && session - first_session_ < sessions_.size();
    }
    std::uint32_t request_of(const ObjectMemory& memory) const;

    Config config_;
    Hazard hazard_;
    std::vector<Object> objects_;
    std::deque<Session> sessions_; // the first one has number `first_session_`
    std::uint32_t first_session_ = 0;
    std::deque<Request> requests_; // the first one has number `first_`
    std::uint32_t first_ = 0;
    std::array<std::uint32_t, age_bins> next_{}; // request to enter each bin next
    std::optional<double> faded_s_; // when old observations were last made to weigh less
};

} // namespace hintier
