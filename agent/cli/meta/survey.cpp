// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/meta/survey.hpp"

#include <algorithm>

#include "agent/cli/pair.hpp"
#include "agent/cli/stats.hpp"

namespace hintier::cli {

namespace {

constexpr std::uint64_t chunk_sectors = 2048; // records are read 1 MiB at a time
constexpr std::size_t sector_bits = 8 * HT_SECTOR_BYTES;

// By how much each bit moves what the checksum of such a sector is off by.
using Weights = std::array<u32, sector_bits>;

Weights weigh(ht_kind kind) {
    const u8 uuid[16] = {};
    Sector sector{};
    const u32 none = ht_sector_off(kind, uuid, 0, sector.data());
    Weights weights;
    for (std::size_t bit = 0; bit < sector_bits; bit++) {
        sector[bit / 8] = std::byte(1U << bit % 8);
        weights[bit] = ht_sector_off(kind, uuid, 0, sector.data()) ^ none;
        sector[bit / 8] = std::byte{0};
    }
    return weights;
}

const Weights& weights_of(ht_kind kind) {
    static const std::array<Weights, 4> all = {weigh(HT_KIND_HEADER), weigh(HT_KIND_STATE),
                                               weigh(HT_KIND_RECORDS), weigh(HT_KIND_LOST)};
    return all[kind - HT_KIND_HEADER];
}

// The sector with the one bit turned back that makes it good.
template <class Good>
std::optional<Sector> mend(ht_kind kind, const u8* uuid, u32 place, const Sector& damaged,
                           Good good) {
    const u32 off = ht_sector_off(kind, uuid, place, damaged.data());
    const Weights& weights = weights_of(kind);
    for (auto found = weights.begin();
         (found = std::find(found, weights.end(), off)) != weights.end(); ++found) {
        const auto bit = static_cast<std::size_t>(found - weights.begin());
        Sector sector = damaged;
        sector[bit / 8] ^= std::byte(1U << bit % 8);
        if (good(sector)) return sector;
    }
    return {};
}

class Surveyor {
public:
    Surveyor(Medium& medium, const Progress& progress) : medium_(medium), progress_(progress) {}

    Survey run() {
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
            look_at_header(role);
        infer_headers();
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
            look_at_states(role);
        check_pair();
        if (all_.whole) {
            judge_epochs();
        }
        if (all_.whole) {
            look_at_lost_map(); // before the records: what they claim is not lost
            look_at_records();
            for (const Lost& lost : all_.lost)
                all_.lost_units += count(lost.still);
        }
        return std::move(all_);
    }

private:
    Damage& found(Fault fault, ht_role role, std::uint64_t sector, std::string text) {
        Damage damage;
        damage.fault = fault;
        damage.role = role;
        damage.sector = sector;
        damage.text = std::move(text);
        all_.damages.push_back(std::move(damage));
        return all_.damages.back();
    }

    // Reads one sector; what cannot be read is all zeros, and a damage.
    bool read(ht_role role, std::uint64_t at, Sector& to) {
        to = {};
        auto done = medium_.read(role, byte_of(at), to);
        if (!done) found(Fault::unreadable, role, at, done.error().text);
        return done.has_value();
    }

    // ---- headers ----

    void look_at_header(ht_role role) {
        Sector sector{};
        if (!read(role, HT_HEADER_SECTOR, sector)) return;
        ht_header header{};
        ht_refusal why = ht_header_decode(sector.data(), &header);
        if (why == HT_OK) {
            all_.header[index_of(role)] = header;
            return;
        }
        Damage& damage =
            found(Fault::header, role, HT_HEADER_SECTOR,
                  why == HT_REFUSE_FOREIGN ? "no hintier header" : ht_refusal_text(why));
        damage.good = mend(HT_KIND_HEADER, nullptr, 0, sector, [&](const Sector& s) {
            return ht_header_decode(s.data(), &header) == HT_OK;
        });
        if (damage.good) all_.header[index_of(role)] = header;
    }

    // The two headers differ in nothing but the role: one tells the other. What is salted with
    // the UUID proves that the device belongs to it.
    void infer_headers() {
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            ht_role other = role == HT_ROLE_FAST ? HT_ROLE_BULK : HT_ROLE_FAST;
            if (all_.header[index_of(role)] || !all_.header[index_of(other)]) continue;
            ht_header header = *all_.header[index_of(other)];
            if (header.role != other) continue;
            header.role = role;
            if (!belongs(role, header)) continue;
            all_.header[index_of(role)] = header;
            Sector good{};
            ht_header_encode(&header, good.data());
            for (Damage& damage : all_.damages)
                if (damage.sector == HT_HEADER_SECTOR && damage.role == role) damage.good = good;
        }
    }

