// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/meta/repair.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace hintier::cli {

namespace {

class Planner {
public:
    Planner(const Survey& survey, const Leave& leave)
        : survey_(survey), leave_(leave), lost_(survey.lost) {}

    RepairPlan run() {
        for (const Damage& damage : survey_.damages)
            plan(damage);
        for (const std::uint32_t index : lost_sectors_)
            put_lost(index, lost_, &Lost::listed, "drop what cannot be true");
        for (auto& [sector, slots] : untrue_) {
            Repair& step = add(Repair::Kind::drop_records, HT_ROLE_FAST, sector,
                               fmt::format("drop {} records that cannot be true", slots.size()));
            step.slots = std::move(slots);
        }
        for (auto* extents : {&plan_.unknown, &plan_.stale}) {
            std::sort(extents->begin(), extents->end());
            extents->erase(std::unique(extents->begin(), extents->end()), extents->end());
        }
        return std::move(plan_);
    }

private:
    Repair& add(Repair::Kind kind, ht_role role, std::uint64_t sector, std::string text) {
        Repair step;
        step.kind = kind;
        step.role = role;
        step.sector = sector;
        step.text = std::move(text);
        plan_.steps.push_back(std::move(step));
        return plan_.steps.back();
    }

    void leave(const Damage& damage, const char* why) {
        plan_.left.push_back(fmt::format("{}: {}; {}", role_name(damage.role), damage.text, why));
    }

    void plan(const Damage& damage) {
        if (damage.good) {
            Repair& step =
                add(Repair::Kind::put_sector, damage.role, damage.sector,
                    fmt::format("rewrite sector {}: what it must hold is proved", damage.sector));
            step.data = *damage.good;
            return;
        }
        switch (damage.fault) {
        case Fault::unreadable:
            return leave(damage, "the device fails: copy it to a good one, then repair that");
        case Fault::header:
            return leave(damage, "nothing proves that this device belongs to the other");
        case Fault::device:
            return leave(damage, "name the right devices");
        case Fault::state_copy:
            return plan_state_copy(damage);
        case Fault::state:
            return plan_state(damage);
        case Fault::epochs:
            return plan_epochs(damage);
        case Fault::sector:
        case Fault::record:
        case Fault::duplicate:
            return plan_records(damage);
        case Fault::lost_sector:
        case Fault::lost_entry:
            return plan_lost(damage);
        }
    }

    // The other copy is good and both are always written, so it is as new as the lost one.
    void plan_state_copy(const Damage& damage) {
        const unsigned at = index_of(damage.role);
        if (!survey_.state[at].newest || rewritten_[at]) return; // a damage of its own says so
        rewritten_[at] = true;
        Repair& step = add(Repair::Kind::put_state, damage.role, damage.sector,
                           "write the state anew, both copies");
        step.state = *survey_.state[at].newest;
        step.state.seq++; // the copy that is lost
    }

    void plan_state(const Damage& damage) {
        const unsigned at = index_of(damage.role);
        const auto& other = survey_.state[1 - at].newest;
        if (!other) return leave(damage, "and none is on the other device either");
        if (!leave_.assume_current)
            return leave(damage, "--assume-current takes it for up to date");
        if (!survey_.whole) return leave(damage, "the headers come first");
        ht_state state{};
        state.epoch = other->epoch;
        state.extents = other->extents;
        state.flags = damage.role == HT_ROLE_BULK ? HT_STATE_HAS_DIRTY : 0U;
        Repair& step =
            add(Repair::Kind::put_state, damage.role, damage.sector,
                fmt::format("write a state of epoch {}: taken for up to date", state.epoch));
        step.state = state;
    }

    // What fast holds is void; once no record says otherwise, the epochs may agree.
    void plan_epochs(const Damage& damage) {
        if (survey_.dirty_of_another_time() && !leave_.discard_dirty)
            return leave(damage, "fast holds or held dirty data of another time: --discard-dirty "
                                 "gives that up");
        // What is mended or dropped now must not come after records were made void.
        if (std::any_of(survey_.damages.begin(), survey_.damages.end(),
                        [&](const Damage& one) { return comes_before_epochs(one); }))
            return leave(damage, "and records are damaged: those come first");
        for (const Mapped& mapped : survey_.mapped)
            if (survey_.dirty) plan_.unknown.push_back(mapped.extent);
        free_what_is_home();
        add(Repair::Kind::empty_records, HT_ROLE_FAST, survey_.geo().meta_start,
            fmt::format("forget the {} extents that fast holds", survey_.used));
        const ht_state& bulk = *survey_.state[1].newest;
        ht_state fast = *survey_.state[0].newest;
        fast.epoch = bulk.epoch;
        fast.extents = survey_.pair.extents;
        fast.flags = HT_STATE_CLEAN_STOP;
        Repair& step = add(Repair::Kind::put_state, HT_ROLE_FAST, HT_STATE_SECTOR,
                           fmt::format("set fast to epoch {}", bulk.epoch));
        step.state = fast;
        step.state.seq++;
    }

