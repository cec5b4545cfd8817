// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/simulate.hpp"

#include <nlohmann/json.hpp>
#include <queue>

#include "qemu/replay/report.hpp"

namespace hintier::replay {

namespace {

// A pool of threads in front of one pipe: an operation takes latency plus its turn on the pipe.
class Pipe {
public:
    Pipe(double gbps, double latency_us, unsigned threads)
        : transfer_(static_cast<Time>(double(kObjectBytes) * kScale / gbps)),
          latency_(static_cast<Time>(latency_us * 1e3)), free_(threads, 0) {}

    Time finish(Time now) {
        const auto thread = std::min_element(free_.begin(), free_.end());
        pipe_ = std::max(pipe_, std::max(now, *thread) + latency_) + transfer_;
        return *thread = pipe_;
    }

private:
    Time transfer_, latency_;
    Time pipe_ = 0;
    std::vector<Time> free_; // by thread
};

struct Event {
    Time at;
    std::uint64_t order;
    enum class Kind { arrive, loaded, stored, computed, ended } kind;
    std::uint32_t what; // request, block or end
    bool operator>(const Event& other) const {
        return at != other.at ? at > other.at : order > other.order;
    }
};

class Simulation {
public:
    Simulation(const Plan& plan, const RunOptions& options, const DeviceModel& device)
        : plan_(plan), options_(options), server_(plan, options.point), there_(plan.block_limit),
          reads_(device.read_gbps, device.latency_us, options.readers),
          writes_(device.write_gbps, device.latency_us, options.writers) {
        for (std::uint32_t i = 0; i < plan.requests.size(); i++)
            push(from_ms(plan.requests[i].arrival_ms), Event::Kind::arrive, i);
        for (std::uint32_t i = 0; i < plan.ends.size(); i++)
            push(from_ms(plan.ends[i].at_ms), Event::Kind::ended, i);
    }

    nlohmann::ordered_json run();

private:
    void push(Time at, Event::Kind kind, std::uint32_t what) {
        events_.push({at, order_++, kind, what});
    }
    void happen(const Event& event);
    void perform(Time now, const std::vector<Action>& actions);

    const Plan& plan_;
    const RunOptions& options_;
    Server server_;
    std::vector<bool> there_;
    Pipe reads_, writes_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    Counts counts_;
};

void Simulation::happen(const Event& event) {
    const Time now = event.at;
    switch (event.kind) {
    case Event::Kind::arrive:
        perform(now, server_.arrive(now, event.what, [&](BlockId block) {
            counts_.looked_up++;
            return there_[block];
        }));
        break;
    case Event::Kind::loaded:
        there_[event.what] ? counts_.loaded++ : counts_.load_missing++;
        perform(now, server_.loaded(now, event.what, there_[event.what]));
        break;
    case Event::Kind::stored:
        there_[event.what] ? counts_.store_skipped++ : counts_.stored++;
        there_[event.what] = true;
        server_.stored(event.what);
        break;
    case Event::Kind::computed:
        perform(now, server_.computed(now));
        break;
    case Event::Kind::ended:
        for (const BlockId block : plan_.dead_of(plan_.ends[event.what])) {
            counts_.removed += there_[block];
            there_[block] = false;
        }
    }
}

void Simulation::perform(Time now, const std::vector<Action>& actions) {
    for (const auto& action : actions)
        switch (action.kind) {
        case Action::Kind::load:
            push(reads_.finish(now), Event::Kind::loaded, action.block);
            break;
        case Action::Kind::store:
            push(there_[action.block] ? now : writes_.finish(now), Event::Kind::stored,
                 action.block);
            break;
        case Action::Kind::compute:
            push(action.until, Event::Kind::computed, 0);
            break;
        }
}

nlohmann::ordered_json Simulation::run() {
    Counts mark;
    Time now = 0;
    const Time mark_at = from_ms(plan_.mark_ms);
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        if (now < mark_at && event.at >= mark_at) {
            mark = counts_;
            mark.busy = server_.busy();
            mark.at = mark_at;
        }
        now = event.at;
        happen(event);
    }
    Report report;
    counts_.busy = server_.busy();
    counts_.at = now;
    report.counts = counts_.since(mark);
    report.dram_peak_blocks = server_.dram().peak();
    return to_json(plan_, server_.outcomes(), report, options_.ttft_limit_ms);
}

} // namespace

nlohmann::ordered_json simulate(const Plan& plan, const RunOptions& options,
                                const DeviceModel& device) {
    return Simulation(plan, options, device).run();
}

} // namespace hintier::replay