    bool belongs(ht_role role, const ht_header& header) {
        if (ht_header_fits(&header, medium_.bytes(role) / HT_SECTOR_BYTES) != HT_OK) return false;
        return decode_states(role, header, nullptr).newest.has_value();
    }

    // ---- states ----

    StateCopies decode_states(ht_role role, const ht_header& header, Sector* sectors) {
        StateCopies states;
        for (unsigned i = 0; i < HT_STATE_COPIES; i++) {
            Sector sector{};
            if (!medium_.read(role, byte_of(HT_STATE_SECTOR + i * HT_STATE_STRIDE), sector))
                continue;
            if (sectors) sectors[i] = sector;
            states.copy[i] = decode_state(header, sector);
            if (states.copy[i] && (!states.newest || states.copy[i]->seq > states.newest->seq))
                states.newest = states.copy[i];
        }
        return states;
    }

    static std::optional<ht_state> decode_state(const ht_header& header, const Sector& sector) {
        const void* copies[HT_STATE_COPIES] = {sector.data(), sector.data()};
        ht_state state{};
        if (ht_state_decode(header.uuid, header.role, copies, &state) != HT_OK) return {};
        return state;
    }

    void look_at_states(ht_role role) {
        const auto& header = all_.header[index_of(role)];
        if (!header || header->role != role) return;
        Sector sectors[HT_STATE_COPIES]{};
        StateCopies& states = all_.state[index_of(role)];
        states = decode_states(role, *header, sectors);
        for (unsigned i = 0; i < HT_STATE_COPIES; i++) {
            if (states.copy[i]) continue;
            Damage& damage = found(Fault::state_copy, role, HT_STATE_SECTOR + i * HT_STATE_STRIDE,
                                   fmt::format("copy {} of the state is damaged", i));
            damage.good = mend(HT_KIND_STATE, header->uuid, role, sectors[i], [&](const Sector& s) {
                return decode_state(*header, s).has_value();
            });
            if (damage.good) {
                ht_state state = *decode_state(*header, *damage.good);
                if (!states.newest || state.seq > states.newest->seq) states.newest = state;
            }
        }
        if (!states.newest)
            found(Fault::state, role, HT_STATE_SECTOR,
                  "no copy of the state is good: nobody knows whether this device is up to date");
    }

    // ---- the pair ----

