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

// A floor and the row that comes closest.
struct Floor {
    std::string load, policy, signals;
    double fast_share;
    double fast;   // at least; 0: not asked
    double served; // at least
    double x;      // at most; 0: not asked
};
const std::vector<Floor>& study_floors();
const Row* closest(const Floor& floor, const std::vector<Row>& rows);
bool reached(const Floor& floor, const Row& row);

std::string table_of(const std::vector<Row>& rows);
nlohmann::ordered_json to_json(const Row& row);
nlohmann::ordered_json to_json(const ChainPart& part);
nlohmann::ordered_json to_json(const Load& load);
nlohmann::ordered_json to_json(const LivenessRule::Config& config);

} // namespace hintier::eval
