// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/pair.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <sys/random.h>

#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

using Sector = std::array<std::byte, HT_SECTOR_BYTES>;

constexpr std::uint64_t chunk_sectors = 2048; // records are read and written 1 MiB at a time

constexpr std::uint64_t byte_of(std::uint64_t sector) {
    return sector * HT_SECTOR_BYTES;
}

const char* role_name(std::uint32_t role) {
    return role == HT_ROLE_FAST ? "fast" : "bulk";
}

Result<std::optional<ht_state>> read_state(const Disk& disk, const ht_header& header) {
    Sector first{};
    Sector second{};
    auto read_copy = [&](std::uint64_t copy, Sector& to) {
        return disk.read(byte_of(HT_STATE_SECTOR + copy * HT_STATE_STRIDE), to);
    };
    if (auto done = read_copy(0, first); !done) return Failure(done.error());
    if (auto done = read_copy(1, second); !done) return Failure(done.error());
    const void* copies[HT_STATE_COPIES] = {first.data(), second.data()};
    ht_state state{};
    if (ht_state_decode(header.uuid, header.role, copies, &state) != HT_OK)
        return std::optional<ht_state>{};
    return std::optional(state);
}

// A tier that has grown since `format` says so in its states.
Result<Pair> grown(const Disk& fast, const Disk& bulk, Pair pair) {
    std::uint64_t extents = pair.fast.geo.extents;
    for (auto [disk, header] : {std::pair(&fast, &pair.fast), std::pair(&bulk, &pair.bulk)}) {
        auto state = read_state(*disk, *header);
        if (!state) return Failure(state.error());
        if (*state) extents = std::max<std::uint64_t>(extents, (*state)->extents);
    }
    if (extents > pair.extents_of(bulk))
        return fail(EINVAL, "{}: {}", bulk.path, ht_refusal_text(HT_REFUSE_BULK_SMALL));
    pair.resize(extents);
    return pair;
}

bool any_dirty(const ht_geometry& geo, const ht_record& record) {
    return record.used && std::any_of(record.dirty, record.dirty + geo.words,
                                      [](std::uint16_t bits) { return bits != 0; });
}

// Slots of a fast device whose records name dirty units; damaged record sectors count whole.
Result<std::uint64_t> count_dirty(const Disk& disk, const ht_header& header) {
    const ht_geometry& geo = header.geo;
    std::vector<std::byte> chunk;
    std::uint64_t dirty = 0;
    for (std::uint64_t at = 0; at < geo.meta_sectors; at += chunk_sectors) {
        std::uint64_t count = std::min<std::uint64_t>(chunk_sectors, geo.meta_sectors - at);
        chunk.resize(byte_of(count));
        if (auto done = disk.read(byte_of(geo.meta_start + at), chunk); !done)
            return Failure(done.error());
        for (std::uint64_t i = 0; i < count; i++) {
            const std::byte* sector = chunk.data() + byte_of(i);
            auto index = static_cast<std::uint32_t>(at + i);
            std::uint64_t seq = 0;
            if (ht_records_check(header.uuid, index, sector, &seq) != HT_OK) {
                dirty += geo.per_sector;
                continue;
            }
            for (std::uint32_t nth = 0; nth < geo.per_sector; nth++) {
                ht_record record{};
                dirty +=
                    ht_record_get(&geo, sector, nth, &record) != HT_OK || any_dirty(geo, record);
            }
        }
    }
    return dirty;
}

Result<void> check_role(const Disk& disk, const ht_header& header, ht_role wanted) {
    if (header.role == wanted) return {};
    return fail(EINVAL, "{} is the {} device of its pair: the order is FAST BULK", disk.path,
                role_name(header.role));
}

Result<void> write_sector(PairMedium& medium, ht_role role, std::uint64_t sector,
                          const Sector& data) {
    return medium.write(role, byte_of(sector), data);
}

Result<void> write_states(PairMedium& medium, ht_role role, const Uuid& uuid) {
    for (std::uint64_t seq = 0; seq < HT_STATE_COPIES; seq++) {
        ht_state state{};
        state.seq = seq;
        state.flags = role == HT_ROLE_FAST ? HT_STATE_CLEAN_STOP : 0;
        Sector sector{};
        ht_state_encode(uuid.data(), role, &state, sector.data());
        if (auto done = write_sector(medium, role, ht_state_sector(seq), sector); !done)
            return done;
    }
    return {};
}

