// SPDX-License-Identifier: Apache-2.0
//
// Pins: what is pinned, by whom, for how long, and how much of it there may be.

#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "host/small_map.hpp"
#include "pin.h"

namespace hintier::test {
namespace {

constexpr ht_pin_quota MUCH{1000000, 1000000};

struct Pins {
    std::unique_ptr<ht_pins> pins = std::make_unique<ht_pins>();

    int add(u64 owner, u32 from, u32 to, u32 until = 100, ht_pin_quota quota = MUCH) {
        return ht_pins_add(pins.get(), owner, from, to, until, &quota);
    }
    int remove(u64 owner, u32 from, u32 to) { return ht_pins_remove(pins.get(), owner, from, to); }
    bool pinned(u32 extent) const { return ht_pinned(pins.get(), extent); }
    u64 charged(u64 owner = 0) const { return ht_pins_charged(pins.get(), owner); }
};

TEST(Pin, HoldsItsRangeUntilItEnds) {
    Pins p;
    ASSERT_EQ(p.add(1, 10, 20), 0);
    EXPECT_FALSE(p.pinned(9));
    EXPECT_TRUE(p.pinned(10));
    EXPECT_TRUE(p.pinned(19));
    EXPECT_FALSE(p.pinned(20));
    EXPECT_FALSE(ht_pins_expire(p.pins.get(), 99));
    EXPECT_TRUE(p.pinned(10));
    EXPECT_TRUE(ht_pins_expire(p.pins.get(), 100));
    EXPECT_FALSE(p.pinned(10));
    EXPECT_EQ(p.charged(), 0U);
}

TEST(Pin, TimesWrap) {
    Pins p;
    ASSERT_EQ(p.add(1, 0, 1, 5), 0);
    EXPECT_FALSE(ht_pins_expire(p.pins.get(), 0xfffffff0U));
    EXPECT_TRUE(ht_pins_expire(p.pins.get(), 6));
}

TEST(Pin, OneOwnersOverlapsAreOnePin) {
    Pins p;
    ASSERT_EQ(p.add(1, 10, 20), 0);
    ASSERT_EQ(p.add(1, 15, 25), 0);
    EXPECT_EQ(p.charged(1), 15U);
    EXPECT_EQ(p.pins->count, 1U) << "they continue each other";
    ASSERT_EQ(p.add(1, 12, 14, 200), 0) << "a part, for longer";
    EXPECT_EQ(p.charged(1), 15U);
    EXPECT_TRUE(ht_pins_expire(p.pins.get(), 100));
    EXPECT_TRUE(p.pinned(12));
    EXPECT_FALSE(p.pinned(11));
    EXPECT_EQ(p.charged(1), 2U);
}

TEST(Pin, OwnersDoNotSeeEachOther) {
    Pins p;
    ASSERT_EQ(p.add(1, 10, 20), 0);
    ASSERT_EQ(p.add(2, 15, 25), 0);
    EXPECT_EQ(p.charged(), 20U) << "charged to each";
    EXPECT_EQ(p.remove(1, 0, 100), 0);
    EXPECT_FALSE(p.pinned(14));
    EXPECT_TRUE(p.pinned(15));
    EXPECT_FALSE(ht_pins_end(p.pins.get(), 1));
    EXPECT_TRUE(ht_pins_end(p.pins.get(), 2));
    EXPECT_EQ(p.pins->count, 0U);
}

TEST(Pin, QuotasAndTheTableAreBounds) {
    Pins p;
    const ht_pin_quota quota{10, 6};
    ASSERT_EQ(p.add(1, 0, 6, 100, quota), 0);
    EXPECT_EQ(p.add(1, 6, 7, 100, quota), -ENOSPC) << "the owner's";
    EXPECT_EQ(p.add(1, 2, 6, 200, quota), 0) << "nothing more than it has";
    ASSERT_EQ(p.add(2, 0, 4, 100, quota), 0);
    EXPECT_EQ(p.add(3, 50, 51, 100, quota), -ENOSPC) << "all of it";
    EXPECT_EQ(p.charged(), 10U);

    Pins full;
    for (u32 i = 0; i < HT_PINS; i++)
        ASSERT_EQ(full.add(1, 4 * i, 4 * i + 3), 0);
    EXPECT_EQ(full.add(2, 0, 1), -ENOSPC);
    EXPECT_EQ(full.remove(1, 1, 2), -ENOSPC) << "it would be two";
    EXPECT_TRUE(full.pinned(1));
    EXPECT_EQ(full.add(1, 0, 3, 200), 0) << "in the place of another";
    EXPECT_EQ(full.remove(1, 0, 4 * HT_PINS), 0);
    EXPECT_EQ(full.pins->count, 0U);
}

// Against one that keeps a time for each extent of each owner.
TEST(Pin, AreAsANaiveTableOfExtents) {
    constexpr u32 EXTENTS = 40, OWNERS = 3;
    std::mt19937 random(7);
    auto below = [&](u32 n) { return u32(random() % n); };
    Pins p;
    std::map<std::pair<u64, u32>, u32> naive;
    const ht_pin_quota quota{60, 25};
    u32 now = 0;
    auto charged = [&](u64 owner) {
        u64 n = 0;
        for (const auto& [key, until] : naive)
            n += !owner || key.first == owner;
        return n;
    };

    for (int i = 0; i < 20000; i++) {
        const u64 owner = 1 + below(OWNERS);
        const u32 from = below(EXTENTS), to = from + 1 + below(EXTENTS - from);
        const u32 until = now + 1 + below(50);
        switch (below(5)) {
        case 0:
            now += below(10);
            ht_pins_expire(p.pins.get(), now);
            std::erase_if(naive, [&](const auto& one) { return one.second <= now; });
            break;
        case 1:
            ASSERT_EQ(p.remove(owner, from, to), 0);
            for (u32 e = from; e < to; e++)
                naive.erase({owner, e});
            break;
        default: {
            auto then = naive;
            for (u32 e = from; e < to; e++)
                then[{owner, e}] = until;
            std::swap(naive, then);
            const bool fits = charged(0) <= quota.all && charged(owner) <= quota.owner;
            if (!fits) std::swap(naive, then);
            ASSERT_EQ(p.add(owner, from, to, until, quota), fits ? 0 : -ENOSPC) << i;
        }
        }
        for (u64 o = 0; o <= OWNERS; o++)
            ASSERT_EQ(p.charged(o), charged(o)) << i;
        for (u32 e = 0; e < EXTENTS; e++) {
            bool any = false;
            for (u64 o = 1; o <= OWNERS; o++)
                any |= naive.contains({o, e});
            ASSERT_EQ(p.pinned(e), any) << i << " extent " << e;
        }
    }
}

// ---- in the engine ----------------------------------------------------------------------------

struct Pinned {
    SmallMap m;
    Pins p;

