// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/guard.hpp"

#include <algorithm>
#include <cmath>

namespace hintier {

Result<void> Guard::Config::validate() const {
    if (!(tolerance >= 1 && tolerance <= 100)) return failure("tolerance is from 1 to 100");
    if (!(deviations >= 0 && deviations <= 100)) return failure("deviations is from 0 to 100");
    if (together < 0ns) return failure("together must not be negative");
    if (enough < 1) return failure("enough must be more than 0");
    if (ghosts < 1 || ghosts > 4'000'000) return failure("ghosts is from 1 to 4000000");
    if (pause <= 0ns) return failure("pause must be more than 0");
    if (pause_most < pause) return failure("pause_most is at least `pause`");
    return {};
}

void Guard::dropped(std::uint64_t object, double promise) {
    const std::uint32_t drop = ++drops_;
    ghosts_.insert_or_assign(object, drop);
    order_.emplace_back(object, drop);
    while (order_.size() > config_.ghosts) {
        const auto [oldest, which] = order_.front();
        order_.pop_front();
        const auto it = ghosts_.find(oldest);
        if (it != ghosts_.end() && it->second == which) ghosts_.erase(it);
    }
    promised_ += promise;
    promised_all_ += promise;
}

void Guard::asked(std::uint64_t object, Nanos now) {
    if (ghosts_.erase(object)) {
        if (now - latest_at_ > config_.together) {
            squares_ += latest_ * latest_;
            latest_ = 0;
        }
        latest_ += 1;
        latest_at_ = now;
        lost_ += 1;
        ++lost_all_;
    }
    if (++asked_ >= config_.enough) {
        asked_ = 0;
        judge(now);
    }
}

void Guard::judge(Nanos now) {
    if (!allows(now)) return;
    const double deviation = std::sqrt(squares_ + latest_ * latest_);
    if (lost_ > config_.tolerance * promised_ + config_.deviations * deviation) {
        const auto pause =
            std::min(config_.pause_most, config_.pause * (1 << std::min(trips_, 10U)));
        ++trips_;
        until_ = now + pause;
        lost_ = promised_ = squares_ = latest_ = 0;
        ghosts_.clear(); // what is destaged from now on is judged anew
        order_.clear();
    }
}

} // namespace hintier
