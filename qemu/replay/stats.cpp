// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/stats.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "qemu/replay/sessions.hpp"

namespace hintier::replay {

namespace {

std::vector<double> quantiles(std::vector<double> values, const std::vector<double>& shares) {
    std::vector<double> out;
    std::sort(values.begin(), values.end());
    for (const double share : shares)
        out.push_back(
            values.empty()
                ? 0
                : values[std::min(values.size() - 1,
                                  static_cast<std::size_t>(share * double(values.size())))]);
    return out;
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Counts accesses at positions; a stack distance is how many last accesses lie behind a position.
class Fenwick {
public:
    explicit Fenwick(std::size_t size) : sums_(size + 1, 0) {}
    void add(std::size_t at, int value) {
        for (at++; at < sums_.size(); at += at & -at)
            sums_[at] += value;
    }
    int before(std::size_t at) const {
        int sum = 0;
        for (; at > 0; at -= at & -at)
            sum += sums_[at];
        return sum;
    }

private:
    std::vector<int> sums_;
};

struct Touches {
    std::vector<double> distance, seconds; // of every repeated access
    std::size_t accesses = 0, unique = 0, repeated = 0;
};

Touches touches(const Trace& trace) {
    Touches found;
    for (const auto& request : trace)
        found.accesses += request.blocks.size();
    struct Last {
        std::size_t position;
        std::int64_t at_ms;
        bool repeated;
    };
    std::unordered_map<BlockId, Last> last;
    Fenwick stack(found.accesses);
    std::size_t position = 0;
    for (const auto& request : trace)
        for (const BlockId block : request.blocks) {
            const auto [it, fresh] = last.try_emplace(block, Last{position, 0, false});
            if (!fresh) {
                found.distance.push_back(static_cast<double>(last.size()) -
                                         stack.before(it->second.position + 1));
                found.seconds.push_back(double(request.arrival_ms - it->second.at_ms) / 1000);
                found.repeated += !it->second.repeated;
                stack.add(it->second.position, -1);
            }
            it->second = {position, request.arrival_ms, !fresh};
            stack.add(position++, 1);
        }
    found.unique = last.size();
    return found;
}

struct Talk {
    std::vector<double> gaps, next_turn; // P(next turn) after turn 0, 1, ...
    std::size_t sessions = 0;
    double first_turn_share = 0; // of all blocks made
};

Talk talk(const Trace& trace) {
    constexpr std::size_t kTurns = 7;
    const Sessions sessions = find_sessions(trace);
    Talk found;
    found.sessions = sessions.all.size();
    std::vector<std::size_t> reached(kTurns + 1, 0), turn(sessions.all.size(), 0);
    std::vector<std::int64_t> last(sessions.all.size(), 0);
    std::unordered_map<BlockId, bool> known;
    double made = 0, made_first = 0;
    for (std::size_t i = 0; i < trace.size(); i++) {
        const SessionId session = sessions.of_request[i];
        if (turn[session] > 0)
            found.gaps.push_back(double(trace[i].arrival_ms - last[session]) / 1000);
        last[session] = trace[i].arrival_ms;
        if (turn[session] <= kTurns) reached[turn[session]]++;
        for (const BlockId block : trace[i].blocks)
            if (known.try_emplace(block, true).second) {
                made++;
                made_first += turn[session] == 0;
            }
        turn[session]++;
    }
    for (std::size_t i = 0; i < kTurns; i++)
        found.next_turn.push_back(reached[i] ? double(reached[i + 1]) / double(reached[i]) : 0);
    found.first_turn_share = made > 0 ? made_first / made : 0;
    return found;
}

} // namespace

std::vector<Statistic> measure(const Trace& trace) {
    const Touches touch = touches(trace);
    const Talk spoken = talk(trace);
    std::vector<double> input, output;
    for (const auto& request : trace) {
        input.push_back(request.input_tokens);
        output.push_back(request.output_tokens);
    }
    const std::vector<double> six{.10, .25, .50, .75, .90, .99};
    const double accesses = static_cast<double>(touch.accesses);
    const double hours = double(trace.back().arrival_ms - trace.front().arrival_ms) / 3.6e6;
    const auto per_hour = [&](double count) {
        return std::vector<double>{hours > 0 ? count / hours : 0};
    };
    return {
        {"requests an hour", per_hour(double(trace.size())), {12245}},
        {"input tokens, mean", {mean(input)}, {12035}},
        {"input tokens p10/25/50/75/90/99",
         quantiles(input, six),
         {964, 2306, 6909, 15368, 27367, 85401}},
        {"output tokens, mean", {mean(output)}, {343}},
        {"block accesses an hour", per_hour(accesses), {293644}},
        {"unique blocks an hour", per_hour(double(touch.unique)), {186047}},
        {"unique blocks used again %",
         {100 * double(touch.repeated) / double(touch.unique)},
         {24.2},
         1},
        {"ideal block hit ratio %", {100 * (1 - double(touch.unique) / accesses)}, {36.6}, 1},
        {"LRU stack distance p10/25/50/75/90/99",
         quantiles(touch.distance, six),
         {48, 4292, 8357, 17849, 31588, 85267}},
        {"s between touches p10/25/50/75/90/99",
         quantiles(touch.seconds, six),
         {0, 54, 114, 267, 519, 1578}},
        {"sessions an hour", per_hour(double(spoken.sessions)), {8224}},
        {"P(next turn) at turn 0..6", spoken.next_turn, {.25, .39, .49, .55, .61, .66, .74}, 2},
        {"gap between turns s p10/50/90/99",
         quantiles(spoken.gaps, {.10, .50, .90, .99}),
         {39, 123, 474, 1470}},
        {"blocks made on turn 0 %", {100 * spoken.first_turn_share}, {91}, 1},
    };
}

std::string format_stats(const std::vector<Statistic>& statistics) {
    const auto numbers = [](const std::vector<double>& values, int digits) {
        std::vector<std::string> texts;
        for (const double value : values)
            texts.push_back(fmt::format("{:.{}f}", value, digits));
        return fmt::format("{}", fmt::join(texts, " / "));
    };
    std::string text = fmt::format("{:<38} {:<46} {}\n", "statistic", "this trace", "published");
    for (const auto& one : statistics)
        text += fmt::format("{:<38} {:<46} {}\n", one.name, numbers(one.measured, one.digits),
                            numbers(one.published, one.digits));
    return text;
}

} // namespace hintier::replay
