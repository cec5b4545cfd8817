// SPDX-License-Identifier: Apache-2.0
// Rule: blocks that a server says it will read are fetched in that order, by the time it says.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/plan/advice.hpp"
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

    // Of the blocks, head of the chain first, how many are there to be fetched. What is unknown
    // ends nothing: blocks behind it may be there.
    std::size_t announced(const World& world, std::uint32_t root,
                          const std::vector<std::uint64_t>& objects, std::uint32_t in_ms,
                          Plan& plan);

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
