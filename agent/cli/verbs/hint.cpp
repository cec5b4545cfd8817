// SPDX-License-Identifier: Apache-2.0
// hint: say by hand what the agent says by itself. For scripts, tests and trying things out.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/cli/command.hpp"
#include "agent/cli/control_device.hpp"
#include "agent/cli/fail.hpp"
#include "agent/cli/file_map.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/cli/units.hpp"
#include "agent/cli/value_file.hpp"

namespace hintier::cli {

namespace {

struct HintVerb {
    hintier_verb number;
    std::uint64_t feature;
};

const std::map<std::string, HintVerb> verbs = {
    {"classify", {HINTIER_VERB_CLASSIFY, HINTIER_FEATURE_CLASSIFY}},
    {"fetch", {HINTIER_VERB_FETCH, HINTIER_FEATURE_FETCH}},
    {"done", {HINTIER_VERB_DONE, HINTIER_FEATURE_DONE}},
    {"pin", {HINTIER_VERB_PIN, HINTIER_FEATURE_PIN}},
};

constexpr std::uint64_t pin_max_seconds = 24 * 60 * 60;

struct Options {
    std::string verb;
    std::string file;
    std::string device;
    std::string range;
    std::string klass = "other";
    std::uint64_t group = 0;
    std::uint64_t object = 0;
    std::uint64_t depth = 0;
    std::uint64_t deadline_ms = 0;
    bool touch = false;
    bool is_volatile = false;
    bool unshared = false;
    bool stage = false;
    std::uint64_t wait_ms = 0;
    std::uint64_t for_seconds = 0;

