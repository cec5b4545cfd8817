// SPDX-License-Identifier: Apache-2.0
// What each inference process is at, as far as its files and calls tell: a hidden Markov chain of
// six phases, filtered forward. README.md beside this file has the equations.
//
// Phases overlap in a busy server; the process is in the first that holds of: load, restore,
// offload, prefill, decode. That is the order in which they matter to a tier.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/model/event.hpp"

namespace hintier {

enum class Phase : std::uint8_t { load, restore, offload, prefill, decode, idle };
inline constexpr std::size_t phase_count = 6;

std::string_view phase_name(Phase phase);

// What is seen of a process at an instant. Any number of these may hold.
enum class Sign : std::uint8_t {
    filling,   // parts of a model came into the page cache just now
    reading,   // blocks that it found are still to be opened, or were opened just now
    writing,   // files are begun and have no final name yet
    due,       // blocks that it missed have not been written yet: it computes them
    prompting, // a call with many tokens is going on, or was just now
    stepping,  // one with few
};
inline constexpr std::size_t sign_count = 6;

// The chain of one process: belief in each phase, moved by time and signs alone.
class PhaseChain {
public:
    using Belief = std::array<double, phase_count>;

    PhaseChain();

    // `seconds` have passed in which these signs held. `calls`: the process tells of its calls,
    // else it means nothing that there are none.
    void pass(double seconds, const std::array<bool, sign_count>& signs, bool calls);

    const Belief& belief() const { return belief_; }
    Phase likeliest() const;

private:
    Belief belief_;
};

class Phases {
public:
    struct View {
        std::uint32_t pid = 0;
        Phase phase = Phase::idle;
        double chance = 0;
        Nanos since{};
    };

    // Events in order of time, of processes that use watched files or watched libraries.
    void asked(std::uint32_t pid, std::uint64_t object, bool found, Nanos now);
    void opened(std::uint32_t pid, std::uint32_t tid, std::uint64_t object, Nanos now);
    void begun(std::uint32_t pid, std::uint64_t object, std::uint64_t inode, Nanos now);
    void named(std::uint32_t pid, std::uint64_t inode, Nanos now); // it is complete, or gone
    void filled(std::uint32_t pid, Nanos now);
    void called(std::uint32_t pid, Call call, std::uint32_t tokens, Nanos now);
    void returned(std::uint32_t pid, Nanos now);
    void exited(std::uint32_t pid) { processes_.erase(pid); }

    std::optional<View> at(std::uint32_t pid, Nanos now) const;
    std::vector<View> all(Nanos now) const; // by pid
    std::size_t size() const { return processes_.size(); }

private:
    struct Track {
        PhaseChain chain;
        Nanos at{};    // the chain has come up to here
        Nanos since{}; // its likeliest phase is what it is
    };

    struct Process {
        Track track;
        std::unordered_map<std::uint64_t, Nanos> unread;  // objects found and not opened
        std::unordered_set<std::uint64_t> due;            // objects missed and not written
        std::unordered_set<std::uint64_t> begun;          // inodes
        std::unordered_map<std::uint32_t, Nanos> readers; // last open of each thread
        double read_s;                                    // that a read takes, learned
        // When it last did so.
        Nanos found{}, missed{}, opened{}, began{}, filled{}, prompted{}, stepped{};
        bool prompting = false, stepping = false; // inside a call
        bool calls = false;                       // there have been some

        Process();
        bool sign(Sign sign, Nanos now) const;
        void pass(Track& track, Nanos now) const;
    };

    Process& process(std::uint32_t pid, Nanos now);

    std::unordered_map<std::uint32_t, Process> processes_;
};

} // namespace hintier
