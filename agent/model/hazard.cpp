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
    if (!(prior > 0 && prior < 1)) return failure("prior is a probability between 0 and 1");
    if (!(memory_s >= 0)) return failure("memory must not be negative");
    return {};
}

Hazard::Hazard(const Config& config) : config_(config), cells_(groups * age_bins) {}

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
    for (Cell& cell : cells_) {
        cell.entered *= keep;
        cell.read *= keep;
    }
}

std::vector<Hazard::Curve> Hazard::curves() const {
    std::vector<Curve> all(groups);
    double prior[2] = {config_.prior, config_.prior};
    for (unsigned bin = 0; bin < age_bins; ++bin) {
        Cell by_end[2]{};
        Cell by_kind[2][GroupKey::kinds]{};
        Cell by_turn[2][GroupKey::turns][GroupKey::kinds]{};
        const auto add = [](Cell& to, const Cell& from) {
            to.entered += from.entered;
            to.read += from.read;
        };
        for (unsigned g = 0; g < groups; ++g) {
            const GroupKey of = key(static_cast<Group>(g));
            const Cell& cell = at(static_cast<Group>(g), bin);
            add(by_end[of.ended], cell);
            add(by_kind[of.ended][of.kind], cell);
            add(by_turn[of.ended][of.turn][of.kind], cell);
        }
        const auto shrink = [&](const Cell& cell, double parent) {
            // A bin's entries are counted when it begins and its reads later: never above 1.
            return std::min(1.0, (cell.read + config_.kappa * parent) /
                                     (std::max(cell.entered, cell.read) + config_.kappa));
        };
        // An age that nobody has reached yet: as the one before it, falling with its third power.
        double pooled[2];
        for (unsigned ended = 0; ended < 2; ++ended) {
            pooled[ended] = shrink(by_end[ended], prior[ended]);
            if (bin + 1 < age_bins && bin > 0) {
                const double ratio = age_edges[bin] / age_edges[bin + 1];
                const double rate = pooled[ended] / age_width(bin) * ratio * ratio * ratio;
                prior[ended] = std::min(0.5, std::max(config_.prior, rate * age_width(bin + 1)));
            }
        }
        for (unsigned g = 0; g < groups; ++g) {
            const GroupKey of = key(static_cast<Group>(g));
            double h = pooled[of.ended];
            h = shrink(by_kind[of.ended][of.kind], h);
            h = shrink(by_turn[of.ended][of.turn][of.kind], h);
            all[g][bin] = shrink(at(static_cast<Group>(g), bin), h);
        }
    }
    return all;
}

} // namespace hintier
