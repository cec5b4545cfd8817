// SPDX-License-Identifier: Apache-2.0
//
// All that is random in one step of a history follows from the step's own number. So a history is
// a list of numbers, and one that fails still means nearly the same when some are left out.

#pragma once

#include <cstdint>

namespace hintier::sim {

inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
}

inline uint64_t mix(uint64_t a, uint64_t b) {
    return mix(mix(a + 0x9e3779b97f4a7c15) + b);
}

class Dice {
public:
    explicit Dice(uint64_t number = 0) : state_(mix(number)) {}

    uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }
    uint32_t below(uint64_t n) { return uint32_t(next() % n); }
    bool chance(unsigned percent) { return below(100) < percent; }

    // One of the items, the same one for the same dice however many others there are.
    template <typename Items>
    auto& pick(Items& items) {
        const uint64_t salt = next();
        auto best = items.begin();
        for (auto i = items.begin(); i != items.end(); ++i)
            if (mix(i->number, salt) < mix(best->number, salt)) best = i;
        return *best;
    }

private:
    uint64_t state_;
};

} // namespace hintier::sim