    void check_pair() {
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            const auto& header = all_.header[index_of(role)];
            if (!header) return;
            if (header->role != role) {
                found(Fault::device, role, HT_HEADER_SECTOR,
                      fmt::format("this is the {} device of its pair: the order is FAST BULK",
                                  role_name(header->role)));
                return;
            }
        }
        if (!ht_header_pair(&*all_.header[0], &*all_.header[1])) {
            found(Fault::device, HT_ROLE_BULK, HT_HEADER_SECTOR,
                  fmt::format("the devices do not belong together: pairs {} and {}",
                              uuid_text(uuid_of(*all_.header[0])),
                              uuid_text(uuid_of(*all_.header[1]))));
            return;
        }
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            ht_refusal why = ht_header_fits(&*all_.header[index_of(role)],
                                            medium_.bytes(role) / HT_SECTOR_BYTES);
            if (why != HT_OK) {
                found(Fault::device, role, HT_HEADER_SECTOR,
                      std::string(ht_refusal_text(why)) + ": it ends before what the header names");
                return;
            }
        }
        all_.whole = true;
    }

    void judge_epochs() {
        const auto& fast = all_.state[0].newest;
        const auto& bulk = all_.state[1].newest;
        if (!fast || !bulk) return;
        all_.agree = ht_pair_load(&all_.pair, &*fast, &*bulk, false) == HT_TRUST_ALL;
        if (!all_.agree)
            found(Fault::epochs, HT_ROLE_FAST, HT_STATE_SECTOR,
                  fmt::format("fast is of epoch {}, bulk of epoch {}: one was written without the "
                              "other, or comes from an older image",
                              fast->epoch, bulk->epoch));
        if (all_.pair.extents > all_.geo().extents) grow();
    }

    // The headers tell the size that the tier was made with, the states what it has grown to.
    void grow() {
        ht_geometry geo = all_.geo();
        geo.extents = static_cast<std::uint32_t>(all_.pair.extents);
        if (byte_of(ht_home_sector(&geo, geo.extents)) > medium_.bytes(HT_ROLE_BULK)) {
            found(Fault::device, HT_ROLE_BULK, HT_STATE_SECTOR,
                  fmt::format("{}: it ends before the {} extents that the tier has grown to",
                              ht_refusal_text(HT_REFUSE_BULK_SMALL), geo.extents));
            all_.whole = false;
            return;
        }
        for (auto& header : all_.header)
            header->geo.extents = geo.extents;
    }

    // ---- records ----

    void look_at_records() {
        (void)each_record_sector(
            medium_, all_.geo(),
            [&](std::uint32_t index, std::span<std::byte> bytes, bool readable) -> Result<void> {
                Sector sector{};
                std::copy(bytes.begin(), bytes.end(), sector.begin());
                look_at_sector(index, sector, readable);
                if (index % chunk_sectors == 0) progress_(index, all_.geo().meta_sectors);
                return {};
            });
        progress_(all_.geo().meta_sectors, all_.geo().meta_sectors);
        find_duplicates();
    }

    using Check = ht_refusal (*)(const u8* uuid, u32 index, const void* sector, u64* seq);

    // The damage if its checksum is wrong and nothing proves what it must hold.
    Damage* check_sector(Check check, Fault fault, std::uint64_t start, std::uint32_t index,
                         Sector& sector, const std::string& what, bool readable) {
        std::uint64_t seq = 0;
        auto passes = [&](const Sector& s) {
            return check(all_.fast().uuid, index, s.data(), &seq) == HT_OK;
        };
        if (!passes(sector)) {
            Damage& damage = found(fault, HT_ROLE_FAST, start + index,
                                   what + (readable ? " is damaged" : " cannot be read"));
            const ht_kind kind = fault == Fault::sector ? HT_KIND_RECORDS : HT_KIND_LOST;
            if (readable) damage.good = mend(kind, all_.fast().uuid, index, sector, passes);
            if (!damage.good) return &damage;
            sector = *damage.good;
        }
        if (seq >> 62)
            found(fault == Fault::sector ? Fault::record : Fault::lost_entry, HT_ROLE_FAST,
                  start + index, what + " has a sequence number that nobody wrote");
        else
            all_.seq = std::max(all_.seq, seq);
        return nullptr;
    }

    void look_at_sector(std::uint32_t index, Sector& sector, bool readable) {
        const std::uint32_t slots = slots_in(all_.geo(), index);
        const std::uint32_t first = index * all_.geo().per_sector;
        const std::string what = slots ? fmt::format("record sector {} (slots {} to {})", index,
                                                     first, first + slots - 1)
                                       : fmt::format("record sector {} (of no slot)", index);
        if (Damage* damage = check_sector(ht_records_check, Fault::sector, all_.geo().meta_start,
                                          index, sector, what, readable))
            return name_suspects(sector, slots, *damage);
        for (std::uint32_t nth = 0; nth < all_.geo().per_sector; nth++)
            look_at_record(index, sector, nth);
    }

    void look_at_record(std::uint32_t index, const Sector& sector, std::uint32_t nth) {
        const ht_geometry& geo = all_.geo();
        const std::uint64_t slot = std::uint64_t{index} * geo.per_sector + nth;
        ht_record record{};
        ht_refusal why = ht_record_get(&geo, sector.data(), nth, &record);
        if (why == HT_OK && !record.used && !(record.bad && slot >= geo.slots)) {
            all_.bad += record.bad;
            return;
        }
        if (why != HT_OK || slot >= geo.slots) {
            Damage& damage = found(Fault::record, HT_ROLE_FAST, geo.meta_start + index,
                                   fmt::format("the record of slot {} cannot be true", slot));
            if (record.used && record.extent < geo.extents)
                damage.extents.push_back(record.extent);
            else
                damage.unnamed = 1;
            return;
        }
        all_.used++;
        all_.bad += record.bad;
        std::uint64_t dirty = 0;
        for (std::uint32_t w = 0; w < geo.words; w++) {
            all_.valid_units += static_cast<unsigned>(__builtin_popcount(record.valid[w]));
            dirty += static_cast<unsigned>(__builtin_popcount(record.dirty[w]));
        }
        all_.dirty_units += dirty;
        all_.dirty += dirty != 0;
        all_.mapped.push_back({record.extent, static_cast<std::uint32_t>(slot)});
        claim(record);
    }

    // Nothing tells what it held: it is overwritten with zeros, or cannot be read.
    static bool blank(const Sector& sector) {
        return std::all_of(sector.begin() + offsetof(ht_disk_records, records), sector.end(),
                           [](std::byte byte) { return byte == std::byte{}; });
    }

    // A damaged sector still names extents, if only a part of it is damaged.
    void name_suspects(const Sector& sector, std::uint32_t slots, Damage& damage) {
        const bool nothing = blank(sector);
        for (std::uint32_t nth = 0; nth < slots; nth++) {
            ht_record record{};
            if (nothing || ht_record_get(&all_.geo(), sector.data(), nth, &record) != HT_OK)
                damage.unnamed++;
            else if (record.used)
                damage.extents.push_back(record.extent);
        }
    }

    // ---- the lost map ----

    void look_at_lost_map() {
        (void)each_lost_sector(
            medium_, all_.geo(),
            [&](std::uint32_t index, std::span<std::byte> bytes, bool readable) -> Result<void> {
                Sector sector{};
                std::copy(bytes.begin(), bytes.end(), sector.begin());
                look_at_lost_sector(index, sector, readable);
                return {};
            });
        auto& lost = all_.lost;
        std::sort(lost.begin(), lost.end(), [](const Lost& a, const Lost& b) {
            return a.extent != b.extent ? a.extent < b.extent : a.entry < b.entry;
        });
        for (std::size_t i = 1; i < lost.size(); i++)
            if (lost[i].extent == lost[i - 1].extent)
                lost_entry(lost[i].entry,
                           fmt::format("entries {} and {} of the lost map are both "
                                       "of extent {}",
                                       lost[i - 1].entry, lost[i].entry, lost[i].extent))
                    .extents.push_back(lost[i].extent);
    }

    Damage& lost_entry(std::uint32_t entry, std::string text) {
        return found(Fault::lost_entry, HT_ROLE_FAST,
                     all_.geo().lost_start + entry / all_.geo().lost_per_sector, std::move(text));
    }

    void look_at_lost_sector(std::uint32_t index, Sector& sector, bool readable) {
        const ht_geometry& geo = all_.geo();
        Damage* damage =
            check_sector(ht_lost_check, Fault::lost_sector, geo.lost_start, index, sector,
                         fmt::format("sector {} of the lost map", index), readable);
        const bool nothing = blank(sector);
        for (std::uint32_t nth = 0; nth < geo.lost_per_sector; nth++) {
            ht_lost_record record{};
            const bool good = ht_lost_get(&geo, sector.data(), nth, &record) == HT_OK;
            const std::uint32_t entry = index * geo.lost_per_sector + nth;
            if (damage && good && record.used)
                damage->extents.push_back(record.extent);
            else if (damage)
                damage->unnamed += !good || nothing;
            else if (!good)
                lost_entry(entry, fmt::format("entry {} of the lost map cannot be true", entry));
            else if (record.used)
                add_lost(entry, record);
        }
    }

    void add_lost(std::uint32_t entry, const ht_lost_record& record) {
        Lost lost;
        lost.extent = record.extent;
        lost.entry = entry;
        std::copy(std::begin(record.lost), std::end(record.lost), lost.listed.begin());
        lost.still = lost.without_fast = lost.listed;
        all_.lost.push_back(lost);
    }

    // What a record claims has been written since it was lost.
    void claim(const ht_record& record) {
        auto at = std::lower_bound(
            all_.lost.begin(), all_.lost.end(), record.extent,
            [](const Lost& lost, std::uint32_t extent) { return lost.extent < extent; });
        for (; at != all_.lost.end() && at->extent == record.extent; ++at)
            for (std::uint32_t w = 0; w < all_.geo().words; w++) {
                const unsigned clean = record.valid[w] & ~unsigned{record.dirty[w]};
                at->still[w] &= static_cast<std::uint16_t>(~record.valid[w]);
                at->without_fast[w] &= static_cast<std::uint16_t>(~clean);
            }
    }

    static std::uint64_t count(const Units& units) {
        std::uint64_t all = 0;
        for (std::uint16_t word : units)
            all += static_cast<unsigned>(__builtin_popcount(word));
        return all;
    }

    void find_duplicates() {
        auto& mapped = all_.mapped;
        std::sort(mapped.begin(), mapped.end(), [](const Mapped& a, const Mapped& b) {
            return a.extent != b.extent ? a.extent < b.extent : a.slot < b.slot;
        });
        for (std::size_t i = 1; i < mapped.size(); i++) {
            if (mapped[i].extent != mapped[i - 1].extent) continue;
            const std::uint32_t index = mapped[i].slot / all_.geo().per_sector;
            Damage& damage =
                found(Fault::duplicate, HT_ROLE_FAST, all_.geo().meta_start + index,
                      fmt::format("extent {} is recorded in slot {} and in slot {}",
                                  mapped[i].extent, mapped[i - 1].slot, mapped[i].slot));
            damage.extents.push_back(mapped[i].extent);
        }
    }

    Medium& medium_;
    const Progress& progress_;
    Survey all_;
};

} // namespace

