// SPDX-License-Identifier: Apache-2.0
// Time as the agent sees it: nanoseconds of CLOCK_MONOTONIC, the clock of BPF's time stamps too.
#pragma once

#include <chrono>

namespace hintier {

using Nanos = std::chrono::nanoseconds;

using namespace std::chrono_literals;

class Clock {
public:
    virtual ~Clock() = default;
    virtual Nanos now() const = 0;
};

class SystemClock final : public Clock {
public:
    Nanos now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

class ManualClock final : public Clock {
public:
    Nanos now() const override { return now_; }
    void advance(Nanos by) { now_ += by; }

private:
    Nanos now_{};
};

} // namespace hintier
