// SPDX-License-Identifier: Apache-2.0
// How likely objects of a group are to be read next at each age: discrete hazards, learned online.
//
// h[k] = reads in bin k / objects that entered bin k. Few observations are worth little, so each
// group is shrunk to its parents, with `kappa` objects' worth of weight at each step:
//   (ended, turn, new, kind) → (ended, turn, kind) → (ended, kind) → (ended) → prior.
#pragma once

#include <cstdint>
#include <span>
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
        double kappa = 40;      // requests' objects that a parent's hazard is worth at each age
        double reads = 1;       // requests' reads that its hazards are worth as a whole
        double prior = 0.0001;  // hazard of a bin nobody has seen anything of
        double memory_s = 5000; // what is older counts for 1/e; 0: all counts alike

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
    // Of one request: they are one event rather than so many.
    void together(double reads) {
        sum_ += reads;
        squares_ += reads * reads;
    }
    // `seconds` have passed: what was learned before them weighs less.
    void fade(double seconds);

    double entered(Group group, unsigned bin) const { return at(group, bin).entered; }
    double read_in(Group group, unsigned bin) const { return at(group, bin).read; }

    double reads() const { return reads_; }
    double mean_read_age() const { return reads_ > 0 ? ages_ / reads_ : 0; } // seconds

    // How many objects are read together, as a read object sees it.
    double burst() const { return sum_ > 0 ? squares_ / sum_ : 1; }

    // All that has been counted, to be kept over a restart; takes only what it gave.
    std::vector<double> counts() const;
    bool restore(std::span<const double> counts);

    // All groups at once, since parents are shared.
    std::vector<Curve> curves() const;

private:
    struct Cell {
        double entered = 0;
        double read = 0;
    };
    using Cells = std::array<Cell, age_bins>;

    Cell& at(Group group, unsigned bin) { return cells_[group][bin]; }
    const Cell& at(Group group, unsigned bin) const { return cells_[group][bin]; }
    Curve pooled(const Cells& cells) const;
    Curve shrunk(const Cells& cells, const Curve& parent) const;

    Config config_;
    std::vector<Cells> cells_; // by group
    double reads_ = 0;
    double ages_ = 0;
    double sum_ = 0; // of reads by request, and of their squares
    double squares_ = 0;
};

} // namespace hintier