const char* fault_name(Fault fault) {
    static constexpr const char* names[] = {"unreadable", "header",      "device",    "state_copy",
                                            "state",      "epochs",      "sector",    "record",
                                            "duplicate",  "lost_sector", "lost_entry"};
    return names[static_cast<unsigned>(fault)];
}

bool Survey::clean_stop() const {
    return state[0].newest && state[1].newest &&
           (state[0].newest->flags & state[1].newest->flags & HT_STATE_CLEAN_STOP);
}

bool Survey::dirty_of_another_time() const {
    return ht_pair_judge(&pair, dirty != 0 || !lost.empty()) == HT_REFUSE_DIRTY;
}

bool Survey::found(Fault fault) const {
    return std::any_of(damages.begin(), damages.end(),
                       [&](const Damage& damage) { return damage.fault == fault; });
}

Survey survey(Medium& medium, const Progress& progress) {
    return Surveyor(medium, progress).run();
}

std::uint32_t slots_in(const ht_geometry& geo, std::uint32_t sector) {
    const std::uint64_t first = std::uint64_t{sector} * geo.per_sector;
    if (first >= geo.slots) return 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(geo.per_sector, geo.slots - first));
}

bool any(const Units& units) {
    return std::any_of(units.begin(), units.end(), [](std::uint16_t word) { return word != 0; });
}

