// SPDX-License-Identifier: Apache-2.0
//
// A pair in memory: its metadata, and data where somebody wrote some. Small enough to copy for
// every damage that a test tries. Writes can be lost in a cut like those of a device's cache.

#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cli/meta/medium.hpp"
#include "kmod/core/format.h"

namespace hintier::test {

using cli::byte_of;
using cli::Sector;

class PairImage final : public cli::Medium {
public:
    static constexpr u32 EXTENT_SECTORS = 128;

    // A new pair, as format writes it.
    explicit PairImage(u32 slots = 16, u32 extents = 32, u32 extent_sectors = EXTENT_SECTORS,
                       u8 name = 0x5a) {
        // The smallest fast device with so many slots.
        for (u64 sectors = 0; header_.geo.slots < slots; sectors += extent_sectors) {
            ht_geometry geo{};
            u64 bulk = std::max<u64>(2048, extent_sectors) + u64{extents} * extent_sectors;
            if (ht_format_layout(sectors, bulk, extent_sectors, &geo) != HT_OK) continue;
            header_.geo = geo;
            sectors_[0] = sectors;
            sectors_[1] = bulk;
        }
        std::memset(header_.uuid, name, sizeof(header_.uuid));
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            put_header(role);
            for (u64 seq = 0; seq < HT_STATE_COPIES; seq++) {
                ht_state state{};
                state.seq = seq;
                state.flags = HT_STATE_CLEAN_STOP;
                put_state(role, state);
            }
        }
        for (u32 i = 0; i < geo().meta_sectors; i++) {
            Sector sector{};
            ht_records_init(header_.uuid, &geo(), i, sector.data());
            put(HT_ROLE_FAST, geo().meta_start + i, sector);
        }
        for (u32 i = 0; i < geo().lost_sectors; i++) {
            Sector sector{};
            ht_lost_init(header_.uuid, i, sector.data());
            put(HT_ROLE_FAST, geo().lost_start + i, sector);
        }
    }

    const ht_geometry& geo() const { return header_.geo; }
    const u8* uuid() const { return header_.uuid; }

    // ---- what lies on the devices ----

    Sector get(ht_role role, u64 sector) const {
        auto found = data(role).find(sector);
        return found == data(role).end() ? Sector{} : found->second;
    }
    void put(ht_role role, u64 sector, const Sector& bytes) { data(role)[sector] = bytes; }
    void put_header(ht_role role) {
        ht_header header = header_;
        header.role = role;
        Sector sector{};
        ht_header_encode(&header, sector.data());
        put(role, HT_HEADER_SECTOR, sector);
    }
    void put_state(ht_role role, const ht_state& state) {
        Sector sector{};
        ht_state_encode(header_.uuid, role, &state, sector.data());
        put(role, ht_state_sector(state.seq), sector);
    }
    // Both copies, as whoever changes a state writes it.
    void put_states(ht_role role, ht_state state) {
        for (u32 i = 0; i < HT_STATE_COPIES; i++, state.seq++)
            put_state(role, state);
    }
    void put_record(u32 slot, const ht_record& record, u64 seq = 1) {
        u32 index = slot / geo().per_sector;
        Sector sector = get(HT_ROLE_FAST, geo().meta_start + index);
        ht_record_put(&geo(), sector.data(), slot % geo().per_sector, &record);
        ht_records_seal(header_.uuid, index, seq, sector.data());
        put(HT_ROLE_FAST, geo().meta_start + index, sector);
    }
    void put_lost(u32 entry, const ht_lost_record& record, u64 seq = 1) {
        u32 index = entry / geo().lost_per_sector;
        Sector sector = get(HT_ROLE_FAST, geo().lost_start + index);
        ht_lost_put(&geo(), sector.data(), entry % geo().lost_per_sector, &record);
        ht_lost_seal(header_.uuid, index, seq, sector.data());
        put(HT_ROLE_FAST, geo().lost_start + index, sector);
    }
    // Every byte of a unit.
    void fill(ht_role role, u64 sector, u8 byte) {
        Sector bytes;
        bytes.fill(std::byte(byte));
        for (u32 i = 0; i < HT_UNIT_SECTORS; i++)
            put(role, sector + i, bytes);
    }
    u64 slot_unit(u32 slot, u32 unit) const {
        return ht_slot_sector(&geo(), slot) + u64{unit} * HT_UNIT_SECTORS;
    }
    u64 home_unit(u32 extent, u32 unit) const {
        return ht_home_sector(&geo(), extent) + u64{unit} * HT_UNIT_SECTORS;
    }
    void grow(ht_role role, u32 extents) {
        sectors_[cli::index_of(role)] = ht_home_sector(&geo(), extents);
    }
    void shrink(ht_role role, u64 sectors) { sectors_[cli::index_of(role)] = sectors; }

