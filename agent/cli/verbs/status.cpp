// SPDX-License-Identifier: Apache-2.0
// status: what a tier holds and what it has done, from generic netlink, plus the target's own
// status line.
#include <memory>
#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/status_report.hpp"
#include "agent/cli/tiers.hpp"

namespace hintier::cli {

namespace {

Result<std::vector<DmDevice>> wanted_tiers(Dm& dm, const std::string& name) {
    if (name.empty()) return dm.devices_of(target_type, DmAsk::status);
    auto tier = find_tier(dm, name);
    if (!tier) return Failure(tier.error());
    auto status = dm.ask(tier->name, DmAsk::status);
    if (!status) return Failure(status.error());
    return std::vector<DmDevice>{*status};
}

Result<Exit> status(const std::string& name, bool json) {
    Dm dm;
    auto tiers = wanted_tiers(dm, name);
    if (!tiers) return Failure(tiers.error());
    if (tiers->empty()) {
        if (json)
            print_json({{"tiers", Json::array()}});
        else
            print("no tiers: `hintierctl create` makes one\n");
        return Exit::ok;
    }
    auto all = read_stats();
    if (!all) return Failure(all.error());

    Json answer = Json::array();
    std::string text;
    for (const DmDevice& tier : *tiers) {
        const TierStats* stats = nullptr;
        for (const TierStats& one : *all)
            if (one.id == tier.id) stats = &one;
        if (!stats) // removed between the two questions, or the statistics lag behind a resume
            return fail(ENODEV, "{}: the kernel side has no statistics for it", tier.name);
        answer.push_back(status_json(tier, *stats));
        text += (text.empty() ? "" : "\n") + status_text(tier, *stats);
    }
    if (json)
        print_json({{"tiers", std::move(answer)}});
    else
        print(text);
    return Exit::ok;
}

} // namespace

void add_status(CLI::App& app, Command& command) {
    auto name = std::make_shared<std::string>();
    Verb(app, command, "status", "what the tiers hold and have done",
         "  hintierctl status kv0\n"
         "  hintierctl status --json | jq '.tiers[].slots'\n")
        .optional_argument("NAME", *name, "one tier; all unless given")
        .action([name, &command] { return status(*name, command.json); });
}

} // namespace hintier::cli
