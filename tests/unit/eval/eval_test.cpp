// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <list>
#include <random>

#include "tests/eval/chain.hpp"
#include "tests/eval/run.hpp"

namespace hintier::eval {
namespace {

// Requests of one block each, a second apart: no sessions, no chains.
Load structureless(std::uint64_t seed, unsigned population, unsigned requests) {
    std::mt19937_64 random(seed);
    LoadBuilder builder;
    for (unsigned i = 0; i < requests; ++i) {
        const std::uint64_t id = random() % population;
        builder.add(i * 0.1, {&id, 1}, 1);
    }
    Load load = builder.finish(512 * (population / 20));
    load.name = "structureless";
    load.tune_until = 0;
    return load;
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

// Where there is nothing to learn, nothing must be lost by trying.
TEST(Run, AStructurelessLoadIsServedAsByLru) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const Load load = structureless(seed, 2'000, 30'000);
        Options lru;
        lru.fast_share = .1;
        const Part base = run(load, lru).report;
        const Part fast = run(load, values(ValueConfig::Mode::fast, .1)).report;
        EXPECT_GE(fast_of(fast), fast_of(base) - .01) << seed;
        EXPECT_LE(x_of(fast), x_of(base) * 1.01) << seed;
        Options wear = values(ValueConfig::Mode::wear, .1);
        wear.rule.values.price = .3; // a price that the load does not bear
        const Part part = run(load, wear).report;
        EXPECT_GE(served_of(part), .99) << seed;
        EXPECT_GE(fast_of(part), fast_of(base) - .01) << seed;
        EXPECT_LE(x_of(part), x_of(base) * 1.01) << seed;
    }
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
    const ChainPart part = run_chain(load, from_first_read(), Reader::one_by_one).report;
    EXPECT_EQ(part.requests, 2U);
    // 1, 2, 5 is known from its first block; of 1, 2, 3, 4 the rule thinks that 5 comes after 2,
    // and sees that 4 follows when 3 is opened.
    EXPECT_EQ(part.further, 2U + 3U);
    EXPECT_EQ(part.covered, 2U + 2U);
    EXPECT_EQ(part.whole, 1U);
    EXPECT_EQ(part.wasted, 1U);
}

} // namespace
} // namespace hintier::eval
