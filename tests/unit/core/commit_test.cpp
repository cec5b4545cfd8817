// SPDX-License-Identifier: Apache-2.0
//
// The commit protocol, action by action: what it asks for when all goes well, and after each
// failure.

#include <gtest/gtest.h>

#include <string>

#include <hintier/types.h>

#include "commit.h"

namespace hintier::test {
namespace {

// Carries a commit out and writes down what it was asked to do.
class CommitRun {
public:
    CommitRun() {
        pair.fast.epoch = pair.bulk.epoch = 5;
        pair.running = true;
    }

    // Actions as letters; F, B and FB after L are what is flushed.
    std::string run(u32 why = 0) {
        std::string said;
        ht_commit_action action = ht_commit_begin(&commit, &map, &pair, why);
        while (action != HT_COMMIT_DONE && said.size() < 200) {
            ht_commit_done done{};
            done.dirty = dirty;
            said += said.empty() ? "" : " ";
            said += word(action);
            const bool fails =
                said.find(failing) != std::string::npos && !failing.empty() &&
                said.compare(said.size() - failing.size(), failing.size(), failing) == 0;
            if (fails) done.failed = failed;
            if (action == HT_COMMIT_GATHER) gather(done);
            if (action == HT_COMMIT_TAKE) done.written = written;
            action = ht_commit_next(&commit, &done);
        }
        return said;
    }

    ht_map map{};
    ht_pair pair{};
    ht_commit commit{};
    u32 rounds = 1;
    u32 lost = 0; // sectors of the lost map that changed
    u32 needs = 0;
    bool written = true, dirty = false;
    std::string failing; // the action, with what stands before it, that fails
    u8 failed = 0;

private:
    void gather(ht_commit_done& done) {
        done.count = rounds ? 3 : 0;
        done.lost = lost;
        done.needs = needs;
        done.next = commit.cursor + 3;
        done.more = commit.cursor / 3 + 1 < rounds;
    }

    std::string word(ht_commit_action action) const {
        switch (action) {
        case HT_COMMIT_STATE:
            return "state";
        case HT_COMMIT_GATHER:
            return "gather";
        case HT_COMMIT_TAKE:
            return "take";
        case HT_COMMIT_FLUSH:
            return commit.flush == HT_ON_FAST   ? "flush-fast"
                   : commit.flush == HT_ON_BULK ? "flush-bulk"
                                                : "flush-both";
        case HT_COMMIT_GIVE:
            return "give";
        case HT_COMMIT_WRITE_LOST:
            return "write-lost";
        case HT_COMMIT_WRITE:
            return "write";
        case HT_COMMIT_PUBLISH:
            return "publish";
        case HT_COMMIT_REVERT:
            return "revert";
        default:
            return "?";
        }
    }
};

TEST(Commit, FlushesDataBeforeItsRecordAndTheRecordAfterIt) {
    CommitRun c;
    EXPECT_EQ(c.run(), "gather flush-fast write flush-fast publish");
    EXPECT_FALSE(c.commit.failed);
    EXPECT_EQ(c.pair.commit_seq, 1U);
    EXPECT_EQ(c.commit.seq, 1U);
}

TEST(Commit, FlushesHomesBeforeARecordCallsThemGood) {
    CommitRun c;
    c.needs = HT_GATHER_BULK;
    EXPECT_EQ(c.run(), "gather take flush-both write flush-fast publish");
    c.written = false;
    EXPECT_EQ(c.run(), "gather take flush-fast write flush-fast publish");
}

// R10
TEST(Commit, MakesTheLostMapDurableBetweenHomesAndRecords) {
    CommitRun c;
    c.lost = 1;
    EXPECT_EQ(c.run(), "gather take flush-both write-lost flush-fast write flush-fast publish");
    c.written = false;
    EXPECT_EQ(c.run(), "gather take flush-fast write-lost flush-fast write flush-fast publish");
    c.rounds = 0;
    EXPECT_EQ(c.run(), "gather take flush-fast write-lost flush-fast publish")
        << "without a record that changed";
}

TEST(Commit, WritesNoRecordAfterALostMapThatFailed) {
    for (const char* failing : {"write-lost", "write-lost flush-fast"}) {
        CommitRun c;
        c.lost = 1;
        c.failing = failing;
        c.failed = HT_ON_FAST;
        EXPECT_EQ(c.run(),
                  std::string("gather take flush-both ") + failing + " state state revert");
        EXPECT_EQ(c.map.mode, HINTIER_MODE_BYPASS);
        EXPECT_TRUE(c.commit.failed);
    }
}

TEST(Commit, OfNothingDoesNothing) {
    CommitRun c;
    c.rounds = 0;
    EXPECT_EQ(c.run(), "gather");
    EXPECT_FALSE(c.commit.failed);
    EXPECT_EQ(c.run(HT_COMMIT_FOR_PROBE), "gather flush-fast");
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "gather take flush-both");
    c.written = false;
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "gather take flush-fast");
}

