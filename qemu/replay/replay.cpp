// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/replay.hpp"

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>

#include <fmt/format.h>

#include "qemu/replay/agent_client.hpp"
#include "qemu/replay/reaper.hpp"
#include "qemu/replay/report.hpp"
#include "qemu/replay/thread.hpp"

namespace hintier::replay {

namespace {

constexpr Time kNever = std::numeric_limits<Time>::max() / 64;

struct Done {
    enum class Kind { stored, skipped, loaded, wrong, missing, removed, was_gone, told };
    Kind kind;
    std::uint32_t what; // the block; told: how many names the agent does not know
};

// Either a file to unlink or, with an agent, a session to report.
struct Farewell {
    std::optional<BlockId> block;
    const PlanEnd* end = nullptr;
};

class Replay {
public:
    Replay(const Plan& plan, const RunOptions& options)
        : plan_(plan), options_(options), tier_(options.tier), server_(plan, options.point),
          reaper_(plan.block_limit), clock_(options.dilation), writers_(make_writers()),
          readers_(make_readers()), farewells_(make_farewells()) {}

    nlohmann::ordered_json run();

private:
    Pool<BlockId> make_writers();
    Pool<BlockId> make_readers();
    Pool<Farewell> make_farewells();
    template <typename Job>
    auto on_error() {
        return [this](std::exception_ptr error) { inbox_.fail(std::move(error)); };
    }

    Time next_due() const;
    void fire(Time now);
    void arrivals(Time now);
    void ends(Time now);
    void reap(Time now);
    void perform(Time now, const std::vector<Action>& actions);
    void take(Time now, const Done& done);
    void pass_mark(Time now);
    Counts counts(Time now) const;
    bool finished(Time now) const;
    std::uint64_t dead_left() const;

