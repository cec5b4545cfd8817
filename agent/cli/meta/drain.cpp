// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/meta/drain.hpp"

#include <algorithm>
#include <set>

#include <hintier/types.h>

namespace hintier::cli {

namespace {

// So much goes home between two flushes of bulk.
constexpr std::uint64_t batch_bytes = 64ULL << 20;

bool bit(const std::uint16_t* bits, std::uint32_t unit) {
    return bits[unit / 16] >> unit % 16 & 1;
}

struct DirtySlot {
    std::uint32_t slot = 0;
    ht_record record{};
};

class Drain {
public:
    Drain(Medium& medium, const Survey& survey, const Progress& progress)
        : medium_(medium), survey_(survey), progress_(progress), seq_(survey.seq),
          all_(survey.dirty_units * HINTIER_UNIT_BYTES) {}

    Result<Drained> run() {
        auto done = each_record_sector(medium_, geo(),
                                       [&](std::uint32_t index, std::span<std::byte> sector, bool) {
                                           return add(index, sector);
                                       });
        if (done) done = finish_batch();
        if (done) done = put_headers();
        if (done && drained_.unread.empty()) done = free_what_is_home();
        if (done && drained_.unread.empty()) done = mark_clean();
        if (!done) return Failure(done.error());
        return std::move(drained_);
    }

private:
    const ht_geometry& geo() const { return survey_.geo(); }

    Result<void> add(std::uint32_t index, std::span<const std::byte> sector) {
        bool any = false;
        for (std::uint32_t nth = 0; nth < slots_in(geo(), index); nth++) {
            DirtySlot dirty;
            dirty.slot = index * geo().per_sector + nth;
            if (ht_record_get(&geo(), sector.data(), nth, &dirty.record) != HT_OK)
                return fail(EUCLEAN, "the record of slot {} is damaged", dirty.slot);
            const std::uint64_t units = dirty_units(dirty.record);
            if (!dirty.record.used || !units) continue;
            any = true;
            pending_ += units * HINTIER_UNIT_BYTES;
            slots_.push_back(dirty);
        }
        if (any) {
            sectors_.emplace_back(index, Sector{});
            std::copy(sector.begin(), sector.end(), sectors_.back().second.begin());
        }
        return pending_ >= batch_bytes ? finish_batch() : Result<void>{};
    }

    std::uint64_t dirty_units(const ht_record& record) const {
        std::uint64_t units = 0;
        for (std::uint32_t w = 0; w < geo().words; w++)
            units += static_cast<unsigned>(__builtin_popcount(record.dirty[w]));
        return units;
    }

    // Homes in their order on bulk, bulk flushed, then the records, fast flushed.
    Result<void> finish_batch() {
        if (slots_.empty()) return {};
        std::sort(slots_.begin(), slots_.end(), [](const DirtySlot& a, const DirtySlot& b) {
            return a.record.extent < b.record.extent;
        });
        for (DirtySlot& dirty : slots_)
            if (auto done = write_home(dirty); !done) return done;
        if (auto done = medium_.sync(HT_ROLE_BULK); !done) return done;
        if (auto done = write_records(); !done) return done;
        slots_.clear();
        sectors_.clear();
        pending_ = 0;
        return {};
    }

    // Clears in the record what is home now.
    Result<void> write_home(DirtySlot& dirty) {
        bool whole = true;
        for (std::uint32_t unit = 0; unit < geo().units;) {
            std::uint32_t end = unit;
            while (end < geo().units && bit(dirty.record.dirty, end))
                end++;
            if (end == unit) {
                unit++;
                continue;
            }
            auto done = copy(dirty, unit, end - unit);
            if (!done) return Failure(done.error());
            whole = *done && whole;
            unit = end;
        }
        drained_.slots += whole;
        progress_(drained_.bytes, all_);
        return {};
    }

    // Units that follow each other, or one by one if fast fails at one of them. False: not all.
    Result<bool> copy(DirtySlot& dirty, std::uint32_t unit, std::uint32_t count) {
        std::vector<std::byte> data(std::size_t{count} * HINTIER_UNIT_BYTES);
        const std::uint64_t offset = std::uint64_t{unit} * HINTIER_UNIT_BYTES;
        if (!medium_.read(HT_ROLE_FAST, byte_of(ht_slot_sector(&geo(), dirty.slot)) + offset,
                          data)) {
            if (count == 1) {
                drained_.unread.push_back({dirty.record.extent, dirty.slot, unit});
                return false;
            }
            bool whole = true;
            for (std::uint32_t i = 0; i < count; i++) {
                auto done = copy(dirty, unit + i, 1);
                if (!done) return done;
                whole = *done && whole;
            }
            return whole;
        }
        auto done = medium_.write(
            HT_ROLE_BULK, byte_of(ht_home_sector(&geo(), dirty.record.extent)) + offset, data);
        if (!done) return Failure(done.error());
        for (std::uint32_t i = unit; i < unit + count; i++)
            dirty.record.dirty[i / 16] &= static_cast<std::uint16_t>(~(1U << i % 16));
        drained_.bytes += data.size();
        return true;
    }

