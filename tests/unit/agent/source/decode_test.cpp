// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gtest/gtest.h>

#include "agent/source/bpf_source.hpp"

namespace hintier {
namespace {

hintier_record record(std::uint16_t type, std::string_view name) {
    hintier_record r{};
    r.type = type;
    r.name_bytes = static_cast<std::uint32_t>(name.size());
    std::memcpy(r.name, name.data(), std::min(name.size(), sizeof(r.name)));
    return r;
}

TEST(Decode, OpenCarriesFileAndFlags) {
    hintier_record r = record(HINTIER_REC_OPEN, "a.bin");
    r.flags = HINTIER_REC_CREATED | HINTIER_REC_WRITE;
    r.dev = 7;
    r.ino = 8;
    r.generation = 9;
    r.parent_ino = 10;
    r.pid = 11;
    r.tid = 12;
    r.time_ns = 13;
    Event e;
    ASSERT_TRUE(decode(r, e));
    EXPECT_EQ(e.kind, EventKind::opened);
    EXPECT_TRUE(e.created && e.writing);
    EXPECT_EQ(e.file, (FileId{7, 9, 8}));
    EXPECT_EQ(e.parent.inode, 10U);
    EXPECT_EQ(e.tid, 12U);
    EXPECT_EQ(e.time, Nanos(13));
    EXPECT_EQ(e.name, "a.bin");
}

TEST(Decode, LookupKeepsTheLastComponent) {
    const hintier_record r = record(HINTIER_REC_LOOKUP, "x/kv/abc/0123.bin");
    Event e; // borrows its name from the record
    ASSERT_TRUE(decode(r, e));
    EXPECT_EQ(e.name, "0123.bin");
    EXPECT_FALSE(e.found);
}

TEST(Decode, UnknownTypesAreNothing) {
    Event e;
    EXPECT_FALSE(decode(record(0, ""), e));
    EXPECT_FALSE(decode(record(99, ""), e));
}

TEST(Decode, LengthsAreNotBelieved) {
    hintier_record r = record(HINTIER_REC_OPEN, "a");
    r.name_bytes = 1U << 31;
    Event e;
    ASSERT_TRUE(decode(r, e));
    EXPECT_LT(e.name.size(), sizeof(r.name));
}

} // namespace
} // namespace hintier
