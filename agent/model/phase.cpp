// SPDX-License-Identifier: Apache-2.0
#include "agent/model/phase.hpp"

#include <algorithm>
#include <cmath>

namespace hintier {

namespace {

using Row = std::array<double, phase_count>;

constexpr std::array<std::string_view, phase_count> names = {"load",    "restore", "offload",
                                                             "prefill", "decode",  "idle"};

// Of leaving a phase, a second, and where to. Rows in the order of Phase.
constexpr Row leaves = {0.1, 5, 5, 5, 1, 1};
constexpr std::array<Row, phase_count> goes = {{
    {0.00, 0.20, 0.05, 0.20, 0.05, 0.50},
    {0.01, 0.00, 0.20, 0.69, 0.05, 0.05},
    {0.01, 0.25, 0.00, 0.30, 0.24, 0.20},
    {0.01, 0.25, 0.44, 0.00, 0.20, 0.10},
    {0.01, 0.30, 0.10, 0.30, 0.00, 0.29},
    {0.05, 0.40, 0.05, 0.45, 0.05, 0.00},
}};

// How often each sign is seen in each phase. What comes behind in the order of Phase may well go
// on at the same time.
constexpr std::array<Row, sign_count> seen = {{
    {0.95, 0.02, 0.02, 0.02, 0.02, 0.02}, // filling
    {0.05, 0.97, 0.02, 0.02, 0.02, 0.01}, // reading
    {0.05, 0.30, 0.97, 0.02, 0.02, 0.01}, // writing
    {0.05, 0.60, 0.40, 0.90, 0.05, 0.02}, // due
    {0.10, 0.30, 0.30, 0.95, 0.03, 0.01}, // prompting
    {0.05, 0.40, 0.40, 0.40, 0.95, 0.02}, // stepping
}};

// Signs this close together say the same thing once.
constexpr double together_s = 0.005;
constexpr Nanos shortest = 2ms; // step
// Events this close together are one: what they cost is bounded, however many there are.
constexpr Nanos at_once = 500us;
// Below this no phase falls: so soon another one is believed.
constexpr double least = 1e-4;

// Signs live on for a moment, or are given up.
constexpr Nanos filling_for = 200ms;
constexpr Nanos prompting_for = 20ms; // between the calls of one prompt
constexpr Nanos stepping_for = 100ms; // between tokens
constexpr Nanos write_within = 5s;    // a file that was begun gets its name
constexpr Nanos compute_within = 30s; // what was missed is computed and written

constexpr std::uint32_t prompt_tokens = 16; // in one call; fewer are so many sequences' next ones
// How long a read takes: at first, at most, and the weight of a new one.
constexpr double read_at_first_s = 0.02;
constexpr double read_most_s = 2;
constexpr double read_weight = 0.1;
constexpr double most_reads = 0.7; // of the mean: a few long ones make it
constexpr Nanos waits = 1ms;       // a block that is opened later after its lookup

constexpr std::size_t max_processes = 256;
constexpr std::size_t max_known = 16'384; // objects, inodes or threads of one process

// Logarithms of how often each sign is seen, and is not.
struct Surprise {
    std::array<Row, sign_count> there{}, absent{};

