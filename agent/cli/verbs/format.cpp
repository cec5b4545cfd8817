// SPDX-License-Identifier: Apache-2.0
// format: make a new, empty pair out of two devices, and never out of somebody's data.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/pair.hpp"
#include "agent/cli/signature.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string fast;
    std::string bulk;
    std::string extent = "256K";
    std::string uuid;
    bool force = false;
};

class Disks final : public PairMedium {
public:
    Disks(const Disk& fast, const Disk& bulk) : fast_(fast), bulk_(bulk) {}

    Result<void> write(ht_role role, std::uint64_t offset,
                       std::span<const std::byte> data) override {
        return of(role).write(offset, data);
    }
    Result<void> sync(ht_role role) override { return of(role).sync(); }
    Result<void> erase_foreign(ht_role role) override { return erase_signatures(of(role)); }

private:
    const Disk& of(ht_role role) const { return role == HT_ROLE_FAST ? fast_ : bulk_; }

    const Disk& fast_;
    const Disk& bulk_;
};

// Everything on the device that someone may miss.
Result<std::vector<std::string>> found_on(const Disk& disk) {
    auto found = foreign_signatures(disk);
    if (!found) return found;
    auto ours = describe_ours(disk);
    if (!ours) return Failure(ours.error());
    if (*ours) found->insert(found->begin(), **ours);
    return found;
}

// "/dev/a holds X, Y; /dev/b holds Z"; empty when both are blank.
Result<std::string> found_on_both(const Disk& fast, const Disk& bulk) {
    std::string text;
    for (const Disk* disk : {&fast, &bulk}) {
        auto found = found_on(*disk);
        if (!found) return Failure(found.error());
        if (!found->empty())
            text += fmt::format("{}{} holds {}", text.empty() ? "" : "; ", disk->path,
                                fmt::join(*found, ", "));
    }
    return text;
}

Result<void> refuse_data(const Disk& fast, const Disk& bulk, bool force) {
    auto found = found_on_both(fast, bulk);
    if (!found) return Failure(found.error());
    if (found->empty()) return {};
    if (!force) return fail(EEXIST, "{}: --force destroys it", *found);
    note(fmt::format("{}: destroying it\n", *found));
    return {};
}

Result<void> refuse_shape(const Disk& fast, const Disk& bulk, bool force) {
    if (fast.logical > bulk.logical)
        return fail(EINVAL,
                    "{} has logical blocks of {} bytes, {} of {}: the fast device's must "
                    "not be larger",
                    fast.path, fast.logical, bulk.path, bulk.logical);
    if (fast.bytes > bulk.bytes && !force)
        return fail(EINVAL,
                    "fast {} ({}) is larger than bulk {} ({}): are they swapped? --force "
                    "takes them as they are",
                    fast.path, human_size(fast.bytes), bulk.path, human_size(bulk.bytes));
    return {};
}

void show_progress(std::uint64_t done, std::uint64_t all) {
    if (stderr_is_terminal() && all > 4096)
        note(fmt::format("\rwriting slot records: {} {}", percent(done, all),
                         done == all ? "\n" : ""));
}

void answer(const Disk& fast, const Disk& bulk, const Pair& pair, bool json) {
    const ht_geometry& geo = pair.fast.geo;
    std::string uuid = uuid_text(uuid_of(pair.fast));
    if (json) {
        print_json({{"ok", true},
                    {"uuid", uuid},
                    {"fast", fast.path},
                    {"bulk", bulk.path},
                    {"extent_bytes", pair.extent_bytes()},
                    {"slots", geo.slots},
                    {"fast_bytes", pair.fast_bytes()},
                    {"tier_bytes", pair.tier_bytes()}});
        return;
    }
    Facts facts;
    facts.add("pair", uuid);
    facts.add("fast", fmt::format("{}  {}: {} slots of {}", fast.path, human_size(fast.bytes),
                                  human_count(geo.slots), human_size(pair.extent_bytes())));
    facts.add("bulk", fmt::format("{}  {}: data from {}", bulk.path, human_size(bulk.bytes),
                                  human_size(geo.home_start * HT_SECTOR_BYTES)));
    facts.add("tier", fmt::format("{}, {} of it fits in fast", human_size(pair.tier_bytes()),
                                  percent(std::min(pair.fast_bytes(), pair.tier_bytes()),
                                          pair.tier_bytes())));
    facts.add("next", fmt::format("hintierctl create NAME {} {}", fast.path, bulk.path));
    print(facts.text());
}

Result<Exit> format(const Options& options, bool json) {
    auto extent = parse_extent(options.extent);
    if (!extent) return Failure(extent.error());
    Uuid uuid = random_uuid();
    if (!options.uuid.empty()) {
        auto given = parse_uuid(options.uuid);
        if (!given) return Failure(given.error());
        uuid = *given;
    }
    if (same_disk(options.fast, options.bulk))
        return fail(EINVAL, "{} and {} are the same device", options.fast, options.bulk);
    auto fast = open_disk(options.fast, Open::exclusive);
    if (!fast) return Failure(fast.error());
    auto bulk = open_disk(options.bulk, Open::exclusive);
    if (!bulk) return Failure(bulk.error());
    if (auto fine = refuse_shape(*fast, *bulk, options.force); !fine) return Failure(fine.error());
    auto pair = plan_pair(fast->bytes, bulk->bytes, *extent, uuid);
    if (!pair) return Failure(pair.error());
    if (auto fine = refuse_data(*fast, *bulk, options.force); !fine) return Failure(fine.error());
    Disks medium(*fast, *bulk);
    if (auto done = write_pair(medium, *pair, show_progress); !done) return Failure(done.error());

    fast->forget_cache();
    bulk->forget_cache();
    if (auto back = read_pair(*fast, *bulk); !back)
        return fail(EIO, "what was written does not read back: {}", back.error().text);
    answer(*fast, *bulk, *pair, json);
    return Exit::ok;
}

} // namespace

void add_format(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "format", "make a new, empty pair of a fast and a bulk device",
         "  hintierctl format /dev/nvme0n1 /dev/nvme1n1\n"
         "  hintierctl format fast.img bulk.img --extent 64K --force\n")
        .argument("FAST", options->fast, "the small, fast device (or an image file)")
        .argument("BULK", options->bulk, "the large device (or an image file)")
        .text("--extent", "SIZE", options->extent, "unit of mapping: 64K, 128K, 256K, 512K or 1M",
              must_parse(parse_extent))
        .text("--uuid", "UUID", options->uuid, "of the pair; random unless given",
              must_parse(parse_uuid))
        .flag("--force", options->force, "destroy what is recognised on the devices")
        .action([options, &command] { return format(*options, command.json); });
}

} // namespace hintier::cli
