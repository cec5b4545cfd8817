// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <list>
#include <numeric>
#include <random>

#include "qemu/replay/generate.hpp"
#include "tests/eval/chain.hpp"
#include "tests/eval/phase.hpp"
#include "tests/eval/prefetch.hpp"
#include "tests/eval/run.hpp"

namespace hintier::eval {
namespace {

// Requests of one block each, a tenth of a second apart: no sessions, no chains.
using Draw = std::function<std::uint64_t(std::mt19937_64&, unsigned)>;

Load blocks_drawn(std::uint64_t seed, unsigned population, unsigned requests, const Draw& draw) {
    std::mt19937_64 random(seed);
    LoadBuilder builder;
    for (unsigned i = 0; i < requests; ++i) {
        const std::uint64_t id = draw(random, i);
        builder.add(i * 0.1, {&id, 1}, 1);
    }
    Load load = builder.finish(512 * (population / 20));
    load.name = "structureless";
    load.tune_until = 0;
    return load;
}

Load structureless(std::uint64_t seed, unsigned population, unsigned requests) {
    return blocks_drawn(seed, population, requests,
                        [=](auto& random, unsigned) { return random() % population; });
}

Options values(ValueConfig::Mode mode, double share) {
    Options options;
    options.policy = Policy::values;
    options.rule.values.mode = mode;
    options.fast_share = share;
    return options;
}

TEST(Load, MemoryIsAnLruOverBlocks) {
    LoadBuilder builder;
    const std::uint64_t ids[] = {7, 8, 9, 7, 8};
    for (double at = 0; const std::uint64_t& id : ids)
        builder.add(at++, {&id, 1}, 1);
    const Load load = builder.finish(2 * 512);
    EXPECT_EQ(load.unique, 3U);
    EXPECT_EQ(load.access, (std::vector<Access>{Access::written, Access::written, Access::written,
                                                Access::read, Access::read}));
}

TEST(Load, EndsAreOfTheLastRequestOfEachSession) {
    LoadBuilder builder;
    const std::vector<std::vector<std::uint64_t>> chains = {{1, 2}, {1, 2, 3}, {1, 4}};
    for (double at = 0; const auto& chain : chains)
        builder.add(at++, chain, static_cast<std::uint32_t>(chain.size()));
    const Load load = builder.finish(512 * 100);
    ASSERT_EQ(load.ends.size(), 2U);
    EXPECT_EQ(load.ends[0].request, 1U);
    EXPECT_EQ(load.ends[1].request, 2U);
    EXPECT_EQ(load.requests[0].session, load.requests[1].session);
}

TEST(Tier, WithoutATableTheLeastRecentlyUsedGoesAndIsDestaged) {
    Tier tier(2, 4);
    tier.write(0, 0);
    tier.write(1, 1);
    EXPECT_EQ(tier.read(0, 2), Tier::From::fast);
    tier.write(2, 3); // 1 goes
    EXPECT_EQ(tier.counts.bulk_writes, 1U);
    EXPECT_EQ(tier.read(1, 4), Tier::From::bulk); // 0 goes
    EXPECT_EQ(tier.read(0, 5), Tier::From::bulk); // 2 goes
    EXPECT_EQ(tier.read(1, 6), Tier::From::fast);
    EXPECT_EQ(tier.counts.bulk_writes, 3U);
    tier.write(3, 7); // 0 goes, which bulk has
    EXPECT_EQ(tier.counts.bulk_writes, 3U);
    EXPECT_EQ(tier.read(3, 8), Tier::From::fast);
}

TEST(Tier, GoesByTheTableAndTheDeepestFirst) {
    ValueTable table;
    table.rows.resize(Hazard::groups);
    table.rows[1].dirty.fill(1);
    table.rows[2].dirty.fill(2);
    table.rows[1].drop.fill(true);
    Tier tier(3, 5);
    tier.set_table(&table);
    const auto write = [&](Block block, Hazard::Group group, std::uint32_t depth) {
        tier.classify(block, group, depth, 0, 0);
        tier.write(block, 0);
    };
    write(0, 1, 5);
    write(1, 1, 6);
    write(2, 2, 9);
    write(3, 2, 0); // of the two with the lowest value the deeper goes: 1
    EXPECT_EQ(tier.read(1, 0), Tier::From::lost);
    EXPECT_TRUE(tier.in_fast(0));
    EXPECT_EQ(tier.counts.dropped, 1U);
    tier.classify(0, 2, 5, 0, 0); // worth as much as the others now: the deepest is 2
    write(4, 2, 0);
    EXPECT_FALSE(tier.in_fast(2));
    EXPECT_TRUE(tier.on_bulk(2));
    EXPECT_EQ(tier.counts.bulk_writes, 1U);
}

TEST(Tier, PinnedBlocksStayAsLongAsOthersCanGo) {
    Tier tier(2, 4);
    tier.write(0, 0);
    tier.write(1, 1);
    tier.pin(0, true);
    tier.write(2, 2);
    EXPECT_TRUE(tier.in_fast(0));
    tier.pin(2, true);
    tier.write(3, 3); // a pin is a wish
    EXPECT_TRUE(tier.in_fast(3));
    EXPECT_EQ(tier.resident(), 2U);
}

TEST(Run, LruIsLru) {
    const Load load = structureless(3, 400, 20'000);
    const std::size_t capacity = load.unique / 4;
    std::list<Block> lru;
    std::uint64_t fast = 0, reads = 0;
    for (std::size_t i = 0; i < load.blocks.size(); ++i) {
        if (load.access[i] == Access::held) continue;
        const auto at = std::find(lru.begin(), lru.end(), load.blocks[i]);
        reads += load.access[i] == Access::read;
        if (at != lru.end()) {
            ++fast;
            lru.erase(at);
        }
        lru.push_back(load.blocks[i]);
        if (lru.size() > capacity) lru.pop_front();
    }
    Options options;
    options.fast_share = 0.25;
    const Part part = run(load, options).report;
    EXPECT_EQ(part.reads, reads);
    EXPECT_EQ(part.fast, fast);
    EXPECT_EQ(part.lost, 0U);
}

TEST(Run, TheOracleIsNeverWorse) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const Load chat = generate_chat(seed, 0.15, 200'000);
        for (const Load& load : {structureless(seed, 300, 5'000), chat}) {
            for (const double share : {.02, .1, .3}) {
                const Part best = run_oracle(load, share).report;
                EXPECT_EQ(best.lost, 0U);
                Options lru;
                lru.fast_share = share;
                EXPECT_GE(fast_of(best), fast_of(run(load, lru).report));
                EXPECT_GE(fast_of(best),
                          fast_of(run(load, values(ValueConfig::Mode::fast, share)).report));
            }
        }
    }
}

TEST(Run, GivesTheSameFiguresEachTime) {
    const Load load = generate_chat(1, 0.2, 200'000);
    Options options = values(ValueConfig::Mode::wear, .05);
    options.ends_after = 60;
    options.lead = 1;
    const auto once = run(load, options), again = run(load, options);
    EXPECT_EQ(once.report.fast, again.report.fast);
    EXPECT_EQ(once.report.staged, again.report.staged);
    EXPECT_EQ(once.report.usable, again.report.usable);
    EXPECT_EQ(once.report.tier.bulk_writes, again.report.tier.bulk_writes);
    EXPECT_EQ(once.report.tier.dropped, again.report.tier.dropped);
    EXPECT_EQ(once.report.reads, once.report.fast + once.report.bulk + once.report.lost);
}

TEST(Run, FastModeLosesNothing) {
    const Load load = generate_chat(2, 0.2, 200'000);
    Options options = values(ValueConfig::Mode::fast, .05);
    options.ends_after = 60;
    const Part part = run(load, options).report;
    EXPECT_EQ(part.lost, 0U);
    EXPECT_EQ(part.tier.dropped, 0U);
    EXPECT_EQ(part.usable, part.reads);
}

TEST(Run, TheModelBeatsLruOnChatAndEndsHelpMore) {
    const Load load = generate_chat(1, 0.5, 3'000'000);
    Options options = values(ValueConfig::Mode::fast, .10);
    const double alone = fast_of(run(load, options).report);
    options.ends_after = 60;
    const double ends = fast_of(run(load, options).report);
    options.policy = Policy::lru;
    const double lru = fast_of(run(load, options).report);
    EXPECT_GT(alone, lru + .05);
    EXPECT_GT(ends, alone + .05);
}

constexpr unsigned blocks = 600;

// Loads with nothing to learn, with something else to learn than what the model is about, and with
// a habit that turns into another one when it has been learned.
std::vector<std::pair<std::string, Draw>> structureless_loads() {
    const auto zipf = [](double power) {
        std::vector<double> weights;
        for (unsigned i = 1; i <= blocks; ++i)
            weights.push_back(std::pow(i, -power));
        return std::discrete_distribution<std::uint64_t>(weights.begin(), weights.end());
    };
    const auto drift = [](auto& random, unsigned i) { return i / 20 + random() % (blocks / 4); };
    return {
        {"uniform", [](auto& random, unsigned) { return random() % blocks; }},
        {"zipf 1", [z = zipf(1)](auto& random, unsigned) mutable { return z(random); }},
        {"zipf .6", [z = zipf(.6)](auto& random, unsigned) mutable { return z(random); }},
        {"loop", [](auto&, unsigned i) { return i % blocks; }},
        {"loop and hot",
         [](auto& random, unsigned i) {
             return random() % 4 ? blocks / 10 + i % blocks : random() % (blocks / 10);
         }},
        {"dataset",
         [order = std::vector<unsigned>(blocks)](auto& random, unsigned i) mutable {
             if (i == 0) std::iota(order.begin(), order.end(), 0);
             if (i % blocks == 0) std::shuffle(order.begin(), order.end(), random);
             return order[i % blocks];
         }},
        {"drift", drift},
        {"once only",
         [](auto& random, unsigned i) { return random() % 3 ? 1'000'000 + i : random() % blocks; }},
        {"drift, then uniform",
         [=](auto& random, unsigned i) {
             return i / 3'000 % 2 ? random() % blocks : drift(random, i);
         }},
        {"drift, then loop",
         [=](auto& random, unsigned i) {
             return i / 3'000 % 2 ? i % (blocks / 2) : drift(random, i);
         }},
    };
}

// Where there is nothing to learn, nothing must be lost by trying: no less from fast and no more
// written than by LRU that destages everything, and of what is dropped no more asked for than the
// guard lets pass. A price that the load does not bear may cost hits, which is what it says, but
// must not cost data beyond that.
TEST(Run, AStructurelessLoadIsServedAsByLru) {
    for (const auto& [name, draw] : structureless_loads()) {
        SCOPED_TRACE(name);
        const Load load = blocks_drawn(1, blocks, 9'000, draw);
        Options lru;
        lru.fast_share = .2;
        const Part base = run(load, lru).report;
        const Part fast = run(load, values(ValueConfig::Mode::fast, .2)).report;
        EXPECT_GE(fast_of(fast), fast_of(base) - .01);
        EXPECT_LE(x_of(fast), x_of(base) * 1.01);
        EXPECT_EQ(fast.lost, 0U);
        for (const double price : {.05, .3}) {
            Options wear = values(ValueConfig::Mode::wear, .2);
            wear.rule.values.price = price;
            const Outcome outcome = run(load, wear);
            const Part& part = outcome.report;
            if (price == .05) {
                EXPECT_GE(fast_of(part), fast_of(base) - .01);
            }
            EXPECT_LE(x_of(part), x_of(base) * 1.01) << price;
            EXPECT_GE(served_of(part), .95) << price;
            const Guard::Config guard;
            EXPECT_LE(
                static_cast<double>(outcome.ghosts_read),
                guard.tolerance * outcome.promised +
                    (outcome.guard_trips + 1) *
                        (guard.enough + guard.deviations * std::sqrt(double(outcome.ghosts_read))))
                << price;
        }
    }
}

// Blocks that nobody goes back to, until everybody does, and a rule that does not wait to see it:
// the guard must speak, and less must be lost than under one that lets everything pass.
TEST(Run, TheGuardEndsWhatTheModelDidNotForesee) {
    const auto draw = [](auto&, unsigned i) -> std::uint64_t {
        if (i < 12'000) return i % 10 < 3 ? i % 40 : 1'000 + i;
        return 7'000 + i % 6'000;
    };
    Load load = blocks_drawn(1, 800, 24'000, draw);
    load.tune_until = 1'200; // when it turns
    Options wear = values(ValueConfig::Mode::wear, .05);
    wear.rule.values.price = .1;
    wear.rule.warm_reads = wear.rule.warm_ages = 0;
    const Outcome guarded = run(load, wear);
    wear.rule.guard.tolerance = 100;
    const Outcome careless = run(load, wear);
    EXPECT_GE(guarded.guard_trips, 1U);
    EXPECT_EQ(careless.guard_trips, 0U);
    EXPECT_LT(guarded.report.tier.dropped, careless.report.tier.dropped * .7);
    EXPECT_LT(guarded.report.lost, careless.report.lost * .95);
}

// Two chains that share their head, the second of them used last, through a memory of one block.
TEST(Chain, FollowsTheNewestAndCountsWhatNobodyWanted) {
    LoadBuilder builder;
    const std::vector<std::vector<std::uint64_t>> chains = {{1, 2, 3, 4}, {1, 2, 5}, {9},
                                                            {1, 2, 5},    {9},       {1, 2, 3, 4}};
    for (double at = 0; const auto& chain : chains)
        builder.add(at += 10, chain, static_cast<std::uint32_t>(chain.size()));
    Load load = builder.finish(512);
    load.tune_until = 35; // the last three
    const ChainPart part = run_chain(load, from_first_read(), Reader::one_by_one, false).report;
    EXPECT_EQ(part.requests, 2U);
    // 1, 2, 5 is known from its first block; of 1, 2, 3, 4 the rule thinks that 5 comes after 2,
    // and sees that 4 follows when 3 is opened.
    EXPECT_EQ(part.further, 2U + 3U);
    EXPECT_EQ(part.covered, 2U + 2U);
    EXPECT_EQ(part.whole, 1U);
    EXPECT_EQ(part.wasted, 1U);
}

// A second turn follows blocks that memory has: no lookup tells of it, the server's KV events do.
TEST(Chain, KvEventsTellWhatFollowsWhatMemoryHas) {
    LoadBuilder builder;
    const std::vector<std::vector<std::uint64_t>> chains = {
        {1, 2}, {1, 2, 3, 4}, {8, 9}, {10, 11}, {1, 2, 3, 4}};
    for (double at = 0; const auto& chain : chains)
        builder.add(at += 10, chain, static_cast<std::uint32_t>(chain.size()));
    Load load = builder.finish(4 * 512);
    load.tune_until = 0;
    const auto covered = [&](bool told) {
        return run_chain(load, from_first_read(), Reader::one_by_one, told).report.covered;
    };
    EXPECT_EQ(covered(false), 2U); // 2, and 4 once 3 is opened
    EXPECT_EQ(covered(true), 3U);
}

// A chain of six that has left fast, read again by one reader.
TEST(Prefetch, CountsHowFetchesEnd) {
    LoadBuilder builder;
    std::vector<std::vector<std::uint64_t>> chains = {{1, 2, 3, 4, 5, 6}};
    for (std::uint64_t i = 0; i < 40; ++i)
        chains.push_back({100 + i});
    chains.push_back({1, 2, 3, 4, 5, 6});
    for (double at = 0; const auto& chain : chains)
        builder.add(at += 10, chain, static_cast<std::uint32_t>(chain.size()));
    Load load = builder.finish(512);
    load.tune_until = 0;
    PrefetchOptions options;
    options.fast_share = .1;
    const PrefetchPart none = run_prefetch(load, options).report;
    EXPECT_EQ(none.slow, 6U);
    EXPECT_EQ(none.recall(), 0);
    EXPECT_NEAR(none.reading_s, 6 * .045, 1e-9);
    options.chain = true;
    const PrefetchPart chain = run_prefetch(load, options).report;
    EXPECT_EQ(chain.timely + chain.late, 5U) << "all but the first lookup's";
    EXPECT_EQ(chain.unused, 0U);
    EXPECT_LT(chain.reading_s, none.reading_s / 2);
    options.chain = false;
    options.lead = 1;
    const PrefetchPart announced = run_prefetch(load, options).report;
    EXPECT_EQ(announced.timely, 6U);
    EXPECT_NEAR(announced.reading_s, 6 * .006, 1e-9);
}

TEST(Phase, IsSeenByFilesAndCalls) {
    const auto trace = replay::generate_trace(1, 0.1);
    PhaseOptions options;
    options.load_s = 5;
    options.until_s = 100;
    options.memory_tokens = 300'000;
    const PhaseOutcome files = run_phase(trace, options);
    EXPECT_GT(files.right(true), 0.9);
    EXPECT_LT(files.right(false), files.right(true)) << "files cannot tell decode from idle";
    options.calls = true;
    const PhaseOutcome calls = run_phase(trace, options);
    EXPECT_GT(calls.right(false), 0.9);
    EXPECT_GT(calls.changes, 50U);
    EXPECT_GT(ratio(calls.seen, calls.changes), 0.9);
}

} // namespace
} // namespace hintier::eval
