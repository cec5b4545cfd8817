// SPDX-License-Identifier: Apache-2.0
// Writes what is dirty on fast to its home on bulk, without the module. The order is that of a
// destage: data to bulk, flush bulk, records that say clean, flush fast. So a drain that is cut
// off anywhere leaves a pair that is as good as before, and is simply begun again. Units that are
// lost stay lost: nobody has them. A header that was damaged and proved is written as well, so that
// whatever is drained can be activated.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/cli/meta/survey.hpp"

namespace hintier::cli {

struct Unread {
    std::uint32_t extent = 0;
    std::uint32_t slot = 0;
    std::uint32_t unit = 0;
};

struct Drained {
    std::uint64_t slots = 0;    // clean now
    std::uint64_t bytes = 0;    // written to bulk
    std::vector<Unread> unread; // dirty units that fast cannot be read at: they stay dirty
};

// Why this pair cannot be drained; nothing when it can.
Result<void> may_drain(const Survey& survey);

// Progress is in bytes. Marks the pair clean when nothing dirty is left.
Result<Drained> drain(Medium& medium, const Survey& survey, const Progress& progress);

} // namespace hintier::cli
