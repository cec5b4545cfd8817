// SPDX-License-Identifier: Apache-2.0
// Rule: blocks that a server says it will read are fetched in that order, by the time it says;
// unless it computes them faster.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/plan/advice.hpp"
#include "agent/plan/restore.hpp"
#include "agent/plan/score.hpp"

namespace hintier {

class AnnounceRule {
public:
    static constexpr std::string_view name = "announce";

    struct Config {
        bool enabled = true;
        std::uint32_t most = 4096; // blocks of one announcement; a restore reads hundreds

        Result<void> validate() const;
    };

    explicit AnnounceRule(const Config& config) : config_(config) {}

    struct Outcome {
        std::size_t there = 0; // blocks that have a file
        bool left = false;     // they are not fetched: computing them is faster
    };

    // The blocks, head of the chain first. What is unknown ends nothing: blocks behind it may be
    // there.
    Outcome announced(const World& world, std::uint32_t root,
                      const std::vector<std::uint64_t>& objects, std::uint32_t in_ms, Nanos now,
                      RestoreRule& restore, Plan& plan);

    void outcome(hintier_fetch how) { score_.count(how); }
    const Score& score() const { return score_; }
    // Of `most`, what the servers' word has earned.
    std::uint32_t most() const { return score_.of(config_.most, least_useful); }

    std::uint64_t fetched() const { return fetched_; }

private:
    static constexpr double least_useful = 0.5;

    Config config_;
    Score score_;
    std::uint64_t fetched_ = 0;
};

} // namespace hintier
