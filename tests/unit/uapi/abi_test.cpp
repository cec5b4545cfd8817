// SPDX-License-Identifier: Apache-2.0
//
// The binary interface of abi.def as a 64-bit program sees it, and what no compiler checks: that
// structures have no hidden holes and that every enumeration is pinned to its end.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <hintier/ioctl.h>
#include <hintier/netlink.h>

namespace {

struct Member {
    std::string name;
    size_t offset, size;         // as compiled
    size_t pin_offset, pin_size; // as promised
};

struct Layout {
    size_t size = 0, pin_size = 0;
    std::vector<Member> members;
};

std::map<std::string, Layout> layouts() {
    std::map<std::string, Layout> all;
#define STRUCT(type, bytes) all[#type].size = sizeof(struct type), all[#type].pin_size = (bytes);
#define MEMBER(type, name, at, bytes)                                                              \
    all[#type].members.push_back({#name, offsetof(struct type, name),                              \
                                  sizeof(((struct type*)nullptr)->name), (at), (bytes)});
#define CALL(name, number)
#define VALUE(name, value)
#include "abi.def"
#undef STRUCT
#undef MEMBER
#undef CALL
#undef VALUE
    return all;
}

TEST(Abi, StructuresKeepTheirLayout) {
    for (const auto& [name, layout] : layouts()) {
        EXPECT_EQ(layout.size, layout.pin_size) << name;
        for (const Member& m : layout.members) {
            EXPECT_EQ(m.offset, m.pin_offset) << name << "." << m.name;
            EXPECT_EQ(m.size, m.pin_size) << name << "." << m.name;
        }
    }
}

TEST(Abi, StructuresHaveNoHoles) {
    for (const auto& [name, layout] : layouts()) {
        size_t end = 0;
        for (const Member& m : layout.members) {
            EXPECT_EQ(m.offset, end) << "hole or missing pin before " << name << "." << m.name;
            end = m.offset + m.size;
        }
        EXPECT_EQ(end, layout.size) << "hole or missing pin at the end of " << name;
        EXPECT_EQ(layout.size % 8, 0U) << name << " would be padded where __u64 is aligned to 8";
    }
}

TEST(Abi, NumbersKeepTheirValues) {
#define STRUCT(type, bytes)
#define MEMBER(type, name, at, bytes)
#define CALL(name, number) EXPECT_EQ((unsigned long long)(name), (number##ULL)) << #name;
#define VALUE(name, value) EXPECT_EQ((unsigned long long)(name), (value##ULL)) << #name;
#include "abi.def"
#undef STRUCT
#undef MEMBER
#undef CALL
#undef VALUE
}

// A value added to an enumeration has to be added to abi.def, and moves the bound here.
TEST(Abi, EnumerationsArePinnedToTheirEnd) {
    EXPECT_EQ(HINTIER_CLASSES, HINTIER_CLASS_STREAM + 1);
    EXPECT_EQ(int{HINTIER_OUTCOMES}, HINTIER_IO_ERROR + 1);
    EXPECT_EQ(int{HINTIER_OPS}, HINTIER_OP_FLUSH + 1);
    EXPECT_EQ(int{HINTIER_FETCHES}, HINTIER_FETCH_CANCELLED + 1);
    EXPECT_EQ(int{HINTIER_MODES}, HINTIER_MODE_FAIL + 1);
    EXPECT_EQ(int{HINTIER_COUNTERS}, HINTIER_C_PADDED_BYTES + 1);
    EXPECT_EQ(int{HINTIER_CMD_MAX}, HINTIER_CMD_EVENT);
    EXPECT_EQ(int{HINTIER_A_MAX}, HINTIER_A_PAD);
    EXPECT_EQ(int{HINTIER_A_DEV_MAX}, HINTIER_A_DEV_BULK_LEFT);
    EXPECT_EQ(int{HINTIER_A_STAT_MAX}, HINTIER_A_STAT_FETCH);
    EXPECT_EQ(int{HINTIER_A_IO_MAX}, HINTIER_A_IO_PAD);
    EXPECT_EQ(int{HINTIER_A_EVENT_MAX}, HINTIER_A_EVENT_PAD);
}

// The counters of fetch outcomes are found by adding the outcome to the first of them.
TEST(Abi, FetchCountersFollowTheirOutcomes) {
    EXPECT_EQ(HINTIER_C_FETCH_TIMELY + int{HINTIER_FETCH_LATE}, int{HINTIER_C_FETCH_LATE});
    EXPECT_EQ(HINTIER_C_FETCH_TIMELY + int{HINTIER_FETCH_UNUSED}, int{HINTIER_C_FETCH_UNUSED});
    EXPECT_EQ(HINTIER_C_FETCH_TIMELY + int{HINTIER_FETCH_CANCELLED},
              int{HINTIER_C_FETCH_CANCELLED});
}

TEST(Abi, ConstantsFitEachOther) {
    EXPECT_EQ(HINTIER_EXTENT_MIN_BYTES % HINTIER_UNIT_BYTES, 0);
    EXPECT_LE(HINTIER_EXTENT_MAX_BYTES / HINTIER_UNIT_BYTES,
              256);                            // units of an extent fit a bitmap
    EXPECT_LT(sizeof(HINTIER_GENL_NAME), 16U); // GENL_NAMSIZ
    EXPECT_LT(sizeof(HINTIER_GENL_MCGRP), 16U);
}

} // namespace
