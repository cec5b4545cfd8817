// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a file are now: what the tier says of every piece that FIEMAP names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/cli/control_device.hpp"
#include "agent/cli/file_map.hpp"

namespace hintier::cli {

struct Piece {
    std::uint64_t logical = 0; // in the file
    std::uint64_t offset = 0;  // on the tier
    std::uint64_t length = 0;
    std::uint32_t state = 0;
    std::uint8_t klass = 0;
    std::uint16_t group = 0;
    std::uint64_t object = 0;
    std::string nowhere; // why the tier cannot say
};

struct Sums {
    std::uint64_t fast = 0, dirty = 0, bulk = 0, lost = 0, moving = 0, nowhere = 0;

    void add(const Piece& piece);
    std::uint64_t all() const { return fast + bulk + lost + nowhere; }
};

std::string state_text(const Piece& piece);
Sums sum_of(const std::vector<Piece>& pieces);

// `start`: where the file's device begins on the tier.
Result<std::vector<Piece>> look_at(const FileMap& map, ControlDevice& control, std::uint64_t start);

} // namespace hintier::cli
