// SPDX-License-Identifier: Apache-2.0
// A pair whose metadata is overwritten at will, with checksums put right where the input says so:
// the module's loader and the offline tools agree on what is good, whatever is loaded keeps the
// map's invariants, a repair without leave never makes anything worse, a drain leaves nothing
// dirty.
#include <array>

#include <hintier/types.h>

#include "agent/cli/meta/drain.hpp"
#include "agent/cli/meta/repair.hpp"
#include "agent/cli/meta/survey.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/host/loader.hpp"

using hintier::fuzz::Input;
using hintier::fuzz::Output;
using hintier::fuzz::require;
using hintier::test::Loader;
using hintier::test::PairImage;

namespace {

using namespace hintier::cli;

const Progress quiet = [](auto, auto) {};

// An edit is {place, offset, value, what then}.
enum Then : std::uint8_t { leave_sum, right_sum };

constexpr u32 units = 4; // of each extent have contents

// A unit is told by its first sector: the rest would only make images slow to copy.
void mark(PairImage& image, ht_role role, u64 sector, u8 byte) {
    Sector bytes;
    bytes.fill(std::byte(byte));
    image.put(role, sector, bytes);
}

PairImage lived_in() {
    PairImage image;
    for (u32 slot = 0; slot < 16; slot += 3) {
        ht_record record{};
        record.used = true;
        record.extent = slot + 1;
        record.valid[0] = 0x00ff;
        record.dirty[0] = slot % 2 ? 0x0f : 0;
        image.put_record(slot, record);
        for (u32 unit = 0; unit < units; unit++)
            mark(image, HT_ROLE_FAST, image.slot_unit(slot, unit),
                 static_cast<u8>(0x80 + slot * units + unit));
    }
    for (u32 extent = 0; extent < image.geo().extents; extent++)
        for (u32 unit = 0; unit < units; unit++)
            mark(image, HT_ROLE_BULK, image.home_unit(extent, unit), static_cast<u8>(extent));
    const u32 lost[] = {20, 4}; // a slot holds some of the latter again
    for (u32 entry = 0; entry < 2; entry++) {
        ht_lost_record record{};
        record.used = true;
        record.extent = lost[entry];
        record.lost[0] = 0x0105;
        image.put_lost(entry, record);
    }
    return image;
}

struct Place {
    ht_role role;
    u64 sector;
};

Place place_of(const PairImage& image, std::uint8_t number) {
    const std::array<Place, 10> places = {{{HT_ROLE_FAST, HT_HEADER_SECTOR},
                                           {HT_ROLE_BULK, HT_HEADER_SECTOR},
                                           {HT_ROLE_FAST, HT_STATE_SECTOR},
                                           {HT_ROLE_FAST, HT_STATE_SECTOR + HT_STATE_STRIDE},
                                           {HT_ROLE_BULK, HT_STATE_SECTOR},
                                           {HT_ROLE_BULK, HT_STATE_SECTOR + HT_STATE_STRIDE},
                                           {HT_ROLE_FAST, image.geo().meta_start},
                                           {HT_ROLE_FAST, image.geo().meta_start + 1},
                                           {HT_ROLE_FAST, image.geo().lost_start},
                                           {HT_ROLE_FAST, image.geo().lost_start + 1}}};
    return places[number % places.size()];
}

void put32(Sector& sector, std::size_t at, u32 value) {
    for (int i = 0; i < 4; i++)
        sector[at + static_cast<std::size_t>(i)] = std::byte(value >> 8 * i);
}

// The checksum as the format describes it: UUID, kind, place, and the sector without it.
void put_sum(const PairImage& image, const Place& place, Sector& sector) {
    const ht_geometry& geo = image.geo();
    const u32 kind = place.sector == HT_HEADER_SECTOR ? 1
                     : place.sector < HT_META_SECTOR  ? 2
                     : place.sector < geo.lost_start  ? 3
                                                      : 4;
    u32 where = kind == 4   ? static_cast<u32>(place.sector - geo.lost_start)
                : kind == 3 ? static_cast<u32>(place.sector - geo.meta_start)
                            : static_cast<u32>(place.role);
    const std::size_t at = kind >= 3 ? 0 : 8;
    std::array<u8, 16> uuid{};
    std::memcpy(uuid.data(), image.uuid(), uuid.size());
    if (kind == 1) { // a header tells its own UUID and role
        std::memcpy(uuid.data(), sector.data() + offsetof(ht_disk_header, uuid), uuid.size());
        std::memcpy(&where, sector.data() + offsetof(ht_disk_header, role), 4);
    }
    put32(sector, at, 0);
    const u32 salt[2] = {kind, where};
    u32 crc = ht_crc32c(~0U, uuid.data(), uuid.size());
    crc = ht_crc32c(crc, salt, sizeof salt);
    crc = ht_crc32c(crc, sector.data(), sector.size());
    put32(sector, at, ~crc);
}

void edit(PairImage& image, Input& in) {
    for (int edits = 0; edits < 24 && !in.empty(); edits++) {
        const Place place = place_of(image, in.take<std::uint8_t>());
        const std::size_t at = in.take<std::uint16_t>() % (HT_SECTOR_BYTES - 7);
        const auto value = in.take<u64>();
        const auto then = in.take<std::uint8_t>();
        Sector sector = image.get(place.role, place.sector);
        const std::size_t width = 1 + (then >> 1) % 8;
        for (std::size_t i = 0; i < width; i++)
            sector[at + i] = std::byte(value >> 8 * i);
        if (then & right_sum) put_sum(image, place, sector);
        image.put(place.role, place.sector, sector);
    }
}

std::vector<hintier::fuzz::Bytes> seeds() {
    std::vector<hintier::fuzz::Bytes> all;
    // Each field of each structure, with and without a right checksum.
    const std::uint16_t header[] = {0, 8, 12, 16, 32, 36, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112};
    const std::uint16_t state[] = {0, 8, 12, 16, 24, 32, 40};
    const std::uint16_t record[] = {0, 4, 8, 16, 20, 21, 22, 23, 24, 26, 28};
    auto one = [&](std::uint8_t place, std::uint16_t at, u64 value, std::uint8_t then) {
        Output out;
        out.put<std::uint8_t>(0).put(place).put(at).put(value).put(then);
        all.push_back(out.bytes);
    };
    for (std::uint8_t then : {0x00, 0x01, 0x0f}) {
        for (std::uint8_t place = 0; place < 10; place++) {
            const std::span<const std::uint16_t> fields =
                place < 2   ? std::span<const std::uint16_t>(header)
                : place < 6 ? std::span<const std::uint16_t>(state)
                            : std::span<const std::uint16_t>(record);
            for (std::uint16_t at : fields)
                one(place, at, 3, then);
        }
    }
    return all;
}

void check_map(const Loader& loaded) {
    const ht_map& map = loaded.map;
    for (u32 slot = 0; slot < map.geo.slots; slot++) {
        const u32 extent = map.slots[slot].extent;
        if (extent == HT_NIL) continue;
        require(extent < map.geo.extents, "an extent of the tier");
        require(ht_lookup(&map, extent) == slot, "an extent has one slot");
        require(map.slots[slot].klass < HINTIER_CLASSES, "class");
        for (u32 unit = 0; unit < map.geo.units; unit++)
            require(!loaded.bit(slot, HT_DIRTY, unit) || loaded.bit(slot, HT_VALID, unit),
                    "dirty is valid");
    }
}

std::vector<int> contents(const PairImage& image, const Loader& loaded) {
    std::vector<int> all;
    for (u32 extent = 0; extent < loaded.map.geo.extents; extent++)
        for (u32 unit = 0; unit < units; unit++)
            all.push_back(loaded.read(image, extent, unit));
    return all;
}

// What was dirty when it was loaded is home.
bool home_again(const PairImage& image, const Loader& loaded, const std::vector<int>& truth) {
    for (u32 i = 0; i < truth.size(); i++) {
        const u32 slot = ht_lookup(&loaded.map, i / units);
        if (slot == HT_NIL || !loaded.bit(slot, HT_DIRTY, i % units)) continue;
        const auto home = image.get(HT_ROLE_BULK, image.home_unit(i / units, i % units))[0];
        if (static_cast<int>(home) != truth[i]) return false;
    }
    return true;
}

} // namespace

