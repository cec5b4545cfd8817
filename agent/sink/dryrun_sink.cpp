// SPDX-License-Identifier: Apache-2.0
#include "agent/sink/dryrun_sink.hpp"

#include <fmt/core.h>

namespace hintier {

Result<void> DryRunSink::send(std::uint32_t tier, std::span<hintier_hint> hints) {
    ++counts_.batches;
    for (const hintier_hint& hint : hints) {
        ++counts_.sent;
        if (hint.verb < counts_.by_verb.size()) ++counts_.by_verb[hint.verb];
        const char* verb = hint.verb == HINTIER_VERB_CLASSIFY ? "classify"
                           : hint.verb == HINTIER_VERB_FETCH  ? "fetch"
                                                              : "other";
        say_(fmt::format("would {} {}:{} +{} at {}: object {:016x} depth {} class {} group {}",
                         verb, tier >> 20U, tier & 0xFFFFFU, hint.length, hint.offset, hint.object,
                         hint.depth, hint.klass, hint.group));
    }
    return {};
}

Result<void> DryRunSink::rule(const hintier_values& values) {
    ++counts_.tables;
    say_(fmt::format("would send a value table of {} groups for {} ms", values.groups,
                     values.ttl_ms));
    return {};
}

} // namespace hintier
