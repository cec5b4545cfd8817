// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <gtest/gtest.h>

#include "qemu/flash/faults.h"

namespace {

TEST(Faults, HitARangeSkipSomeAndEnd) {
    ht_faults f{};
    ASSERT_EQ(ht_faults_add(&f, "read,write from=8 sectors=8 skip=1 times=2\n"), 0);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_READ, 0, 4096), HT_FAULT_NONE); // ends before it
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_READ, 8192, 512), HT_FAULT_NONE);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_FLUSH, 0, 0), HT_FAULT_NONE);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_ERASE, 4096, 4096), HT_FAULT_NONE);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_READ, 0, 4608), HT_FAULT_NONE); // the one that is skipped
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_READ, 0, 4608), HT_FAULT_MEDIUM);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_WRITE, 7680, 4096), HT_FAULT_MEDIUM);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_WRITE, 7680, 4096), HT_FAULT_NONE);
    EXPECT_EQ(f.hits, 2U);
}

TEST(Faults, ADeadDeviceFailsEverything) {
    ht_faults f{};
    ASSERT_EQ(ht_faults_add(&f, "all"), 0);
    for (uint32_t op : {HT_FAULT_READ, HT_FAULT_WRITE, HT_FAULT_FLUSH, HT_FAULT_ERASE})
        EXPECT_EQ(ht_faults_hit(&f, op, 0, 512), HT_FAULT_DEVICE);
}

TEST(Faults, FlushesHaveNoRange) {
    ht_faults f{};
    ASSERT_EQ(ht_faults_add(&f, "flush times=1"), 0);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_READ, 0, 512), HT_FAULT_NONE);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_FLUSH, 0, 0), HT_FAULT_DEVICE);
    EXPECT_EQ(ht_faults_hit(&f, HT_FAULT_FLUSH, 0, 0), HT_FAULT_NONE);
}

TEST(Faults, RefuseOtherWords) {
    ht_faults f{};
    for (const char* bad : {"", "reed", "read,", "read at=3", "read from",
                            "read from=", "read from=x", "read from=1 2", "readwrite", ",read"})
        EXPECT_EQ(ht_faults_add(&f, bad), -EINVAL) << bad;
    EXPECT_EQ(f.count, 0U);
    for (int i = 0; i < HT_FAULTS; i++)
        EXPECT_EQ(ht_faults_add(&f, "read"), 0);
    EXPECT_EQ(ht_faults_add(&f, "read"), -ENOSPC);
}

} // namespace