    Pinned() {
        m.engine.pins = p.pins.get();
        m.engine.tune.reserve = 500;
        m.engine.tune.pins = 90;
        m.engine.tune.pins_one = 90;
        for (u32 slot = 0; slot < SmallMap::SLOTS; slot++) {
            m.slot(slot).extent = slot;
            ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
        }
    }
    // The slot that goes next; HT_NIL if none does.
    u32 victim(u32 now = 0) {
        ht_situation s{};
        s.now = now;
        u32 slot = HT_NIL;
        for (;;) {
            const ht_work work = ht_engine_next(&m.engine, &s, &slot);
            if (work == HT_WORK_EVICT) return slot;
            if (work != HT_WORK_SORT) return HT_NIL;
        }
    }
};

TEST(PinnedSlots, StayUntilNothingPinsThem) {
    Pinned t;
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 1, 0, 3, 100), 0);
    EXPECT_EQ(t.victim(), 3U);
    EXPECT_EQ(t.victim(), 4U);
    EXPECT_EQ(t.m.engine.count[HT_LIST_PINNED], 3U);
    EXPECT_EQ(ht_engine_clean(&t.m.engine), 6U);
    ASSERT_EQ(ht_engine_unpin(&t.m.engine, 1, 1, 2), 0);
    std::vector<u32> left;
    for (u32 slot; (slot = t.victim()) != HT_NIL;)
        left.push_back(slot);
    EXPECT_EQ(left, (std::vector<u32>{5, 6, 7, 1}));
    EXPECT_EQ(t.victim(99), HT_NIL);
    EXPECT_EQ(t.victim(100), 0U) << "its time is over";
    EXPECT_EQ(t.victim(100), 2U);
}

TEST(PinnedSlots, WhoseTimeIsOverAreNotCharged) {
    Pinned t;
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 1, 0, 7, 100), 0);
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 2, 0, 7, 200), -ENOSPC);
    ht_engine_expire(&t.m.engine, 99);
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 2, 0, 7, 200), -ENOSPC);
    ht_engine_expire(&t.m.engine, 100);
    EXPECT_EQ(ht_engine_pin(&t.m.engine, 2, 0, 7, 200), 0);
}

TEST(PinnedSlots, LeaveWithTheirOwner) {
    Pinned t;
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 1, 0, 7, 100), 0);
    EXPECT_EQ(ht_engine_pin(&t.m.engine, 2, 7, 8, 100), -ENOSPC) << "90 percent of 8 slots";
    EXPECT_EQ(t.victim(), 7U);
    EXPECT_EQ(t.victim(), HT_NIL);
    ht_engine_unpin_all(&t.m.engine, 2);
    EXPECT_EQ(t.victim(), HT_NIL);
    ht_engine_unpin_all(&t.m.engine, 1);
    EXPECT_EQ(t.victim(), 0U);
}

TEST(PinnedSlots, AreDestagedAndNotDropped) {
    Pinned t;
    for (u32 slot = 0; slot < SmallMap::SLOTS; slot++)
        ht_engine_move(&t.m.engine, slot, HT_LIST_DIRTY);
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 1, 0, 1, 100), 0);
    ht_situation s{};
    u32 slot = HT_NIL;
    EXPECT_EQ(ht_engine_next(&t.m.engine, &s, &slot), HT_WORK_DESTAGE);
    EXPECT_EQ(slot, 0U);
    EXPECT_EQ(ht_engine_next(&t.m.engine, &s, &slot), HT_WORK_SHED);
    EXPECT_EQ(slot, 1U);
}

} // namespace
} // namespace hintier::test
