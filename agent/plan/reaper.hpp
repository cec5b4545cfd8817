// SPDX-License-Identifier: Apache-2.0
// Rule: files of sessions that have ended are unlinked; the filesystem's discard then drops their
// data from the tier before it is destaged. Off unless configured, root by root.
//
// Only files that the model knows, below a root with `reap`, are ever named. Of a session the
// tail of the chain goes first, since a prefix without its tail is still of use and not the
// other way round. What was opened or looked up within `quiet` waits; what is touched after its
// end was told is alive again and is let off.
#pragma once

#include <deque>
#include <unordered_set>

#include "agent/plan/advice.hpp"

namespace hintier {

class ReaperRule {
public:
    static constexpr std::string_view name = "reaper";

    struct Config {
        bool enabled = false;
        Nanos quiet = 30s;
        Nanos silent_after = 0s;  // 0: silence alone ends no session
        std::uint32_t rate = 500; // files a second
        std::uint32_t max_waiting = 1'000'000;

        Result<void> validate() const;
    };

    explicit ReaperRule(const Config& config) : config_(config) {}

    // Of the named objects, head of the chain first, how many are on the list now.
    Result<std::size_t> session_ended(const World& world, std::uint32_t root,
                                      const std::vector<std::uint64_t>& objects, Nanos now);
    // Files that are not worth a program on bulk, below roots with `reap`; how many are new on the
    // list.
    std::size_t not_worth(const World& world, std::vector<ObjectIndex> objects, Nanos now);
    void tick(const World& world, Nanos now, Plan& plan);

    // Lets everything off that waits; answers how many.
    std::size_t stop();
    // A file that could not be unlinked: silence alone does not name it again.
    void refused(const Reap& reap);

    std::size_t waiting() const { return doomed_.size() + quieting_.size(); }
    std::uint64_t let_off() const { return let_off_; }

private:
    struct Doomed {
        std::uint64_t object = 0;
        std::uint32_t root = 0;
        Reason reason = Reason::none;
        Nanos told{};
        Nanos due{}; // not before
    };

    enum class Verdict { reap, wait, let_off };
    Verdict judge(const World& world, const Doomed& doomed, Nanos now) const;
    void settle(const World& world, Doomed doomed, Nanos now, Plan& plan);
    static void deepest_first(const World& world, std::vector<ObjectIndex>& objects);
    std::size_t doom(const World& world, const std::vector<ObjectIndex>& objects, Reason reason,
                     Nanos now);
    void find_silent(const World& world, Nanos now);
    bool take_token(Nanos now);
    static void reap(const World& world, const Doomed& doomed, Plan& plan);

    Config config_;
    std::deque<Doomed> doomed_;   // in the order in which they go
    std::deque<Doomed> quieting_; // touched too recently when their turn came
    std::unordered_set<std::uint64_t> refused_;
    Nanos swept_{};
    Nanos ticked_{};
    Nanos paid_{}; // the rate is used up to here
    std::uint64_t let_off_ = 0;
};

} // namespace hintier
