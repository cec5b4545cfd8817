// SPDX-License-Identifier: Apache-2.0
// What device-mapper says: table and status lines of a tier, parameters of a linear target.
#include "agent/cli/status_report.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/layout/device.hpp"
#include "kmod/core/engine.h"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::require;

FUZZ_TARGET(dm, hintier::fuzz::no_seeds) {
    const std::string text(input.begin(), input.end());
    const hintier::cli::TierTable table = hintier::cli::parse_tier_table(text);
    const std::string line = hintier::cli::table_params(table);
    const hintier::cli::TierTable again = hintier::cli::parse_tier_table(line);
    if (!table.fast.empty() && !table.bulk.empty())
        require(again.fast == table.fast && again.bulk == table.bulk &&
                    again.extent_sectors == table.extent_sectors && again.options == table.options,
                "a table reads back");

    const hintier::cli::Json status = hintier::cli::parse_status_line(text);
    require(status.is_object(), "a status line is an object");
    (void)hintier::parse_linear(text);

    ht_tunables tune{};
    ht_tunables_init(&tune);
    for (const auto& [key, value] : table.options) {
        const int said =
            ht_tunable_set(&tune, key.c_str(), std::strtoull(value.c_str(), nullptr, 0));
        require(said == 0 || said == -ENOENT || said == -ERANGE, "a tunable is set or refused");
    }
    for (u32 i = 0; const struct ht_tunable* one = ht_tunable(i); i++) {
        const u32 value = ht_tunable_get(&tune, one);
        require(value >= one->min && value <= one->max, "a tunable stays in its bounds");
    }
}
