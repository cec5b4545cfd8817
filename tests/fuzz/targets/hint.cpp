// SPDX-License-Identifier: Apache-2.0
// The ioctl decoder: what core lets through is well formed, inside the tier and allowed, and what
// a tier is then asked for cannot overflow.
#include "kmod/core/hint.h"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::Input;
using hintier::fuzz::Output;
using hintier::fuzz::require;

namespace {

std::vector<hintier::fuzz::Bytes> seeds() {
    std::vector<hintier::fuzz::Bytes> all;
    for (std::uint16_t verb = 0; verb < 8; verb++) {
        hintier_batch batch{};
        batch.count = 2;
        hintier_query query{};
        query.offset = 4096;
        query.length = 1 << 20;
        query.max = 10;
        hintier_hint hint{};
        hint.verb = verb;
        hint.klass = HINTIER_CLASS_KV;
        hint.group = 255;
        hint.offset = 1 << 20;
        hint.length = 1 << 16;
        Output out;
        out.put<std::uint32_t>(3).put<std::uint64_t>(1 << 30).put(batch).put(query).put(hint);
        hint.flags = HINTIER_FLAG_TOUCH;
        out.put(hint);
        hint.flags = HINTIER_FLAG_VOLATILE;
        out.put(hint);
        all.push_back(out.bytes);
    }
    return all;
}

void check_hint(const hintier_hint& hint, u32 access, u64 bytes) {
    const u32 reason = ht_hint_refusal(&hint, access, bytes);
    require(reason <= HINTIER_REASON_BUDGET, "a reason that callers know");
    if (reason != HINTIER_REASON_NONE) return;
    require(hint.verb >= HINTIER_VERB_CLASSIFY && hint.verb <= HINTIER_VERB_UNPIN, "verb");
    require(hint.klass < HINTIER_CLASSES && hint.group < HINTIER_GROUPS, "class and group");
    require(!hint.reserved, "reserved");
    require(hint.length && hint.offset % HINTIER_UNIT_BYTES == 0 &&
                hint.length % HINTIER_UNIT_BYTES == 0,
            "whole units");
    require(hint.offset + hint.length > hint.offset && hint.offset + hint.length <= bytes,
            "inside the tier");
    require((hint.verb != HINTIER_VERB_DONE && !(hint.flags & HINTIER_FLAG_VOLATILE)) ||
                access & HINTIER_ACCESS_OWNER,
            "only the owner says done and volatile");
    require(access & (HINTIER_ACCESS_ADVISE | HINTIER_ACCESS_OWNER), "nobody else says anything");
}

} // namespace

FUZZ_TARGET(hint, seeds) {
    Input in(input);
    const auto access = in.take<u32>();
    const auto bytes = in.take<u64>();

    auto batch = in.take<hintier_batch>();
    if (ht_batch_refusal(&batch) == 0)
        require(batch.count && batch.count <= HINTIER_BATCH_MAX && !batch.flags &&
                    !batch.reserved[0] && !batch.reserved[1],
                "a batch is bounded");
    require(batch.done == 0 && batch.reason <= HINTIER_REASON_BUDGET, "nothing is done yet");

    const auto query = in.take<hintier_query>();
    if (ht_query_refusal(&query) == 0 && ht_inside(query.offset, query.length, bytes))
        require(query.max && query.max <= HINTIER_BATCH_MAX &&
                    query.offset + query.length > query.offset &&
                    query.offset + query.length <= bytes,
                "a query is bounded");

    while (!in.empty())
        check_hint(in.take<hintier_hint>(), access, bytes);
}
