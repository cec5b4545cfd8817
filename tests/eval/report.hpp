// SPDX-License-Identifier: Apache-2.0
//
// What `make eval` runs and how it tells of it: rows of figures, each of a load, a size of fast, a
// policy and what the server says; and the figures of a published study that they have to reach.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/eval/chain.hpp"
#include "tests/eval/run.hpp"

namespace hintier::eval {

struct Row {
    std::string policy;  // oracle, lru, fast, wear
    std::string signals; // none, ends, lead1, lead5
    double fast_share = 0;
    double price = 0; // wear
    Outcome outcome;
};

// The liveness table of one load; `progress` hears what is being run.
std::vector<Row> run_liveness(const Load& load, const std::vector<double>& fast_shares,
                              const std::function<void(const std::string&)>& progress);

// What the mode that saves wear is asked for: so much of the reads served, so little written.
const std::vector<double>& served_targets();

// The row of the price that wrote least to bulk on the tuning part while it served `served` of
// the reads there, or else the one that served most. Only ever looks at the tuning part.
const Row* chosen(const std::vector<Row>& rows, const std::string& signals, double fast_share,
                  double served);

// Bulk x of the reported part's curve over prices, where it serves `served` of the reads; between
// two prices linear. Negative: no price served so much.
double curve_x(const std::vector<Row>& rows, const std::string& signals, double fast_share,
               double served);

// A published figure on the reported part. Of fast mode a share from fast; of wear mode a point of
// a curve over prices, which are the operator's.
struct Floor {
    std::string load, policy, signals;
    double fast_share;
    double fast;   // at least; 0: not asked
    double served; // at least
    double x;      // at most; 0: not asked
};
const std::vector<Floor>& study_floors();

struct Reached {
    double got = 0;     // fast, or the curve's x
    bool floor = false; // to two digits, as floors are given
};
Reached reached(const Floor& floor, const std::vector<Row>& rows);

std::string table_of(const std::vector<Row>& rows);
nlohmann::ordered_json to_json(const Row& row);
nlohmann::ordered_json to_json(const ChainPart& part);
nlohmann::ordered_json to_json(const Load& load);
nlohmann::ordered_json to_json(const LivenessRule::Config& config);

} // namespace hintier::eval
