// SPDX-License-Identifier: Apache-2.0
//
// The modelled drives against what is published about the real ones. Prints both.
//
// Bandwidths and IOPS are data-sheet maxima of Solidigm's D7-P5810 800 GB and D5-P5336 61.44 TB;
// latencies at queue depth 1 are an engineering estimate (no public source has all of them), and so
// get the wider tolerance.
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>

#include "drive.hpp"

namespace hintier::flash {
namespace {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;
using Op = Drive::Op;

void check(const char* what, double modelled, double published, double tolerance) {
    std::printf("  %-34s %8.1f  published %8.1f  (%+.1f %%, allowed %.0f %%)\n", what, modelled,
                published, 100 * (modelled / published - 1), 100 * tolerance);
    EXPECT_NEAR(modelled / published, 1, tolerance) << what;
}

struct Published {
    const char* preset;
    double read_us[4]; // 4K, 16K, 128K, 1M at queue depth 1
    double write_us;   // 4K, buffered
    double read_gbps, write_gbps;
    double random_read_kiops; // 4K, queue depth 256
};

constexpr Published SLC{"slc", {55, 58, 85, 230}, 15, 6.4, 4.0, 865};
constexpr Published QLC{"qlc", {110, 115, 160, 330}, 25, 7.0, 3.3, 1005};

class Figures : public testing::TestWithParam<Published> {};

TEST_P(Figures, ReadLatencyAtDepthOne) {
    const uint64_t sizes[] = {4 * KiB, 16 * KiB, 128 * KiB, 1 * MiB};
    for (int i = 0; i < 4; i++) {
        Drive drive(GetParam().preset);
        const auto got = drive.loop(Op::read, 1, 2000, sizes[i], drive.random(sizes[i]));
        const std::string what = "read QD1 us, KiB " + std::to_string(sizes[i] / KiB);
        check(what.c_str(), got.mean_ns / 1e3, GetParam().read_us[i], 0.15);
    }
}

TEST_P(Figures, BufferedWriteLatency) {
    Drive drive(GetParam().preset);
    const auto got = drive.loop(Op::write, 1, 200, 4 * KiB, drive.sequential(4 * KiB));
    check("write QD1 us, KiB 4", got.mean_ns / 1e3, GetParam().write_us, 0.05);
}

TEST_P(Figures, SequentialBandwidth) {
    Drive reader(GetParam().preset), writer(GetParam().preset);
    const auto read = reader.loop(Op::read, 32, 20000, 128 * KiB, reader.sequential(128 * KiB));
    const auto write = writer.loop(Op::write, 32, 40000, 128 * KiB, writer.sequential(128 * KiB));
    check("sequential read QD32 GB/s", read.per_second * 128 * KiB / 1e9, GetParam().read_gbps,
          0.03);
    check("sequential write QD32 GB/s", write.per_second * 128 * KiB / 1e9, GetParam().write_gbps,
          0.03);
}

TEST_P(Figures, RandomReads) {
    Drive drive(GetParam().preset);
    const auto got = drive.loop(Op::read, 256, 400000, 4 * KiB, drive.random(4 * KiB));
    check("random read 4K QD256 kIOPS", got.per_second / 1e3, GetParam().random_read_kiops, 0.10);
}

INSTANTIATE_TEST_SUITE_P(Drives, Figures, testing::Values(SLC, QLC),
                         [](const auto& info) { return std::string(info.param.preset); });

TEST(FiguresOfOne, SlcRandomWrites) {
    Drive drive("slc");
    const auto got = drive.loop(Op::write, 256, 400000, 4 * KiB, drive.random(4 * KiB));
    check("slc random write 4K QD256 kIOPS", got.per_second / 1e3, 495, 0.05);
}

// The published 38 kIOPS of 16 KiB are those of a full drive that collects garbage all the time;
// without that model a write of whole units costs what a sequential one costs.
TEST(FiguresOfOne, QlcRandomWritesAreThoseOfAnEmptyDrive) {
    Drive drive("qlc");
    const auto got = drive.loop(Op::write, 256, 400000, 16 * KiB, drive.random(16 * KiB));
    check("qlc random write 16K GB/s", got.per_second * 16 * KiB / 1e9, 3.3, 0.05);
    EXPECT_EQ(drive.flash()->counts.rmw_units, 0u);
}

TEST(FiguresOfOne, QlcReadsUnderWritesWaitForPrograms) {
    for (const char* preset : {"slc", "qlc"}) {
        Drive drive(preset);
        const auto idle = drive.loop(Op::read, 1, 2000, 128 * KiB, drive.random(128 * KiB));
        auto write_offset = drive.sequential(1 * MiB);
        auto read_offset = drive.random(128 * KiB);
        const uint64_t every = static_cast<uint64_t>(1 * MiB / 1.9); // ns: 1.9 GB/s of writes
        std::vector<uint64_t> times;
        uint64_t next_write = drive.now;
        for (int i = 0; i < 4000; i++) {
            auto wait = drive.submit(Op::read, read_offset(), 128 * KiB);
            const uint64_t start = drive.now;
            while (!ht_flash_done(drive.flash(), drive.now, &wait)) {
                if (next_write <= wait.when) {
                    drive.now = std::max(drive.now, next_write);
                    drive.submit(Op::write, write_offset(), 1 * MiB);
                    next_write += every;
                } else {
                    drive.now = wait.when;
                }
            }
            times.push_back(drive.now - start);
        }
        std::sort(times.begin(), times.end());
        const double p50 = static_cast<double>(times[2000]) / 1e3;
        const double p99 = static_cast<double>(times[3960]) / 1e3;
        std::printf(
            "  %s read 128K QD1 us: idle %.0f; under 1.9 GB/s of writes p50 %.0f p99 %.0f\n",
            preset, idle.mean_ns / 1e3, p50, p99);
        // Published for QLC: waits of 0.3 to 2 ms for a program, p99 of 1 to 5 ms.
        if (std::string(preset) == "qlc") {
            EXPECT_GT(p99, 1000);
            EXPECT_LT(p99, 5000);
        }
    }
}

} // namespace
} // namespace hintier::flash
