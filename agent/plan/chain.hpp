// SPDX-License-Identifier: Apache-2.0
// Rule: when the first objects of a known chain are looked up or opened, what follows is told to
// the kernel in order (which reads it ahead into RAM at the reader's pace) or fetched to fast, a
// bounded window ahead of the reader.
//
// In public traces, following the most recent successor from the second looked-up object (or the
// first one read) covers 98-99.8 % of what a request goes on to read. It is of no use to readers
// that are deep enough to keep the bulk device busy by themselves, nor of what a server computes
// faster than it is read: these are left alone.
#pragma once

#include <unordered_map>

#include "agent/plan/advice.hpp"
#include "agent/plan/restore.hpp"
#include "agent/plan/score.hpp"

namespace hintier {

class ChainRule {
public:
    static constexpr std::string_view name = "chain";

    struct Config {
        bool enabled = true;
        bool to_fast = false;           // else read ahead into RAM
        std::uint32_t trigger = 2;      // looked up in a row; one root is shared by all chats
        std::uint32_t window = 16;      // objects told and not opened yet
        std::uint32_t deep_readers = 8; // threads that read at once and need no help; 0: help all
        Nanos readers_within = 1s;      // "at once"
        Nanos forget_after = 10s;       // told and not opened: the reader went another way
        std::uint32_t min_useful = 50;  // percent of fetches, by the kernel's outcomes
        Nanos pause = 60s;              // when fewer were

        Result<void> validate() const;
    };

    explicit ChainRule(const Config& config) : config_(config) {}

    void observe(const World& world, const Change& change, Nanos now, RestoreRule& restore,
                 Plan& plan);
    void tick(Nanos now);
    void outcome(hintier_fetch how, Nanos now);

    bool paused(Nanos now) const { return now < paused_until_; }
    const Score& score() const { return score_; }
    // Of `window`, what the rule has earned.
    std::uint32_t window() const { return score_.of(config_.window, config_.min_useful / 100.0); }
    std::uint64_t fetched() const { return fetched_; }
    std::uint64_t left_alone() const { return left_alone_; }

private:
    // Where one process is led.
    struct Lead {
        std::uint64_t last = 0; // object told last
        Nanos at{};
    };

    void fetch_from(const World& world, std::uint32_t pid, ObjectIndex first, Reason reason,
                    Nanos now, Plan& plan);

    Config config_;
    std::unordered_map<std::uint64_t, Nanos> ahead_; // object → when it was asked for
    std::unordered_map<std::uint32_t, Lead> leads_;  // by process
    Nanos paused_until_{};
    Nanos forgot_{};
    Score score_;
    std::uint32_t useful_ = 0;
    std::uint32_t useless_ = 0;
    std::uint64_t fetched_ = 0;
    std::uint64_t left_alone_ = 0;
};

} // namespace hintier
