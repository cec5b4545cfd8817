// SPDX-License-Identifier: Apache-2.0
// meta: what a pair's metadata says, while no tier runs on it; mending it; emptying fast. Works on
// devices and image files, without the module. Nothing is written without --write.
#include <memory>
#include <string>
#include <vector>

#include <hintier/types.h>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/meta/drain.hpp"
#include "agent/cli/meta/repair.hpp"
#include "agent/cli/meta/report.hpp"
#include "agent/cli/meta/survey.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string fast;
    std::string bulk;
    bool write = false;
    bool dry_run = false;
    Leave leave;
};

struct Devices {
    Disk fast;
    Disk bulk;
};

// Both devices are ours alone for the time: what a live tier writes would make no sense to read.
Result<Devices> open_devices(const Options& options) {
    if (same_disk(options.fast, options.bulk))
        return fail(EINVAL, "{} and {} are the same device", options.fast, options.bulk);
    const Open how = options.write ? Open::exclusive : Open::read_exclusive;
    auto fast = open_disk(options.fast, how);
    if (!fast) return Failure(fast.error());
    auto bulk = open_disk(options.bulk, how);
    if (!bulk) return Failure(bulk.error());
    fast->forget_cache();
    bulk->forget_cache();
    return Devices{std::move(*fast), std::move(*bulk)};
}

// "reading records 12.5 %", on one line, when somebody looks.
Progress progress_of(const char* what) {
    if (!stderr_is_terminal()) return [](auto, auto) {};
    return [what](std::uint64_t done, std::uint64_t all) {
        if (all) note(fmt::format("\r{} {}{}", what, percent(done, all), done == all ? "\n" : ""));
    };
}

Result<Exit> check(const Options& options, bool json) {
    auto devices = open_devices(options);
    if (!devices) return Failure(devices.error());
    DiskMedium medium(devices->fast, devices->bulk);
    const Survey found = survey(medium, progress_of("reading records"));
    if (json)
        print_json(survey_json(medium, found));
    else
        print(survey_text(medium, found));
    return found.damages.empty() ? Exit::ok : Exit::failure;
}

Result<Exit> dump(const Options& options) {
    auto devices = open_devices(options);
    if (!devices) return Failure(devices.error());
    DiskMedium medium(devices->fast, devices->bulk);
    const Survey found = survey(medium, progress_of("reading records"));
    if (auto done = print_dump(medium, found); !done) return Failure(done.error());
    return found.damages.empty() ? Exit::ok : Exit::failure;
}

// One repair may uncover the next damage: a header that is back lets the records be read.
constexpr int most_rounds = 4;

Result<Exit> repair(const Options& options, bool json) {
    auto devices = open_devices(options);
    if (!devices) return Failure(devices.error());
    DiskMedium medium(devices->fast, devices->bulk);
    const Progress progress = progress_of("reading records");
    Survey found = survey(medium, progress);
    Json rounds = Json::array();
    std::string text;
    for (int round = 0; round < most_rounds && !found.damages.empty(); round++) {
        const RepairPlan plan = plan_repair(found, options.leave);
        rounds.push_back(plan_json(plan));
        text += plan_text(plan);
        if (!options.write || plan.steps.empty()) break;
        if (auto done = carry_out(medium, found, plan); !done) return Failure(done.error());
        found = survey(medium, progress);
    }
    if (json) {
        print_json({{"ok", found.damages.empty()},
                    {"written", options.write},
                    {"damages_left", found.damages.size()},
                    {"rounds", std::move(rounds)}});
    } else {
        if (found.damages.empty()) text += "clean\n";
        if (!options.write && !found.damages.empty())
            text += "nothing was written: --write does it\n";
        print(text);
    }
    return found.damages.empty() ? Exit::ok : Exit::failure;
}

void tell_drained(const Survey& found, const Drained& drained) {
    print(fmt::format("{} of {} dirty slots are home, {}\n", human_count(drained.slots),
                      human_count(found.dirty), human_size(drained.bytes)));
    for (const Unread& one : drained.unread)
        print(
            fmt::format("unread   extent {} unit {} (slot {}): fast fails there, it stays dirty\n",
                        one.extent, one.unit, one.slot));
    if (found.lost_units)
        print(fmt::format("lost     {}: dropped and not written again, bulk has old data there\n",
                          human_size(found.lost_units * HINTIER_UNIT_BYTES)));
    if (drained.unread.empty())
        print(fmt::format("bulk is complete in itself from byte {} on{}\n",
                          byte_of(found.geo().home_start),
                          found.lost_units ? ", but for what is lost" : ""));
}

