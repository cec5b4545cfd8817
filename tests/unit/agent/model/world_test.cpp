// SPDX-License-Identifier: Apache-2.0
#include "agent/model/world.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

TEST(World, FileAppearsWithItsFinalName) {
    Builder b;
    const Change change = b.write(1, 10);
    EXPECT_EQ(change.kind, Change::Kind::appeared);
    EXPECT_EQ(change.file, Builder::file(10));
    EXPECT_EQ(b.world.find(Builder::file(10)), b.world.find(1));
    EXPECT_EQ(b.world.objects(), 1U);
    EXPECT_EQ(b.object(1).places.front().directory, Builder::file(2));
}

TEST(World, TemporaryFilesHaveNoPlace) {
    Builder b;
    Event create{.kind = EventKind::opened, .created = true, .writing = true};
    create.file = Builder::file(10);
    EXPECT_EQ(b.apply(create, test::file_name(1) + "_1.tmp").kind, Change::Kind::none);
    EXPECT_EQ(b.world.files(), 0U);
    EXPECT_EQ(b.world.names(), 1U);
}

TEST(World, UnlinkLeavesTheName) {
    Builder b;
    b.write(1, 10);
    EXPECT_EQ(b.unlink(1, 10).kind, Change::Kind::gone);
    EXPECT_EQ(b.world.files(), 0U);
    EXPECT_NE(b.world.find(1), no_object);
    EXPECT_EQ(b.unlink(1, 10).kind, Change::Kind::none);
}

TEST(World, SameNameInSeveralDirectoriesIsOneObject) {
    Builder b;
    b.write(1, 10);
    b.write(1, 11);
    EXPECT_EQ(b.world.objects(), 1U);
    EXPECT_EQ(b.object(1).places.size(), 2U);
    b.unlink(1, 10);
    ASSERT_EQ(b.object(1).places.size(), 1U);
    EXPECT_EQ(b.object(1).places.front().file, Builder::file(11));
}

TEST(World, RenameOverAFileReplacesIt) {
    Builder b;
    b.write(1, 10);
    b.rename(1, 11, 10);
    EXPECT_EQ(b.world.find(Builder::file(10)), no_object);
    ASSERT_EQ(b.object(1).places.size(), 1U);
    EXPECT_EQ(b.object(1).places.front().file, Builder::file(11));
}

TEST(World, RenameToAnotherNameMovesTheFile) {
    Builder b;
    b.write(1, 10);
    b.rename(2, 10);
    EXPECT_TRUE(b.object(1).places.empty());
    EXPECT_EQ(b.world.find(Builder::file(10)), b.world.find(2));
}

TEST(World, RenameOutsideOrToAnotherKindOfNameIsAnEnd) {
    Builder b;
    b.write(1, 10);
    Event out{.kind = EventKind::renamed, .outside = true, .file = Builder::file(10)};
    EXPECT_EQ(b.apply(out, test::file_name(1)).kind, Change::Kind::gone);
    b.write(2, 11);
    Event odd{.kind = EventKind::renamed, .file = Builder::file(11)};
    EXPECT_EQ(b.apply(odd, "backup").kind, Change::Kind::gone);
    EXPECT_EQ(b.world.files(), 0U);
}

TEST(World, ReusedInodeIsAnotherFile) {
    Builder b;
    b.write(1, 10);
    Event again{.kind = EventKind::renamed, .file = {test::dev, 2, 10}};
    b.apply(again, test::file_name(2));
    EXPECT_EQ(b.world.find(Builder::file(10)), b.world.find(1));
    EXPECT_EQ(b.world.find(FileId{test::dev, 2, 10}), b.world.find(2));
}

