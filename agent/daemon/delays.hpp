// SPDX-License-Identifier: Apache-2.0
// How long things took, in buckets an eighth of a power of two wide: quantiles within 13 %.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "agent/base/clock.hpp"

namespace hintier {

class Delays {
public:
    void add(Nanos delay) {
        ++buckets_[bucket_of(delay.count() > 0 ? static_cast<std::uint64_t>(delay.count()) : 0)];
        ++count_;
    }
    std::uint64_t count() const { return count_; }

    // The upper edge of the bucket that holds it; 0 when there was nothing.
    Nanos quantile(double share) const {
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t b = 0; b < buckets_.size(); ++b) {
            seen += buckets_[b];
            if (seen > wanted || (seen == count_ && seen)) return edge_of(b);
        }
        return 0ns;
    }

private:
    static constexpr unsigned eighths = 3; // bits
    static constexpr std::size_t buckets = 48 << eighths;

    // Numbers below 8 have buckets of their own.
    static std::size_t bucket_of(std::uint64_t ns) {
        if (ns < 1U << eighths) return ns;
        const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1 - eighths;
        const std::size_t bucket =
            ((power + 1) << eighths) + ((ns >> power) & ((1U << eighths) - 1));
        return std::min(bucket, buckets - 1);
    }
    static Nanos edge_of(std::size_t bucket) {
        if (bucket < 1U << eighths) return Nanos(bucket + 1);
        const std::size_t power = (bucket >> eighths) - 1;
        const std::uint64_t eighth = (1U << eighths) + (bucket & ((1U << eighths) - 1));
        return Nanos(static_cast<Nanos::rep>((eighth + 1) << power));
    }

    std::array<std::uint64_t, buckets> buckets_{};
    std::uint64_t count_ = 0;
};

} // namespace hintier
