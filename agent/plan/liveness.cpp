// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/liveness.hpp"

namespace hintier {

Result<void> LivenessRule::Config::validate() const {
    if (auto ok = model.validate(); !ok) return ok;
    if (auto ok = values.validate(); !ok) return ok;
    if (auto ok = guard.validate(); !ok) return ok;
    if (table_every < 1s || table_every > 1h) return failure("table_every is from 1s to 1h");
    if (!(warm_reads >= 0)) return failure("warm_reads must not be negative");
    if (!(warm_ages >= 0)) return failure("warm_ages must not be negative");
    return {};
}

void LivenessRule::request(Nanos now, std::span<const Liveness::Touch> chain) {
    if (!first_) first_ = now;
    model_.request(now, chain);
}

bool LivenessRule::restore(std::span<const double> counts, double watched_s) {
    if (!model_.restore(counts)) return false;
    watched_s_ = watched_s >= 0 && watched_s < 1e15 ? watched_s : 0;
    return true;
}

void LivenessRule::dropped(Liveness::Index object, std::uint64_t id) {
    guard_.dropped(id, config_.values.price);
    model_.lost(object);
}

const ValueTable* LivenessRule::tick(Nanos now) {
    if (made_ && now - *made_ < config_.table_every) return nullptr;
    made_ = now;
    model_.advance(now);
    ValueConfig values = config_.values;
    if (!drops(now)) values.keep = Keep::all;
    table_ = make_values(model_.hazard(), values);
    return &table_;
}

bool LivenessRule::drops(Nanos now) const {
    return config_.values.mode == ValueConfig::Mode::wear && warm(now) && guard_.allows(now);
}

bool LivenessRule::warm(Nanos now) const {
    const Hazard& hazard = model_.hazard();
    return (first_ || watched_s_ > 0) && hazard.reads() >= config_.warm_reads &&
           watched_s(now) >= config_.warm_ages * hazard.mean_read_age();
}

} // namespace hintier
