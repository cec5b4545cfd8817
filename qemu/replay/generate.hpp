// SPDX-License-Identifier: Apache-2.0
//
// A trace like Mooncake's conversation trace where that is not at hand: sessions arrive in lumps
// of 3 s, share one root block, grow turn by turn, some fork from an earlier one. Calibrated to
// published statistics; `ht_replay stats` prints both. Same seed, same bytes: integers and
// piecewise linear tables only.
#pragma once

#include "qemu/replay/trace.hpp"

namespace hintier::replay {

Trace generate_trace(std::uint64_t seed, double hours);

} // namespace hintier::replay