    // Data may disappear: what others own must not be named, and the mapping must be fresh.
    bool owns() const { return verb == "done" || is_volatile; }
};

struct Place {
    std::string name; // of the tier
    std::string node;
    FileRanges what;
};

Result<Place> device_place(const Options& options) {
    auto range = parse_range(options.range);
    if (!range) return Failure(range.error());
    Dm dm;
    std::string name = options.device.substr(options.device.rfind('/') + 1);
    auto tier = find_tier(dm, name);
    Place place;
    place.name = tier ? tier->name : options.device;
    place.node = tier ? dm_node(*tier) : options.device;
    place.what.ranges.push_back(*range);
    return place;
}

// A clone made after the mark writes nothing that would clear it; of a unit that holds several
// blocks this file owns but one.
Result<void> may_be_volatile(const Options& options) {
    struct statfs fs {};
    if (statfs(options.file.c_str(), &fs) != 0)
        return fail(errno, "{}: {}", options.file, std::strerror(errno));
    if (fs.f_bsize < HINTIER_UNIT_BYTES)
        return fail(EOPNOTSUPP, "{}: the file system's blocks are smaller than 4096 bytes",
                    options.file);
    bool shares = fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
                  fs.f_type == OCFS2_SUPER_MAGIC;
    if (shares && !options.unshared)
        return fail(EOPNOTSUPP,
                    "{}: files of this file system can share blocks: --unshared says that this "
                    "one never will",
                    options.file);
    return {};
}

Result<Place> file_place(const Options& options) {
    Range wanted{0, UINT64_MAX};
    if (!options.range.empty()) {
        auto range = parse_range(options.range);
        if (!range) return Failure(range.error());
        if (range->offset % HINTIER_UNIT_BYTES || range->length % HINTIER_UNIT_BYTES)
            return fail(EINVAL, "--range: offset and length must be multiples of 4096");
        wanted = *range;
    }
    Dm dm;
    auto file = find_file(dm, options.file, false);
    if (!file) return Failure(file.error());
    Place place;
    place.name = file->below.tier.name;
    place.node = dm_node(file->below.tier);
    place.what = ranges_on_tier(file->map, file->below.offset, wanted, options.owns());
    if (place.what.ranges.empty())
        return fail(ENODATA,
                    "{}: nothing of it is on the device yet: write it out with `sync` and "
                    "try again",
                    options.file);
    return place;
}

hintier_hint hint_of(const Options& options, const HintVerb& verb, const Range& range,
                     std::uint64_t epoch) {
    hintier_hint hint{};
    hint.verb = verb.number;
    hint.offset = range.offset;
    hint.length = range.length;
    hint.epoch = epoch;
    if (verb.number == HINTIER_VERB_CLASSIFY) {
        hint.klass = static_cast<std::uint8_t>(class_number(options.klass));
        hint.group = static_cast<std::uint16_t>(options.group);
        hint.object = options.object;
        hint.depth = static_cast<std::uint32_t>(options.depth);
        hint.flags = static_cast<std::uint8_t>((options.touch ? HINTIER_FLAG_TOUCH : 0) |
                                               (options.is_volatile ? HINTIER_FLAG_VOLATILE : 0));
    }
    if (verb.number == HINTIER_VERB_PIN)
        hint.deadline_ms = static_cast<std::uint32_t>(options.for_seconds * 1000);
    if (verb.number == HINTIER_VERB_FETCH) {
        hint.klass = static_cast<std::uint8_t>(class_number(options.klass));
        hint.deadline_ms = static_cast<std::uint32_t>(options.deadline_ms);
        hint.flags = options.stage ? HINTIER_FLAG_STAGE : 0;
    }
    return hint;
}

// DONE and *volatile* must not hit blocks that were freed and written again after the mapping was
// read: start a write epoch first, map after it. Binding needs the tier's node, so the file is
// mapped twice.
Result<Place> place_and_bind(const Options& options, std::optional<ControlDevice>& control,
                             std::uint64_t& epoch) {
    auto place_now = [&] {
        return options.file.empty() ? device_place(options) : file_place(options);
    };
    auto place = place_now();
    if (!place) return place;
    bool owner = options.owns();
    auto bound = ControlDevice::bind(place->node, owner ? ControlDevice::Access::owner
                                                        : ControlDevice::Access::advise);
    if (!bound) return Failure(bound.error());
    control = std::move(*bound);
    if (!owner) return place;
    auto started = control->epoch();
    if (!started) return Failure(started.error());
    epoch = *started;
    return place_now();
}

Result<Exit> upload(const Options& options, bool json) {
    auto values = read_values(options.file);
    if (!values) return Failure(values.error());
    auto control = ControlDevice::bind(options.device, ControlDevice::Access::owner);
    if (!control) return Failure(control.error());
    if (!(control->version().features & HINTIER_FEATURE_VALUES))
        return fail(EOPNOTSUPP, "the loaded module does not know value tables: update it");
    if (auto sent = control->values(values->head, values->rows); !sent)
        return Failure(sent.error());
    if (json)
        print_json({{"ok", true},
                    {"verb", options.verb},
                    {"groups", values->rows.size()},
                    {"ttl_ms", values->head.ttl_ms}});
    else
        print(fmt::format("values: {} groups, for {} ms\n", values->rows.size(),
                          values->head.ttl_ms));
    return Exit::ok;
}

Result<Exit> send(const Options& options, bool json) {
    if (options.verb == "values") return upload(options, json);
    const HintVerb& verb = verbs.at(options.verb);
    std::optional<ControlDevice> control;
    std::uint64_t epoch = 0;
    if (options.is_volatile && !options.file.empty())
        if (auto may = may_be_volatile(options); !may) return Failure(may.error());
    auto place = place_and_bind(options, control, epoch);
    if (!place) return Failure(place.error());
    std::uint64_t features = verb.feature | (options.is_volatile ? HINTIER_FEATURE_VOLATILE : 0) |
                             (options.stage ? HINTIER_FEATURE_STAGE : 0) |
                             (options.wait_ms ? HINTIER_FEATURE_WAIT : 0);
    if ((control->version().features & features) != features)
        return fail(EOPNOTSUPP, "the loaded module does not know '{}': update it", options.verb);

    std::vector<hintier_hint> hints;
    std::uint64_t bytes = 0;
    for (const Range& range : place->what.ranges) {
        hints.push_back(hint_of(options, verb, range, epoch));
        bytes += range.length;
    }
    if (auto sent = control->hint(hints); !sent) return Failure(sent.error());
    if (options.wait_ms) {
        auto over = control->wait(0, static_cast<std::uint32_t>(options.wait_ms));
        if (!over) return Failure(over.error());
        if (!*over)
            return fail(ETIMEDOUT, "some of it is still on the way after {} ms", options.wait_ms);
    }

    if (json)
        print_json({{"ok", true},
                    {"verb", options.verb},
                    {"tier", place->name},
                    {"hints", hints.size()},
                    {"bytes", bytes},
                    {"skipped_bytes", place->what.skipped}});
    else
        print(fmt::format("{}: {} in {} range{} of {}{}\n", options.verb, human_size(bytes),
                          hints.size(), hints.size() == 1 ? "" : "s", place->name,
                          place->what.skipped ? fmt::format(", {} left out (not on the device, or "
                                                            "shared)",
                                                            human_size(place->what.skipped))
                                              : ""));
    if (verb.number == HINTIER_VERB_PIN) {
        std::fflush(stdout);
        sleep(static_cast<unsigned>(options.for_seconds)); // a pin ends with its descriptor
    }
    return Exit::ok;
}

std::string known_class(const std::string& name) {
    return class_number(name) < 0 ? "unknown class '" + name + "'" : std::string();
}

std::string wrong_place(const Options& options) {
    if (options.verb == "values")
        return options.file.empty() || options.device.empty()
                   ? "values needs FILE and --device NODE"
                   : "";
    if (options.file.empty() == options.device.empty())
        return "name either a FILE or --device NODE";
    if (!options.device.empty() && options.range.empty())
        return "--device needs --range OFFSET:LENGTH";
    if (options.is_volatile && options.verb != "classify") return "--volatile goes with classify";
    if ((options.verb == "pin") != (options.for_seconds != 0))
        return "pin needs --for SECONDS, and only pin";
    if (options.stage && options.verb != "fetch") return "--stage goes with fetch";
    if (options.wait_ms && options.verb != "fetch") return "--wait goes with fetch";
    return {};
}

} // namespace

void add_hint(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "hint", "tell a tier about a file or a range",
         "  hintierctl hint classify /srv/kv/1f3a --class kv --group 3\n"
         "  hintierctl hint fetch /srv/kv/1f3a --deadline 200\n"
         "  hintierctl hint fetch /srv/kv/1f3a --stage --wait 500\n"
         "  hintierctl hint pin /srv/models/70b.gguf --for 600\n"
         "  hintierctl hint values table.json --device /dev/mapper/kv0\n"
         "  hintierctl hint done --device /dev/mapper/kv0 --range 64M:16M\n")
        .argument("VERB", options->verb, "classify, fetch, done, pin or values",
                  must_be_one_of({"classify", "fetch", "done", "pin", "values"}))
        .optional_argument("FILE", options->file, "a regular file on a tier; values: the table")
        .text("--device", "NODE", options->device, "the tier itself, with --range")
        .text("--range", "OFFSET:LENGTH", options->range, "on the tier, or in the file",
              must_parse([](const std::string& text) { return parse_range(text); }))
        .text("--class", "CLASS", options->klass,
              "classify, fetch: other, weights, expert, kv, checkpoint, stream", known_class)
        .number("--group", "N", options->group, HINTIER_GROUPS - 1,
                "classify: extents that age alike")
        .number("--object", "ID", options->object, UINT64_MAX,
                "classify: what the range belongs to")
        .number("--depth", "N", options->depth, UINT32_MAX,
                "classify: place of the object in its chain")
        .flag("--touch", options->touch, "classify: counts as an access")
        .flag("--volatile", options->is_volatile,
              "classify: may be dropped while it is dirty; reads then fail")
        .flag("--unshared", options->unshared,
              "volatile: on a file system with reflinks, this file shares no blocks")
        .number("--deadline", "MS", options->deadline_ms, UINT32_MAX,
                "fetch: milliseconds from now")
        .number("--for", "SECONDS", options->for_seconds, pin_max_seconds,
                "pin: keep it in fast so long, and keep running")
        .flag("--stage", options->stage, "fetch: to the stage in RAM, not to fast")
        .number("--wait", "MS", options->wait_ms, HINTIER_WAIT_MAX_MS,
                "fetch: return when it is there, or after so long with an error")
        .together([options] { return wrong_place(*options); })
        .action([options, &command] { return send(*options, command.json); });
}

} // namespace hintier::cli
