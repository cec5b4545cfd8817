// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/sessions.hpp"

#include <algorithm>
#include <unordered_map>

namespace hintier::replay {

Sessions find_sessions(const Trace& trace) {
    Sessions sessions;
    std::unordered_map<BlockId, SessionId> maker;
    for (std::uint32_t index = 0; index < trace.size(); index++) {
        const auto& request = trace[index];
        std::size_t known = 0;
        while (known < request.blocks.size() && maker.count(request.blocks[known]))
            known++;

        auto session = static_cast<SessionId>(sessions.all.size());
        if (known > 0) {
            const SessionId candidate = maker.at(request.blocks[known - 1]);
            const auto said = trace[sessions.all[candidate].last_request].full_blocks();
            if (said > 0 && known >= said) session = candidate;
        }
        if (session == sessions.all.size()) sessions.all.push_back({index, index, 0});
        sessions.all[session].last_request = index;
        sessions.all[session].turns++;
        sessions.of_request.push_back(session);
        for (const BlockId block : request.blocks)
            maker.try_emplace(block, session);
    }
    return sessions;
}

std::vector<SessionEnd> find_ends(const Trace& trace, const Sessions& sessions,
                                  std::int64_t notice_ms) {
    std::vector<SessionId> order(sessions.all.size());
    for (SessionId i = 0; i < order.size(); i++)
        order[i] = i;
    const auto end_of = [&](SessionId s) {
        return trace[sessions.all[s].last_request].arrival_ms + notice_ms;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](SessionId a, SessionId b) { return end_of(a) < end_of(b); });

    std::unordered_map<BlockId, std::uint32_t> holders;
    std::vector<std::size_t> held(sessions.all.size(), 0); // full blocks each session holds so far
    std::vector<SessionEnd> ends;
    std::uint32_t next = 0;
    for (const SessionId session : order) {
        SessionEnd end{end_of(session), session, {}};
        for (; next < trace.size() && trace[next].arrival_ms <= end.at_ms; next++) {
            auto& depth = held[sessions.of_request[next]];
            for (; depth < trace[next].full_blocks(); depth++)
                holders[trace[next].blocks[depth]]++;
        }
        const auto& last = trace[sessions.all[session].last_request];
        for (std::size_t i = 0; i < held[session]; i++)
            if (--holders.at(last.blocks[i]) == 0) end.dead.push_back(last.blocks[i]);
        if (!end.dead.empty()) ends.push_back(std::move(end));
    }
    return ends;
}

} // namespace hintier::replay
