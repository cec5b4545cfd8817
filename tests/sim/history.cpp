// SPDX-License-Identifier: Apache-2.0
#include "sim/history.hpp"

#include <algorithm>
#include <memory>

#include <hintier/types.h>

namespace hintier::sim {

namespace {

constexpr uint64_t CUTS_TRIED = 24; // by a history that is being shrunk
constexpr uint64_t CHECK_EVERY = 16;

// What a cut after this step loses.
uint64_t cut_number(uint64_t seed, uint64_t step) {
    return mix(seed ^ 0xc07, step);
}

struct Key {
    const char* name;
    uint32_t (*get)(const Options&);
    void (*set)(Options&, uint32_t);
};

#define KEY(member)                                                                                \
    {                                                                                              \
#member, [](const Options& o) { return uint32_t{o.member}; },                              \
            [](Options& o, uint32_t value) { o.member = decltype(o.member)(value); }       \
    }

constexpr Key KEYS[] = {
    KEY(mode),       KEY(cached),  KEY(errors), KEY(stalls),  KEY(passes),     KEY(reloads),
    KEY(extents),    KEY(sectors), KEY(slots),  KEY(reserve), KEY(per_sector), KEY(hot),
    KEY(fua),        KEY(discard), KEY(read),   KEY(small),   KEY(commit),     KEY(flush),
    KEY(background), KEY(fill),    KEY(hint),   KEY(lost),    KEY(bad),        KEY(grow),
    KEY(dying),      KEY(images),
};

} // namespace

// Every history is of another kind: what is rare in all of them together is frequent in some.
Options options_of(uint64_t seed) {
    Dice dice(mix(seed, 77));
    const auto one_of = [&dice](auto... values) {
        const uint32_t all[] = {uint32_t(values)...};
        return all[dice.below(sizeof...(values))];
    };
    Options o;
    o.mode = uint8_t(one_of(HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITEBACK,
                            HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITETHROUGH,
                            HINTIER_MODE_WRITEAROUND));
    o.cached = dice.chance(70);
    o.errors = dice.chance(30);
    o.stalls = dice.chance(25);
    o.passes = dice.chance(70);
    o.reloads = dice.chance(50);
    o.sectors = dice.chance(6) ? 256 : 128;
    o.slots = one_of(3, 4, 5, 6, 8);
    o.extents = o.slots + one_of(1, 2, 4, 6);
    o.reserve = one_of(100, 300, 500);
    o.per_sector = one_of(1, 2, 3, 8);
    o.hot = one_of(1, 2, 3, 4);
    o.fua = one_of(0, 10, 40);
    o.discard = one_of(0, 8, 25);
    o.read = one_of(15, 40, 60);
    o.small = one_of(0, 25, 60);
    o.commit = one_of(4, 8, 16);
    o.flush = one_of(0, 2, 6);
    o.background = one_of(2, 6, 12);
    o.fill = one_of(0, 20, 60);
    o.hint = one_of(0, 3, 12);
    o.lost = one_of(2, 4, 8);
    o.bad = one_of(0, 0, 0, 1, 3);
    o.grow = one_of(0, 0, 0, 3);
    o.dying = dice.chance(20);
    o.images = dice.chance(50);
    return o;
}

std::string describe(const Options& options) {
    std::string text;
    for (const Key& key : KEYS)
        text += (text.empty() ? "" : ",") + std::string(key.name) + "=" +
                std::to_string(key.get(options));
    return text;
}

bool set_option(Options& options, const std::string& key, uint32_t value) {
    for (const Key& k : KEYS)
        if (key == k.name) {
            k.set(options, value);
            return true;
        }
    return false;
}

Steps steps_of(uint64_t seed, uint64_t from, uint64_t to) {
    Steps steps;
    for (uint64_t number = from; number <= to; number++)
        steps.push_back({number, mix(seed, number)});
    return steps;
}

// Two of three histories are short and cut at every step, the third is long.
Plan plan_of(uint64_t seed) {
    if (seed % 3) return {.steps = 400, .every = 1, .sparse = 0};
    return {.steps = 4000, .every = 3800, .sparse = 10};
}

bool explore(uint64_t seed, const Options& options, const Plan& plan, Totals& totals,
             Violation& ret) {
    Sim sim(options), after(options);
    const auto failed = [&](const Sim& which, uint64_t step, bool cut) {
        ret = {seed, step, cut, which.failure()};
        totals.violations++;
    };
    totals.histories++;
    for (uint64_t step = 1; step <= plan.steps && sim.ok(); step++) {
        const uint64_t dice = mix(seed, step);
        sim.step(step, dice);
        if (step % CHECK_EVERY == 0 || step == plan.steps) sim.check();
        totals.steps++;
        if (!sim.ok()) break;
        if (step < plan.every && (!plan.sparse || mix(dice, 5) % plan.sparse)) continue;
        after.crash_of(sim, cut_number(seed, step));
        if (after.ok()) after.prove();
        totals.crash_points++;
        if (!after.ok()) {
            failed(after, step, true);
            break;
        }
    }
    if (sim.ok() && after.ok()) {
        sim.settle();
        if (sim.ok()) sim.read_everything();
        if (sim.ok()) sim.prove();
    }
    if (!sim.ok()) failed(sim, sim.number(), false);
    totals.counts.add(sim.counts);
    totals.counts.add_kept(after.counts);
    return sim.ok() && after.ok();
}

void Totals::add(const Totals& other) {
    histories += other.histories;
    steps += other.steps;
    crash_points += other.crash_points;
    violations += other.violations;
    counts.add(other.counts);
}

std::string replay_steps(const Options& options, const Steps& steps, const Violation& violation,
                         bool verbose) {
    Sim sim(options);
    sim.verbose = verbose;
    for (const Step& s : steps) {
        sim.step(s.number, s.dice);
        if (!sim.ok()) return sim.failure();
    }
    sim.check();
    if (!sim.ok()) return sim.failure();
    if (!violation.cut) {
        sim.settle();
        if (sim.ok()) sim.read_everything();
        if (sim.ok()) sim.prove();
        return sim.failure();
    }
    for (uint64_t n = 0; n < CUTS_TRIED; n++) {
        Sim after(options);
        after.verbose = verbose;
        after.crash_of(sim, cut_number(violation.seed, violation.until + n));
        if (after.ok()) after.prove();
        if (!after.ok()) return after.failure();
    }
    return {};
}

Steps shrink(const Options& options, const Violation& violation, std::string& ret_what) {
    Steps steps = steps_of(violation.seed, 1, violation.until);
    ret_what = replay_steps(options, steps, violation);
    if (ret_what.empty()) return steps;
    for (size_t piece = steps.size() / 2; piece; piece /= 2) {
        for (size_t at = 0; at < steps.size();) {
            Steps fewer(steps.begin(), steps.begin() + long(at));
            const size_t end = std::min(steps.size(), at + piece);
            fewer.insert(fewer.end(), steps.begin() + long(end), steps.end());
            const std::string what = replay_steps(options, fewer, violation);
            if (what.empty()) {
                at += piece;
            } else {
                steps = std::move(fewer);
                ret_what = what;
            }
        }
    }
    return steps;
}

} // namespace hintier::sim