    Result<void> write_records() {
        seq_++;
        for (const DirtySlot& dirty : slots_) {
            const std::uint32_t index = dirty.slot / geo().per_sector;
            auto at = std::find_if(sectors_.begin(), sectors_.end(),
                                   [&](const auto& one) { return one.first == index; });
            ht_record_put(&geo(), at->second.data(), dirty.slot % geo().per_sector, &dirty.record);
        }
        for (auto& [index, sector] : sectors_) {
            ht_records_seal(survey_.fast().uuid, index, seq_, sector.data());
            if (auto done = medium_.write(HT_ROLE_FAST, byte_of(geo().meta_start + index), sector);
                !done)
                return done;
        }
        return medium_.sync(HT_ROLE_FAST);
    }

    // A header that was proved was enough to drain by; the target needs it on the device. After the
    // data: a device that fails there must not keep the data from going home.
    Result<void> put_headers() {
        for (const Damage& damage : survey_.damages) {
            if (damage.sector != HT_HEADER_SECTOR || !damage.good) continue;
            auto done = medium_.write(damage.role, byte_of(damage.sector), *damage.good);
            if (done) done = medium_.sync(damage.role);
            if (!done) return done;
        }
        return {};
    }

    // What was lost and is written again is home now. What is not stays lost: its home is stale.
    Result<void> free_what_is_home() {
        std::set<std::uint32_t> sectors;
        for (const Lost& lost : survey_.lost)
            if (lost.still != lost.listed) sectors.insert(lost.entry / geo().lost_per_sector);
        if (sectors.empty()) return {};
        seq_++;
        for (const std::uint32_t index : sectors) {
            const Sector sector = lost_sector(survey_, index, survey_.lost, &Lost::still, seq_);
            if (auto done = medium_.write(HT_ROLE_FAST, byte_of(geo().lost_start + index), sector);
                !done)
                return done;
        }
        return medium_.sync(HT_ROLE_FAST);
    }

    // The target's clean stop: what it writes and in which order is core's.
    Result<void> mark_clean() {
        ht_pair pair = survey_.pair;
        pair.running = true;
        pair.commit_seq = std::max(pair.commit_seq, seq_);
        ht_pair_action action = ht_pair_begin(&pair, HT_PAIR_STOP, survey_.lost_units != 0);
        for (; action != HT_PAIR_DONE; action = ht_pair_next(&pair, true)) {
            if (action == HT_PAIR_COMMIT) continue; // every record is written
            const ht_header& header =
                *survey_
                     .header[index_of(action == HT_PAIR_WRITE_FAST ? HT_ROLE_FAST : HT_ROLE_BULK)];
            if (auto done = put_state(medium_, header, pair.next); !done) return done;
        }
        return {};
    }

    Medium& medium_;
    const Survey& survey_;
    const Progress& progress_;
    std::uint64_t seq_;
    std::uint64_t all_; // bytes
    std::uint64_t pending_ = 0;
    std::vector<DirtySlot> slots_;
    std::vector<std::pair<std::uint32_t, Sector>> sectors_;
    Drained drained_;
};

} // namespace

Result<void> may_drain(const Survey& survey) {
    if (!survey.whole || !survey.state[0].newest || !survey.state[1].newest)
        return fail(EUCLEAN, "the pair is damaged: `hintierctl meta check` says where");
    if (survey.dirty_of_another_time())
        return fail(EUCLEAN,
                    "one device was written without the other: what is dirty on fast is of "
                    "another time, `hintierctl meta repair --discard-dirty` gives it up");
    for (Fault fault : {Fault::epochs, Fault::sector, Fault::record, Fault::duplicate,
                        Fault::lost_sector, Fault::lost_entry})
        if (survey.found(fault))
            return fail(EUCLEAN, "the records are damaged ({}): `hintierctl meta repair` first",
                        fault_name(fault));
    return {};
}

Result<Drained> drain(Medium& medium, const Survey& survey, const Progress& progress) {
    if (auto fine = may_drain(survey); !fine) return Failure(fine.error());
    return Drain(medium, survey, progress).run();
}

} // namespace hintier::cli
