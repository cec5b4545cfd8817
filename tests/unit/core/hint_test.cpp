// SPDX-License-Identifier: Apache-2.0
//
// What callers may say: each thing that can be wrong with a hint, a batch or a query has its
// reason, and a hint with one thing wrong is never let through.

#include <gtest/gtest.h>

#include <functional>

#include "hint.h"

namespace hintier::test {
namespace {

constexpr u64 BYTES = 1ULL << 30;
constexpr u32 ADVISER = HINTIER_ACCESS_ADVISE;
constexpr u32 OWNER = HINTIER_ACCESS_ADVISE | HINTIER_ACCESS_OWNER;

hintier_hint good(u16 verb) {
    hintier_hint hint{};
    hint.verb = verb;
    hint.offset = 4 * HINTIER_UNIT_BYTES;
    hint.length = 3 * HINTIER_UNIT_BYTES;
    return hint;
}

u32 refusal(u16 verb, u32 access, const std::function<void(hintier_hint&)>& change) {
    hintier_hint hint = good(verb);
    change(hint);
    return ht_hint_refusal(&hint, access, BYTES);
}

TEST(Hint, EachThingThatIsWrongHasItsReason) {
    const struct {
        u32 reason;
        std::function<void(hintier_hint&)> change;
    } wrong[] = {
        {HINTIER_REASON_VERB, [](auto& h) { h.verb = 0; }},
        {HINTIER_REASON_VERB, [](auto& h) { h.verb = HINTIER_VERB_UNPIN + 1; }},
        {HINTIER_REASON_VERB, [](auto& h) { h.verb = 0xffff; }},
        {HINTIER_REASON_FLAGS, [](auto& h) { h.flags = 0x80; }},
        {HINTIER_REASON_RESERVED, [](auto& h) { h.reserved = 1; }},
        {HINTIER_REASON_CLASS, [](auto& h) { h.klass = HINTIER_CLASSES; }},
        {HINTIER_REASON_GROUP, [](auto& h) { h.group = HINTIER_GROUPS; }},
        {HINTIER_REASON_ALIGN, [](auto& h) { h.offset++; }},
        {HINTIER_REASON_ALIGN, [](auto& h) { h.length += 512; }},
        {HINTIER_REASON_RANGE, [](auto& h) { h.length = 0; }},
        {HINTIER_REASON_RANGE, [](auto& h) { h.offset = BYTES; }},
        {HINTIER_REASON_RANGE, [](auto& h) { h.length = BYTES; }},
        {HINTIER_REASON_RANGE, [](auto& h) { h.offset = h.length = 1ULL << 63; }},
        {HINTIER_REASON_RANGE, [](auto& h) { h.length = -h.offset; }},
    };
    for (u16 verb = HINTIER_VERB_CLASSIFY; verb <= HINTIER_VERB_UNPIN; verb++) {
        EXPECT_EQ(refusal(verb, OWNER, [](auto&) {}), HINTIER_REASON_NONE) << verb;
        for (const auto& one : wrong)
            EXPECT_EQ(refusal(verb, OWNER, one.change), one.reason) << verb << " " << &one - wrong;
    }
}

TEST(Hint, AFlagIsForItsVerb) {
    auto with = [](u8 flags) { return [flags](hintier_hint& h) { h.flags = flags; }; };
    EXPECT_EQ(refusal(HINTIER_VERB_CLASSIFY, OWNER, with(HINTIER_FLAG_TOUCH)), HINTIER_REASON_NONE);
    EXPECT_EQ(refusal(HINTIER_VERB_CLASSIFY, OWNER, with(HINTIER_FLAG_STAGE)),
              HINTIER_REASON_FLAGS);
    EXPECT_EQ(refusal(HINTIER_VERB_FETCH, ADVISER, with(HINTIER_FLAG_STAGE)), HINTIER_REASON_NONE);
    EXPECT_EQ(refusal(HINTIER_VERB_FETCH, OWNER, with(HINTIER_FLAG_VOLATILE)),
              HINTIER_REASON_FLAGS);
    EXPECT_EQ(refusal(HINTIER_VERB_DONE, OWNER, with(HINTIER_FLAG_TOUCH)), HINTIER_REASON_FLAGS);
}

TEST(Hint, WhatChangesContentsIsTheOwnersWord) {
    auto volatile_flag = [](hintier_hint& h) { h.flags = HINTIER_FLAG_VOLATILE; };
    auto nothing = [](hintier_hint&) {};
    EXPECT_EQ(refusal(HINTIER_VERB_CLASSIFY, ADVISER, nothing), HINTIER_REASON_NONE);
    EXPECT_EQ(refusal(HINTIER_VERB_FETCH, ADVISER, nothing), HINTIER_REASON_NONE);
    EXPECT_EQ(refusal(HINTIER_VERB_CLASSIFY, ADVISER, volatile_flag), HINTIER_REASON_ACCESS);
    EXPECT_EQ(refusal(HINTIER_VERB_CLASSIFY, OWNER, volatile_flag), HINTIER_REASON_NONE);
    EXPECT_EQ(refusal(HINTIER_VERB_DONE, ADVISER, nothing), HINTIER_REASON_ACCESS);
    EXPECT_EQ(refusal(HINTIER_VERB_FETCH, 0, nothing), HINTIER_REASON_ACCESS);
}

TEST(Hint, BatchesAndQueriesAreBounded) {
    hintier_batch batch{};
    batch.done = batch.reason = 7;
    EXPECT_EQ(ht_batch_refusal(&batch), -EINVAL) << "empty";
    EXPECT_EQ(batch.done, 0U);
    EXPECT_EQ(batch.reason, static_cast<u32>(HINTIER_REASON_NONE));
    batch.count = HINTIER_BATCH_MAX;
    EXPECT_EQ(ht_batch_refusal(&batch), 0);
    batch.count++;
    EXPECT_EQ(ht_batch_refusal(&batch), -E2BIG);
    batch.flags = 1;
    EXPECT_EQ(ht_batch_refusal(&batch), -EINVAL);
    EXPECT_EQ(batch.reason, static_cast<u32>(HINTIER_REASON_FLAGS));
    batch.flags = 0;
    batch.reserved[1] = 1;
    EXPECT_EQ(ht_batch_refusal(&batch), -EINVAL);
    EXPECT_EQ(batch.reason, static_cast<u32>(HINTIER_REASON_RESERVED));

    hintier_wait wait{};
    EXPECT_EQ(ht_wait_refusal(&wait), 0);
    wait.timeout_ms = HINTIER_WAIT_MAX_MS;
    wait.flags = HINTIER_WAIT_OUTCOME;
    EXPECT_EQ(ht_wait_refusal(&wait), 0);
    wait.timeout_ms++;
    EXPECT_EQ(ht_wait_refusal(&wait), -EINVAL);
    wait.timeout_ms = 0;
    wait.flags = 2;
    EXPECT_EQ(ht_wait_refusal(&wait), -EINVAL);
    wait.flags = 0;
    wait.reserved[1] = 1;
    EXPECT_EQ(ht_wait_refusal(&wait), -EINVAL);

    hintier_query query{};
    EXPECT_EQ(ht_query_refusal(&query), -EINVAL) << "no room for an answer";
    query.max = HINTIER_BATCH_MAX;
    EXPECT_EQ(ht_query_refusal(&query), 0) << "an empty range is the tier's to judge";
    query.max++;
    EXPECT_EQ(ht_query_refusal(&query), -E2BIG);
    query.max = 1;
    query.length = 1;
    EXPECT_EQ(ht_query_refusal(&query), -EINVAL);
    query.length = 0;
    query.reserved = 1;
    EXPECT_EQ(ht_query_refusal(&query), -EINVAL);
    query.reserved = 0;
    query.flags = 1;
    EXPECT_EQ(ht_query_refusal(&query), -EINVAL);
}

} // namespace
} // namespace hintier::test
