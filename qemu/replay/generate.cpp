// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/generate.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <span>

namespace hintier::replay {

namespace {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    double uniform() { // [0, 1)
        return static_cast<double>(mix(state_++) >> 11) * 0x1p-53;
    }
    std::uint64_t below(std::uint64_t limit) {
        return static_cast<std::uint64_t>(uniform() * static_cast<double>(limit));
    }

private:
    std::uint64_t state_;
};

// A distribution by its quantiles, linear between them.
struct Quantile {
    double share, value;
};

double sample(Random& random, std::span<const Quantile> table) {
    const double u = random.uniform();
    std::size_t i = 1;
    while (i + 1 < table.size() && table[i].share <= u)
        i++;
    const auto &low = table[i - 1], &high = table[i];
    return low.value + (high.value - low.value) * (u - low.share) / (high.share - low.share);
}

constexpr std::int64_t kLumpMs = 3000;
constexpr double kSessionsPerLump = 6.85;
constexpr double kForkShare = 0.0875;
constexpr Quantile kFirstBlocks[] = {{0, 1},    {.12, 1},    {.2, 2},    {.3, 3},   {.4, 8},
                                     {.5, 11},  {.6, 15},    {.7, 21},   {.8, 31},  {.9, 49},
                                     {.95, 69}, {.975, 100}, {.99, 155}, {1.0, 225}};
constexpr Quantile kTurnBlocks[] = {{0, 1},    {.2, 1.5}, {.7, 2.9},  {.8, 4.5}, {.9, 10.5},
                                    {.95, 16}, {.99, 33}, {.997, 60}, {1.0, 181}};
constexpr Quantile kGapSeconds[] = {{0, 6},     {.1, 39},    {.2, 57},   {.3, 75},  {.4, 96},
                                    {.5, 124},  {.6, 166},   {.7, 232},  {.8, 335}, {.9, 500},
                                    {.95, 680}, {.98, 1300}, {1.0, 3030}};
constexpr Quantile kForkDepth[] = {{0, 2},   {.2, 3},  {.5, 6},   {.7, 12},
                                   {.8, 17}, {.9, 31}, {.95, 48}, {1.0, 145}};
constexpr Quantile kOutput[] = {{0, 1},    {.1, 24},   {.2, 100},   {.4, 291},  {.6, 399},
                                {.8, 504}, {.95, 698}, {.99, 1120}, {1.0, 2000}};
// A little above the published figures: turns that would come after the end are not seen. After
// the first turn it depends on the chat's length; below two full blocks a chat cannot be told.
struct Step {
    double blocks, chance;
};
constexpr Step kSecondTurn[] = {{2, .47}, {7, .34}, {16, .255}};
constexpr double kNextTurn[] = {0, .41, .53, .59, .66, .71, .81};

struct Chat {
    std::vector<BlockId> blocks; // of its last request; the last may be partial
    std::uint32_t input = 0;
};

struct Turn {
    std::int64_t at_ms;
    std::size_t chat;
    unsigned number;
    bool operator>(const Turn& other) const {
        return at_ms != other.at_ms ? at_ms > other.at_ms : chat > other.chat;
    }
};

class Generator {
public:
    Generator(std::uint64_t seed, double hours)
        : random_(mix(seed)), length_ms_(static_cast<std::int64_t>(hours * 3.6e6)) {}

    Trace run() {
        for (std::int64_t at = 0; at < length_ms_; at += kLumpMs) {
            for (auto starts = arrivals(); starts > 0; starts--)
                open(at);
            while (!turns_.empty() && turns_.top().at_ms <= at) {
                const Turn turn = turns_.top();
                turns_.pop();
                speak(turn);
            }
        }
        return std::move(trace_);
    }

private:
    // Sum of two dice: the lumps of the trace are about as wide.
    unsigned arrivals() {
        return static_cast<unsigned>(kSessionsPerLump * (random_.uniform() + random_.uniform()) +
                                     random_.uniform());
    }

    void open(std::int64_t at) {
        Chat chat;
        chat.blocks = {0};
        chat.input = kBlockTokens;
        if (!chats_.empty() && random_.uniform() < kForkShare) fork(chat);
        chats_.push_back(std::move(chat));
        grow(chats_.back(), sample(random_, kFirstBlocks));
        emit(at, chats_.size() - 1, 0);
    }

    // An edit or a shared document: the head of a chat of the last minutes, and on from there.
    void fork(Chat& chat) {
        const std::size_t recent = std::min<std::size_t>(chats_.size(), 600);
        const auto& parent = chats_[chats_.size() - 1 - random_.below(recent)];
        const auto depth = static_cast<std::size_t>(sample(random_, kForkDepth));
        const std::size_t full = parent.input / kBlockTokens;
        const std::size_t kept = std::min(depth, full > 1 ? full - 1 : full);
        if (kept > 1) {
            chat.blocks.assign(parent.blocks.begin(),
                               parent.blocks.begin() + static_cast<std::ptrdiff_t>(kept));
            chat.input = static_cast<std::uint32_t>(kept * kBlockTokens);
        }
    }

    // `more` blocks beyond the full ones, the last of them partial.
    void grow(Chat& chat, double more) {
        const std::size_t full = chat.input / kBlockTokens;
        const auto tokens = static_cast<std::uint32_t>(
            std::max(1.0, (std::max(1.0, more) - random_.uniform()) * kBlockTokens));
        chat.input = static_cast<std::uint32_t>(full * kBlockTokens) + tokens;
        chat.blocks.resize(full);
        while (chat.blocks.size() < (chat.input + kBlockTokens - 1) / kBlockTokens)
            chat.blocks.push_back(next_block_++);
    }

    void speak(const Turn& turn) {
        grow(chats_[turn.chat], sample(random_, kTurnBlocks));
        emit(turn.at_ms, turn.chat, turn.number);
    }

    void emit(std::int64_t at, std::size_t chat, unsigned number) {
        trace_.push_back({at, chats_[chat].input,
                          static_cast<std::uint32_t>(sample(random_, kOutput)),
                          chats_[chat].blocks});
        double next = kNextTurn[std::min<std::size_t>(number, std::size(kNextTurn) - 1)];
        if (number == 0)
            for (const auto& step : kSecondTurn)
                if (chats_[chat].input >= step.blocks * kBlockTokens) next = step.chance;
        if (random_.uniform() >= next) return;
        const double gap = sample(random_, kGapSeconds) * 1000;
        const auto lumps = std::llround(gap / double(kLumpMs));
        turns_.push({at + std::max<std::int64_t>(1, lumps) * kLumpMs, chat, number + 1});
    }

    Random random_;
    std::int64_t length_ms_;
    BlockId next_block_ = 1;
    std::vector<Chat> chats_;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    Trace trace_;
};

} // namespace

Trace generate_trace(std::uint64_t seed, double hours) {
    return Generator(seed, hours).run();
}

} // namespace hintier::replay