namespace {

Result<void> each_sector(Medium& medium, std::uint64_t start, std::uint64_t sectors,
                         const OnSector& visit) {
    std::vector<std::byte> chunk;
    for (std::uint64_t at = 0; at < sectors; at += chunk_sectors) {
        const std::uint64_t count = std::min<std::uint64_t>(chunk_sectors, sectors - at);
        chunk.assign(byte_of(count), std::byte{});
        const bool fine = medium.read(HT_ROLE_FAST, byte_of(start + at), chunk).has_value();
        for (std::uint64_t i = 0; i < count; i++) {
            auto sector = std::span(chunk).subspan(byte_of(i), HT_SECTOR_BYTES);
            bool readable = fine;
            if (!readable) { // which of them?
                std::fill(sector.begin(), sector.end(), std::byte{});
                readable = medium.read(HT_ROLE_FAST, byte_of(start + at + i), sector).has_value();
            }
            if (auto done = visit(static_cast<std::uint32_t>(at + i), sector, readable); !done)
                return done;
        }
    }
    return {};
}

} // namespace

Result<void> each_record_sector(Medium& medium, const ht_geometry& geo, const OnSector& visit) {
    return each_sector(medium, geo.meta_start, geo.meta_sectors, visit);
}

Result<void> each_lost_sector(Medium& medium, const ht_geometry& geo, const OnSector& visit) {
    return each_sector(medium, geo.lost_start, geo.lost_sectors, visit);
}

Sector lost_sector(const Survey& survey, std::uint32_t index, const std::vector<Lost>& lost,
                   Units Lost::*units, std::uint64_t seq) {
    const ht_geometry& geo = survey.geo();
    Sector sector{};
    ht_lost_init(survey.fast().uuid, index, sector.data());
    for (const Lost& one : lost) {
        if (one.entry / geo.lost_per_sector != index || !any(one.*units)) continue;
        ht_lost_record record{};
        record.used = true;
        record.extent = one.extent;
        std::copy((one.*units).begin(), (one.*units).end(), record.lost);
        ht_lost_put(&geo, sector.data(), one.entry % geo.lost_per_sector, &record);
    }
    ht_lost_seal(survey.fast().uuid, index, seq, sector.data());
    return sector;
}

Result<void> put_state(Medium& medium, const ht_header& header, const ht_state& state) {
    const auto role = static_cast<ht_role>(header.role);
    Sector sector{};
    ht_state_encode(header.uuid, header.role, &state, sector.data());
    auto done = medium.write(role, byte_of(ht_state_sector(state.seq)), sector);
    return done ? medium.sync(role) : done;
}

} // namespace hintier::cli