Result<Exit> drain_pair(const Options& options, bool json) {
    auto devices = open_devices(options);
    if (!devices) return Failure(devices.error());
    DiskMedium medium(devices->fast, devices->bulk);
    const Survey found = survey(medium, progress_of("reading records"));
    if (auto fine = may_drain(found); !fine) return Failure(fine.error());
    const std::uint64_t bytes = found.dirty_units * HINTIER_UNIT_BYTES;
    if (!options.write) {
        if (json)
            print_json({{"ok", true},
                        {"written", false},
                        {"dirty_slots", found.dirty},
                        {"dirty_bytes", bytes},
                        {"lost_bytes", found.lost_units * HINTIER_UNIT_BYTES}});
        else
            print(fmt::format("{} dirty slots, {} to write home; nothing was written: --write "
                              "does it\n",
                              human_count(found.dirty), human_size(bytes)));
        return Exit::ok;
    }
    auto drained = drain(medium, found, progress_of("writing home"));
    if (!drained) return Failure(drained.error());
    if (json)
        print_json(drained_json(found, *drained));
    else
        tell_drained(found, *drained);
    return drained->unread.empty() ? Exit::ok : Exit::failure;
}

Verb& pair_arguments(Verb& verb, Options& options) {
    return verb.argument("FAST", options.fast, "the fast device of the pair, or its image")
        .argument("BULK", options.bulk, "the bulk device of the pair, or its image");
}

Verb& write_flags(Verb& verb, Options& options) {
    return verb.flag("--write", options.write, "do it; without this nothing is written")
        .flag("--dry-run", options.dry_run, "only say what would be done, as without --write")
        .together([&options] {
            return options.write && options.dry_run ? "--write or --dry-run, not both" : "";
        });
}

} // namespace

void add_meta(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    CLI::App& group =
        Verb::group(app, "meta", "look at, mend and drain a pair while no tier runs on it",
                    "  hintierctl meta check /dev/nvme0n1 /dev/nvme1n1\n"
                    "  hintierctl meta drain fast.img bulk.img --write\n");
    Verb check_verb(group, command, "check", "is the metadata whole?",
                    "  hintierctl meta check /dev/nvme0n1 /dev/nvme1n1 && echo clean\n");
    pair_arguments(check_verb, *options).action([options, &command] {
        return check(*options, command.json);
    });
    Verb dump_verb(group, command, "dump", "everything on the devices as JSON",
                   "  hintierctl meta dump fast.img bulk.img | jq '.records[] | .extent'\n");
    pair_arguments(dump_verb, *options).action([options] { return dump(*options); });
    Verb repair_verb(group, command, "repair", "rebuild what can be proved, say what cannot",
                     "  hintierctl meta repair /dev/nvme0n1 /dev/nvme1n1\n"
                     "  hintierctl meta repair /dev/nvme0n1 /dev/nvme1n1 --write\n");
    write_flags(pair_arguments(repair_verb, *options), *options)
        .flag("--drop-records", options->leave.drop_records,
              "give up records that cannot be read, and name what is unknown then")
        .flag("--drop-lost", options->leave.drop_lost,
              "give up which units are lost: they read as the old data that bulk has")
        .flag("--discard-dirty", options->leave.discard_dirty,
              "give up what is dirty in a fast device that bulk went on without")
        .flag("--assume-current", options->leave.assume_current,
              "take a device whose state is lost for up to date")
        .action([options, &command] { return repair(*options, command.json); });
    Verb drain_verb(group, command, "drain", "write all that is dirty on fast to its home on bulk",
                    "  hintierctl meta drain /dev/nvme0n1 /dev/nvme1n1 --dry-run\n"
                    "  hintierctl meta drain /dev/nvme0n1 /dev/nvme1n1 --write\n");
    write_flags(pair_arguments(drain_verb, *options), *options).action([options, &command] {
        return drain_pair(*options, command.json);
    });
}

} // namespace hintier::cli
