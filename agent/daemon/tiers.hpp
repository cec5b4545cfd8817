// SPDX-License-Identifier: Apache-2.0
// Which tiers there are, and the counter of their accesses, which holds the module only while
// there is one.
#pragma once

#include <map>
#include <memory>

#include "agent/source/bpf_source.hpp"
#include "agent/source/kernel_source.hpp"

namespace hintier {

class Tiers {
public:
    Tiers(KernelSource& kernel, bool count_io) : kernel_(kernel), count_io_(count_io) {}

    // Asks the kernel anew and logs what has changed. True if anything has.
    bool refresh();

    bool has(std::uint32_t device) const { return tiers_.contains(device); }
    bool module_there() const { return module_there_; }
    const std::map<std::uint32_t, TierInfo>& all() const { return tiers_; }
    const IoCounter* io() const { return io_.get(); }

private:
    std::map<std::uint32_t, TierInfo> ask();

    KernelSource& kernel_;
    bool count_io_;
    bool module_there_ = false;
    bool first_ = true;
    std::map<std::uint32_t, TierInfo> tiers_;
    std::unique_ptr<IoCounter> io_;
};

const char* mode_text(std::uint32_t mode);

} // namespace hintier