// Metadata sectors from `start` on, each as `init` makes it.
template <typename Init>
Result<void> write_sectors(PairMedium& medium, std::uint64_t start, std::uint64_t sectors,
                           Init init, const Progress& progress) {
    std::vector<std::byte> chunk;
    for (std::uint64_t at = 0; at < sectors; at += chunk_sectors) {
        std::uint64_t count = std::min<std::uint64_t>(chunk_sectors, sectors - at);
        chunk.assign(byte_of(count), std::byte{});
        for (std::uint64_t i = 0; i < count; i++)
            init(static_cast<std::uint32_t>(at + i), chunk.data() + byte_of(i));
        if (auto done = medium.write(HT_ROLE_FAST, byte_of(start + at), chunk); !done) return done;
        progress(at + count, sectors);
    }
    return {};
}

Result<void> write_records(PairMedium& medium, const ht_header& fast, const Progress& progress) {
    const ht_geometry& geo = fast.geo;
    auto record = [&](std::uint32_t index, void* sector) {
        ht_records_init(fast.uuid, &geo, index, sector);
    };
    auto lost = [&](std::uint32_t index, void* sector) { ht_lost_init(fast.uuid, index, sector); };
    auto quietly = [](std::uint64_t, std::uint64_t) {};
    if (auto done = write_sectors(medium, geo.lost_start, geo.lost_sectors, lost, quietly); !done)
        return done;
    return write_sectors(medium, geo.meta_start, geo.meta_sectors, record, progress);
}

Result<void> write_header(PairMedium& medium, ht_role role, const ht_header& header) {
    Sector sector{};
    ht_header_encode(&header, sector.data());
    if (auto done = write_sector(medium, role, HT_HEADER_SECTOR, sector); !done) return done;
    return medium.sync(role);
}

} // namespace

Uuid random_uuid() {
    Uuid uuid{};
    while (getrandom(uuid.data(), uuid.size(), 0) != static_cast<ssize_t>(uuid.size())) {
    }
    uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40); // version 4: random
    uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

Result<Uuid> parse_uuid(const std::string& text) {
    std::string digits;
    for (std::size_t i = 0; i < text.size(); i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash != (text[i] == '-') ||
            (!dash && !std::isxdigit(static_cast<unsigned char>(text[i]))))
            return fail(EINVAL, "'{}' is not a UUID", text);
        if (!dash) digits += text[i];
    }
    if (digits.size() != 32) return fail(EINVAL, "'{}' is not a UUID", text);
    Uuid uuid{};
    for (std::size_t i = 0; i < uuid.size(); i++)
        uuid[i] = static_cast<std::uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
    return uuid;
}

Result<std::uint64_t> parse_extent(const std::string& text) {
    auto bytes = parse_size(text);
    if (bytes && (*bytes < HINTIER_EXTENT_MIN_BYTES || *bytes > HINTIER_EXTENT_MAX_BYTES ||
                  !std::has_single_bit(*bytes)))
        return fail(EINVAL, "an extent of {} cannot be: it is a power of two from 64K to 1M", text);
    return bytes;
}

Uuid uuid_of(const ht_header& header) {
    Uuid uuid{};
    std::copy(std::begin(header.uuid), std::end(header.uuid), uuid.begin());
    return uuid;
}

Result<ht_header> read_header(const Disk& disk) {
    Sector sector{};
    if (disk.bytes < sector.size())
        return fail(EINVAL, "{} is too small to be part of a tier", disk.path);
    if (auto done = disk.read(byte_of(HT_HEADER_SECTOR), sector); !done)
        return Failure(done.error());
    ht_header header{};
    ht_refusal why = ht_header_decode(sector.data(), &header);
    if (why == HT_REFUSE_FOREIGN)
        return fail(EINVAL, "{} has no hintier header: prepare the pair with `hintierctl format`",
                    disk.path);
    if (why != HT_OK) return fail(EINVAL, "{}: {}", disk.path, ht_refusal_text(why));
    return header;
}

Result<std::optional<std::string>> describe_ours(const Disk& disk) {
    Sector sector{};
    if (disk.bytes < sector.size()) return std::nullopt;
    if (auto done = disk.read(byte_of(HT_HEADER_SECTOR), sector); !done)
        return Failure(done.error());
    if (!ht_header_ours(sector.data())) return std::nullopt;
    ht_header header{};
    if (ht_refusal why = ht_header_decode(sector.data(), &header); why != HT_OK)
        return fmt::format("a hintier header ({})", ht_refusal_text(why));
    std::string text = fmt::format("the {} device of hintier pair {}", role_name(header.role),
                                   uuid_text(uuid_of(header)));
    if (ht_header_fits(&header, disk.bytes / HT_SECTOR_BYTES) != HT_OK)
        return text + " (made for a larger device)";
    if (header.role == HT_ROLE_FAST) {
        auto dirty = count_dirty(disk, header);
        if (!dirty) return Failure(dirty.error());
        return text + (*dirty ? fmt::format(" with {} dirty slots", human_count(*dirty))
                              : ", nothing dirty");
    }
    auto state = read_state(disk, header);
    if (!state) return Failure(state.error());
    bool dirty = !*state || ((*state)->flags & HT_STATE_HAS_DIRTY);
    return text + (dirty ? ", whose fast device may hold newer data" : ", complete in itself");
}

