// SPDX-License-Identifier: Apache-2.0
// Restore or recompute: is reading a prefix back faster than computing it again?
//
//   restore time = bytes / rate
//
// `rate` is the best that readers of KV have got lately: samples of bytes read are turned into a
// rate, and the highest fades with a half-life. While nothing was read it is what the operator
// says. A light load cannot show what the drives could do, so the estimate is never below half of
// that; and a reader that is alone at queue depth 1 gets less than this says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"

namespace hintier {

struct RestoreConfig {
    std::uint64_t rate = 3ULL << 30; // bytes a second, until it has been seen
    Nanos half_life = 60s;

    Result<void> validate() const {
        if (rate < 1 << 20) return failure("rate is at least 1MiB a second");
        if (half_life < 1s) return failure("half_life is at least 1s");
        return {};
    }
};

class RestoreRate {
public:
    explicit RestoreRate(const RestoreConfig& config) : config_(config) {}

    // `total`: all bytes of KV read from tiers so far, on a counter that may start again.
    void sample(std::uint64_t total, Nanos now) {
        if (last_at_ != 0ns && now > last_at_ && total >= last_total_) {
            const double seconds = std::chrono::duration<double>(now - last_at_).count();
            const double half_lives =
                seconds / std::chrono::duration<double>(config_.half_life).count();
            best_ *= std::exp2(-half_lives);
            best_ = std::max(best_, static_cast<double>(total - last_total_) / seconds);
        }
        last_total_ = total;
        last_at_ = now;
    }

    double bytes_per_second() const {
        const double told = static_cast<double>(config_.rate);
        return best_ > 0 ? std::max(best_, told / 2) : told;
    }

    Nanos time_for(std::uint64_t bytes) const {
        return std::chrono::duration_cast<Nanos>(
            std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second()));
    }

private:
    RestoreConfig config_;
    double best_ = 0;
    std::uint64_t last_total_ = 0;
    Nanos last_at_{};
};

} // namespace hintier
