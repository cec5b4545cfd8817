// SPDX-License-Identifier: Apache-2.0
// list: the tiers of this machine, one line each.
#include <fmt/format.h>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

Result<Exit> list(bool json) {
    Dm dm;
    auto tiers = dm.devices_of(target_type, DmAsk::table);
    if (!tiers) return Failure(tiers.error());
    Grid grid({"NAME", "DEVICE", ">SIZE", "FAST", "BULK", ">EXTENT", ">OPEN"});
    Json answer = Json::array();
    for (const DmDevice& tier : *tiers) {
        TierTable table = parse_tier_table(tier.targets.front().params);
        std::uint64_t bytes = tier.targets.front().length * 512;
        std::uint64_t extent = table.extent_sectors * 512;
        grid.row({tier.name, dm_node(tier), human_size(bytes), device_name(table.fast),
                  device_name(table.bulk), human_size(extent), std::to_string(tier.open_count)});
        answer.push_back({{"name", tier.name},
                          {"device", dev_text(tier.id)},
                          {"bytes", bytes},
                          {"fast", table.fast},
                          {"bulk", table.bulk},
                          {"extent_bytes", extent},
                          {"options", table.options},
                          {"open", tier.open_count},
                          {"suspended", tier.suspended}});
    }
    if (json)
        print_json({{"tiers", std::move(answer)}});
    else if (grid.empty())
        print("no tiers: `hintierctl format FAST BULK`, then `hintierctl create NAME FAST BULK`\n");
    else
        print(grid.text());
    return Exit::ok;
}

} // namespace

void add_list(CLI::App& app, Command& command) {
    Verb(app, command, "list", "the tiers of this machine",
         "  hintierctl list\n"
         "  hintierctl list --json | jq -r '.tiers[].name'\n")
        .action([&command] { return list(command.json); });
}

} // namespace hintier::cli
