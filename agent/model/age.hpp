// SPDX-License-Identifier: Apache-2.0
// Ages in bins, as the value table has them: the time since an object was last used.
#pragma once

#include <algorithm>
#include <array>

#include "agent/base/clock.hpp"

namespace hintier {

inline constexpr unsigned age_bins = 40;

// Where each bin begins, in seconds: steps of 15 s for 150 s, then 15 % longer each, so that the
// age at which a server's memory lets go is met closely enough; the last one, from 2.4 h, is open.
inline constexpr std::array<double, age_bins> age_edges = [] {
    std::array<double, age_bins> edges{};
    for (unsigned k = 1; k < age_bins; ++k) {
        edges[k] = k <= 10 ? 15.0 * k : edges[k - 1] * 1.15;
    }
    return edges;
}();

// The last bin is open; it counts as long as the one before it.
inline double age_width(unsigned bin) {
    return bin + 1 < age_bins ? age_edges[bin + 1] - age_edges[bin]
                              : age_edges[bin] - age_edges[bin - 1];
}

inline unsigned age_bin(double seconds) {
    const auto* above = std::upper_bound(age_edges.begin() + 1, age_edges.end(), seconds);
    return static_cast<unsigned>(above - age_edges.begin()) - 1;
}

inline double in_seconds(Nanos time) {
    return std::chrono::duration<double>(time).count();
}

} // namespace hintier
