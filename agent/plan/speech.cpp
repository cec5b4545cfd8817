// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/speech.hpp"

namespace hintier {

Result<Speech::Outcome> Speech::hear(const Words& words) {
    std::uint32_t root = words.root;
    std::vector<std::uint64_t> told;
    if (!words.named) {
        const auto session = sessions_.find(words.session, words.teller);
        if (!session) return Failure(session.error());
        root = (*session)->root;
        told = (*session)->objects;
    } else if (!words.session.empty() && words.kind != Words::Kind::ended) {
        auto kept = sessions_.tell(words.session, words.teller, root, words.objects);
        if (!kept) return Failure(std::move(kept.error()));
    }
    const std::vector<std::uint64_t>& objects = words.named ? words.objects : told;
    switch (words.kind) {
    case Words::Kind::started:
        return count_known(objects);
    case Words::Kind::resumes:
    case Words::Kind::queued:
        return announce(words, root, objects);
    case Words::Kind::ended:
        break;
    }
    return end(words, root, objects);
}

Speech::Outcome Speech::announce(const Words& words, std::uint32_t root,
                                 const std::vector<std::uint64_t>& objects) {
    const auto heard = planner_.announce.announced(world_, root, objects, words.in_ms, words.time,
                                                   planner_.restore, planner_.plan);
    return {heard.there, objects.size(), heard.left};
}

Speech::Outcome Speech::count_known(const std::vector<std::uint64_t>& objects) const {
    Outcome outcome{0, objects.size(), false};
    for (const std::uint64_t object : objects) {
        const ObjectIndex index = world_.find(object);
        outcome.done += index != no_object && !world_.object(index).places.empty() ? 1 : 0;
    }
    return outcome;
}

Result<Speech::Outcome> Speech::end(const Words& words, std::uint32_t root,
                                    const std::vector<std::uint64_t>& objects) {
    planner_.worth.ended(world_, objects, words.time);
    const auto files = planner_.reaper.session_ended(world_, root, objects, words.time);
    if (!files) return Failure(files.error());
    if (sessions_.find(words.session, words.teller)) {
        sessions_.forget(words.session);
    }
    return Outcome{*files, objects.size(), false};
}

} // namespace hintier
