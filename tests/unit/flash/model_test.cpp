// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>

#include "drive.hpp"

namespace hintier::flash {
namespace {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;
using Op = Drive::Op;

TEST(Read, BehindOneProgramAtMost) {
    Drive drive("qlc");
    const uint64_t idle = drive.latency(Op::read, 0, 4 * KiB);
    // Fill the buffer: many programs for each die wait in it.
    drive.submit(Op::write, 0, 32 * MiB);
    uint64_t slowest = 0;
    for (int i = 0; i < 100; i++)
        slowest = std::max(slowest, drive.latency(Op::read, uint64_t(i) * 7 * MiB, 4 * KiB));
    EXPECT_GT(slowest, idle + drive.params().program_ns / 2);
    EXPECT_LE(slowest, idle + drive.params().program_ns);
}

TEST(Read, QueuesOnItsDie) {
    Drive drive("slc");
    auto first = drive.submit(Op::read, 0, 4 * KiB);
    auto second = drive.submit(Op::read, 4 * KiB, 4 * KiB); // same stripe, same die
    EXPECT_GE(second.when - first.when, drive.params().read_ns);
    auto other = drive.submit(Op::read, 16 * KiB, 4 * KiB); // next stripe, another die
    EXPECT_LT(other.when, second.when);
}

TEST(Read, WaitsForAnErase) {
    Drive drive("slc", "block=1");
    const uint64_t idle = drive.latency(Op::read, 0, 4 * KiB);
    drive.submit(Op::write, 0, 32 * 64 * KiB);            // a page for each die, and then an erase
    drive.now += 32 * 20'000 + drive.params().program_ns; // they have started in turn, at bus rate
    uint64_t slowest = 0;
    for (uint64_t die = 0; die < 32; die++)
        slowest = std::max(slowest, drive.submit(Op::read, die * 16 * KiB, 4 * KiB).when);
    EXPECT_GT(slowest - drive.now, idle + drive.params().erase_ns / 2);
}

TEST(Read, StridesOverAllDiesDoNotMeetOnOne) {
    Drive drive("qlc");
    const auto stride = [at = uint64_t{0}]() mutable { return at += 128 * 64 * KiB; };
    const auto got = drive.loop(Op::read, 64, 5000, 4 * KiB, stride);
    EXPECT_GT(got.per_second, 200'000); // one die does 11,400
}

TEST(Read, DilationAndScaleKeepProportions) {
    Drive full("qlc"), lab("qlc", "scale=64,dilation=4");
    for (uint64_t size : {64 * KiB, 1 * MiB, 32 * MiB}) {
        const auto big = full.loop(Op::read, 4, 2000, size, full.random(size));
        const auto small = lab.loop(Op::read, 4, 2000, size / 64, lab.random(size / 64));
        EXPECT_NEAR(small.mean_ns / 4 / big.mean_ns, 1, 0.02) << size;
    }
}

TEST(Write, AcknowledgedFromTheBufferUntilItIsFull) {
    Drive drive("qlc");
    const auto& p = drive.params();
    // Slower than the bus but faster than nothing: 32 MiB fit, so a burst of them runs at the bus.
    uint64_t last = 0;
    for (uint64_t at = 0; at < p.buffer; at += MiB)
        last = drive.submit(Op::write, at, MiB).when;
    const double bus_ns = static_cast<double>(p.buffer) / static_cast<double>(p.write_bps) * 1e9;
    EXPECT_NEAR(static_cast<double>(last - drive.now), bus_ns, bus_ns / 50);
}

TEST(Write, SlowDiesHoldItBack) {
    Drive drive("qlc", "program_ns=8000000"); // 1.05 GB/s of programs behind a 3.3 GB/s bus
    const auto got = drive.loop(Op::write, 8, 2000, MiB, drive.sequential(MiB));
    EXPECT_NEAR(got.per_second * MiB / 1e9, 128 * 65536 / 8e6, 0.02);
    const auto& counts = drive.flash()->counts;
    EXPECT_EQ(counts.programs * drive.flash()->page, drive.flash()->started * drive.flash()->page);
    EXPECT_EQ(ht_flash_buffered(drive.flash(), drive.now) +
                  drive.flash()->done * drive.flash()->page,
              counts.write_bytes);
}

TEST(Write, AfterALongIdleTimeTheDrainHasCaughtUp) {
    Drive drive("qlc");
    for (int i = 0; i < 50; i++) {
        drive.submit(Op::write, uint64_t(i) * 64 * MiB, 48 * MiB); // more than two rounds of dies
        drive.now += 1'000'000'000;
        EXPECT_EQ(ht_flash_buffered(drive.flash(), drive.now), 0u);
    }
    EXPECT_EQ(drive.flash()->counts.programs * drive.flash()->page, 50 * 48 * MiB);
}

TEST(Write, OneLargerThanTheBufferEnds) {
    Drive drive("slc", "buffer=256K");
    const uint64_t took = drive.latency(Op::write, 0, 64 * MiB);
    EXPECT_GE(took, 64 * MiB * 1'000'000'000 / drive.params().write_bps);
}

TEST(Drain, ProgramsEachByteOnceAndErasesBlocks) {
    Drive drive("slc");
    const uint64_t bytes = 4ull * 1024 * MiB;
    for (uint64_t at = 0; at < bytes; at += MiB)
        drive.latency(Op::write, at, MiB);
    drive.now += 1'000'000'000;
    EXPECT_EQ(ht_flash_buffered(drive.flash(), drive.now), 0u);
    const auto& counts = drive.flash()->counts;
    EXPECT_EQ(counts.programs * drive.flash()->page, bytes);
    EXPECT_NEAR(static_cast<double>(counts.erases),
                static_cast<double>(counts.programs) / static_cast<double>(drive.params().block),
                drive.params().dies);
    EXPECT_EQ(counts.rmw_bytes, 0u);
}

TEST(Drain, NotFasterThanTheWriteBus) {
    Drive drive("slc", "program_ns=1000");
    drive.submit(Op::write, 0, 8 * MiB);
    drive.now += 1'000'000; // in which 4 MB can pass
    EXPECT_NEAR(static_cast<double>(ht_flash_buffered(drive.flash(), drive.now)), 8 * MiB - 4e6,
                2 * 65536);
}

// The model replays what has happened only when it is asked: how often must not matter.
TEST(Drain, AskingMoreOftenChangesNothing) {
    Drive seldom("qlc"), often("qlc");
    std::mt19937_64 rng(3);
    for (int i = 0; i < 300; i++) {
        const uint64_t offset = rng() % 1024 * MiB, length = (1 + rng() % 1500) * 64 * KiB;
        const uint64_t pause = rng() % 40'000'000;
        for (Drive* drive : {&seldom, &often}) {
            drive->submit(Op::write, offset, length);
            drive->submit(Op::read, offset / 2, 64 * KiB);
        }
        for (uint64_t step = 0; step < pause; step += 50'000)
            ht_flash_buffered(often.flash(), often.now + step);
        seldom.now += pause;
        often.now += pause;
        ASSERT_EQ(ht_flash_buffered(seldom.flash(), seldom.now),
                  ht_flash_buffered(often.flash(), often.now))
            << i;
        ASSERT_EQ(seldom.flash()->started, often.flash()->started) << i;
        auto a = seldom.submit(Op::write, 0, 64 * KiB), b = often.submit(Op::write, 0, 64 * KiB);
        ASSERT_EQ(seldom.finish(a), often.finish(b)) << i;
    }
}

TEST(Drain, ReadsDoNotStopIt) {
    Drive drive("slc");
    drive.submit(Op::write, 0, 8 * MiB);
    // Reads keep every die busy all the time.
    drive.loop(Op::read, 1024, 400000, 4 * KiB, drive.random(4 * KiB));
    EXPECT_EQ(ht_flash_buffered(drive.flash(), drive.now), 0u);
}

TEST(Flush, WithPowerLossProtectionHasNothingToWaitFor) {
    Drive drive("qlc");
    drive.submit(Op::write, 0, 8 * MiB);
    EXPECT_EQ(drive.latency(Op::flush, 0, 0), drive.params().write_cmd_ns);
    EXPECT_EQ(drive.flash()->counts.padded_bytes, 0u);
}

TEST(Flush, WithoutItWaitsForEveryProgram) {
    Drive drive("qlc", "plp=0");
    drive.submit(Op::write, 0, 8 * MiB + 4 * KiB);
    const uint64_t took = drive.latency(Op::flush, 0, 0);
    EXPECT_GE(took, drive.params().program_ns);
    EXPECT_EQ(ht_flash_buffered(drive.flash(), drive.now), 0u);
    // The last page and the last IU were not full.
    EXPECT_EQ(drive.flash()->counts.rmw_units, 1u);
    EXPECT_EQ(drive.flash()->counts.rmw_bytes, 12 * KiB);
    EXPECT_GT(drive.flash()->counts.padded_bytes, 0u);
    EXPECT_EQ(drive.latency(Op::flush, 0, 0), drive.params().write_cmd_ns);
}

TEST(Flush, DoesNotWaitForLaterWrites) {
    Drive drive("qlc", "plp=0");
    drive.submit(Op::write, 0, 64 * KiB);
    auto flush = drive.submit(Op::flush, 0, 0);
    drive.submit(Op::write, MiB, 24 * MiB);
    EXPECT_LT(drive.finish(flush), 3 * drive.params().program_ns);
}

TEST(Fua, WaitsForItsOwnProgramOnly) {
    Drive volatile_cache("slc", "plp=0"), protected_cache("slc");
    EXPECT_GE(volatile_cache.latency(Op::fua, 0, 4 * KiB), volatile_cache.params().program_ns);
    EXPECT_LT(protected_cache.latency(Op::fua, 0, 4 * KiB), protected_cache.params().program_ns);
}

TEST(Units, NeighboursWrittenSoonCostNothing) {
    Drive drive("qlc");
    for (uint64_t at = 4 * KiB; at < MiB; at += 4 * KiB)
        drive.latency(Op::write, at, 4 * KiB);
    EXPECT_EQ(drive.flash()->counts.rmw_units, 0u); // the first waits for its first quarter
    drive.latency(Op::write, 0, 4 * KiB);
    EXPECT_EQ(drive.flash()->nparts, 0u);
}

TEST(Units, ScatteredPartsAreReadAndWrittenAgain) {
    Drive drive("qlc");
    const int n = 1000;
    for (int i = 0; i < n; i++)
        drive.latency(Op::write, uint64_t(i) * MiB, 4 * KiB);
    const auto& counts = drive.flash()->counts;
    EXPECT_EQ(counts.rmw_units, uint64_t(n - HT_FLASH_PARTS));
    EXPECT_EQ(counts.rmw_bytes, counts.rmw_units * 12 * KiB);
    drive.now += 1'000'000'000;
    EXPECT_EQ(counts.programs * drive.flash()->page + ht_flash_buffered(drive.flash(), drive.now),
              n * 4 * KiB + counts.rmw_bytes);
}

TEST(Units, WholeOverwriteOrDiscardNeedsNoRest) {
    Drive drive("qlc");
    ht_flash_wait wait{};
    drive.latency(Op::write, 4 * KiB, 4 * KiB);
    drive.latency(Op::write, 0, 16 * KiB);
    EXPECT_EQ(drive.flash()->nparts, 0u);
    drive.latency(Op::write, 4 * KiB, 4 * KiB);
    drive.latency(Op::write, 36 * KiB, 4 * KiB);
    ht_flash_discard(drive.flash(), drive.now, 0, 24 * KiB, &wait);
    EXPECT_EQ(drive.flash()->nparts, 1u); // the second unit was discarded in part only
}

TEST(Ideal, BothHalvesEndTogether) {
    Drive slc("slc"), qlc("qlc");
    for (uint64_t size : {1 * MiB, 36 * MiB}) {
        const uint64_t share = ht_flash_share(slc.flash(), qlc.flash(), slc.now, size);
        ASSERT_GT(share, 0u);
        ASSERT_LT(share, size);
        const auto a = slc.submit(Op::read, 0, share);
        const auto b = qlc.submit(Op::read, share, size - share);
        const auto ends = std::minmax(a.when, b.when);
        EXPECT_LT(static_cast<double>(ends.second - ends.first),
                  0.15 * static_cast<double>(ends.second - slc.now));
    }
    EXPECT_EQ(ht_flash_share(slc.flash(), qlc.flash(), slc.now + 1'000'000'000, 4 * KiB), 4 * KiB);
}

TEST(Parameters, RefusesWhatMakesNoSense) {
    ht_flash_params p = *ht_flash_preset("slc");
    const char* bad = nullptr;
    EXPECT_EQ(ht_flash_parse(&p, "dies=8,page=32K,plp=0", &bad), 0);
    EXPECT_EQ(p.dies, 8u);
    EXPECT_EQ(p.page, 32 * KiB);
    for (const char* text : {"dies", "dies=", "dies=x", "dies=0", "colour=1", "dies=8K8", "plp=2",
                             "iu=18446744073709551616", "bytes=99999999T", "=3", ",", "die=4"}) {
        p = *ht_flash_preset("slc");
        EXPECT_EQ(ht_flash_parse(&p, text, &bad), -EINVAL) << text;
    }
    ht_flash_parse(&p, "dies=4,oops=1", &bad);
    EXPECT_STREQ(bad, "oops=1");
    for (const char* text : {"iu=12K", "scale=1024", "buffer=64K", "bytes=1M,scale=61"})
        EXPECT_THROW(Drive("slc", text), std::invalid_argument) << text;
    EXPECT_EQ(ht_flash_preset("tape"), nullptr);
}

} // namespace
} // namespace hintier::flash
