// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/phase.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include <fmt/format.h>

#include "agent/model/world.hpp"
#include "qemu/replay/server.hpp"

namespace hintier::eval {

namespace {

using replay::Action;
using replay::BlockId;
using replay::Time;

constexpr std::uint32_t process = 100;
constexpr std::uint32_t device = 7U << 20;
constexpr unsigned threads = 16;
constexpr Time look_every = 5'000'000;
constexpr Time latency = 300'000;
constexpr std::uint32_t batch_tokens = 2048; // of a prompt, in one call
constexpr Time fill_every = 20'000'000;

Time time_of(double seconds) {
    return static_cast<Time>(std::llround(seconds * 1e9));
}

Event event_of(EventKind kind) {
    Event event;
    event.kind = kind;
    return event;
}

// Threads in front of one device: an operation takes latency and its turn.
class Pipe {
public:
    explicit Pipe(double gbps)
        : transfer_(time_of(double(replay::kBlockTokens) * replay::kBytesPerToken / gbps / 1e9)),
          free_(threads, 0) {}

    struct Turn {
        std::uint32_t thread;
        Time from, to;
    };
    Turn take(Time now) {
        const auto thread = std::min_element(free_.begin(), free_.end());
        const Time from = std::max(now, *thread);
        device_ = std::max(device_, from + latency) + transfer_;
        *thread = device_;
        return {static_cast<std::uint32_t>(thread - free_.begin()) + process + 1, from, device_};
    }

private:
    Time transfer_;
    Time device_ = 0;
    std::vector<Time> free_; // by thread
};

struct Happening {
    enum class Kind {
        arrive,
        opened,
        loaded,
        begun,
        stored,
        call, // of a prompt's batch
        computed,
        step, // of all that are decoded
        stepped,
        decoded,
        fill,
        look,
    };
    Time at;
    std::uint64_t order;
    Kind kind;
    std::uint32_t what = 0; // request or block
    std::uint32_t thread = 0;
    bool operator>(const Happening& other) const {
        return at != other.at ? at > other.at : order > other.order;
    }
};

class PhaseRun {
    using Kind = Happening::Kind;

public:
    PhaseRun(const replay::Trace& trace, const PhaseOptions& options)
        : options_(options), plan_(plan_of(trace, options)),
          server_(plan_, {options.compute_tokens_per_s, options.memory_tokens, true}),
          there_(plan_.block_limit), reads_(options.read_gbps), writes_(options.write_gbps),
          world_({}, {{"/kv", find_adapter("vllm-fs"), 1, false}}) {
        for (const auto& request : trace)
            output_.push_back(request.output_tokens);
        for (std::uint32_t i = 0; i < plan_.requests.size(); ++i)
            push(replay::from_ms(plan_.requests[i].arrival_ms), Kind::arrive, i);
        push(1, Kind::fill);
        push(look_every, Kind::look);
    }

    PhaseOutcome go() {
        const Time end = replay::from_ms(plan_.length_ms);
        while (!events_.empty() && events_.top().at < end) {
            const Happening event = events_.top();
            events_.pop();
            now_ = event.at;
            happen(event);
        }
        return finish();
    }

private:
    static replay::Plan plan_of(const replay::Trace& trace, const PhaseOptions& options) {
        replay::PlanOptions plan;
        plan.length_ms = static_cast<std::uint32_t>((options.until_s + options.load_s) * 1000);
        plan.mark_ms = 0;
        plan.ends = false;
        replay::Trace later = trace;
        for (auto& request : later)
            request.arrival_ms += std::llround(options.load_s * 1000);
        return make_plan(later, plan);
    }

    void push(Time at, Kind kind, std::uint32_t what = 0, std::uint32_t thread = 0) {
        events_.push({at, order_++, kind, what, thread});
    }

    void happen(const Happening& event) {
        switch (event.kind) {
        case Kind::arrive:
            perform(server_.arrive(now_, event.what, [&](BlockId block) {
                Event lookup = event_of(EventKind::lookup);
                lookup.found = there_[block];
                tell(lookup, block, process);
                return there_[block];
            }));
            break;
        case Kind::opened:
            tell(event_of(EventKind::opened), event.what, event.thread);
            break;
        case Kind::loaded:
            loading_--;
            perform(server_.loaded(now_, event.what, there_[event.what]));
            break;
        case Kind::begun:
            begin(event);
            break;
        case Kind::stored:
            storing_--;
            if (!there_[event.what]) tell(event_of(EventKind::renamed), event.what, event.thread);
            there_[event.what] = true;
            server_.stored(event.what);
            break;
        case Kind::call:
            call(batch_tokens);
            break;
        case Kind::computed:
            computing_ = false;
            returned();
            decode(event.what);
            perform(server_.computed(now_));
            step();
            break;
        case Kind::step:
            step();
            break;
        case Kind::stepped:
            stepping_ = false;
            if (!computing_) returned();
            if (decoding_ > 0) push(now_ + time_of(0.001), Kind::step);
            break;
        case Kind::decoded:
            decoding_--;
            break;
        case Kind::fill:
            filling_ = now_ < time_of(options_.load_s);
            if (!filling_) break;
            tell_process(event_of(EventKind::filled));
            push(now_ + fill_every, Kind::fill);
            break;
        case Kind::look:
            look();
            push(now_ + look_every, Kind::look);
            break;
        }
    }

    void begin(const Happening& store) {
        Event event = event_of(EventKind::opened);
        event.created = event.writing = true;
        tell(event, store.what, store.thread, "_1.tmp");
    }

