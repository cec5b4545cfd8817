// SPDX-License-Identifier: Apache-2.0
// create: a tier from a formatted pair. The headers say all but the name and the mode.
#include <memory>
#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/module.hpp"
#include "agent/cli/pair.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string name;
    std::string fast;
    std::string bulk;
    std::string mode;
    std::vector<std::string> tunables; // key=value
    bool discard_dirty = false;
    bool grow = false;
    bool print_table = false;
};

Result<std::pair<std::string, std::string>> parse_tunable(const std::string& text) {
    std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size() ||
        text.find_first_of(" \t\n") != std::string::npos)
        return fail(EINVAL, "'{}' is no tunable: write KEY=VALUE", text);
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

TierOptions tier_options(const Options& options) {
    TierOptions found;
    if (!options.mode.empty()) found.emplace_back("mode", options.mode);
    for (const std::string& text : options.tunables)
        if (auto tunable = parse_tunable(text)) found.push_back(*tunable);
    if (options.discard_dirty) found.emplace_back(discard_dirty, "");
    return found;
}

Result<void> check_name(const std::string& name) {
    if (name.empty() || name.size() > 127 || name.find('/') != std::string::npos)
        return fail(EINVAL, "'{}' cannot be the name of a tier: 1 to 127 characters, no '/'", name);
    return {};
}

Result<void> refuse_taken(Dm& dm, const Options& options, const std::string& uuid) {
    auto names = dm.names();
    if (!names) return Failure(names.error());
    for (const std::string& name : *names) {
        auto device = dm.ask(name, DmAsk::table);
        if (name == options.name)
            return fail(EEXIST, "{} exists already: choose another name, or `hintierctl remove {}`",
                        name, name);
        if (device && device->uuid == uuid)
            return fail(EBUSY, "this pair is in use as tier {}", name);
    }
    return {};
}

// Removed again when the target did not come up: libdevmapper leaves nothing behind then.
Result<void> activate(const Options& options, const DmTarget& target, const Pair& pair) {
    if (auto done = load_module(); !done) return done;
    Dm dm;
    std::string uuid = "HINTIER-" + uuid_text(uuid_of(pair.fast));
    if (auto done = refuse_taken(dm, options, uuid); !done) return done;
    KernelLog log;
    auto done = dm.create(options.name, uuid, target);
    if (!done) return fail(done.error().code, "{}{}", done.error().text, log.reason());
    return done;
}

void answer(const Options& options, const DmTarget& target, const Pair& pair, bool json) {
    std::string node = "/dev/mapper/" + options.name;
    if (json) {
        print_json({{"ok", true},
                    {"name", options.name},
                    {"node", node},
                    {"uuid", uuid_text(uuid_of(pair.fast))},
                    {"bytes", pair.tier_bytes()},
                    {"extent_bytes", pair.extent_bytes()},
                    {"table", fmt::format("{} {} {} {}", target.start, target.length, target.type,
                                          target.params)}});
        return;
    }
    Facts facts;
    facts.add("tier", fmt::format("{}  {}", node, human_size(pair.tier_bytes())));
    facts.add("pair", fmt::format("{}  fast {}, bulk {}", uuid_text(uuid_of(pair.fast)),
                                  options.fast, options.bulk));
    facts.add("next",
              fmt::format("mount -o discard {} DIR    (new: mkfs.ext4 {} first)", node, node));
    print(facts.text());
}

Result<Exit> create(const Options& options, bool json) {
    if (auto fine = check_name(options.name); !fine) return Failure(fine.error());
    auto fast = open_disk(options.fast, Open::read);
    if (!fast) return Failure(fast.error());
    auto bulk = open_disk(options.bulk, Open::read);
    if (!bulk) return Failure(bulk.error());
    auto pair = read_pair(*fast, *bulk);
    if (!pair) return Failure(pair.error());
    if (options.grow) pair->resize(pair->extents_of(*bulk));

    DmTarget target;
    target.length = pair->tier_sectors();
    target.type = target_type;
    target.params = table_params({options.fast, options.bulk,
                                  pair->extent_bytes() / HT_SECTOR_BYTES, tier_options(options)});
    if (options.print_table) {
        print(
            fmt::format("{} {} {} {}\n", target.start, target.length, target.type, target.params));
        return Exit::ok;
    }
    for (const Disk* disk : {&*fast, &*bulk})
        if (!disk->block)
            return fail(ENOTBLK,
                        "{} is an image file: show it as a device first: losetup -f --show "
                        "{}",
                        disk->path, disk->path);
    if (auto done = activate(options, target, *pair); !done) return Failure(done.error());
    answer(options, target, *pair, json);
    return Exit::ok;
}

} // namespace

void add_create(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "create", "make a tier of a formatted pair",
         "  hintierctl create kv0 /dev/nvme0n1 /dev/nvme1n1\n"
         "  hintierctl create kv0 /dev/nvme0n1 /dev/nvme1n1 --mode writethrough\n"
         "  hintierctl create kv0 /dev/nvme0n1 /dev/nvme1n1 --print-table | dmsetup create kv0\n")
        .argument("NAME", options->name, "name of the tier, below /dev/mapper")
        .argument("FAST", options->fast, "the fast device of the pair")
        .argument("BULK", options->bulk, "the bulk device of the pair")
        .text("--mode", "MODE", options->mode,
              "writeback (as if not given), writethrough or writearound",
              must_be_one_of({"writeback", "writethrough", "writearound"}))
        .texts("--opt", "KEY=VALUE", options->tunables, "a tunable; may be repeated",
               must_parse(parse_tunable))
        .flag("--discard-dirty", options->discard_dirty,
              "give up what is dirty in a fast device that bulk went on without")
        .flag("--grow", options->grow,
              "let the tier take all of a bulk device that has become larger")
        .flag("--print-table", options->print_table, "print dmsetup's table line, do nothing")
        .action([options, &command] { return create(*options, command.json); });
}

} // namespace hintier::cli
