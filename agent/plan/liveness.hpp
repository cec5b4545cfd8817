// SPDX-License-Identifier: Apache-2.0
// Rule: what a group's objects are worth at each age, as a table for the target; made anew every
// few seconds from what has been learned. Two modes: `fast` destages everything and keeps in
// fast what will be read soonest; `wear` also drops what is not worth a program on bulk.
//
// Nothing is dropped before the model has seen enough, nor while the guard forbids it.
#pragma once

#include <optional>

#include "agent/model/liveness.hpp"
#include "agent/plan/guard.hpp"
#include "agent/plan/values.hpp"

namespace hintier {

class LivenessRule {
public:
    static constexpr std::string_view name = "liveness";

    struct Config {
        Liveness::Config model;
        ValueConfig values;
        Guard::Config guard;
        Nanos table_every = 10s;
        double warm_reads = 1000; // read again before anything is judged
        double warm_ages = 3;     // and watched for so many times the mean age at a read

        Result<void> validate() const;
    };

    explicit LivenessRule(const Config& config)
        : config_(config), model_(config.model), guard_(config.guard) {}

    // Objects are the model's indices; in the guard, which remembers longer, their ids.
    void request(Nanos now, std::span<const Liveness::Touch> chain);
    void ended(Nanos now, std::span<const Liveness::Index> chain,
               std::vector<Liveness::Index>& moved) {
        model_.ended(now, chain, moved);
    }
    // It has been dropped by the table.
    void dropped(Liveness::Index object, std::uint64_t id);
    // It was looked up or read, there or not.
    void asked(std::uint64_t id, Nanos now) { guard_.asked(id, now); }
    // The index will mean another object.
    void forget(Liveness::Index object) { model_.forget(object); }
    // What Hazard::counts() gave before, and how long had been watched then.
    bool restore(std::span<const double> counts, double watched_s);
    void restore(Nanos now, Memories& before) { model_.restore(now, before); }
    void recall(Liveness::Index object, const ObjectMemory& memory) {
        model_.recall(object, memory);
    }
    // How long requests have been seen, before restarts too.
    double watched_s(Nanos now) const {
        return watched_s_ + (first_ ? in_seconds(now - *first_) : 0);
    }
    // A new table, when it is time for one.
    const ValueTable* tick(Nanos now);

    bool drops(Nanos now) const;
    // Enough has been seen that its tables say something.
    bool warm(Nanos now) const;
    // The last table made, if there is one.
    const ValueTable* table() const { return made_ ? &table_ : nullptr; }
    const Liveness& model() const { return model_; }
    const Guard& guard() const { return guard_; }

private:
    Config config_;
    Liveness model_;
    Guard guard_;
    ValueTable table_;
    double watched_s_ = 0;       // before the restart
    std::optional<Nanos> first_; // request
    std::optional<Nanos> made_;
};

} // namespace hintier
