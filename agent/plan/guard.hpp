// SPDX-License-Identifier: Apache-2.0
// Keeps the dropping of data honest. Each drop promises a chance that the data is asked for all
// the same; nobody reads a dropped block (its owner takes it for a miss), so what was dropped is
// kept as a ghost, and lookups of ghosts are counted. Far more than promised: the model does not
// understand this load, and everything is destaged for a while, longer each time.
//
// Blocks of one chain are asked for together: they are one event rather than so many, so what is
// lost by chance varies as the sum of the squares of what is lost together.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"

namespace hintier {

class Guard {
public:
    struct Config {
        double tolerance = 1.2;           // times what was promised
        double deviations = 2;            // and so many standard deviations on top
        Nanos together = 50ms;            // lost within this of each other are one event
        std::uint32_t enough = 1000;      // reads of the tier that make a judgement
        std::uint32_t ghosts = 1'000'000; // remembered; the oldest are forgotten
        Nanos pause = 600s;               // the first time; then twice as long each time
        Nanos pause_most = 24h;

        Result<void> validate() const;
    };

    explicit Guard(const Config& config) : config_(config) {}

    // Dropped, which promises that it will be read again with no more than this chance.
    void dropped(std::uint64_t object, double promise);
    // Looked up or read, there or not.
    void asked(std::uint64_t object, Nanos now);

    bool allows(Nanos now) const { return now >= until_; }
    std::uint64_t lost() const { return lost_all_; }
    double promised() const { return promised_all_; }
    std::uint32_t trips() const { return trips_; }

private:
    void judge(Nanos now);

    Config config_;
    std::unordered_map<std::uint64_t, std::uint32_t> ghosts_; // → which drop
    std::deque<std::pair<std::uint64_t, std::uint32_t>> order_;
    std::uint32_t drops_ = 0;
    std::uint32_t asked_ = 0; // since the last judgement
    double lost_ = 0;         // since the last pause
    double squares_ = 0;      // of what was lost together, but for the latest
    double latest_ = 0;       // lost together with the last one
    Nanos latest_at_{};
    double promised_ = 0;
    std::uint64_t lost_all_ = 0;
    double promised_all_ = 0;
    std::uint32_t trips_ = 0;
    Nanos until_{};
};

} // namespace hintier
