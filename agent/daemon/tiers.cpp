// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/tiers.hpp"

#include "agent/base/log.hpp"
#include "agent/layout/device.hpp"
#include "hintier/types.h"

namespace hintier {

const char* mode_text(std::uint32_t mode) {
    switch (mode) {
    case HINTIER_MODE_WRITEBACK:
        return "writeback";
    case HINTIER_MODE_WRITETHROUGH:
        return "writethrough";
    case HINTIER_MODE_WRITEAROUND:
        return "writearound";
    case HINTIER_MODE_BYPASS:
        return "bypass";
    case HINTIER_MODE_FAIL:
        return "fail";
    }
    return "unknown";
}

std::map<std::uint32_t, TierInfo> Tiers::ask() {
    std::map<std::uint32_t, TierInfo> now;
    const auto module = kernel_.find_module();
    const bool there = module.has_value();
    if (there != module_there_ || first_) {
        if (there) {
            log::info("the hintier module is loaded");
        } else {
            log::warning("{}; waiting for it (modprobe hintier)", module.error().text);
        }
        module_there_ = there;
    }
    if (!there) return now;
    const auto tiers = kernel_.tiers();
    if (!tiers) {
        log::warning("tiers: {}", tiers.error().text);
        return now;
    }
    for (const TierInfo& tier : *tiers) {
        now.emplace(tier.device, tier);
    }
    return now;
}

bool Tiers::refresh() {
    auto now = ask();
    bool changed = first_;
    first_ = false;
    for (const auto& [device, tier] : now) {
        const auto old = tiers_.find(device);
        if (old != tiers_.end() && old->second.uuid == tier.uuid) continue;
        log::info("tier {} is here: {} MiB, extents of {} KiB, mode {}", device_text(device),
                  tier.bytes >> 20U, tier.extent_bytes >> 10U, mode_text(tier.mode));
        changed = true;
    }
    for (const auto& [device, tier] : tiers_) {
        if (!now.contains(device)) {
            log::info("tier {} is gone{}", device_text(device),
                      now.empty() ? "; waiting for another" : "");
            changed = true;
        }
    }
    tiers_ = std::move(now);

    if (tiers_.empty()) {
        io_.reset();
    } else if (count_io_ && !io_) {
        if (auto io = IoCounter::open()) {
            io_ = std::move(*io);
        } else {
            log::warning("accesses are not counted: {}", io.error().text);
            count_io_ = false;
        }
    }
    return changed;
}

} // namespace hintier