TEST(World, CreationOrderOfAProcessIsALooseChain) {
    Builder b;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        b.tid = 100 + static_cast<std::uint32_t>(i); // writers are many
        b.write(i, 10 + i);
        b.now += 1ms;
    }
    EXPECT_EQ(b.object(4).depth, 3U);
    EXPECT_EQ(b.object(2).before, 1U);
    EXPECT_EQ(b.object(2).after, 3U);
    EXPECT_FALSE(b.object(2).firm);
}

TEST(World, CreationsFarApartAreNoChain) {
    Builder b;
    b.write(1, 10);
    b.now += 21ms;
    b.write(2, 11);
    EXPECT_EQ(b.object(2).before, 0U);
    EXPECT_EQ(b.object(2).depth, 0U);
}

TEST(World, LookupsCorrectWhatWritersScrambled) {
    Builder b;
    for (std::uint64_t i : {1, 3, 2, 4})
        b.write(i, 10 + i);
    b.now += 1s;
    for (std::uint64_t i : {1, 2, 3, 4})
        b.lookup(i);
    for (std::uint64_t i : {1, 2, 3})
        EXPECT_EQ(b.object(i).after, i + 1);
    EXPECT_EQ(b.object(4).depth, 3U);
    EXPECT_EQ(b.object(4).after, 0U);
}

TEST(World, NewBlockFollowsWhatWasFoundBeforeItsMiss) {
    Builder b;
    b.write(1, 10);
    b.now += 1s;
    b.lookup(1);
    EXPECT_EQ(b.lookup(2, false).kind, Change::Kind::missed);
    b.now += 1s;
    b.write(9, 19); // another session's block just before
    b.write(2, 12);
    EXPECT_EQ(b.object(2).before, 1U);
    EXPECT_EQ(b.object(2).depth, 1U);
}

TEST(World, MissEndsAWalk) {
    Builder b;
    b.write(1, 10);
    b.now += 1s;
    b.lookup(1);
    b.lookup(2, false);
    b.lookup(7); // the next request, at once
    EXPECT_EQ(b.object(7).before, 0U);
    EXPECT_EQ(b.object(2).after, 0U);
}

TEST(World, WalksOfThreadsDoNotMix) {
    Builder b;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        b.tid = 1;
        b.lookup(i);
        b.tid = 2;
        b.lookup(i + 100);
    }
    EXPECT_EQ(b.object(1).after, 2U);
    EXPECT_EQ(b.object(101).after, 102U);
}

TEST(World, RunCountsStepsAlongAKnownChain) {
    Builder b;
    for (std::uint64_t i = 1; i <= 3; ++i)
        EXPECT_EQ(b.lookup(i).run, 1U) << "learning";
    b.now += 1s;
    for (std::uint32_t i = 1; i <= 3; ++i)
        EXPECT_EQ(b.lookup(i).run, i);
}

TEST(World, BranchGoesToTheMostRecent) {
    Builder b;
    b.lookup(1), b.lookup(2);
    b.now += 1s;
    b.lookup(1), b.lookup(3);
    EXPECT_EQ(b.object(1).after, 3U);
    EXPECT_EQ(b.object(2).before, 1U);
    EXPECT_EQ(b.object(3).before, 1U);
}

TEST(World, ReadersAreThreadsOfLate) {
    Builder b;
    b.write(1, 10);
    for (std::uint32_t tid = 1; tid <= 20; ++tid) {
        b.tid = tid;
        b.open(1, 10);
        b.open(1, 10);
    }
    EXPECT_EQ(b.world.readers(b.pid, b.now - 1s), 20U);
    EXPECT_EQ(b.world.readers(b.pid, b.now + 1s), 0U);
    EXPECT_EQ(b.world.readers(999, 0s), 0U);
}

TEST(World, ABusyReaderHidesNoOther) {
    Builder b;
    b.write(1, 11);
    b.tid = 1;
    b.open(1, 11);
    b.tid = 2;
    for (int i = 0; i < 200; ++i)
        b.open(1, 11);
    EXPECT_EQ(b.world.readers(b.pid, b.now), 2U);
    for (b.tid = 3; b.tid <= 200; ++b.tid) {
        b.now += 1ms;
        b.open(1, 11);
    }
    EXPECT_EQ(b.world.readers(b.pid, 0s), 64U) << "the latest, and no more";
    EXPECT_EQ(b.world.readers(b.pid, b.now - 9ms), 10U);
}

