// SPDX-License-Identifier: Apache-2.0
//
// Streams: what makes one, how far it reads ahead, and when it stops.

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "stream.h"

namespace hintier::test {
namespace {

constexpr u32 SHIFT = 9; // 256 KiB extents
constexpr u64 WHOLE = 1 << SHIFT;
constexpr u32 UNITS = WHOLE / HT_UNIT_SECTORS;
constexpr u64 TIER = WHOLE * 1024; // 256 MiB
constexpr u32 LIMIT = 16384;       // units: 64 MiB

struct Streams {
    Streams() : ranges(HT_RANGES) {
        all.ranges = ranges.data();
        ht_streams_init(&all, SHIFT, TIER, LIMIT);
    }

    // One request of a reader that waits for each.
    ht_course read(u64 from, u64 to) {
        ht_course c = begin(from, to);
        ht_streams_landed(&all, c.stream, c.number);
        return c;
    }
    ht_course begin(u64 from, u64 to) {
        ht_course c{};
        ht_streams_read(&all, from, to, now, &c);
        return c;
    }
    // All that is to be read ahead now.
    std::vector<ht_piece> ahead() {
        std::vector<ht_piece> pieces;
        for (ht_piece p{}; ht_streams_next(&all, &p);)
            pieces.push_back(p);
        return pieces;
    }
    bool hit(const ht_piece& p) {
        const bool more = ht_streams_hit(&all, &p, p.extent * WHOLE + p.to * HT_UNIT_SECTORS, now);
        ht_streams_gone(&all, &p, HT_GONE_READ);
        return more;
    }
    int tell(u64 from, u64 to, u64 cookie = 1, u32 window = 0, u64 owner = 7) {
        return ht_streams_tell(&all, owner, cookie, 0, from, to, window, now);
    }

