// SPDX-License-Identifier: Apache-2.0
// A recording through the model and the rules, as the daemon would have taken it, at the speed of
// whoever feeds it: time is what the recording says. Plans are carried out by nobody; reaped files
// are taken for unlinked.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "agent/plan/speech.hpp"
#include "agent/source/recording.hpp"

namespace hintier {

struct ReplayCounts {
    std::uint64_t events = 0;
    std::uint64_t words = 0;
    std::uint64_t refused = 0; // words that made no sense, or were not allowed
    std::uint64_t classified = 0;
    std::uint64_t fetched = 0;
    std::uint64_t reaped = 0;
    std::uint64_t opened = 0;         // for reading
    std::uint64_t opened_fetched = 0; // of these, fetched before: each fetch counts once
    std::array<std::uint64_t, static_cast<std::size_t>(Reason::count)> reasons{};
};

class Replay {
public:
    using Told = std::function<void(const Plan& plan, Nanos now)>;

    // `told` sees each plan before it is forgotten.
    Replay(const World::Config& world, const Planner::Config& rules, std::vector<Root> roots,
           Told told);

    void feed(const Recorded& recorded);
    // Lets rules that wait have so much more time.
    void finish(Nanos more);

    const ReplayCounts& counts() const { return counts_; }
    const World& world() const { return world_; }

private:
    static constexpr Nanos tick = 100ms;

    void advance(Nanos to);
    void apply(const Event& event);
    void carry_out();

    World world_;
    Planner planner_;
    Speech speech_;
    Told told_;
    Nanos now_{};
    ReplayCounts counts_;
    std::unordered_set<std::uint64_t> ahead_; // fetched and not opened
};

} // namespace hintier