    const Plan& plan_;
    const RunOptions& options_;
    Tier tier_;
    Server server_;
    Reaper reaper_;
    Inbox<Done> inbox_;
    Clock clock_;
    Counts counts_, mark_;
    bool marked_ = false;
    std::size_t next_request_ = 0, next_end_ = 0;
    Time compute_due_ = kNever, minute_due_ = from_ms(60'000);
    Time latest_ = 0;
    std::size_t saying_farewell_ = 0;
    Pool<BlockId> writers_, readers_; // last: their threads use what is above
    Pool<Farewell> farewells_;
};

Pool<BlockId> Replay::make_writers() {
    const auto work = [this] {
        return [this, buffer = std::make_shared<ObjectBuffer>(tier_.shape().file_bytes())](
                   BlockId block) {
            const bool written = tier_.store(block, *buffer) == StoreResult::written;
            inbox_.post({written ? Done::Kind::stored : Done::Kind::skipped, block});
        };
    };
    return {options_.writers, work, on_error<BlockId>()};
}

Pool<BlockId> Replay::make_readers() {
    const auto work = [this] {
        return [this, buffer = std::make_shared<ObjectBuffer>(tier_.shape().file_bytes())](
                   BlockId block) {
            switch (tier_.load(block, *buffer)) {
            case LoadResult::right:
                inbox_.post({Done::Kind::loaded, block});
                break;
            case LoadResult::wrong:
                inbox_.post({Done::Kind::wrong, block});
                break;
            case LoadResult::missing:
                inbox_.post({Done::Kind::missing, block});
                break;
            }
        };
    };
    return {options_.readers, work, on_error<BlockId>()};
}

Pool<Farewell> Replay::make_farewells() {
    const auto work = [this]() -> Pool<Farewell>::Work {
        if (options_.agent_socket.empty())
            return [this](Farewell farewell) {
                const bool there = tier_.remove(*farewell.block);
                inbox_.post({there ? Done::Kind::removed : Done::Kind::was_gone, *farewell.block});
            };
        auto agent = std::make_shared<AgentClient>(options_.agent_socket, tier_.root());
        return [this, agent](Farewell farewell) {
            const auto unknown =
                agent->session_ended(farewell.end->session, plan_.dead_of(*farewell.end));
            inbox_.post({Done::Kind::told, unknown});
        };
    };
    return {1, work, on_error<Farewell>()};
}

Time Replay::next_due() const {
    Time due = std::min(compute_due_, minute_due_);
    if (next_request_ < plan_.requests.size())
        due = std::min(due, from_ms(plan_.requests[next_request_].arrival_ms));
    if (next_end_ < plan_.ends.size()) due = std::min(due, from_ms(plan_.ends[next_end_].at_ms));
    if (!marked_) due = std::min(due, from_ms(plan_.mark_ms));
    return std::min(due, reaper_.due().value_or(kNever));
}

// Compute ends when it should, however late this thread is: emulation is not the GPU's burden.
void Replay::fire(Time now) {
    while (compute_due_ <= now) {
        const Time due = std::exchange(compute_due_, kNever);
        perform(now, server_.computed(due));
    }
    if (!marked_ && now >= from_ms(plan_.mark_ms)) pass_mark(now);
    arrivals(now);
    ends(now);
    reap(now);
    if (now >= minute_due_) {
        minute_due_ += from_ms(60'000);
        fmt::print("{}\n", progress_line(plan_, server_.outcomes(), now, counts_));
        std::fflush(stdout);
    }
}

void Replay::arrivals(Time now) {
    const auto exists = [&](BlockId block) {
        counts_.looked_up++;
        reaper_.touched(now, block);
        return tier_.exists(block);
    };
    for (; next_request_ < plan_.requests.size(); next_request_++) {
        const auto& request = plan_.requests[next_request_];
        const Time due = from_ms(request.arrival_ms);
        if (due > now) break;
        latest_ = std::max(latest_, now - due);
        for (const BlockId block : plan_.blocks_of(request))
            reaper_.wanted(block);
        perform(now, server_.arrive(due, static_cast<std::uint32_t>(next_request_), exists));
    }
}

void Replay::ends(Time now) {
    for (; next_end_ < plan_.ends.size(); next_end_++) {
        const auto& end = plan_.ends[next_end_];
        if (from_ms(end.at_ms) > now) break;
        if (options_.agent_socket.empty()) {
            reaper_.ended(now, plan_.dead_of(end));
        } else {
            counts_.told_dead += end.count;
            saying_farewell_++;
            farewells_.submit({std::nullopt, &end});
        }
    }
}

void Replay::reap(Time now) {
    if (!reaper_.due() || *reaper_.due() > now) return;
    if (const auto block = reaper_.next(now)) {
        saying_farewell_++;
        farewells_.submit({*block, nullptr});
    }
}

void Replay::perform(Time now, const std::vector<Action>& actions) {
    for (const auto& action : actions)
        switch (action.kind) {
        case Action::Kind::load:
            reaper_.touched(now, action.block);
            readers_.submit(action.block);
            break;
        case Action::Kind::store:
            reaper_.touched(now, action.block);
            writers_.submit(action.block);
            break;
        case Action::Kind::compute:
            compute_due_ = action.until;
            break;
        }
}

void Replay::take(Time now, const Done& done) {
    switch (done.kind) {
    case Done::Kind::stored:
    case Done::Kind::skipped:
        (done.kind == Done::Kind::stored ? counts_.stored : counts_.store_skipped)++;
        reaper_.touched(now, done.what);
        server_.stored(done.what);
        break;
    case Done::Kind::wrong:
        counts_.loaded_wrong++;
        [[fallthrough]];
    case Done::Kind::loaded:
        counts_.loaded++;
        [[fallthrough]];
    case Done::Kind::missing:
        counts_.load_missing += done.kind == Done::Kind::missing;
        reaper_.touched(now, done.what);
        perform(now, server_.loaded(now, done.what, done.kind == Done::Kind::loaded));
        break;
    case Done::Kind::removed:
        counts_.removed++;
        [[fallthrough]];
    case Done::Kind::was_gone:
        saying_farewell_--;
        break;
    case Done::Kind::told:
        counts_.told_unknown += done.what;
        saying_farewell_--;
        break;
    }
}

void Replay::pass_mark(Time now) {
    marked_ = true;
    if (!options_.at_mark.empty())
        if (const int status = std::system(options_.at_mark.c_str()); status != 0)
            throw std::runtime_error(
                fmt::format("'{}' failed with status {}", options_.at_mark, status));
    mark_ = counts(now);
}

Counts Replay::counts(Time now) const {
    Counts all = counts_;
    all.busy = server_.busy();
    all.at = now;
    all.cpu_ns = cpu_busy_ns();
    return all;
}

bool Replay::finished(Time now) const {
    return now >= from_ms(plan_.length_ms) && next_request_ == plan_.requests.size() &&
           next_end_ == plan_.ends.size() && server_.idle() && saying_farewell_ == 0 &&
           reaper_.due().value_or(kNever) > now + Reaper::kQuiet / 2;
}

// Of the blocks whose session ended more than a minute ago and that nobody asked for again.
std::uint64_t Replay::dead_left() const {
    std::vector<std::uint8_t> dead(plan_.block_limit, 0);
    std::size_t request = 0;
    for (const auto& end : plan_.ends) {
        if (end.at_ms + 60'000 > plan_.length_ms) break;
        for (; request < plan_.requests.size() && plan_.requests[request].arrival_ms <= end.at_ms;
             request++)
            for (const BlockId block : plan_.blocks_of(plan_.requests[request]))
                dead[block] = 0;
        for (const BlockId block : plan_.dead_of(end))
            dead[block] = 1;
    }
    for (; request < plan_.requests.size(); request++)
        for (const BlockId block : plan_.blocks_of(plan_.requests[request]))
            dead[block] = 0;
    std::uint64_t left = 0;
    for (BlockId block = 0; block < plan_.block_limit; block++)
        left += dead[block] && tier_.exists(block);
    return left;
}

nlohmann::ordered_json Replay::run() {
    Time now = clock_.now();
    while (!finished(now)) {
        const auto messages = inbox_.take_until(clock_.at(next_due()));
        now = clock_.now();
        for (const auto& message : messages)
            take(now, message);
        fire(now);
    }
    Report report;
    report.block_bytes = tier_.shape().block_bytes();
    report.counts = counts(now).since(mark_);
    report.latest_event = latest_;
    report.dram_peak_blocks = server_.dram().peak();
    report.reap_postponed = reaper_.postponed();
    report.dead_left = dead_left();
    return to_json(plan_, server_.outcomes(), report, options_.ttft_limit_ms);
}

} // namespace

nlohmann::ordered_json run(const Plan& plan, const RunOptions& options) {
    prctl(PR_SET_TIMERSLACK, 1); // inherited by every thread
    return Replay(plan, options).run();
}

} // namespace hintier::replay