TEST(Commit, GoesRoundByRoundAndComesToAnEnd) {
    CommitRun c;
    c.rounds = 2;
    const std::string round = "gather flush-fast write flush-fast publish";
    EXPECT_EQ(c.run(), round + " " + round);
    EXPECT_EQ(c.pair.commit_seq, 2U) << "each round has a number of its own";
    c.rounds = 1000;
    c.commit.cursor = 0;
    ht_commit_begin(&c.commit, &c.map, &c.pair, 0);
    ht_commit_done stuck{};
    stuck.count = 1;
    stuck.more = true; // and the cursor stays where it is
    for (const ht_commit_action expected :
         {HT_COMMIT_FLUSH, HT_COMMIT_WRITE, HT_COMMIT_FLUSH, HT_COMMIT_PUBLISH, HT_COMMIT_DONE})
        EXPECT_EQ(ht_commit_next(&c.commit, &stuck), expected);
}

TEST(Commit, GivesBackWhatAFailedFlushOfBulkLeaves) {
    CommitRun c;
    c.needs = HT_GATHER_BULK;
    c.failing = "flush-both";
    c.failed = HT_ON_BULK;
    EXPECT_EQ(c.run(), "gather take flush-both give revert gather flush-fast write flush-fast "
                       "publish");
    EXPECT_EQ(c.map.mode, HINTIER_MODE_WRITEBACK) << "bulk alone is no reason to give up fast";
    EXPECT_FALSE(ht_commit_whole(&c.commit));
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_ERROR);
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FUA), HT_TOLD_DONE) << "C7: fast has all of it";
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_TURN), HT_TOLD_AGAIN);

    c.needs |= HT_GATHER_HELD;
    c.run();
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FUA), HT_TOLD_ERROR) << "it may be one left out";
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_TURN), HT_TOLD_ERROR);

    c.rounds = 0;
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "gather take flush-both give");
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_ERROR);
}

// R10: a record that lets go of what was dropped waits for the map, and the map for homes.
TEST(Commit, RecordsNothingBesideALostMapThatWaitsForBulk) {
    CommitRun c;
    c.lost = 1;
    c.failing = "flush-both";
    c.failed = HT_ON_BULK;
    EXPECT_EQ(c.run(), "gather take flush-both give revert gather revert");
    EXPECT_TRUE(c.commit.failed);
    for (const ht_waiter who : {HT_WAITS_FLUSH, HT_WAITS_FUA, HT_WAITS_TURN})
        EXPECT_EQ(ht_commit_tell(&c.commit, who), HT_TOLD_ERROR);
}

TEST(Commit, ThatFailsInALaterRoundHasFailed) {
    CommitRun c;
    c.rounds = 3;
    c.failing = "publish gather flush-fast";
    c.failed = HT_ON_FAST;
    EXPECT_EQ(c.run(),
              "gather flush-fast write flush-fast publish gather flush-fast state state revert");
    EXPECT_TRUE(c.commit.failed);
}