    void perform(const std::vector<Action>& actions) {
        for (const Action& action : actions) {
            if (action.kind == Action::Kind::compute) {
                compute(action.until);
            } else if (action.kind == Action::Kind::load) {
                const auto turn = reads_.take(now_);
                loading_++;
                push(turn.from, Kind::opened, action.block, turn.thread);
                push(turn.to, Kind::loaded, action.block);
            } else if (there_[action.block]) {
                storing_++;
                push(now_, Kind::stored, action.block);
            } else {
                const auto turn = writes_.take(now_);
                storing_++;
                push(turn.from, Kind::begun, action.block, turn.thread);
                push(turn.to, Kind::stored, action.block, turn.thread);
            }
        }
    }

    void compute(Time until) {
        computing_ = true;
        call(batch_tokens);
        const Time batch = time_of(batch_tokens / options_.compute_tokens_per_s);
        for (Time at = now_ + batch; at < until; at += batch)
            push(at, Kind::call);
        push(until, Kind::computed, next_computed_++);
    }

    // Requests are computed in some order; each decodes as long as the trace says of one of them.
    void decode(std::uint32_t request) {
        const double tokens = output_[request % output_.size()];
        decoding_++;
        push(now_ + time_of(tokens / options_.output_tokens_per_s), Kind::decoded);
    }

    void step() {
        if (stepping_ || computing_ || decoding_ == 0) return;
        stepping_ = true;
        call(std::min(decoding_, 8U));
        push(now_ + time_of(1 / options_.output_tokens_per_s), Kind::stepped);
    }

    void call(std::uint32_t tokens) {
        if (!options_.calls) return;
        Event event = event_of(EventKind::called);
        event.call = Call::decode;
        event.tokens = tokens;
        tell_process(event);
    }
    void returned() {
        if (options_.calls) tell_process(event_of(EventKind::returned));
    }

    void tell_process(Event event) {
        event.time = Nanos(now_);
        event.pid = process;
        (void)world_.apply(event);
    }

    void tell(Event event, BlockId block, std::uint32_t thread, const char* suffix = "") {
        const std::string name = fmt::format("{:016x}.bin{}", block + 1ULL, suffix);
        event.name = name;
        event.tid = thread;
        event.parent = {device, 1, 2};
        if (event.kind != EventKind::lookup) event.file = {device, 1, block + 100ULL};
        tell_process(event);
    }

    Phase truth() const {
        return filling_        ? Phase::load
               : loading_ > 0  ? Phase::restore
               : storing_ > 0  ? Phase::offload
               : computing_    ? Phase::prefill
               : decoding_ > 0 ? Phase::decode
                               : Phase::idle;
    }

    void look() {
        const auto view = world_.phases().at(process, Nanos(now_));
        const Phase is = truth();
        const Phase taken = view ? view->phase : Phase::idle;
        outcome_.seconds[static_cast<std::size_t>(is)][static_cast<std::size_t>(taken)] +=
            double(look_every) / 1e9;
        if (is != phase_) {
            settle();
            phase_ = is;
            since_ = now_;
            seen_ = -1;
        }
        const bool same = taken == is || (!options_.calls && resting(taken) && resting(is));
        if (same && seen_ < 0) seen_ = now_ - since_;
    }

    static bool resting(Phase phase) { return phase == Phase::decode || phase == Phase::idle; }

    // The phase that ends now: was it seen?
    void settle() {
        if (now_ - since_ < time_of(lasting_s)) return;
        outcome_.changes++;
        if (seen_ < 0) return;
        latencies_.push_back(double(seen_) / 1e9);
        outcome_.seen += latencies_.back() <= seen_within_s;
    }

    PhaseOutcome finish() {
        std::sort(latencies_.begin(), latencies_.end());
        if (!latencies_.empty()) {
            outcome_.seen_s_median = latencies_[latencies_.size() / 2];
            outcome_.seen_s_99 = latencies_[latencies_.size() * 99 / 100];
        }
        return outcome_;
    }

    PhaseOptions options_;
    replay::Plan plan_;
    replay::Server server_;
    std::vector<bool> there_;
    Pipe reads_, writes_;
    World world_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    std::vector<std::uint32_t> output_;
    Time now_ = 0;
    unsigned loading_ = 0, storing_ = 0, decoding_ = 0;
    std::uint32_t next_computed_ = 0;
    bool filling_ = false, computing_ = false, stepping_ = false;
    Phase phase_ = Phase::idle;
    Time since_ = 0;
    Time seen_ = -1; // after so long
    std::vector<double> latencies_;
    PhaseOutcome outcome_;
};

} // namespace

double PhaseOutcome::right(bool rest) const {
    constexpr auto decode = static_cast<std::size_t>(Phase::decode);
    constexpr auto idle = static_cast<std::size_t>(Phase::idle);
    double all = 0, right = 0;
    for (std::size_t is = 0; is < phase_count; ++is)
        for (std::size_t taken = 0; taken < phase_count; ++taken) {
            all += seconds[is][taken];
            const bool both = rest && is + taken == decode + idle && is != taken;
            if (is == taken || (both && (is == decode || is == idle))) right += seconds[is][taken];
        }
    return all > 0 ? right / all : 0;
}

PhaseOutcome run_phase(const replay::Trace& trace, const PhaseOptions& options) {
    return PhaseRun(trace, options).go();
}

} // namespace hintier::eval
