// SPDX-License-Identifier: Apache-2.0
// What the daemon tells Prometheus; hintierd(8) documents the names.
#include <fstream>

#include <unistd.h>

#include "agent/daemon/agent.hpp"
#include "agent/daemon/exposition.hpp"
#include "agent/daemon/tier_metrics.hpp"

namespace hintier {

namespace {

using Type = Exposition::Type;

double resident_bytes() {
    std::ifstream in("/proc/self/statm");
    double size = 0;
    double resident = 0;
    in >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

template <class T>
double real(T value) {
    return static_cast<double>(value);
}

using Outcomes = std::array<std::uint64_t, HINTIER_FETCHES>;

void tell_outcomes(Exposition& to, std::string_view rule, const Outcomes& outcomes) {
    to.sample({{"rule", rule}, {"outcome", "timely"}}, real(outcomes[HINTIER_FETCH_TIMELY]));
    to.sample({{"rule", rule}, {"outcome", "late"}}, real(outcomes[HINTIER_FETCH_LATE]));
    to.sample({{"rule", rule}, {"outcome", "unused"}}, real(outcomes[HINTIER_FETCH_UNUSED]));
    to.sample({{"rule", rule}, {"outcome", "cancelled"}}, real(outcomes[HINTIER_FETCH_CANCELLED]));
}

void tell_kv_events(Exposition& to, const std::vector<std::unique_ptr<KvEventSource>>& sources) {
    if (sources.empty()) return;
    using Counts = KvEventSource::Counts;
    constexpr std::pair<std::string_view, std::uint64_t Counts::*> kinds[] = {
        {"batch", &Counts::batches},   {"stored", &Counts::stored}, {"removed", &Counts::removed},
        {"cleared", &Counts::cleared}, {"gap", &Counts::gaps},      {"replayed", &Counts::replayed},
        {"lost", &Counts::lost},       {"wrong", &Counts::wrong},   {"restart", &Counts::restarts},
    };
    to.family("hintier_agent_kv_events_total", Type::counter, "KV events by publisher and kind");
    for (const auto& source : sources) {
        for (const auto& [kind, count] : kinds) {
            to.sample({{"endpoint", source->endpoint()}, {"kind", kind}},
                      real(source->counts().*count));
        }
    }
}

} // namespace

std::string Agent::metrics() {
    const Nanos now = clock_.now();
    const Executor::Counts& done = executor_.counts();
    const SinkCounts& sent = sink_->counts();
    Exposition to;
    to.family("hintier_agent_info", Type::gauge, "The agent's version");
    to.sample({{"version", HINTIER_VERSION}}, 1);
    to.one("hintier_agent_uptime_seconds", Type::gauge, "Since the agent started",
           std::chrono::duration<double>(now - started_).count());
    to.one("hintier_agent_resident_bytes", Type::gauge, "Memory of the agent", resident_bytes());
    to.one("hintier_agent_module_loaded", Type::gauge, "Is the kernel module there?",
           tiers_.module_there());
    to.family("hintier_agent_root_watched", Type::gauge, "Is the watched directory there?");
    for (std::size_t i = 0; i < world_.roots().size(); ++i) {
        to.sample({{"root", world_.roots()[i].path}}, roots_.watching(i));
    }
    to.one("hintier_agent_objects", Type::gauge, "KV objects that have a file",
           real(world_.objects()));
    to.one("hintier_agent_files", Type::gauge, "Files known", real(world_.files()));
    to.one("hintier_agent_names", Type::gauge, "Names known without a file", real(world_.names()));
    to.one("hintier_agent_sessions", Type::gauge, "Sessions that servers told of",
           real(speech_.sessions().size()));
    to.one("hintier_agent_events_total", Type::counter, "Events taken", real(events_));
    to.one("hintier_agent_events_lost_total", Type::counter, "File events that found no room",
           real(bpf_ ? bpf_->lost() : 0));
    tell_kv_events(to, kv_events_);

    to.family("hintier_agent_hints_total", Type::counter, "Hints sent, by verb");
    to.sample({{"verb", "classify"}}, real(sent.by_verb[HINTIER_VERB_CLASSIFY]));
    to.sample({{"verb", "fetch"}}, real(sent.by_verb[HINTIER_VERB_FETCH]));
    to.one("hintier_agent_hints_refused_total", Type::counter, "Hints the kernel refused",
           real(sent.refused));
    to.one("hintier_agent_hint_batches_total", Type::counter, "Batches they were sent in",
           real(sent.batches));
    to.family("hintier_agent_fetches_total", Type::counter, "Ranges fetched that have ended");
    tell_outcomes(to, "chain", fetch_outcomes_);
    tell_outcomes(to, "announce", announce_outcomes_);
    to.one("hintier_agent_chain_paused", Type::gauge, "Does the chain rule pause?",
           planner_.chain.paused(now));
    to.one("hintier_agent_files_classified_total", Type::counter, "Files classified",
           real(done.classified));
    to.one("hintier_agent_files_unmapped_total", Type::counter,
           "Files that had no place on the device yet", real(done.unmapped));
    to.one("hintier_agent_files_unlinked_total", Type::counter, "Files unlinked by the reaper",
           real(done.unlinked));
    to.one("hintier_agent_reaper_waiting", Type::gauge, "Files that wait to be unlinked",
           real(planner_.reaper.waiting()));
    to.one("hintier_agent_guard_trips_total", Type::counter,
           "Times that more was missed than was promised",
           real(planner_.worth.liveness().guard().trips()));
    to.one("hintier_agent_restore_bytes_per_second", Type::gauge, "Rate that a restore reads at",
           real(planner_.restore.rate().bytes_per_second()));
    to.one("hintier_agent_prefetches_skipped_total", Type::counter,
           "Decisions not to fetch what is faster to compute", real(planner_.restore.skipped()));
    if (const auto tiers = kernel_->stats()) tell_tiers(to, *tiers);
    return to.text();
}

} // namespace hintier