TEST(World, ExitIsToldOfServersOnly) {
    Builder b;
    b.write(1, 10);
    EXPECT_EQ(b.apply({.kind = EventKind::exited}, "").kind, Change::Kind::none);
    for (int i = 0; i < 20; ++i)
        b.open(1, 10);
    EXPECT_EQ(b.apply({.kind = EventKind::exited}, "").kind, Change::Kind::exited);
    EXPECT_EQ(b.apply({.kind = EventKind::exited}, "").kind, Change::Kind::none);
}

TEST(World, ForgetsTheColdest) {
    Builder b({.max_objects = 3, .max_names = 2});
    for (std::uint64_t i = 1; i <= 3; ++i)
        b.write(i, 10 + i);
    b.lookup(1);
    b.write(4, 14);
    EXPECT_EQ(b.world.find(2), no_object);
    EXPECT_EQ(b.world.find(Builder::file(12)), no_object);
    EXPECT_NE(b.world.find(1), no_object);
    for (std::uint64_t i = 100; i < 110; ++i)
        b.lookup(i, false);
    EXPECT_LE(b.world.names(), 2U);
}

TEST(World, UnknownRootsAndNamesAreNothing) {
    Builder b;
    Event event{.kind = EventKind::opened, .root = 5, .file = Builder::file(1)};
    EXPECT_EQ(b.apply(event, test::file_name(1)).kind, Change::Kind::none);
    EXPECT_EQ(b.apply({.kind = EventKind::lookup}, "config.json").kind, Change::Kind::none);
    EXPECT_EQ(b.world.names(), 0U);
}

TEST(World, ConfigIsChecked) {
    EXPECT_TRUE(World::Config().validate());
    EXPECT_FALSE(World::Config{.max_objects = 0}.validate());
    EXPECT_FALSE(World::Config{.chain_gap = 0s}.validate());
}

// Whatever comes, in any order, twice or not at all: counts and links stay in step.
TEST(World, AnyOrderOfEventsKeepsTheBooks) {
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        Builder b({.max_objects = 40, .max_names = 20});
        for (int step = 0; step < 3000; ++step) {
            const std::uint64_t object = 1 + random() % 100;
            const std::uint64_t inode = 1 + random() % 60;
            b.tid = 1 + random() % 5;
            b.pid = 1 + random() % 3;
            switch (random() % 8) {
            case 0:
                b.write(object, inode);
                break;
            case 1:
                b.rename(object, inode, random() % 60);
                break;
            case 2:
                b.unlink(object, inode);
                break;
            case 3:
                b.open(object, inode);
                break;
            case 4:
                b.lookup(object, random() % 2);
                break;
            case 5:
                b.apply({.kind = EventKind::exited}, "");
                break;
            case 6:
                b.apply({.kind = EventKind::seen, .file = Builder::file(inode)},
                        test::file_name(object));
                break;
            case 7:
                b.now += Nanos(random() % 30'000'000);
                break;
            }
            std::size_t objects = 0;
            std::size_t files = 0;
            for (auto i = b.world.coldest(); i != no_object; i = b.world.next_coldest(i)) {
                ++objects;
                for (const Place& place : b.world.object(i).places) {
                    ASSERT_EQ(b.world.find(place.file), i);
                    ++files;
                }
            }
            ASSERT_EQ(objects, b.world.objects());
            ASSERT_EQ(files, b.world.files());
            ASSERT_LE(objects, 40U);
            ASSERT_LE(b.world.names(), 20U);
        }
    }
}
// The server's memory has the head of both, so that nobody looks it up.
TEST(World, ARequestThatBeginsInTheMiddleMakesTheHeadLeadThere) {
    Builder b;
    b.lookup(1), b.lookup(2), b.lookup(3);
    b.now += 1s;
    b.lookup(1), b.lookup(2), b.lookup(4);
    b.now += 1s;
    b.lookup(3);
    EXPECT_EQ(b.object(2).after, 3U);
    b.now += 1s;
    b.lookup(1), b.lookup(5);
    EXPECT_EQ(b.object(1).after, 5U);
    b.now += 1s;
    b.lookup(4);
    EXPECT_EQ(b.object(1).after, 2U);
    EXPECT_EQ(b.object(2).after, 4U);
}

