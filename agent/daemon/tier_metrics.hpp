// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of each tier, as metrics.
#pragma once

#include <vector>

#include "agent/daemon/exposition.hpp"
#include "agent/source/kernel_source.hpp"

namespace hintier {

void tell_tiers(Exposition& to, const std::vector<TierStats>& tiers);

} // namespace hintier
