// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/restore.hpp"

namespace hintier {

namespace {

// Of a new answer, in the mean: a server's speed depends on what else it does.
constexpr double weight = 0.25;

} // namespace

void RestoreRule::told(std::uint32_t root, std::uint64_t bytes, Nanos recompute, Nanos now) {
    if (bytes == 0 || recompute <= 0ns) return;
    if (root >= words_.size()) words_.resize(root + 1);
    Word& word = words_[root];
    const double rate =
        static_cast<double>(bytes) / std::chrono::duration<double>(recompute).count();
    const bool holds = word.rate > 0 && now - word.at <= word_holds;
    word.rate = holds ? word.rate + weight * (rate - word.rate) : rate;
    word.at = now;
}

double RestoreRule::recompute(const World& world, std::uint32_t root, Nanos now) const {
    if (root < world.roots().size() && world.roots()[root].recompute) {
        return static_cast<double>(world.roots()[root].recompute);
    }
    if (root >= words_.size() || now - words_[root].at > word_holds) return 0;
    return words_[root].rate;
}

bool RestoreRule::dearer(const World& world, std::uint32_t root, Nanos now) {
    if (!config_.skip || recompute(world, root, now) <= rate_.bytes_per_second()) return false;
    if (++since_trial_ >= trial) {
        since_trial_ = 0;
        return false;
    }
    ++skipped_;
    return true;
}

} // namespace hintier