TEST(World, BlocksThatMemoryHasAreNotUnlinkedByAWalkPastThem) {
    Builder b;
    for (std::uint64_t i = 1; i <= 5; ++i)
        b.lookup(i);
    b.now += 1s;
    b.lookup(2), b.lookup(9); // 1, 2, 9 is another request's chain
    b.now += 1s;
    b.lookup(1);
    EXPECT_EQ(b.lookup(4).run, 2U) << "2 and 3 are in memory; it is the known chain all the same";
    EXPECT_EQ(b.object(4).before, 3U);
    for (std::uint64_t i = 1; i <= 3; ++i)
        EXPECT_EQ(b.object(i).after, i + 1) << i;
}

// KV events: a block may be known by its number, or as the head of others, before it has a file.
TEST(World, StoredBlocksAreAChainBeforeTheyHaveFiles) {
    test::Builder b;
    const auto stored = [&](std::uint64_t object, std::uint64_t before) {
        Event event{.kind = EventKind::stored, .root = 99};
        event.before = before;
        (void)b.apply(event, KvName::from_number(object).hex());
    };
    stored(2, 1);
    stored(3, 2);
    EXPECT_EQ(b.object(3).before, 2U);
    EXPECT_TRUE(b.object(3).firm);
    EXPECT_EQ(b.object(3).depth, 2U);
    EXPECT_EQ(b.world.after(b.world.find(1)), b.world.find(2));
    EXPECT_EQ(b.object(3).name.digits(), 16U);
    (void)b.write(3, 13);
    EXPECT_EQ(b.object(3).name.digits(), 64U); // or the reaper could not spell its file's name
    EXPECT_EQ(b.object(3).before, 2U);         // and creation order does not overrule it
    EXPECT_EQ(b.world.objects(), 1U);
    stored(3, 2); // again
    EXPECT_EQ(b.object(3).name.digits(), 64U);
    Event nonsense{.kind = EventKind::stored};
    (void)b.apply(nonsense, "xyz");
    EXPECT_EQ(b.world.names(), 2U);
}

TEST(World, StoredBlocksAreBounded) {
    test::Builder b({.max_objects = 10, .max_names = 50});
    for (std::uint64_t i = 1; i < 1000; ++i) {
        Event event{.kind = EventKind::stored};
        event.before = i - 1;
        (void)b.apply(event, KvName::from_number(i).hex());
    }
    EXPECT_EQ(b.world.names(), 50U);
}

TEST(World, WhatFollowsAForgottenObjectIsNobodyElse) {
    Builder b({.max_objects = 2, .max_names = 1});
    b.write(1, 11);
    b.lookup(1);
    b.write(2, 12);
    b.lookup(2);
    ASSERT_EQ(b.world.after(b.world.find(1)), b.world.find(2));
    b.now += 1min;
    b.lookup(1);
    b.now += 1min;
    b.write(3, 13); // the coldest is forgotten
    ASSERT_EQ(b.world.find(2), no_object);
    b.lookup(1);
    b.now += 1min;
    b.write(4, 14); // in its place
    EXPECT_EQ(b.world.after(b.world.find(1)), no_object);
}

} // namespace
} // namespace hintier
