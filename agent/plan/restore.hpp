// SPDX-License-Identifier: Apache-2.0
// Restore or recompute: is reading a prefix back faster than computing it again?
//
//   restore time   = bytes / rate
//   recompute time = bytes / recompute
//
// `rate` is the best that readers of KV have got lately: samples of bytes read are turned into a
// rate, and the highest fades with a half-life. While nothing is read it goes back to what the
// operator says. A light load cannot show what the drives could do, so the estimate is never below
// half of that; and a reader that is alone at queue depth 1 gets less than this says.
//
// `recompute` is of a root, since it is of a model and its machine: given by the operator, or
// learned from the questions that its server asks. What is not known is never faster.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"
#include "agent/model/world.hpp"

namespace hintier {

struct RestoreConfig {
    std::uint64_t rate = 3ULL << 30; // bytes a second, until it has been seen
    Nanos half_life = 60s;
    bool skip = true; // nothing is fetched ahead that is faster to compute

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
            const double seen = static_cast<double>(total - last_total_) / seconds;
            const double rest = total == last_total_ ? told() : 0;
            best_ = std::max(rest + (best_ - rest) * std::exp2(-half_lives), seen);
        }
        last_total_ = total;
        last_at_ = now;
    }

    double bytes_per_second() const { return std::max(best_, told() / 2); }

    Nanos time_for(std::uint64_t bytes) const {
        return std::chrono::duration_cast<Nanos>(
            std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second()));
    }

private:
    double told() const { return static_cast<double>(config_.rate); }

    RestoreConfig config_;
    double best_ = told();
    std::uint64_t last_total_ = 0;
    Nanos last_at_{};
};

// Rule: nothing is fetched ahead for a root whose server computes it faster. One decision in
// `trial` goes the other way, so that it shows what readers get when they are helped.
class RestoreRule {
public:
    static constexpr std::string_view name = "restore";
    static constexpr unsigned trial = 16;
    static constexpr Nanos word_holds = 10min; // a server's, on its own speed

    RestoreRule(const RestoreConfig& config) : config_(config), rate_(config) {}

    void sample(std::uint64_t total, Nanos now) { rate_.sample(total, now); }
    // A server says that it computes so many bytes in that time.
    void told(std::uint32_t root, std::uint64_t bytes, Nanos recompute, Nanos now);

    const RestoreRate& rate() const { return rate_; }
    // Bytes a second that the root's server computes; 0: not known.
    double recompute(const World& world, std::uint32_t root, Nanos now) const;
    // Is what is about to be fetched ahead below this root better computed? Counts.
    bool dearer(const World& world, std::uint32_t root, Nanos now);
    std::uint64_t skipped() const { return skipped_; } // decisions not to fetch

private:
    struct Word {
        double rate = 0;
        Nanos at{};
    };

    RestoreConfig config_;
    RestoreRate rate_;
    std::vector<Word> words_; // by root
    std::uint64_t skipped_ = 0;
    unsigned since_trial_ = 0;
};

} // namespace hintier