    ht_streams all{};
    std::vector<ht_range> ranges;
    u32 now = 100;
};

u32 units(const std::vector<ht_piece>& pieces) {
    u32 n = 0;
    for (const ht_piece& p : pieces)
        n += p.to - p.from;
    return n;
}

// ---- found ----------------------------------------------------------------------------------

TEST(Stream, TheSecondLargeRequestInARowMakesOne) {
    Streams s;
    EXPECT_FALSE(s.read(1000, 1256).more);
    EXPECT_TRUE(s.ahead().empty());
    const ht_course c = s.read(1256, 1512);
    EXPECT_TRUE(c.more);
    EXPECT_TRUE(c.kick);
    const auto pieces = s.ahead();
    ASSERT_FALSE(pieces.empty());
    EXPECT_EQ(pieces[0].extent, 1512 / WHOLE);
    EXPECT_EQ(pieces[0].from, 1512 % WHOLE / HT_UNIT_SECTORS) << "not what was read already";
    EXPECT_EQ(pieces[0].to, UNITS);
    EXPECT_LE(units(pieces), u32{HT_WINDOW_MIN});
}

TEST(Stream, SmallRequestsNeedFour) {
    Streams s;
    for (u64 at = 0; at < 3 * 8; at += 8)
        EXPECT_FALSE(s.read(at, at + 8).more) << at;
    EXPECT_TRUE(s.read(24, 32).more);
}

TEST(Stream, RandomReadsMakeNone) {
    Streams s;
    std::mt19937_64 dice(1);
    for (int i = 0; i < 100000; i++) {
        const u64 at = dice() % (TIER / 8) * 8;
        EXPECT_FALSE(s.read(at, at + 8).kick);
    }
    EXPECT_EQ(s.all.active, 0U);
    EXPECT_TRUE(s.ahead().empty());
}

TEST(Stream, AReaderAtDepthNeedsNoHelpAndNoPlaceOnFast) {
    Streams s;
    std::vector<ht_course> flight;
    for (u64 at = 0; at < 100 * 256; at += 256) {
        flight.push_back(s.begin(at, at + 256));
        EXPECT_EQ(flight.back().more, at > 0) << at;
        EXPECT_FALSE(flight.back().kick) << at;
        if (flight.size() < 4) continue;
        ht_streams_landed(&s.all, flight.front().stream, flight.front().number);
        flight.erase(flight.begin());
    }
    EXPECT_TRUE(s.ahead().empty());
}

TEST(Stream, PartsOfOneRequestMakeNone) {
    Streams s;
    const ht_course a = s.begin(0, 2048), b = s.begin(2048, 4096), c = s.begin(3000, 4096);
    EXPECT_FALSE(a.kick || b.kick || c.kick);
    EXPECT_TRUE(s.ahead().empty());
}

TEST(Stream, ManyReadersAreToldApart) {
    Streams s;
    constexpr u64 READERS = 16, APART = 8192;
    for (u64 at = 0; at < 1024; at += 256)
        for (u64 r = 0; r < READERS; r++)
            s.read(r * APART + at, r * APART + at + 256);
    EXPECT_EQ(s.all.active, READERS);
    std::set<u32> streams;
    for (const ht_piece& p : s.ahead())
        streams.insert(p.stream);
    EXPECT_EQ(streams.size(), READERS) << "each has its turn";
    EXPECT_LE(units(s.ahead()), LIMIT);
}

TEST(Stream, FollowsTheReadersPaceAndStopsWithIt) {
    Streams s;
    s.read(0, 256);
    s.read(256, 512);
    auto pieces = s.ahead();
    EXPECT_TRUE(s.ahead().empty()) << "nobody has read any of it";
    u64 read = 512;
    u32 most = 0;
    while (!pieces.empty()) {
        EXPECT_EQ(pieces[0].extent * WHOLE + pieces[0].from * HT_UNIT_SECTORS, read);
        read += u64{pieces[0].to - pieces[0].from} * HT_UNIT_SECTORS;
        s.hit(pieces[0]);
        pieces.erase(pieces.begin());
        for (const ht_piece& p : s.ahead())
            pieces.push_back(p);
        most = std::max(most, units(pieces));
    }
    EXPECT_EQ(read, TIER) << "each byte once, to the end";
    EXPECT_EQ(most, u32{HT_WINDOW_MAX}) << "the window has grown";
}

TEST(Stream, WhatIsLeftUnreadNarrowsTheWindow) {
    Streams s;
    s.read(0, 2048);
    s.read(2048, 4096);
    const u32 window = s.all.stream[0].window;
    for (const ht_piece& p : s.ahead())
        ht_streams_gone(&s.all, &p, HT_GONE_UNREAD);
    EXPECT_LT(s.all.stream[0].window, window);
    EXPECT_GE(s.all.stream[0].window, u32{HT_WINDOW_MIN});
    EXPECT_EQ(s.all.stream[0].out, 0U);
}

TEST(Stream, EndsWhenItIsNotRead) {
    Streams s;
    s.read(0, 256);
    s.read(256, 512);
    const auto pieces = s.ahead();
    s.now += 11;
    EXPECT_FALSE(ht_streams_end(&s.all, 0, s.now, 11, 100));
    s.now += 1;
    EXPECT_TRUE(ht_streams_end(&s.all, 0, s.now, 11, 100));
    EXPECT_EQ(s.all.active, 0U);
    EXPECT_TRUE(ht_streams_passed(&s.all, &pieces[0])) << "its pieces are nobody's";
    EXPECT_FALSE(s.hit(pieces[0]));
}

TEST(Stream, APieceFarBehindTheReaderIsLeft) {
    Streams s;
    s.tell(0, 64 * WHOLE);
    const auto pieces = s.ahead();
    ASSERT_GT(pieces.size(), 12U);
    s.hit(pieces[8]);
    EXPECT_FALSE(ht_streams_passed(&s.all, &pieces[0])) << "readers may have some threads";
    s.hit(pieces[12]);
    EXPECT_TRUE(ht_streams_passed(&s.all, &pieces[0]));
    EXPECT_FALSE(ht_streams_passed(&s.all, &pieces[11]));
}

// ---- told -----------------------------------------------------------------------------------

TEST(Sequence, IsReadAheadInItsOrder) {
    Streams s;
    EXPECT_EQ(s.tell(10 * WHOLE + 16, 11 * WHOLE + 8), 0);
    EXPECT_EQ(s.tell(2 * WHOLE, 3 * WHOLE), 0);
    EXPECT_EQ(s.tell(3 * WHOLE, 3 * WHOLE + 24), 0) << "continues the one before";
    const auto p = s.ahead();
    ASSERT_EQ(p.size(), 4U);
    EXPECT_EQ(p[0].extent, 10U);
    EXPECT_EQ(p[0].from, 2U);
    EXPECT_EQ(p[0].to, UNITS);
    EXPECT_EQ(p[1].extent, 11U);
    EXPECT_EQ(p[1].from, 0U);
    EXPECT_EQ(p[1].to, 1U);
    EXPECT_EQ(p[2].extent, 2U);
    EXPECT_EQ(p[3].extent, 3U);
    EXPECT_EQ(p[3].to, 3U);
}

TEST(Sequence, GoesOnWithWhatIsToldLater) {
    Streams s;
    s.tell(0, WHOLE);
    EXPECT_EQ(s.ahead().size(), 1U);
    s.tell(WHOLE, 2 * WHOLE);
    s.tell(8 * WHOLE, 9 * WHOLE);
    const auto p = s.ahead();
    ASSERT_EQ(p.size(), 2U);
    EXPECT_EQ(p[0].extent, 1U);
    EXPECT_EQ(p[1].extent, 8U);
}

TEST(Sequence, KeepsToItsWindow) {
    Streams s;
    s.tell(0, 100 * WHOLE, 1, 3 * UNITS);
    auto p = s.ahead();
    EXPECT_EQ(p.size(), 3U);
    for (size_t i = 0; i < 50; i++) {
        s.hit(p[i]);
        for (const ht_piece& more : s.ahead())
            p.push_back(more);
        EXPECT_EQ(p.size(), i + 4);
    }
}

TEST(Sequence, WhatTheReaderHadFromADeviceIsNotReadAhead) {
    Streams s;
    s.tell(0, WHOLE);
    s.tell(20 * WHOLE, 21 * WHOLE);
    s.tell(5 * WHOLE, 6 * WHOLE);
    EXPECT_TRUE(s.read(20 * WHOLE, 20 * WHOLE + 64).more);
    const auto p = s.ahead();
    ASSERT_EQ(p.size(), 2U);
    EXPECT_EQ(p[0].extent, 20U);
    EXPECT_EQ(p[0].from, 8U);
    EXPECT_EQ(p[1].extent, 5U);
}

TEST(Sequence, RefusesWhatIsNoRangeAndWhatDoesNotFit) {
    Streams s;
    EXPECT_EQ(s.tell(8, 8), -EINVAL);
    EXPECT_EQ(s.tell(4, 16), -EINVAL);
    EXPECT_EQ(s.tell(0, TIER + 8), -EINVAL);
    for (u64 cookie = 0; cookie < HT_STREAMS; cookie++)
        EXPECT_EQ(s.tell(0, 8, cookie), cookie < 48 ? 0 : -ENOSPC) << cookie;
    EXPECT_TRUE(ht_streams_end(&s.all, 7, 0, 0, 0));
    EXPECT_EQ(s.all.active, 0U);
    for (u32 i = 0; i < HT_RANGES; i++)
        ASSERT_EQ(s.tell(i % 2 * WHOLE, i % 2 * WHOLE + 8), 0) << "every range came back: " << i;
    EXPECT_EQ(s.tell(0, 8), -ENOSPC);
}

TEST(Sequence, BeginsAnewWhenItsTellerSaysSo) {
    Streams s;
    ASSERT_EQ(s.tell(0, 2 * WHOLE), 0);
    ASSERT_EQ(s.tell(8 * WHOLE, 9 * WHOLE, 2), 0);
    ASSERT_FALSE(s.ahead().empty());
    ht_streams_untell(&s.all, 7, 3);
    ht_streams_untell(&s.all, 8, 1);
    EXPECT_EQ(s.all.active, 2U) << "another cookie, another owner";
    ht_streams_untell(&s.all, 7, 1);
    EXPECT_EQ(s.all.active, 1U);
    ASSERT_EQ(s.tell(20 * WHOLE, 21 * WHOLE), 0);
    const auto pieces = s.ahead();
    ASSERT_FALSE(pieces.empty());
    for (const ht_piece& p : pieces)
        EXPECT_EQ(p.extent, 20U);
}

TEST(Sequence, EndsWithItsTellerOnly) {
    Streams s;
    s.tell(0, WHOLE, 1, 0, 7);
    s.tell(WHOLE * 4, WHOLE * 5, 1, 0, 8);
    EXPECT_EQ(s.all.active, 2U) << "one cookie, two tellers";
    EXPECT_TRUE(ht_streams_end(&s.all, 7, 0, 0, 0));
    EXPECT_FALSE(ht_streams_end(&s.all, 7, 0, 0, 0));
    EXPECT_EQ(s.all.active, 1U);
    const auto p = s.ahead();
    ASSERT_EQ(p.size(), 1U);
    EXPECT_EQ(p[0].extent, 4U);
}

// Whatever is read, told and forgotten: counts agree, no range is lost, nothing exceeds the stage.
TEST(Stream, CountsAgreeUnderRandomUse) {
    for (u64 seed = 1; seed <= 60; seed++) {
        Streams s;
        std::mt19937_64 dice(seed);
        std::vector<ht_piece> out;
        for (int step = 0; step < 2000; step++) {
            const u64 at = dice() % 64 * WHOLE + dice() % 4 * 128;
            s.now += dice() % 3;
            switch (dice() % 6) {
            case 0:
                s.read(at, at + 8 + dice() % 512);
                break;
            case 1:
                for (u64 i = 0; i < 4; i++)
                    s.read(at + i * 128, at + i * 128 + 128);
                break;
            case 2:
                s.tell(at, at + 8 * (1 + dice() % 200), dice() % 5, dice() % 300, 1 + dice() % 3);
                break;
            case 3:
                for (const ht_piece& p : s.ahead())
                    out.push_back(p);
                break;
            case 4:
                if (out.empty()) break;
                std::swap(out[dice() % out.size()], out.back());
                if (dice() % 4)
                    s.hit(out.back());
                else
                    ht_streams_gone(&s.all, &out.back(), HT_GONE_UNREAD);
                out.pop_back();
                break;
            default:
                ht_streams_end(&s.all, dice() % 4, s.now, 20, 40);
                break;
            }
            u32 owned = 0, told = 0, active = 0, free = 0;
            for (const ht_piece& p : out)
                owned += ht_streams_owns(&s.all, &p) ? p.to - p.from : 0;
            for (const ht_stream& t : s.all.stream) {
                active += t.kind >= HT_STREAM_FOUND;
                if (t.kind >= HT_STREAM_FOUND) owned -= t.out;
                for (u32 r = t.kind == HT_STREAM_TOLD ? t.here : HT_NIL; r != HT_NIL;
                     r = s.all.ranges[r].next)
                    told++;
            }
            ASSERT_EQ(owned, 0U) << "seed " << seed << " step " << step;
            ASSERT_EQ(active, s.all.active) << "seed " << seed << " step " << step;
            if (step % 100) continue;
            for (u32 r = s.all.free; r != HT_NIL; r = s.all.ranges[r].next)
                free++;
            ASSERT_EQ(told + free, u32{HT_RANGES}) << "seed " << seed << " step " << step;
        }
    }
}

} // namespace
} // namespace hintier::test
