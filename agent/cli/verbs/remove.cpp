// SPDX-License-Identifier: Apache-2.0
// remove: take a tier away, after destaging everything when asked.
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/module.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string name;
    bool flush = false;
};

void show_progress(const DmDevice& tier) {
    auto all = read_stats();
    if (!all || !stderr_is_terminal()) return;
    for (const TierStats& stats : *all)
        if (stats.id == tier.id)
            note(fmt::format("\r{}: {} dirty slots left   ", tier.name, human_count(stats.dirty)));
}

// The message blocks until everything is at home; count down beside it. ^C ends both, and what was
// destaged by then stays so.
Result<void> flush(Dm& dm, const DmDevice& tier) {
    auto done = std::async(std::launch::async, [&] { return dm.message(tier.name, "flush"); });
    while (done.wait_for(std::chrono::milliseconds(500)) != std::future_status::ready)
        show_progress(tier);
    if (stderr_is_terminal()) note("\r\033[K");
    return done.get();
}

Result<Exit> remove(const Options& options, bool json) {
    Dm dm;
    auto tier = find_tier(dm, options.name);
    if (!tier) return Failure(tier.error());
    if (tier->open_count > 0) {
        std::string who;
        for (const std::string& user : users_of(tier->id))
            who += (who.empty() ? "" : ", ") + user;
        return fail(EBUSY, "{} is in use: {}: unmount or close it first", options.name,
                    who.empty() ? "a program has it open" : who);
    }
    if (options.flush) {
        if (auto done = flush(dm, *tier); !done) return Failure(done.error());
    }
    if (auto done = dm.remove(options.name); !done) return Failure(done.error());
    if (json)
        print_json({{"ok", true}, {"name", options.name}, {"flushed", options.flush}});
    else
        print(fmt::format("removed {}: {}\n", options.name,
                          options.flush ? "everything is on bulk"
                                        : "what is dirty stays on fast for the next create"));
    return Exit::ok;
}

} // namespace

void add_remove(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "remove", "take a tier away; its data stays on the pair",
         "  hintierctl remove kv0\n"
         "  hintierctl remove kv0 --flush    # bulk alone is complete\n")
        .argument("NAME", options->name, "name of the tier")
        .flag("--flush", options->flush, "first write everything dirty to bulk")
        .action([options, &command] { return remove(*options, command.json); });
}

} // namespace hintier::cli