    Surprise() {
        for (std::size_t i = 0; i < sign_count; ++i) {
            for (std::size_t s = 0; s < phase_count; ++s) {
                there[i][s] = std::log(seen[i][s]) / together_s;
                absent[i][s] = std::log(1 - seen[i][s]) / together_s;
            }
        }
    }
};

double seconds(Nanos time) {
    return std::chrono::duration<double>(time).count();
}

bool within(Nanos then, Nanos now, Nanos at_most) {
    return then != 0ns && now - then < at_most;
}

void remember(std::unordered_set<std::uint64_t>& known, std::uint64_t one) {
    if (known.size() >= max_known) known.clear();
    known.insert(one);
}

} // namespace

std::string_view phase_name(Phase phase) {
    return names[static_cast<std::size_t>(phase)];
}

PhaseChain::PhaseChain() {
    belief_.fill(least);
    belief_[static_cast<std::size_t>(Phase::idle)] = 1;
}

Phase PhaseChain::likeliest() const {
    return static_cast<Phase>(std::max_element(belief_.begin(), belief_.end()) - belief_.begin());
}

void PhaseChain::pass(double seconds, const std::array<bool, sign_count>& signs, bool calls) {
    static const Surprise surprise;
    Row weight{}; // log-likelihood a second
    for (std::size_t i = 0; i < sign_count; ++i) {
        const bool of_calls = i == static_cast<std::size_t>(Sign::prompting) ||
                              i == static_cast<std::size_t>(Sign::stepping);
        if (of_calls && !calls) continue;
        const Row& says = signs[i] ? surprise.there[i] : surprise.absent[i];
        for (std::size_t s = 0; s < phase_count; ++s)
            weight[s] += says[s];
    }
    const double heaviest = *std::max_element(weight.begin(), weight.end());
    Row stays{};
    for (std::size_t s = 0; s < phase_count; ++s)
        stays[s] = std::exp(-leaves[s] * seconds);
    Row next{};
    double sum = 0;
    for (std::size_t to = 0; to < phase_count; ++to) {
        double arrived = belief_[to] * stays[to];
        for (std::size_t from = 0; from < phase_count; ++from)
            arrived += belief_[from] * (1 - stays[from]) * goes[from][to];
        next[to] = arrived * std::exp((weight[to] - heaviest) * seconds);
        sum += next[to];
    }
    for (std::size_t s = 0; s < phase_count; ++s)
        belief_[s] = std::max(least, next[s] / sum);
}

// ---- signs ------------------------------------------------------------------------------------

Phases::Process::Process() : read_s(read_at_first_s) {}

bool Phases::Process::sign(Sign sign, Nanos now) const {
    switch (sign) {
    case Sign::filling:
        return within(filled, now, filling_for);
    case Sign::reading:
        return (!unread.empty() && seconds(now - std::max(found, opened)) < read_s) ||
               (opened != 0ns && seconds(now - opened) < most_reads * read_s);
    case Sign::writing:
        return !begun.empty() && within(began, now, write_within);
    case Sign::due:
        return !due.empty() && within(missed, now, compute_within);
    case Sign::prompting:
        return prompting || within(prompted, now, prompting_for);
    case Sign::stepping:
        return stepping || within(stepped, now, stepping_for);
    }
    return false;
}

// In steps, since signs end by themselves: short ones at first, longer the longer nothing happens.
void Phases::Process::pass(Track& track, Nanos now) const {
    const Nanos from = track.at;
    while (track.at < now) {
        const Nanos step = std::min(now - track.at, std::max(shortest, (track.at - from) / 8));
        std::array<bool, sign_count> signs{};
        for (std::size_t i = 0; i < sign_count; ++i)
            signs[i] = sign(static_cast<Sign>(i), track.at);
        const Phase was = track.chain.likeliest();
        track.chain.pass(seconds(step), signs, calls);
        track.at += step;
        if (track.chain.likeliest() != was) track.since = track.at;
    }
}

Phases::Process& Phases::process(std::uint32_t pid, Nanos now) {
    if (processes_.size() >= max_processes && !processes_.contains(pid)) {
        processes_.erase(std::min_element(
            processes_.begin(), processes_.end(), [](const auto& a, const auto& b) {
                const Nanos x = a.second.track.at, y = b.second.track.at;
                return x != y ? x < y : a.first < b.first;
            }));
    }
    const auto [it, fresh] = processes_.try_emplace(pid);
    Process& of = it->second;
    if (fresh) of.track.at = of.track.since = now;
    if (now - of.track.at >= at_once) of.pass(of.track, now);
    return of;
}

void Phases::asked(std::uint32_t pid, std::uint64_t object, bool found, Nanos now) {
    Process& of = process(pid, now);
    if (found) {
        if (!of.sign(Sign::reading, now) || of.unread.size() >= max_known) of.unread.clear();
        of.unread.insert_or_assign(object, now);
        of.found = now;
    } else {
        if (!within(of.missed, now, compute_within)) of.due.clear();
        remember(of.due, object);
        of.missed = now;
    }
}

void Phases::opened(std::uint32_t pid, std::uint32_t tid, std::uint64_t object, Nanos now) {
    Process& of = process(pid, now);
    if (of.readers.size() >= max_known) of.readers.clear();
    const auto [last, first] = of.readers.try_emplace(tid, now);
    // What waited for a thread is opened when this one has read what it opened before.
    const auto asked = of.unread.find(object);
    if (asked != of.unread.end()) {
        const double took = seconds(now - last->second);
        const bool waited = now - asked->second > waits;
        if (!first && waited && took < read_most_s) of.read_s += read_weight * (took - of.read_s);
        of.unread.erase(asked);
    }
    last->second = of.opened = now;
}

void Phases::begun(std::uint32_t pid, std::uint64_t object, std::uint64_t inode, Nanos now) {
    Process& of = process(pid, now);
    of.due.erase(object);
    if (!within(of.began, now, write_within)) of.begun.clear();
    remember(of.begun, inode);
    of.began = now;
}

void Phases::named(std::uint32_t pid, std::uint64_t inode, Nanos now) {
    process(pid, now).begun.erase(inode);
}

void Phases::filled(std::uint32_t pid, Nanos now) {
    process(pid, now).filled = now;
}

void Phases::called(std::uint32_t pid, Call call, std::uint32_t tokens, Nanos now) {
    if (call != Call::decode && call != Call::encode) return;
    Process& of = process(pid, now);
    of.calls = true;
    of.prompting = tokens >= prompt_tokens || call == Call::encode;
    of.stepping = !of.prompting;
}

void Phases::returned(std::uint32_t pid, Nanos now) {
    Process& of = process(pid, now);
    if (of.prompting) of.prompted = now;
    if (of.stepping) of.stepped = now;
    of.prompting = of.stepping = false;
}

std::optional<Phases::View> Phases::at(std::uint32_t pid, Nanos now) const {
    const auto it = processes_.find(pid);
    if (it == processes_.end()) return std::nullopt;
    Track track = it->second.track;
    it->second.pass(track, now);
    const Phase phase = track.chain.likeliest();
    return View{pid, phase, track.chain.belief()[static_cast<std::size_t>(phase)], track.since};
}

std::vector<Phases::View> Phases::all(Nanos now) const {
    std::vector<View> views;
    for (const auto& [pid, process] : processes_)
        views.push_back(*at(pid, now));
    std::sort(views.begin(), views.end(),
              [](const View& a, const View& b) { return a.pid < b.pid; });
    return views;
}

} // namespace hintier
