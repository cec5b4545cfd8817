// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/worth.hpp"

#include <algorithm>
#include <utility>

namespace hintier {

namespace {

// Processes whose requests are made out, and objects of one request.
constexpr std::size_t max_processes = 256;
constexpr std::size_t max_touched = 8192;

} // namespace

Result<void> WorthRule::Config::validate() const {
    if (drop && !enabled) return failure("drop has no effect without enabled = true");
    if (values && !enabled) return failure("values has no effect without enabled = true");
    if (pause < 10ms || pause > 1min) return failure("pause is from 10ms to 1min");
    if (until < 1s) return failure("until is at least 1s");
    if (sweep < 1) return failure("sweep must be more than 0");
    return liveness.validate();
}

WorthRule::WorthRule(const Config& config)
    : config_(config), liveness_([&] {
          LivenessRule::Config liveness = config.liveness;
          using Mode = ValueConfig::Mode;
          liveness.values.mode = config.drop ? Mode::wear : Mode::fast;
          return liveness;
      }()) {}

void WorthRule::observe(const World& world, const Change& change, Nanos now) {
    if (!config_.enabled || change.object == no_object) return;
    Liveness::Use use = Liveness::Use::held;
    switch (change.kind) {
    case Change::Kind::missed:
    case Change::Kind::asked:
        liveness_.asked(world.object(change.object).id, now);
        if (change.kind == Change::Kind::missed) return; // it is written again if it is of use
        use = Liveness::Use::read;
        break;
    case Change::Kind::opened:
        use = Liveness::Use::read;
        break;
    case Change::Kind::appeared:
        if (change.pid == 0) return; // it was there before the agent: its age is not known
        use = Liveness::Use::written;
        break;
    default:
        return;
    }
    if (pending_.size() >= max_processes && !pending_.contains(change.pid)) return;
    Pending& pending = pending_[change.pid];
    if (!pending.touched.empty() &&
        (now - pending.last > config_.pause || pending.touched.size() >= max_touched)) {
        close(world, pending);
        pending.touched.clear();
    }
    pending.last = now;
    pending.touched.emplace_back(change.object, use);
}

void WorthRule::ended(const World& world, const std::vector<std::uint64_t>& objects, Nanos now) {
    if (!config_.enabled) return;
    std::vector<Liveness::Index> chain, moved;
    for (const std::uint64_t id : objects) {
        const ObjectIndex index = world.find(id);
        if (index != no_object && same(world, index)) chain.push_back(index);
    }
    liveness_.ended(now, chain, moved);
    for (const ObjectIndex index : moved)
        note(index);
    if (keeping_ && !chain.empty()) changed_.push_back(chain.back()); // its session has ended
}

void WorthRule::tick(const World& world, Nanos now, ReaperRule& reaper, Plan& plan) {
    if (!config_.enabled) return;
    for (auto it = pending_.begin(); it != pending_.end();) {
        if (now - it->second.last <= config_.pause) {
            ++it;
            continue;
        }
        close(world, it->second);
        it = pending_.erase(it);
    }
    regroup(world, plan);
    const ValueTable* made = liveness_.tick(now);
    if (!made) return;
    if (config_.values && liveness_.warm(now)) {
        plan.values = made;
        plan.values_for = 3 * config_.liveness.table_every;
    }
    if (liveness_.drops(now)) sweep(world, now, reaper);
}

void WorthRule::group(const World& world, Plan& plan, std::size_t first) {
    if (!config_.values) return;
    for (Advice& advice : std::span(plan.advice).subspan(first)) {
        const ObjectIndex index = world.find(advice.object);
        if (advice.verb != Advice::Verb::classify || index == no_object) continue;
        advice.group = group_of(world, index);
        tell(index, advice.group);
    }
}

// One that no request was seen of yet is a new one's.
std::uint16_t WorthRule::group_of(const World& world, ObjectIndex index) const {
    const Liveness& model = liveness_.model();
    return tier_group(same(world, index) && model.known(index) ? model.group(index)
                                                               : Hazard::group(GroupKey()));
}

bool WorthRule::tell(ObjectIndex index, std::uint16_t group) {
    if (index >= told_.size()) told_.resize(index + 1);
    return std::exchange(told_[index], group) != group;
}

void WorthRule::regroup(const World& world, Plan& plan) {
    for (const ObjectIndex index : touched_) {
        const Object& object = world.object(index);
        if (!same(world, index) || object.places.empty()) continue;
        const std::uint16_t group = group_of(world, index);
        if (!tell(index, group)) continue;
        plan.advice.push_back({.verb = Advice::Verb::classify,
                               .group = group,
                               .reason = Reason::regrouped,
                               .depth = object.depth,
                               .object = object.id,
                               .place = object.places.front()});
    }
    touched_.clear();
}

void WorthRule::dropped(const World& world, std::uint64_t object) {
    const ObjectIndex index = world.find(object);
    if (index == no_object || !same(world, index)) return;
    if (world.object(index).places.empty()) liveness_.dropped(index, object);
}

std::optional<WorthRule::Judgement> WorthRule::judge(const World& world, ObjectIndex index,
                                                     Nanos now) const {
    const ValueTable* table = liveness_.table();
    if (!table || !same(world, index) || !liveness_.model().known(index)) return std::nullopt;
    const Liveness& model = liveness_.model();
    Judgement judgement;
    judgement.group = model.group(index);
    judgement.idle_s = std::max(0.0, in_seconds(now) - model.touched_s(index));
    const ValueTable::Row& row = table->rows[judgement.group];
    const unsigned bin = age_bin(judgement.idle_s);
    judgement.chance = row.promise[bin];
    judgement.drop = liveness_.drops(now) && (row.drop[bin] || model.orphaned(index));
    return judgement;
}

// One after the other from its deepest object back to its head, so that objects which more than
// one chain has are counted with the first.
void WorthRule::close(const World& world, const Pending& pending) {
    std::unordered_map<ObjectIndex, Liveness::Use> uses;
    for (const auto& [index, use] : pending.touched) {
        const auto [it, fresh] = uses.try_emplace(index, use);
        if (!fresh && use == Liveness::Use::written) it->second = use;
    }
    std::vector<ObjectIndex> deepest;
    for (const auto& [index, use] : uses) {
        if (world.object(index).id) deepest.push_back(index);
    }
    std::sort(deepest.begin(), deepest.end(), [&](ObjectIndex a, ObjectIndex b) {
        const Object& x = world.object(a);
        const Object& y = world.object(b);
        return x.depth != y.depth ? x.depth > y.depth : x.id < y.id;
    });
    for (const ObjectIndex tail : deepest) {
        if (!uses.contains(tail)) continue;
        std::vector<Liveness::Touch> chain;
        for (ObjectIndex at = tail; at != no_object && chain.size() < max_touched;
             at = world.find(world.object(at).before)) {
            const auto use = uses.find(at);
            const bool touched = use != uses.end();
            chain.push_back({at, touched ? use->second : Liveness::Use::held});
            if (touched) uses.erase(use);
            if (!world.object(at).before) break;
        }
        std::reverse(chain.begin(), chain.end());
        learn(world, chain, pending.last);
    }
}

void WorthRule::learn(const World& world, const std::vector<Liveness::Touch>& chain, Nanos now) {
    for (const Liveness::Touch& touch : chain) {
        note(touch.object);
        means(world, touch.object);
    }
    liveness_.request(now, chain);
}

// The model's index is the world's: of the object that it means by now.
void WorthRule::means(const World& world, ObjectIndex index) {
    if (index >= ids_.size()) ids_.resize(index + 1UL);
    std::uint64_t& id = ids_[index];
    if (id == world.object(index).id) return;
    liveness_.forget(index); // the world has given the index to another
    id = world.object(index).id;
    const auto kept = std::lower_bound(before_.begin(), before_.end(), id,
                                       [](const auto& one, auto than) { return one.id < than; });
    if (kept == before_.end() || kept->id != id) return;
    const auto at = static_cast<std::size_t>(kept - before_.begin());
    if (recalled_[at]) return; // it is known anew since, or forgotten
    recalled_[at] = true;
    ++recalled_count_;
    liveness_.recall(index, *kept);
}

void WorthRule::note(ObjectIndex index) {
    if (config_.values) touched_.push_back(index);
    if (keeping_) changed_.push_back(index);
}

void WorthRule::recall(const World& world, ObjectIndex index) {
    if (!before_.empty()) means(world, index);
}

void WorthRule::restore(Nanos now, Memories before) {
    if (!config_.enabled) return;
    liveness_.restore(now, before);
    before_ = std::move(before.objects);
    std::sort(before_.begin(), before_.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    recalled_.assign(before_.size(), false);
}

Memories WorthRule::changed(const World& world) {
    Memories all;
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const ObjectIndex index : changed_) {
        if (!same(world, index) || !liveness_.model().known(index)) continue;
        auto memory = liveness_.model().memory(index);
        if (!memory) continue;
        memory->first.id = world.object(index).id;
        all.objects.push_back(memory->first);
        all.sessions.push_back(memory->second);
    }
    changed_.clear();
    const auto older = [](const auto& a, const auto& b) { return a.number < b.number; };
    std::sort(all.sessions.begin(), all.sessions.end(), older);
    all.sessions.erase(std::unique(all.sessions.begin(), all.sessions.end()), all.sessions.end());
    return all;
}

bool WorthRule::same(const World& world, ObjectIndex index) const {
    return index < ids_.size() && ids_[index] == world.object(index).id;
}

// From the coldest on. Those that are too old have been destaged; they are passed over, not
// counted, up to ten for each that is judged.
void WorthRule::sweep(const World& world, Nanos now, ReaperRule& reaper) {
    std::vector<ObjectIndex> worthless;
    std::size_t passed = 0;
    std::size_t judged = 0;
    for (ObjectIndex index = world.coldest();
         index != no_object && judged < config_.sweep && passed < 10UL * config_.sweep;
         index = world.next_coldest(index)) {
        if (now - world.object(index).touched > config_.until) {
            ++passed;
            continue;
        }
        ++judged;
        const auto judgement = judge(world, index, now);
        if (judgement && judgement->drop) worthless.push_back(index);
    }
    given_up_ += reaper.not_worth(world, worthless, now);
}

} // namespace hintier
