// SPDX-License-Identifier: Apache-2.0
// Writes what comes in to a file that somebody has handed over, in the form of
// source/recording.hpp, until it is told to stop, the file is as long as allowed, or it cannot be
// written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/base/fd.hpp"
#include "agent/model/event.hpp"
#include "agent/plan/speech.hpp"

namespace hintier {

class Recorder {
public:
    struct Counts {
        std::uint64_t lines = 0;
        std::uint64_t bytes = 0;
        std::string ended; // why, when nobody told it to
    };

    bool on() const { return static_cast<bool>(fd_); }
    void start(Fd fd, std::uint64_t most, const std::vector<Root>& roots);
    Counts stop();

    void write(const Event& event);
    void write(const Words& words);
    void flush();

private:
    void add(const std::string& line);

    Fd fd_;
    std::uint64_t most_ = 0;
    Counts counts_;
    std::string waiting_;
};

} // namespace hintier