    bool operator==(const PairImage& other) const {
        return data_[0] == other.data_[0] && data_[1] == other.data_[1];
    }
    // One device as it is in another image.
    void restore(ht_role role, const PairImage& from) {
        data(role) = from.data(role);
        sectors_[cli::index_of(role)] = from.sectors_[cli::index_of(role)];
    }

    // ---- a device that fails, and one that forgets ----

    void fail_reads(ht_role role, u64 sector) { bad_.emplace_back(role, sector); }
    // After so many more sectors, nothing reaches the medium any more.
    void cut_after(u64 sectors) { left_ = sectors; }
    u64 writes() const { return writes_; }
    // Power is back: of what was written since the last sync, half is lost, by `dice`.
    template <class Dice>
    void power_up(Dice& dice) {
        left_ = ~0ULL;
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            for (auto& [sector, was] : unsynced_[cli::index_of(role)])
                if (dice() % 2) put(role, sector, was);
            unsynced_[cli::index_of(role)].clear();
        }
    }

    // ---- Medium ----

    std::string name(ht_role role) const override { return cli::role_name(role); }
    u64 bytes(ht_role role) const override { return byte_of(sectors_[cli::index_of(role)]); }
    Result<void> read(ht_role role, u64 offset, std::span<std::byte> to) override {
        if (offset + to.size() > bytes(role)) return cli::fail(EIO, "beyond the end");
        for (u64 at = 0; at < to.size(); at += HT_SECTOR_BYTES) {
            u64 sector = (offset + at) / HT_SECTOR_BYTES;
            for (auto& [where, bad] : bad_)
                if (where == role && bad == sector) return cli::fail(EIO, "medium error");
            Sector bytes = get(role, sector);
            std::copy(bytes.begin(), bytes.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
        }
        return {};
    }
    Result<void> write(ht_role role, u64 offset, std::span<const std::byte> from) override {
        if (offset + from.size() > bytes(role)) return cli::fail(ENOSPC, "beyond the end");
        for (u64 at = 0; at < from.size(); at += HT_SECTOR_BYTES) {
            writes_++;
            if (!left_) return cli::fail(EIO, "power cut");
            left_--;
            u64 sector = (offset + at) / HT_SECTOR_BYTES;
            unsynced_[cli::index_of(role)].try_emplace(sector, get(role, sector));
            Sector bytes;
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), bytes.size(),
                        bytes.begin());
            put(role, sector, bytes);
        }
        return {};
    }
    Result<void> sync(ht_role role) override {
        if (!left_) return cli::fail(EIO, "power cut");
        unsynced_[cli::index_of(role)].clear();
        return {};
    }

private:
    using Data = std::map<u64, Sector>;
    Data& data(ht_role role) { return data_[cli::index_of(role)]; }
    const Data& data(ht_role role) const { return data_[cli::index_of(role)]; }

    ht_header header_{};
    u64 sectors_[2] = {};
    Data data_[2];
    std::vector<std::pair<ht_role, u64>> bad_;
    Data unsynced_[2]; // what was there at the last sync
    u64 left_ = ~0ULL;
    u64 writes_ = 0;
};

} // namespace hintier::test