    // Out of the lost map, while records still say so: what was written and destaged since.
    void free_what_is_home() {
        std::set<std::uint32_t> sectors;
        for (const Lost& lost : survey_.lost)
            if (lost.without_fast != lost.listed)
                sectors.insert(lost.entry / survey_.geo().lost_per_sector);
        for (const std::uint32_t index : sectors)
            put_lost(index, survey_.lost, &Lost::without_fast, "let go of what is home again");
    }

    void put_lost(std::uint32_t index, const std::vector<Lost>& lost, Units Lost::*units,
                  const char* text) {
        add(Repair::Kind::put_sector, HT_ROLE_FAST, survey_.geo().lost_start + index,
            fmt::format("lost map sector {}: {}", index, text))
            .data = lost_sector(survey_, index, lost, units, survey_.seq + 1);
    }

    // Of two entries for one extent both may have been true: what either lists stays lost.
    void plan_lost(const Damage& damage) {
        if (!leave_.drop_lost)
            return leave(damage, "--drop-lost gives up what it may have listed: such units then "
                                 "read as the old data that bulk has");
        const ht_geometry& geo = survey_.geo();
        if (damage.fault == Fault::lost_sector) {
            plan_.stale.insert(plan_.stale.end(), damage.extents.begin(), damage.extents.end());
            plan_.stale_entries += damage.unnamed;
        }
        lost_sectors_.insert(static_cast<std::uint32_t>(damage.sector - geo.lost_start));
        for (std::uint32_t extent : damage.extents) {
            auto first = std::find_if(lost_.begin(), lost_.end(),
                                      [&](const Lost& lost) { return lost.extent == extent; });
            if (damage.fault != Fault::lost_entry || first == lost_.end()) continue;
            for (auto next = first + 1; next != lost_.end() && next->extent == extent; ++next) {
                for (std::uint32_t w = 0; w < geo.words; w++)
                    first->listed[w] |= next->listed[w];
                next->listed = {};
                lost_sectors_.insert(next->entry / geo.lost_per_sector);
            }
            lost_sectors_.insert(first->entry / geo.lost_per_sector);
        }
    }

    bool comes_before_epochs(const Damage& damage) const {
        const bool lost = damage.fault == Fault::lost_sector || damage.fault == Fault::lost_entry;
        return lost || (damage.fault == Fault::sector && (damage.good || !leave_.discard_dirty));
    }

    void plan_records(const Damage& damage) {
        if (!leave_.drop_records)
            return leave(damage, "--drop-records gives up what it may have recorded");
        plan_.unknown.insert(plan_.unknown.end(), damage.extents.begin(), damage.extents.end());
        plan_.unknown_slots += damage.unnamed;
        const ht_geometry& geo = survey_.geo();
        if (damage.fault == Fault::sector) {
            add(Repair::Kind::drop_sector, HT_ROLE_FAST, damage.sector,
                fmt::format("drop the records of sector {}", damage.sector));
            return;
        }
        if (damage.fault == Fault::record) {
            untrue_[damage.sector];
            return;
        }
        // Nothing tells which of the two is true.
        for (std::uint32_t extent : damage.extents)
            for (const Mapped& mapped : survey_.mapped)
                if (mapped.extent == extent)
                    untrue_[geo.meta_start + mapped.slot / geo.per_sector].push_back(mapped.slot);
    }

    const Survey& survey_;
    const Leave& leave_;
    RepairPlan plan_;
    std::vector<Lost> lost_;               // as it will be
    std::set<std::uint32_t> lost_sectors_; // of it to write
    bool rewritten_[2] = {};
    std::map<std::uint64_t, std::vector<std::uint32_t>> untrue_;
};

class Carrier {
public:
    Carrier(Medium& medium, const Survey& survey)
        : medium_(medium), survey_(survey), seq_(survey.seq + 1) {}

