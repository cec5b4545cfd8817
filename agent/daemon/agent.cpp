// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/agent.hpp"

#include <set>

#include <fmt/format.h>

#include "agent/base/log.hpp"
#include "agent/sink/dryrun_sink.hpp"
#include "agent/sink/ioctl_sink.hpp"

namespace hintier {

namespace {

std::vector<std::string> paths_of(const std::vector<Root>& roots) {
    std::vector<std::string> paths;
    paths.reserve(roots.size());
    for (const Root& root : roots) {
        paths.push_back(root.path);
    }
    return paths;
}

// Of the names that any root's frameworks look up.
std::set<std::string> suffixes_of(const std::vector<Root>& roots) {
    std::set<std::string> suffixes;
    for (const Root& root : roots) {
        suffixes.insert(root.adapter->suffixes.begin(), root.adapter->suffixes.end());
    }
    suffixes.erase("");
    return suffixes;
}

std::unique_ptr<HintSink> make_sink(bool dry_run, bool rules) {
    if (dry_run) {
        return std::make_unique<DryRunSink>([](const std::string& line) { log::info("{}", line); });
    }
    return std::make_unique<IoctlSink>(device_node, rules ? IoctlSink::Show::writable
                                                          : IoctlSink::Show::readable);
}

} // namespace

Result<std::unique_ptr<Agent>> Agent::open(const Config& config, const Options& options,
                                           const Clock& clock) {
    std::unique_ptr<BpfSource> bpf;
    if (config.roots.empty()) {
        log::warning("no [[root]] in the configuration: there is nothing to watch");
    } else if (config.trace.files) {
        BpfSource::Config source;
        source.ring_bytes = config.trace.ring_bytes;
        source.suffixes = suffixes_of(config.roots);
        auto opened = BpfSource::open(source);
        if (!opened) return Failure(std::move(opened.error()));
        bpf = std::move(*opened);
    }
    std::unique_ptr<CallSource> calls;
    if (!config.probes.empty()) {
        auto opened = CallSource::open();
        if (!opened) return Failure(std::move(opened.error()));
        calls = std::move(*opened);
    }
    std::unique_ptr<FillSource> fills;
    if (!config.models.empty()) {
        auto opened = FillSource::open();
        if (!opened) return Failure(std::move(opened.error()));
        fills = std::move(*opened);
    }
    auto kernel = KernelSource::open();
    if (!kernel) return Failure(std::move(kernel.error()));
    std::unique_ptr<Agent> agent(new Agent(config, options, clock, std::move(bpf), std::move(calls),
                                           std::move(fills), std::move(*kernel)));
    for (const KvEventConfig& one : config.kv_events) {
        for (std::uint32_t rank = 0; rank < one.ranks; ++rank) {
            auto source = KvEventSource::open(one, rank, clock);
            if (!source) return Failure(std::move(source.error()).within("KV events"));
            agent->kv_events_.push_back(std::move(*source));
        }
    }
    if (!config.learned.file.empty()) {
        auto learned = Learned::open(config.learned);
        if (learned) {
            agent->learned_ = std::move(*learned);
        } else {
            log::warning("learned: {}; nothing is kept until hintierd starts again",
                         learned.error().text);
        }
    }
    agent->remember_before();
    agent->refresh_tiers();
    (void)agent->roots_.check();
    agent->check_probes();
    agent->models_.check();
    return agent;
}

Agent::Agent(const Config& config, const Options& options, const Clock& clock,
             std::unique_ptr<BpfSource> bpf, std::unique_ptr<CallSource> calls,
             std::unique_ptr<FillSource> fills, std::unique_ptr<KernelSource> kernel)
    : config_(config), options_(options), clock_(clock), started_(clock.now()),
      bpf_(std::move(bpf)), kernel_(std::move(kernel)), calls_(std::move(calls)),
      fills_(std::move(fills)), probes_said_(config.probes.size()),
      models_(config.models, fills_.get()), world_(config.world, config.roots),
      planner_(config.rules), tiers_(*kernel_, config.trace.io), roots_(world_.roots(), bpf_.get()),
      dirs_(paths_of(config.roots)),
      // Without a tier to talk to, the filesystem's own device stands for one.
      layout_(dirs_,
              [this](std::uint32_t device) { return options_.dry_run || tiers_.has(device); }),
      sink_(make_sink(options.dry_run, config.rules.worth.values)),
      executor_(planner_, layout_, dirs_, *sink_, world_.roots(), options.dry_run,
                static_cast<std::uint64_t>(started_.count()),
                [this](const Reap& reap) {
                    Event event;
                    event.kind = EventKind::unlinked;
                    event.file = reap.place.file;
                    apply(event, false);
                    planner_.unlinked(world_, reap);
                }),
      speech_(world_, planner_) {}

bool Agent::arm_files() {
    bpf_->arm();
    return !on_files() && bpf_->armed();
}

bool Agent::on_files() {
    if (!bpf_->drain(*this)) return false;
    executor_.carry_out(clock_.now());
    const Nanos now = clock_.now();
    for (const Nanos at : burst_) {
        delays_.add(now - at);
    }
    burst_.clear();
    return true;
}

void Agent::on_kernel() {
    kernel_->drain(*this);
    if (refresh_) {
        refresh_tiers();
    }
}

std::vector<int> Agent::kv_event_fds() const {
    std::vector<int> fds;
    for (const auto& source : kv_events_) {
        fds.push_back(source->fd());
        if (source->replay_fd() >= 0) {
            fds.push_back(source->replay_fd());
        }
    }
    return fds;
}

void Agent::on_kv_events() {
    for (const auto& source : kv_events_) {
        source->drain(*this);
    }
    executor_.carry_out(clock_.now());
}

void Agent::on_tick() {
    on_kv_events(); // replays that wait, and what a full drain has left
    if (bpf_) {
        (void)on_files(); // what was not urgent, so that rules judge by the latest
    }
    if (calls_) calls_->drain(*this);
    if (fills_) fills_->drain(*this);
    const Nanos now = clock_.now();
    if (roots_.scanning()) {
        const double share = std::chrono::duration<double>(config_.agent.tick).count();
        scanning_ = true;
        roots_.scan(static_cast<std::size_t>(config_.agent.scan_rate * share) + 1, now, *this);
        scanning_ = false;
    }
    planner_.tick(world_, now);
    executor_.carry_out(now);
    sample_reads(now);
    keep(now);
    recorder_.flush();
}

bool Agent::on_late() {
    const Nanos now = clock_.now();
    planner_.probe(world_);
    executor_.carry_out(now);
    return planner_.classify.placed();
}

// A file from before the agent: what came before it in its chain, if it was known once.
void Agent::recall(const Event& seen) {
    const ObjectIndex index = world_.find(seen.file);
    if (!learned_ || index == no_object || world_.object(index).before) return;
    const auto& links = learned_->links();
    const auto link = links.find(world_.object(index).id);
    if (link == links.end()) return;
    const std::string name = fmt::format("{:016x}", link->first);
    Event stored;
    stored.kind = EventKind::stored;
    stored.time = seen.time;
    stored.before = link->second;
    stored.name = name;
    (void)world_.apply(stored);
}

// From the agent's clock to the wall's, which goes on over a restart: what is kept is in its time.
double Agent::wall_s() const {
    const std::chrono::duration<double> wall = std::chrono::system_clock::now().time_since_epoch();
    return wall.count() - in_seconds(clock_.now());
}

void Agent::remember_before() {
    if (!learned_ || !config_.rules.worth.enabled) return;
    WorthRule& worth = planner_.worth;
    if (worth.restore(learned_->hazard(), learned_->watched_s()))
        log::info("what was learned of {:.0f} reads is known again",
                  worth.liveness().model().hazard().reads());
    Memories before = learned_->take_memories();
    const double wall = wall_s();
    for (ObjectMemory& one : before.objects)
        one.used_s -= wall;
    worth.restore(clock_.now(), std::move(before));
    worth.keep();
}

void Agent::keep(Nanos now) {
    if (!learned_ || !config_.rules.worth.enabled) return;
    Memories changed = planner_.worth.changed(world_);
    const double wall = wall_s();
    for (ObjectMemory& one : changed.objects)
        one.used_s += wall;
    if (!changed.empty()) learned_->remember(std::move(changed));
    if (now - kept_ >= 1min) keep_hazard(now);
}

void Agent::keep_hazard(Nanos now) {
    kept_ = now;
    const LivenessRule& liveness = planner_.worth.liveness();
    learned_->hazard(liveness.model().hazard().counts(), liveness.watched_s(now));
}

Agent::~Agent() {
    const Nanos now = clock_.now();
    keep(now);
    if (learned_ && config_.rules.worth.enabled) keep_hazard(now);
}

// What readers of KV get from the tiers, once a second.
void Agent::sample_reads(Nanos now) {
    const IoCounter* io = tiers_.io();
    if (!io || now - sampled_ < 1s) return;
    sampled_ = now;
    std::uint64_t bytes = 0;
    for (const IoCount& one : io->counts()) {
        if (one.key.op == HINTIER_OP_READ && one.key.klass == HINTIER_CLASS_KV) {
            bytes += one.sum.bytes;
        }
    }
    planner_.restore.sample(bytes, now);
}

void Agent::on_recheck() {
    if (roots_.check()) {
        layout_.forget_devices(); // a device number may mean another device now
    }
    check_probes();
    models_.check();
    if (tiers_.all().empty()) {
        refresh_tiers(); // in case its coming has been missed
    }
    tell_losses();
}

void Agent::event(const Event& event) {
    apply(event, scanning_);
}

void Agent::apply(const Event& event, bool at_start) {
    ++events_;
    recorder_.write(event);
    processes_.apply(event);
    if (event.kind == EventKind::filled) models_.apply(event);
    const Change change = world_.apply(event);
    switch (change.kind) {
    case Change::Kind::none:
        return;
    case Change::Kind::started:
    case Change::Kind::rewritten:
    case Change::Kind::gone:
        layout_.forget(change.file);
        break;
    case Change::Kind::exited:
        log::info("process {}, which used a watched root, has ended; its files stay", change.pid);
        break;
    default:
        break;
    }
    if (event.kind == EventKind::seen) {
        recall(event);
    } else if (learned_ && (change.kind == Change::Kind::appeared ||
                            (change.kind == Change::Kind::asked && change.run == 1))) {
        const Object& object = world_.object(change.object);
        if (object.before) learned_->link(object.id, object.before);
    }
    if (!at_start && (change.kind == Change::Kind::appeared || change.kind == Change::Kind::asked ||
                      change.kind == Change::Kind::opened)) {
        burst_.push_back(event.time);
    }
    planner_.observe(world_, change, event.time, at_start);
}

void Agent::tier_event(const TierEvent& event) {
    switch (event.type) {
    case HINTIER_EV_CREATED:
        refresh_ = true;
        break;
    case HINTIER_EV_REMOVED:
        sink_->forget(event.device);
        refresh_ = true;
        break;
    case HINTIER_EV_MODE:
        log::warning("tier {} went from mode {} to {}", device_text(event.device),
                     mode_text(static_cast<std::uint32_t>(event.args[0])),
                     mode_text(static_cast<std::uint32_t>(event.args[1])));
        break;
    case HINTIER_EV_PRESSURE:
        log::debug("tier {}: {} of {} slots are dirty", device_text(event.device), event.args[0],
                   event.args[1]);
        break;
    case HINTIER_EV_BUDGET:
        log::warning("tier {}: the budget of {} GB a day of {} is {}", device_text(event.device),
                     event.args[2], event.args[0] ? "bulk" : "fast",
                     event.args[1] ? "spent" : "within bounds again");
        break;
    case HINTIER_EV_FETCH:
        fetch_ended(event.args[0], event.args[1]);
        break;
    default:
        break;
    }
}

void Agent::fetch_ended(std::uint64_t cookie, std::uint64_t outcome) {
    if (outcome >= HINTIER_FETCHES) return;
    switch (executor_.fetched_for(cookie)) {
    case Reason::chain_asked:
    case Reason::chain_opened:
        ++fetch_outcomes_[outcome];
        planner_.chain.outcome(static_cast<hintier_fetch>(outcome), clock_.now());
        break;
    case Reason::announced:
        ++announce_outcomes_[outcome];
        planner_.announce.outcome(static_cast<hintier_fetch>(outcome));
        break;
    default:
        break;
    }
}

void Agent::events_lost() {
    log::warning("tier events were lost; asking for the tiers again");
    refresh_ = true;
}

void Agent::refresh_tiers() {
    refresh_ = false;
    const auto before = tiers_.all();
    if (!tiers_.refresh()) return;
    layout_.forget_devices();
    for (const auto& [device, tier] : before) {
        const auto now = tiers_.all().find(device);
        if (now == tiers_.all().end() || now->second.uuid != tier.uuid) {
            sink_->forget(device);
        }
    }
}

// Libraries come late, and are replaced: what has changed is said once.
void Agent::check_probes() {
    for (std::size_t i = 0; i < config_.probes.size(); ++i) {
        const std::string& path = config_.probes[i];
        const auto watched = calls_->watch(path);
        std::string said = watched ? fmt::format("{} functions", *watched) : watched.error().text;
        if (said == probes_said_[i]) continue;
        probes_said_[i] = said;
        if (!watched)
            log::warning("probe: {}; waiting for it", said);
        else if (!*watched)
            log::warning("probe: {} has none of the functions that tell phases", path);
        else
            log::info("probe: {}: {} watched", path, said);
    }
}

void Agent::tell_losses() {
    const std::uint64_t lost = bpf_ ? bpf_->lost() : 0;
    if (lost > lost_told_) {
        log::warning("{} file events were lost: the ring buffer was full (trace.ring)",
                     lost - lost_told_);
        lost_told_ = lost;
    }
}

} // namespace hintier
