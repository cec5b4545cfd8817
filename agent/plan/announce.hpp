// SPDX-License-Identifier: Apache-2.0
// Rule: blocks that a server says it will read are fetched in that order, by the time it says.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/plan/advice.hpp"

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

    std::uint64_t fetched() const { return fetched_; }

private:
    Config config_;
    std::uint64_t fetched_ = 0;
};

} // namespace hintier