    Result<void> run(const Repair& step) {
        switch (step.kind) {
        case Repair::Kind::put_sector:
            return put(step.role, step.sector, step.data);
        case Repair::Kind::put_state:
            return put_states(step.role, step.state);
        case Repair::Kind::drop_sector:
            return put(HT_ROLE_FAST, step.sector, empty(index(step.sector)));
        case Repair::Kind::drop_records:
            return drop_untrue(step);
        case Repair::Kind::empty_records:
            return empty_all();
        }
        return {};
    }

private:
    const ht_geometry& geo() const { return survey_.geo(); }
    std::uint32_t index(std::uint64_t sector) const {
        return static_cast<std::uint32_t>(sector - geo().meta_start);
    }

    Result<void> put(ht_role role, std::uint64_t sector, const Sector& data) {
        auto done = medium_.write(role, byte_of(sector), data);
        return done ? medium_.sync(role) : done;
    }

    Result<void> put_states(ht_role role, ht_state state) {
        for (unsigned copy = 0; copy < HT_STATE_COPIES; copy++, state.seq++)
            if (auto done = put_state(medium_, *survey_.header[index_of(role)], state); !done)
                return done;
        return {};
    }

    Sector empty(std::uint32_t index) {
        Sector sector{};
        ht_records_init(survey_.fast().uuid, &geo(), index, sector.data());
        ht_records_seal(survey_.fast().uuid, index, ++seq_, sector.data());
        return sector;
    }

    // Forgets what is recorded there, but not that the medium failed there.
    void forget(Sector& sector, std::uint32_t nth) const {
        ht_record record{};
        ht_record none{};
        if (ht_record_get(&geo(), sector.data(), nth, &record) == HT_OK) none.bad = record.bad;
        ht_record_put(&geo(), sector.data(), nth, &none);
    }

    Result<void> drop_untrue(const Repair& step) {
        Sector sector{};
        if (auto done = medium_.read(HT_ROLE_FAST, byte_of(step.sector), sector); !done)
            return done;
        const ht_record none{};
        for (std::uint32_t nth = 0; nth < geo().per_sector; nth++) {
            const std::uint64_t slot = std::uint64_t{index(step.sector)} * geo().per_sector + nth;
            ht_record record{};
            const bool damaged = ht_record_get(&geo(), sector.data(), nth, &record) != HT_OK;
            if (damaged || slot >= geo().slots)
                ht_record_put(&geo(), sector.data(), nth, &none);
            else if (std::find(step.slots.begin(), step.slots.end(), slot) != step.slots.end())
                forget(sector, nth);
        }
        ht_records_seal(survey_.fast().uuid, index(step.sector), ++seq_, sector.data());
        return put(HT_ROLE_FAST, step.sector, sector);
    }

    Result<void> empty_all() {
        auto done = each_record_sector(
            medium_, geo(), [&](std::uint32_t index, std::span<std::byte> bytes, bool) {
                return medium_.write(HT_ROLE_FAST, byte_of(geo().meta_start + index),
                                     emptied(index, bytes));
            });
        return done ? medium_.sync(HT_ROLE_FAST) : done;
    }

    Sector emptied(std::uint32_t index, std::span<const std::byte> bytes) {
        Sector sector{};
        std::uint64_t seq = 0;
        std::copy(bytes.begin(), bytes.end(), sector.begin());
        if (ht_records_check(survey_.fast().uuid, index, sector.data(), &seq) != HT_OK)
            return empty(index);
        for (std::uint32_t nth = 0; nth < geo().per_sector; nth++)
            forget(sector, nth);
        ht_records_seal(survey_.fast().uuid, index, ++seq_, sector.data());
        return sector;
    }

    Medium& medium_;
    const Survey& survey_;
    std::uint64_t seq_;
};

} // namespace

RepairPlan plan_repair(const Survey& survey, const Leave& leave) {
    return Planner(survey, leave).run();
}

Result<void> carry_out(Medium& medium, const Survey& survey, const RepairPlan& plan) {
    Carrier carrier(medium, survey);
    for (const Repair& step : plan.steps)
        if (auto done = carrier.run(step); !done) return done;
    return {};
}

} // namespace hintier::cli
