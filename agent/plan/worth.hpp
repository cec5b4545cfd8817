// SPDX-License-Identifier: Apache-2.0
// Rule: what is each KV file worth keeping? Requests are made out from file events, and taught to
// the liveness rule; what it finds not worth a program on bulk is handed to the reaper, while it
// is young enough for fast to have the only copy. Tiers get the table itself, and each file in the
// group that it belongs to by now.
//
// A request is what one process looked up, opened and wrote without a pause, along the chains that
// the world knows: blocks in between that nobody looked up are the server's own memory's.
#pragma once

#include <optional>
#include <unordered_map>

#include "agent/plan/liveness.hpp"
#include "agent/plan/reaper.hpp"

namespace hintier {

class WorthRule {
public:
    static constexpr std::string_view name = "worth";

    struct Config {
        bool enabled = false;
        bool drop = false;   // mode `wear`: unlink what is not worth a program, by the reaper
        bool values = false; // tiers evict by the table
        Nanos pause = 2s;    // so long after its last event a request is over
        Nanos until = 10min; // older files are on bulk by now: nothing is saved
        std::uint32_t sweep = 10'000; // files judged with each table
        LivenessRule::Config liveness;

        Result<void> validate() const;
    };

    struct Judgement {
        Liveness::Group group = 0;
        double idle_s = 0;
        double chance = 0; // that it is read again
        bool drop = false;
    };

    explicit WorthRule(const Config& config);

    void observe(const World& world, const Change& change, Nanos now);
    // The server says that nobody needs these any more, head of the chain first.
    void ended(const World& world, const std::vector<std::uint64_t>& objects, Nanos now);
    void tick(const World& world, Nanos now, ReaperRule& reaper, Plan& plan);
    // Gives what the plan classifies, from its advice number `first` on, the group that the table
    // knows it by, in place of its root's.
    void group(const World& world, Plan& plan, std::size_t first);
    // A file of it has been unlinked because it was not worth a program.
    void dropped(const World& world, std::uint64_t object);

    // What Hazard::counts() gave before, and how long had been watched then.
    bool restore(std::span<const double> counts, double watched_s) {
        return liveness_.restore(counts, watched_s);
    }
    // Over a restart: what has changed since the last call, for whoever begins by keep(); and all
    // that was kept, before anything is observed.
    void keep() { keeping_ = true; }
    Memories changed(const World& world);
    void restore(Nanos now, Memories before);
    // The object was there before the agent: it goes on where it was, if it is known from then.
    void recall(const World& world, ObjectIndex index);
    std::size_t remembered() const { return before_.size(); }
    std::size_t recalled() const { return recalled_count_; } // of these

    std::optional<Judgement> judge(const World& world, ObjectIndex index, Nanos now) const;
    const LivenessRule& liveness() const { return liveness_; }
    std::uint64_t given_up() const { return given_up_; } // files handed to the reaper

private:
    struct Pending { // of one process
        Nanos last{};
        std::vector<std::pair<ObjectIndex, Liveness::Use>> touched;
    };

    void close(const World& world, const Pending& pending);
    void learn(const World& world, const std::vector<Liveness::Touch>& chain, Nanos now);
    bool same(const World& world, ObjectIndex index) const;
    void means(const World& world, ObjectIndex index);
    void note(ObjectIndex index);
    void sweep(const World& world, Nanos now, ReaperRule& reaper);
    void regroup(const World& world, Plan& plan);
    std::uint16_t group_of(const World& world, ObjectIndex index) const;
    // Did tiers know it by another group? From now on by this one.
    bool tell(ObjectIndex index, std::uint16_t group);

    Config config_;
    LivenessRule liveness_;
    std::unordered_map<std::uint32_t, Pending> pending_; // by process
    std::vector<std::uint64_t> ids_;                     // that the model's indices mean
    std::vector<std::uint16_t> told_;                    // by index: group that tiers know it by
    std::vector<ObjectIndex> touched_;                   // since groups were last looked at
    bool keeping_ = false;
    std::vector<ObjectIndex> changed_; // since the last changed()
    std::vector<ObjectMemory> before_; // the restart, by id
    std::vector<bool> recalled_;       // of these
    std::size_t recalled_count_ = 0;
    std::uint64_t given_up_ = 0;
};

} // namespace hintier
