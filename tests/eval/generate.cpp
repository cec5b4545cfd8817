// SPDX-License-Identifier: Apache-2.0
//
// Agentic sessions where the real ones are not at hand: a session begins each minute with a long
// prompt, grows by a few blocks a turn, and now and then a sub-agent starts from its head. Tables
// are quantiles of the real sessions, linear between them; same seed, same bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "qemu/replay/block.hpp"
#include "tests/eval/load.hpp"

namespace hintier::eval {

namespace {

constexpr std::array shares = {0., .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .98, .99, 1.};
using Quantiles = std::array<double, shares.size()>;

constexpr Quantiles first_blocks = {17,  26,  30,  34,  37,  40,   49,  121,
                                    174, 259, 508, 703, 903, 1398, 1663};
constexpr Quantiles gap_seconds = {1, 7, 8, 10, 12, 14, 18, 22, 30, 47, 113, 233, 638, 1279, 24753};
constexpr Quantiles turn_blocks = {0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 7, 12, 22, 32, 330};
constexpr Quantiles sub_agents = {0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 5, 8, 12, 18, 38};
constexpr Quantiles turns = {1, 1, 1, 4, 6, 11, 16, 24, 35, 49, 72, 90, 115, 123, 157};
constexpr Quantiles sub_match = {0, 7, 17, 22, 24, 28, 29, 30, 51, 159, 270, 349, 535, 849, 1693};
constexpr Quantiles sub_blocks = {0, 1, 1, 2, 4, 19, 41, 73, 133, 194, 264, 438, 626, 808, 1133};

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(replay::mix(seed)) {}
    double uniform() { return static_cast<double>(replay::mix(state_++) >> 11) * 0x1p-53; }
    double sample(const Quantiles& table) {
        const double u = uniform();
        std::size_t i = 1;
        while (i + 1 < shares.size() && shares[i] <= u)
            i++;
        return table[i - 1] +
               (table[i] - table[i - 1]) * (u - shares[i - 1]) / (shares[i] - shares[i - 1]);
    }
    std::size_t count(const Quantiles& table) {
        return static_cast<std::size_t>(std::lround(sample(table)));
    }

private:
    std::uint64_t state_;
};

struct Item {
    double at;
    std::vector<std::uint64_t> ids;
};

class Agents {
public:
    explicit Agents(std::uint64_t seed) : random_(seed) {}

    void session(double at) {
        std::vector<std::uint64_t> head;
        grow(head, random_.count(first_blocks));
        const auto subs = random_.count(sub_agents);
        const auto main_turns = std::max<std::size_t>(1, random_.count(turns));
        const std::size_t first = items.size();
        chain(at, head, main_turns);
        const std::size_t spoken = items.size() - first;
        for (std::size_t i = 0; i < subs; i++) {
            const Item& parent =
                items[first + static_cast<std::size_t>(random_.uniform() * double(spoken))];
            const double begins = parent.at + random_.sample(gap_seconds);
            std::vector<std::uint64_t> ids = parent.ids;
            ids.resize(std::min(ids.size(), random_.count(sub_match)));
            grow(ids, std::max<std::size_t>(1, random_.count(sub_blocks)));
            chain(begins, std::move(ids), std::max<std::size_t>(1, random_.count(turns)));
        }
    }

    std::vector<Item> items;

private:
    void chain(double at, std::vector<std::uint64_t> ids, std::size_t count) {
        for (std::size_t turn = 0; turn < count; turn++) {
            items.push_back({at, ids});
            at += random_.sample(gap_seconds);
            grow(ids, random_.count(turn_blocks));
        }
    }

    void grow(std::vector<std::uint64_t>& ids, std::size_t by) {
        for (; by > 0; by--)
            ids.push_back(next_++);
    }

    Random random_;
    std::uint64_t next_ = 0;
};

} // namespace

Load generate_agents(std::uint64_t seed, double hours, std::uint32_t memory_tokens) {
    constexpr double spacing = 60;
    Agents agents(seed);
    const auto sessions = static_cast<std::size_t>(hours * 3600 / spacing);
    for (std::size_t i = 0; i < sessions; i++)
        agents.session(double(i) * spacing);
    std::stable_sort(agents.items.begin(), agents.items.end(),
                     [](const Item& a, const Item& b) { return a.at < b.at; });
    LoadBuilder builder;
    for (const Item& item : agents.items)
        builder.add(item.at, item.ids, static_cast<std::uint32_t>(item.ids.size()));
    Load load = builder.finish(memory_tokens);
    load.name = "agents";
    load.source = fmt::format("generated, seed {}, {} sessions", seed, sessions);
    load.tune_until = double(sessions) * spacing / 2;
    return load;
}

} // namespace hintier::eval
