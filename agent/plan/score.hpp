// SPDX-License-Identifier: Apache-2.0
// How well what a rule asked for has ended, by the kernel's outcomes, and how much of its budget
// it has earned by that. A function of counts alone: no clock.
//
//   useful = (timely + late + p) / (all + p),  the last few hundred outcomes, p for a new rule
//   share  = 1 from `least` on, falling evenly to 1/16 at half of that
//
// A rule is never silenced: what it still asks for shows when it has become right again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hintier/types.h"

namespace hintier {

class Score {
public:
    void count(hintier_fetch how, std::uint64_t times = 1) {
        const auto n = static_cast<double>(times);
        all_ += n;
        if (how == HINTIER_FETCH_TIMELY || how == HINTIER_FETCH_LATE) useful_ += n;
        if (all_ <= remembered) return;
        useful_ *= remembered / all_ / 2;
        all_ = remembered / 2;
    }

    double useful() const { return (useful_ + trust) / (all_ + trust); }

    double share(double least) const {
        if (least <= 0) return 1;
        return std::clamp(2 * useful() / least - 1, smallest, 1.0);
    }
    // Of a budget, never nothing.
    std::uint32_t of(std::uint32_t budget, double least) const {
        return std::max(1U, static_cast<std::uint32_t>(budget * share(least)));
    }

private:
    static constexpr double trust = 16; // outcomes that a new rule is thought to have had, all good
    static constexpr double remembered = 512;
    static constexpr double smallest = 1.0 / 16;

    double useful_ = 0;
    double all_ = 0;
};

} // namespace hintier
