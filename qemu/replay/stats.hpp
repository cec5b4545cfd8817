// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a trace, beside those published for Mooncake's conversation trace.
#pragma once

#include <string>
#include <vector>

#include "qemu/replay/trace.hpp"

namespace hintier::replay {

struct Statistic {
    std::string name;
    std::vector<double> measured;
    std::vector<double> published; // of the conversation trace
    int digits = 0;
};

std::vector<Statistic> measure(const Trace& trace);
std::string format_stats(const std::vector<Statistic>& statistics);

} // namespace hintier::replay
