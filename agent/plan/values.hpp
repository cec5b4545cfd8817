// SPDX-License-Identifier: Apache-2.0
// The value table: what keeping an object in fast is worth, by group and by age since its last
// use, while it is dirty and once it is clean; and what to do with it when it has to go.
//
// Evicting takes the lowest value first, and of a chain the deepest. A dirty object that has to
// go is destaged, or dropped where `drop` says so. No table: least recently used first, and
// everything is destaged.
#pragma once

#include <array>
#include <vector>

#include "agent/model/hazard.hpp"
#include "hintier/ioctl.h"

namespace hintier {

struct ValueTable {
    struct Row {
        std::array<float, age_bins> dirty{};
        std::array<float, age_bins> clean{};
        std::array<float, age_bins> promise{}; // chance that it is read again
        std::array<bool, age_bins> drop{};
    };
    std::vector<Row> rows; // by group
};

// Of which kinds nothing is dropped, whatever it seems worth: heads of many chains are read
// seldom and missed by all.
enum class Keep : std::uint8_t { all, forked, shared, nothing }; // `forked`: and `shared`

struct ValueConfig {
    enum class Mode : std::uint8_t {
        fast, // everything is destaged; fast holds what is read soonest
        wear, // what is not worth a program on bulk is dropped
    };
    Mode mode = Mode::fast;
    double price = 0.05; // wear: the chance of a read below which no program is paid for
    double hit = 0.1;    // wear: what a read from fast is worth, a lost one being worth 1
    Keep keep = Keep::shared;

    Result<void> validate() const;
};

// As a tier has it. Its group 0 is what nobody has classified, worth what all is on average; the
// model's groups follow. Worths become whole numbers, which only compare with each other. Nothing
// is dropped by it: what is not worth a program is unlinked.
constexpr std::uint16_t tier_group(Hazard::Group group) {
    return static_cast<std::uint16_t>(group + 1);
}
std::vector<hintier_value_row> tier_rows(const ValueTable& table);

ValueTable make_values(const Hazard& hazard, const ValueConfig& config);

} // namespace hintier
