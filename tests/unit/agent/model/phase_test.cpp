// SPDX-License-Identifier: Apache-2.0
#include "agent/model/phase.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

class PhaseTest : public ::testing::Test {
protected:
    // The phase a while from now, if nothing happens until then.
    Phase after(Nanos time) { return world.phases().at(pid, b.now + time)->phase; }

    void call(std::uint32_t tokens, Nanos takes) {
        (void)b.apply({.kind = EventKind::called, .call = Call::decode, .tokens = tokens}, "");
        b.now += takes;
        (void)b.apply({.kind = EventKind::returned, .call = Call::decode}, "");
    }
    // Looks the blocks up, then opens them one after the other.
    void restore(std::uint64_t first, std::uint64_t count, Nanos each) {
        for (std::uint64_t i = first; i < first + count; ++i)
            (void)b.lookup(i);
        for (std::uint64_t i = first; i < first + count; ++i) {
            b.now += each;
            (void)b.open(i, i + 100);
        }
    }

    Builder b;
    const World& world = b.world;
    std::uint32_t pid = b.pid;
};

TEST_F(PhaseTest, NobodyIsAtAnythingUntilHeard) {
    EXPECT_FALSE(world.phases().at(pid, b.now));
    EXPECT_TRUE(world.phases().all(b.now).empty());
}

TEST_F(PhaseTest, RestoresWhileWhatItFoundIsBeingOpened) {
    restore(1, 10, 10ms);
    EXPECT_EQ(after(1ms), Phase::restore);
    EXPECT_EQ(after(300ms), Phase::idle);
}

// What was looked up and not found is computed, until it is written.
TEST_F(PhaseTest, ComputesWhatItMissedAndThenWritesIt) {
    (void)b.lookup(1, false);
    EXPECT_EQ(after(50ms), Phase::prefill);
    EXPECT_EQ(after(2s), Phase::prefill);
    b.now += 2s;
    Event create{.kind = EventKind::opened, .created = true, .writing = true};
    create.file = Builder::file(11);
    create.parent = Builder::file(2);
    (void)b.apply(create, test::file_name(1) + "_1.tmp");
    EXPECT_EQ(after(50ms), Phase::offload);
    b.now += 100ms;
    (void)b.rename(1, 11);
    EXPECT_EQ(after(50ms), Phase::idle);
}

TEST_F(PhaseTest, AFileThatNeverGetsItsNameIsNotWrittenForEver) {
    Event create{.kind = EventKind::opened, .created = true, .writing = true};
    create.file = Builder::file(11);
    (void)b.apply(create, test::file_name(1) + "_1.tmp");
    EXPECT_EQ(after(1s), Phase::offload);
    EXPECT_EQ(after(10s), Phase::idle);
}

TEST_F(PhaseTest, CallsTellPromptsFromTokens) {
    call(2048, 100ms);
    EXPECT_EQ(after(0ms), Phase::prefill);
    for (int i = 0; i < 10; ++i) {
        call(1, 20ms);
        b.now += 1ms;
    }
    EXPECT_EQ(after(0ms), Phase::decode);
    EXPECT_EQ(after(200ms), Phase::idle);
}

TEST_F(PhaseTest, LoadsWhileAModelComesIn) {
    for (int i = 0; i < 100; ++i) {
        (void)b.apply({.kind = EventKind::filled, .bytes = 1 << 20}, "");
        b.now += 10ms;
    }
    EXPECT_EQ(after(0ms), Phase::load);
    EXPECT_EQ(after(400ms), Phase::idle);
}

// A drive of a tenth the speed: silence between opens means less.
TEST_F(PhaseTest, LearnsHowLongAReadTakes) {
    for (std::uint64_t round = 0; round < 5; ++round) {
        restore(1 + 100 * round, 20, 300ms);
        b.now += 5s;
    }
    for (std::uint64_t i = 900; i < 910; ++i)
        (void)b.lookup(i);
    (void)b.open(900, 1000);
    EXPECT_EQ(after(250ms), Phase::restore);
    EXPECT_EQ(after(5s), Phase::idle);
}

TEST_F(PhaseTest, SaysSinceWhen) {
    (void)b.lookup(1, false);
    const Nanos from = b.now;
    const auto view = world.phases().at(pid, from + 2s);
    ASSERT_TRUE(view);
    EXPECT_GE(view->since, from);
    EXPECT_LE(view->since, from + 50ms);
    EXPECT_GT(view->chance, 0.9);
}

TEST_F(PhaseTest, AProcessThatHasEndedIsForgotten) {
    (void)b.lookup(1, false);
    (void)b.apply({.kind = EventKind::exited}, "");
    EXPECT_FALSE(world.phases().at(pid, b.now));
}

TEST_F(PhaseTest, ProcessesAreBounded) {
    for (b.pid = 1; b.pid < 1000; ++b.pid) {
        b.now += 1ms;
        (void)b.lookup(1, false);
    }
    EXPECT_EQ(world.phases().size(), 256U);
    EXPECT_TRUE(world.phases().at(999, b.now));
}

// Any signs for any time: a belief is a distribution, and nothing is ever ruled out.
TEST(PhaseChain, BeliefIsADistribution) {
    std::mt19937 random(5);
    PhaseChain chain;
    for (int i = 0; i < 10'000; ++i) {
        std::array<bool, sign_count> signs{};
        for (bool& sign : signs)
            sign = random() % 3 == 0;
        chain.pass(double(random() % 1000) / 1000, signs, random() % 2 == 0);
        const auto& belief = chain.belief();
        EXPECT_NEAR(std::accumulate(belief.begin(), belief.end(), 0.0), 1, 0.01);
        for (const double one : belief)
            EXPECT_GE(one, 1e-5);
    }
}

// Looking changes nothing: asked often or once, the answer is the same.
TEST(Phases, LookingChangesNothing) {
    std::mt19937 random(9);
    Phases often, once;
    Nanos now = 1s;
    for (int i = 0; i < 3000; ++i) {
        now += Nanos(random() % 50'000'000);
        const std::uint64_t object = random() % 50;
        const auto apply = [&, what = random() % 5](Phases& phases) {
            switch (what) {
            case 0:
                return phases.asked(1, object, object % 2, now);
            case 1:
                return phases.opened(1, 2, object, now);
            case 2:
                return phases.begun(1, object, object, now);
            case 3:
                return phases.named(1, object, now);
            default:
                return phases.called(1, Call::decode, object % 2 ? 1 : 100, now);
            }
        };
        apply(often);
        apply(once);
        (void)often.at(1, now + 17ms);
        const auto a = often.at(1, now), b = once.at(1, now);
        ASSERT_TRUE(a && b);
        EXPECT_EQ(a->phase, b->phase);
        EXPECT_EQ(a->chance, b->chance);
    }
}

} // namespace
} // namespace hintier