TEST(Commit, GivesFastUpOnceBulkHasMovedOn) {
    for (const char* failing : {"gather flush-fast", "write", "write flush-fast"}) {
        CommitRun c;
        c.failing = failing;
        c.failed = HT_ON_FAST;
        c.dirty = false; // but a write may land and be acknowledged while bulk is told
        const std::string said = c.run();
        EXPECT_TRUE(said.ends_with(" state state revert")) << said;
        EXPECT_EQ(said.find("publish"), std::string::npos) << said;
        EXPECT_EQ(c.map.mode, HINTIER_MODE_BYPASS);
        EXPECT_EQ(c.pair.bulk.epoch, 6U);
        EXPECT_EQ(c.pair.fast.epoch, 5U);
        EXPECT_EQ(c.pair.bulk.flags, HT_STATE_HAS_DIRTY | HT_STATE_MOVED);
        EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FUA), HT_TOLD_ERROR);
        EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_TURN), HT_TOLD_AGAIN);
    }
}

TEST(Commit, FailsTheTierIfBulkCannotBeMoved) {
    CommitRun c;
    c.failing = "state";
    c.failed = HT_ON_BULK;
    c.needs = HT_GATHER_BULK;
    CommitRun both = c;
    both.failing = "flush-both";
    both.failed = HT_ON_FAST | HT_ON_BULK;
    EXPECT_EQ(both.run(), "gather take flush-both give state state revert");
    EXPECT_EQ(both.map.mode, HINTIER_MODE_BYPASS) << "the state could be written";

    ht_commit_begin(&c.commit, &c.map, &c.pair, 0);
    ht_commit_done done{};
    done.count = 1;
    EXPECT_EQ(ht_commit_next(&c.commit, &done), HT_COMMIT_FLUSH);
    done.failed = HT_ON_FAST;
    EXPECT_EQ(ht_commit_next(&c.commit, &done), HT_COMMIT_STATE);
    done.failed = HT_ON_BULK;
    EXPECT_EQ(ht_commit_next(&c.commit, &done), HT_COMMIT_REVERT);
    EXPECT_EQ(c.map.mode, HINTIER_MODE_FAIL);
    EXPECT_EQ(c.pair.bulk.epoch, 5U);
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "") << "nothing can be made durable any more";
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_ERROR);
}

// By those that wait when it happens, and by one that covers all that was acknowledged by then.
TEST(Commit, TellsFlushesTwiceWhatWentWithFast) {
    CommitRun c;
    c.failing = "gather flush-fast";
    c.failed = HT_ON_FAST;
    c.run();
    ASSERT_EQ(c.map.mode, HINTIER_MODE_BYPASS);
    c.failing.clear();
    EXPECT_EQ(c.run(), "take flush-bulk");
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FUA), HT_TOLD_ERROR)
        << "no record can be written any more";
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "take flush-bulk");
        EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_ERROR);
    }
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "take flush-bulk");
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_DONE);
    c.written = false;
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "take");
    c.written = true;
    c.failing = "flush-bulk";
    c.failed = HT_ON_BULK;
    EXPECT_EQ(c.run(HT_COMMIT_FOR_FLUSH), "take flush-bulk give");
    EXPECT_EQ(ht_commit_tell(&c.commit, HT_WAITS_FLUSH), HT_TOLD_ERROR);
}

TEST(Commit, LetsBulkSayThatItMayLackSomethingFirst) {
    CommitRun c;
    c.map.bulk = HT_BULK_ENDING;
    EXPECT_EQ(c.run(), "state state gather flush-fast write flush-fast publish");
    EXPECT_EQ(c.map.bulk, HT_BULK_PARTIAL);
    EXPECT_EQ(c.pair.bulk.flags, HT_STATE_HAS_DIRTY | HT_STATE_MOVED);
    EXPECT_EQ(c.pair.bulk.epoch, 5U);

    CommitRun broken;
    broken.map.bulk = HT_BULK_ENDING;
    broken.failing = "state";
    broken.failed = HT_ON_BULK;
    EXPECT_EQ(broken.run(), "state");
    EXPECT_EQ(broken.map.bulk, HT_BULK_ENDING);
    EXPECT_EQ(ht_commit_tell(&broken.commit, HT_WAITS_TURN), HT_TOLD_ERROR);
}

} // namespace
} // namespace hintier::test