std::uint64_t Pair::extents_of(const Disk& bulk_disk) const {
    const std::uint64_t sectors = bulk_disk.bytes / HT_SECTOR_BYTES;
    return (sectors - bulk.geo.home_start) >> bulk.geo.extent_shift;
}

void Pair::resize(std::uint64_t extents) {
    fast.geo.extents = bulk.geo.extents = static_cast<std::uint32_t>(extents);
}

std::uint64_t Pair::extent_bytes() const {
    return byte_of(1ULL << fast.geo.extent_shift);
}

std::uint64_t Pair::tier_sectors() const {
    return static_cast<std::uint64_t>(fast.geo.extents) << fast.geo.extent_shift;
}

std::uint64_t Pair::tier_bytes() const {
    return byte_of(tier_sectors());
}

std::uint64_t Pair::fast_bytes() const {
    return fast.geo.slots * extent_bytes();
}

Result<Pair> read_pair(const Disk& fast, const Disk& bulk) {
    if (same_disk(fast.path, bulk.path))
        return fail(EINVAL, "{} and {} are the same device", fast.path, bulk.path);
    auto fast_header = read_header(fast);
    if (!fast_header) return Failure(fast_header.error());
    auto bulk_header = read_header(bulk);
    if (!bulk_header) return Failure(bulk_header.error());
    if (auto right = check_role(fast, *fast_header, HT_ROLE_FAST); !right)
        return Failure(right.error());
    if (auto right = check_role(bulk, *bulk_header, HT_ROLE_BULK); !right)
        return Failure(right.error());
    if (!ht_header_pair(&*fast_header, &*bulk_header))
        return fail(EINVAL, "{} and {} do not belong together: pairs {} and {}", fast.path,
                    bulk.path, uuid_text(uuid_of(*fast_header)), uuid_text(uuid_of(*bulk_header)));
    if (ht_refusal why = ht_header_fits(&*fast_header, fast.bytes / HT_SECTOR_BYTES); why != HT_OK)
        return fail(EINVAL, "{}: {}", fast.path, ht_refusal_text(why));
    if (ht_refusal why = ht_header_fits(&*bulk_header, bulk.bytes / HT_SECTOR_BYTES); why != HT_OK)
        return fail(EINVAL, "{}: {}", bulk.path, ht_refusal_text(why));
    return grown(fast, bulk, {*fast_header, *bulk_header});
}

Result<Pair> plan_pair(std::uint64_t fast_bytes, std::uint64_t bulk_bytes,
                       std::uint64_t extent_bytes, const Uuid& uuid) {
    Pair pair{};
    ht_refusal why = ht_format_layout(fast_bytes / HT_SECTOR_BYTES, bulk_bytes / HT_SECTOR_BYTES,
                                      static_cast<std::uint32_t>(extent_bytes / HT_SECTOR_BYTES),
                                      &pair.fast.geo);
    if (why != HT_OK)
        return fail(EINVAL, "{} (fast {}, bulk {})", ht_refusal_text(why), human_size(fast_bytes),
                    human_size(bulk_bytes));
    pair.bulk.geo = pair.fast.geo;
    pair.fast.role = HT_ROLE_FAST;
    pair.bulk.role = HT_ROLE_BULK;
    std::copy(uuid.begin(), uuid.end(), pair.fast.uuid);
    std::copy(uuid.begin(), uuid.end(), pair.bulk.uuid);
    return pair;
}

Result<void> write_pair(PairMedium& medium, const Pair& pair, const Progress& progress) {
    const Sector nothing{};
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
        if (auto done = write_sector(medium, role, HT_HEADER_SECTOR, nothing); !done) return done;
        if (auto done = medium.sync(role); !done) return done;
    }
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        if (auto done = medium.erase_foreign(role); !done) return done;
    if (auto done = write_records(medium, pair.fast, progress); !done) return done;
    if (auto done = write_states(medium, HT_ROLE_FAST, uuid_of(pair.fast)); !done) return done;
    if (auto done = medium.sync(HT_ROLE_FAST); !done) return done;
    if (auto done = write_states(medium, HT_ROLE_BULK, uuid_of(pair.bulk)); !done) return done;
    if (auto done = write_header(medium, HT_ROLE_BULK, pair.bulk); !done) return done;
    return write_header(medium, HT_ROLE_FAST, pair.fast);
}

} // namespace hintier::cli
