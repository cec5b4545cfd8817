// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/delays.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace hintier {
namespace {

TEST(Delays, AreWithinAnEighth) {
    for (std::uint64_t ns = 0; ns < 1ULL << 45; ns += 1 + ns / 3) {
        Delays delays;
        delays.add(Nanos(static_cast<Nanos::rep>(ns)));
        const auto edge = static_cast<std::uint64_t>(delays.quantile(0.5).count());
        EXPECT_GT(edge, ns);
        EXPECT_LE(edge, ns + ns / 8 + 1);
    }
}

TEST(Delays, HaveQuantiles) {
    Delays delays;
    EXPECT_EQ(delays.quantile(0.99), 0ns);
    for (int i = 0; i < 99; ++i) {
        delays.add(100us);
    }
    delays.add(10ms);
    EXPECT_EQ(delays.count(), 100U);
    EXPECT_LT(delays.quantile(0.5), 113us);
    EXPECT_GE(delays.quantile(0.99), 10ms);
    EXPECT_LT(delays.quantile(1), 11500us);
    delays.add(-5ns);
    delays.add(Nanos(std::numeric_limits<Nanos::rep>::max()));
    EXPECT_EQ(delays.count(), 102U);
}

} // namespace
} // namespace hintier
