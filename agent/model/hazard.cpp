// SPDX-License-Identifier: Apache-2.0
#include "agent/model/hazard.hpp"

#include <cmath>

namespace hintier {

static_assert(Hazard::groups <= 256, "groups of a value table");

unsigned GroupKey::turn_of(unsigned number, bool fork) {
    if (number == 0) return fork ? 1 : 0;
    return number < 2 ? 2 : number < 4 ? 3 : number < 10 ? 4 : 5;
}

unsigned GroupKey::size_of(unsigned new_objects) {
    return new_objects <= 2 ? 0 : new_objects <= 8 ? 1 : new_objects <= 32 ? 2 : 3;
}

Result<void> Hazard::Config::validate() const {
    if (!(kappa >= 1 && kappa <= 100'000)) return failure("kappa is from 1 to 100000 objects");
    if (!(reads >= 1 && reads <= 100'000)) return failure("reads is from 1 to 100000 requests");
    if (!(prior > 0 && prior < 1)) return failure("prior is a probability between 0 and 1");
    if (!(memory_s >= 0)) return failure("memory must not be negative");
    return {};
}

Hazard::Hazard(const Config& config) : config_(config), cells_(groups) {}

Hazard::Group Hazard::group(const GroupKey& key) {
    return static_cast<Group>(
        ((key.ended * GroupKey::turns + key.turn) * GroupKey::sizes + key.size) * GroupKey::kinds +
        key.kind);
}

GroupKey Hazard::key(Group group) {
    GroupKey key;
    unsigned rest = group;
    key.kind = rest % GroupKey::kinds;
    rest /= GroupKey::kinds;
    key.size = rest % GroupKey::sizes;
    rest /= GroupKey::sizes;
    key.turn = rest % GroupKey::turns;
    key.ended = rest / GroupKey::turns != 0;
    return key;
}

void Hazard::fade(double seconds) {
    if (config_.memory_s <= 0) return;
    const double keep = std::exp(-seconds / config_.memory_s);
    sum_ *= keep;
    squares_ *= keep;
    for (Cells& cells : cells_) {
        for (Cell& cell : cells) {
            cell.entered *= keep;
            cell.read *= keep;
        }
    }
}

std::vector<double> Hazard::counts() const {
    std::vector<double> counts = {reads_, ages_, sum_, squares_};
    for (const Cells& cells : cells_)
        for (const Cell& cell : cells) {
            counts.push_back(cell.entered);
            counts.push_back(cell.read);
        }
    return counts;
}

bool Hazard::restore(std::span<const double> counts) {
    constexpr std::size_t head = 4;
    if (counts.size() != head + 2UL * groups * age_bins) return false;
    for (const double count : counts)
        if (!(count >= 0 && count < 1e15)) return false;
    reads_ = counts[0];
    ages_ = counts[1];
    sum_ = counts[2];
    squares_ = counts[3];
    std::size_t at = head;
    for (Cells& cells : cells_)
        for (Cell& cell : cells) {
            cell.entered = counts[at++];
            cell.read = counts[at++];
        }
    return true;
}

// A group's hazards: its parent's, times how much likelier its objects have been to be read than
// the parent's hazards say, corrected at each age by what was seen there.
Hazard::Curve Hazard::shrunk(const Cells& cells, const Curve& parent) const {
    double expected = 0;
    double read = 0;
    for (unsigned bin = 0; bin < age_bins; ++bin) {
        expected += cells[bin].entered * parent[bin];
        read += cells[bin].read;
    }
    const double weight = config_.reads * burst();
    const double kappa = config_.kappa * burst();
    const double ratio = (read + weight) / (expected + weight);
    Curve curve;
    for (unsigned bin = 0; bin < age_bins; ++bin) {
        const auto [entered, seen] = cells[bin];
        // A bin's entries are counted when it begins and its reads later: never above 1.
        curve[bin] = std::min(1.0, (seen + kappa * std::min(1.0, ratio * parent[bin])) /
                                       (std::max(entered, seen) + kappa));
    }
    return curve;
}

// All objects, ended or not. An age that nobody has reached yet: as the one before it, falling
// with its third power.
Hazard::Curve Hazard::pooled(const Cells& cells) const {
    Curve curve;
    const double kappa = config_.kappa * burst();
    double prior = config_.prior;
    for (unsigned bin = 0; bin < age_bins; ++bin) {
        const auto [entered, seen] = cells[bin];
        curve[bin] = std::min(1.0, (seen + kappa * prior) / (std::max(entered, seen) + kappa));
        if (bin + 1 < age_bins && bin > 0) {
            const double ratio = age_edges[bin] / age_edges[bin + 1];
            const double rate = curve[bin] / age_width(bin) * ratio * ratio * ratio;
            prior = std::min(0.5, std::max(config_.prior, rate * age_width(bin + 1)));
        }
    }
    return curve;
}

std::vector<Hazard::Curve> Hazard::curves() const {
    constexpr unsigned per_kind = GroupKey::kinds;
    constexpr unsigned per_turn = GroupKey::turns * GroupKey::kinds;
    std::vector<Cells> by_end(2), by_kind(2 * per_kind), by_turn(2 * per_turn);
    const auto kind_of = [](const GroupKey& key) { return key.ended * per_kind + key.kind; };
    const auto turn_of = [](const GroupKey& key) {
        return (key.ended * GroupKey::turns + key.turn) * per_kind + key.kind;
    };
    for (unsigned g = 0; g < groups; ++g) {
        const GroupKey of = key(static_cast<Group>(g));
        for (Cells* sum : {&by_end[of.ended], &by_kind[kind_of(of)], &by_turn[turn_of(of)]}) {
            for (unsigned bin = 0; bin < age_bins; ++bin) {
                (*sum)[bin].entered += cells_[g][bin].entered;
                (*sum)[bin].read += cells_[g][bin].read;
            }
        }
    }
    std::vector<Curve> all(groups), kinds(by_kind.size()), turns(by_turn.size());
    const Curve ends[2] = {pooled(by_end[0]), pooled(by_end[1])};
    for (unsigned i = 0; i < kinds.size(); ++i)
        kinds[i] = shrunk(by_kind[i], ends[i / per_kind]);
    for (unsigned i = 0; i < turns.size(); ++i)
        turns[i] = shrunk(by_turn[i], kinds[i / per_turn * per_kind + i % per_kind]);
    for (unsigned g = 0; g < groups; ++g)
        all[g] = shrunk(cells_[g], turns[turn_of(key(static_cast<Group>(g)))]);
    return all;
}

} // namespace hintier
