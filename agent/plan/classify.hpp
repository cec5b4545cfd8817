// SPDX-License-Identifier: Apache-2.0
// Rule: a KV file is classified when its content is complete.
//
// Files written around the page cache have their place on the device when they get their final
// name: one look at their layout then is all. Of others the filesystem chooses the place up to
// half a minute later, mostly in the order in which they were written: the oldest that is complete
// is tried now and then, and when it has its place, so are those behind it. What has none after
// `remap_after`, or was written in place, is tried then, a few times.
#pragma once

#include <deque>

#include "agent/plan/advice.hpp"

namespace hintier {

class ClassifyRule {
public:
    static constexpr std::string_view name = "classify";

    struct Config {
        bool enabled = true;
        Nanos remap_after = 35s; // longer than delayed allocation may take
        std::uint32_t remap_tries = 3;
        std::uint32_t max_waiting = 100'000; // files that wait for their place
        std::uint32_t catch_up = 1'000;      // a second, of files that were there at the start

        Result<void> validate() const;
    };

    explicit ClassifyRule(const Config& config) : config_(config) {}

    void observe(const World& world, const Change& change, Nanos now, bool at_start, Plan& plan);
    void tick(const World& world, Nanos now, Plan& plan);
    // Tries the oldest that waits, or several when what was tried before had its place.
    void probe(const World& world, Plan& plan);
    bool placed() const { return placed_; } // had they? Then try on soon
    // The advice could not be carried out in full: the file has no place on the device yet.
    void unmapped(const Advice& advice, Nanos now);

    std::size_t waiting() const { return late_.size() + missed_.size() + found_.size(); }
    std::uint64_t given_up() const { return given_up_; }

private:
    struct Late {
        Nanos due{};
        FileId file;
        std::uint32_t tries = 0;
        bool complete = false; // when it gets a place, that is all of it
    };

    void put_back();
    void try_oldest(const World& world, Plan& plan);
    static void advise(const World& world, ObjectIndex index, const FileId& file, Reason reason,
                       Plan& plan);

    Config config_;
    std::deque<Late> late_; // in order of `due`
    std::deque<FileId> found_;
    Nanos caught_up_{};
    std::uint64_t given_up_ = 0;
    // Tries already made for files in the plan that is being carried out.
    std::unordered_map<FileId, Late, FileIdHash> tried_;
    std::vector<Late> missed_; // of those that were probed, in their order
    bool placed_ = false;
};

} // namespace hintier
