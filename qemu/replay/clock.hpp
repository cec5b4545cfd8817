// SPDX-License-Identifier: Apache-2.0
//
// Modelled time is the machine's monotonic time divided by the dilation: at 4 the devices, the
// trace, compute and every timeout are four times slower than what they stand for, and all figures
// are divided by it again. Below 1 the clock runs fast (for trying things out on a host).
#pragma once

#include <chrono>
#include <cstdint>

namespace hintier::replay {

using Time = std::int64_t; // modelled nanoseconds from the start

constexpr Time from_ms(std::int64_t ms) {
    return ms * 1'000'000;
}
constexpr double to_ms(Time time) {
    return static_cast<double>(time) / 1e6;
}

class Clock {
public:
    using Point = std::chrono::steady_clock::time_point;

    explicit Clock(double dilation)
        : dilation_(dilation), start_(std::chrono::steady_clock::now()) {}

    Time now() const {
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start_;
        return static_cast<Time>(static_cast<double>(passed.count()) / dilation_);
    }
    Point at(Time time) const {
        return start_ + std::chrono::nanoseconds(
                            static_cast<std::int64_t>(static_cast<double>(time) * dilation_) + 1);
    }

private:
    double dilation_;
    Point start_;
};

} // namespace hintier::replay