FUZZ_TARGET(meta, seeds) {
    static const PairImage start = lived_in();
    Input in(input);
    const auto leaves = in.take<std::uint8_t>();
    PairImage image = start;
    edit(image, in);

    Loader loader;
    const bool loads = loader.load(image) == HT_OK;
    const std::vector<int> truth = loads ? contents(image, loader) : std::vector<int>{};
    if (loads) check_map(loader);
    const Survey found = survey(image, quiet);
    if (found.damages.empty()) require(loads, "what check calls clean is loaded");
    if (!loads) require(!found.damages.empty(), "what is refused is damage");

    PairImage drained = image;
    if (auto done = drain(drained, found, quiet)) {
        require(done->unread.empty(), "memory is readable");
        const Survey after = survey(drained, quiet);
        require(after.whole && after.dirty == 0, "nothing is dirty after a drain");
        Loader again;
        require(again.load(drained) == HT_OK, "a drained pair is loaded");
        if (!loads) return; // it was a header, which was proved
        require(contents(drained, again) == truth, "a drain changes no contents");
        require(home_again(drained, loader, truth), "bulk has what was dirty");
    }

    const PairImage before = image;
    const Leave leave = {.drop_records = (leaves & 1) != 0,
                         .drop_lost = (leaves & 8) != 0,
                         .discard_dirty = (leaves & 2) != 0,
                         .assume_current = (leaves & 4) != 0};
    const RepairPlan plan = plan_repair(found, leave);
    if (plan.steps.empty()) {
        require(found.damages.empty() || !plan.left.empty(), "what is left is named");
        return;
    }
    require(carry_out(image, found, plan).has_value(), "memory is writable");
    Survey after = survey(image, quiet);
    require(after.whole || !found.whole, "a repair does not break the pair");
    if (!loads || leaves & 15) return;
    Loader again;
    require(again.load(image) == HT_OK, "nor make it unloadable");
    require(contents(image, again) == truth, "nor change what it reads");
}
