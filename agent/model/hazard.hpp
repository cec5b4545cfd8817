// SPDX-License-Identifier: Apache-2.0
// How likely objects of a group are to be read next at each age: discrete hazards, learned online.
//
// h[k] = reads in bin k / objects that entered bin k. Few observations are worth little, so each
// group is shrunk to its parents, with `kappa` objects' worth of weight at each step:
//   (ended, turn, new, kind) → (ended, turn, kind) → (ended, kind) → (ended) → prior.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/model/age.hpp"

namespace hintier {

// What is known of an object when it was last used. Objects of one group age alike.
struct GroupKey {
    static constexpr unsigned turns = 6; // of the session: 0, 0 of a fork, 1, 2-3, 4-9, more
    static constexpr unsigned sizes = 4; // new objects of that turn: up to 2, 8, 32, more
    static constexpr unsigned kinds = 5; // of the object, below

    enum Kind : unsigned {
        tail,   // not a full block
        fresh,  // made in that turn
        old,    // used before
        forked, // has more than one successor
        shared, // has many
    };

    bool ended = false; // the server has said so
    unsigned turn = 0;
    unsigned size = 0;
    unsigned kind = fresh;

    static unsigned turn_of(unsigned number, bool fork);
    static unsigned size_of(unsigned new_objects);
};

class Hazard {
public:
    using Group = std::uint8_t;
    using Curve = std::array<double, age_bins>;

    static constexpr unsigned groups = 2 * GroupKey::turns * GroupKey::sizes * GroupKey::kinds;

    struct Config {
        double kappa = 500;    // objects
        double prior = 0.0001; // hazard of a bin nobody has seen anything of
        double memory_s = 0;   // what is older counts for 1/e; 0: all counts alike

        Result<void> validate() const;
    };

    explicit Hazard(const Config& config);

    static Group group(const GroupKey& key);
    static GroupKey key(Group group);

    void enter(Group group, unsigned bin, double objects) { at(group, bin).entered += objects; }
    void read(Group group, double age_s) {
        at(group, age_bin(age_s)).read += 1;
        reads_ += 1;
        ages_ += age_s;
    }
    // `seconds` have passed: what was learned before them weighs less.
    void fade(double seconds);

    double entered(Group group, unsigned bin) const { return at(group, bin).entered; }
    double read_in(Group group, unsigned bin) const { return at(group, bin).read; }

    double reads() const { return reads_; }
    double mean_read_age() const { return reads_ > 0 ? ages_ / reads_ : 0; } // seconds

    // All groups at once, since parents are shared.
    std::vector<Curve> curves() const;

private:
    struct Cell {
        double entered = 0;
        double read = 0;
    };
    Cell& at(Group group, unsigned bin) { return cells_[group * age_bins + bin]; }
    const Cell& at(Group group, unsigned bin) const { return cells_[group * age_bins + bin]; }

    Config config_;
    std::vector<Cell> cells_;
    double reads_ = 0;
    double ages_ = 0;
};

} // namespace hintier
