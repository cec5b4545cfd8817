// SPDX-License-Identifier: Apache-2.0
// The daemon without its loop: all rooms put together. Whoever drives it calls the on_…()
// functions when a descriptor is readable or a time has come; none of them blocks for long.
#pragma once

#include <array>
#include <memory>

#include "agent/daemon/config.hpp"
#include "agent/daemon/control.hpp"
#include "agent/daemon/delays.hpp"
#include "agent/daemon/executor.hpp"
#include "agent/daemon/models.hpp"
#include "agent/daemon/processes.hpp"
#include "agent/daemon/recorder.hpp"
#include "agent/daemon/roots.hpp"
#include "agent/daemon/tiers.hpp"
#include "agent/plan/speech.hpp"
#include "agent/source/call_source.hpp"

namespace hintier {

class Agent final : public ControlService, private EventSink, private TierEventSink {
public:
    struct Options {
        bool dry_run = false; // hints and unlinks are logged, not done; no tier is needed
    };

    static Result<std::unique_ptr<Agent>> open(const Config& config, const Options& options,
                                               const Clock& clock);
    ~Agent() override; // what it has learned is kept

    int files_fd() const { return bpf_ ? bpf_->fd() : -1; }
    int kernel_fd() const { return kernel_->fd(); }

    // Readable when KV events may have come: told once, so all are to be drained then.
    std::vector<int> kv_event_fds() const;

    // Before waiting for files_fd(). False: an event has come, and may have used up the wake-up, so
    // that there may be nothing to wait for.
    bool arm_files();
    bool on_files(); // were there any?
    void on_kernel();
    void on_kv_events();
    void on_tick();
    bool on_late(); // files that wait for their place: true while they have it
    void on_recheck();

    // What the tiers and the agent have done, in Prometheus' text format.
    std::string metrics();

    Answer session_started(const Peer& peer, const Spoken& spoken) override;
    Answer session_resumes(const Peer& peer, const Spoken& spoken) override;
    Answer session_ended(const Peer& peer, const Spoken& spoken) override;
    Answer request_queued(const Peer& peer, const Spoken& spoken) override;
    Answer load(const Peer& peer, const Load& load) override;
    Answer advise(const Peer& peer, const Question& question) override;
    Answer record(const Peer& peer, Fd file, std::uint64_t most) override;
    Answer record_stop(const Peer& peer) override;
    Answer status() override;
    Answer explain(std::string_view file) override;
    Answer heat(std::size_t most) override;
    Answer models(std::size_t most) override;
    Answer stop_reaping(const Peer& peer) override;

private:
    Agent(const Config& config, const Options& options, const Clock& clock,
          std::unique_ptr<BpfSource> bpf, std::unique_ptr<CallSource> calls,
          std::unique_ptr<FillSource> fills, std::unique_ptr<KernelSource> kernel);

    void event(const Event& event) override;
    void tier_event(const TierEvent& event) override;
    void module_changed() override { refresh_ = true; }
    void events_lost() override;

    void apply(const Event& event, bool at_start);
    void fetch_ended(std::uint64_t cookie, std::uint64_t outcome);
    void refresh_tiers();
    void tell_losses();
    Result<std::uint32_t> root_named(const std::string& path) const;
    Result<void> may_speak(const Peer& peer, std::uint32_t root) const;
    // The root spoken of, if the peer may speak of it.
    Result<std::uint32_t> root_for(const Peer& peer, const std::string& path) const;
    std::vector<std::uint64_t> objects_of(std::uint32_t root,
                                          const std::vector<std::string_view>& names) const;
    Result<Words> words_of(const Peer& peer, Words::Kind kind, const Spoken& spoken) const;
    Answer announced(const Peer& peer, Words::Kind kind, const Spoken& spoken);
    Result<Speech::Outcome> hear(const Peer& peer, Words::Kind kind, const Spoken& spoken);
    void check_probes();
    void sample_reads(Nanos now);
    void recall(const Event& seen);
    void remember_before();
    double wall_s() const;
    void keep(Nanos now);
    void keep_hazard(Nanos now);

    Config config_;
    Options options_;
    const Clock& clock_;
    Nanos started_;
    std::unique_ptr<BpfSource> bpf_; // nullptr: files are not watched
    std::unique_ptr<KernelSource> kernel_;
    std::unique_ptr<CallSource> calls_;    // nullptr: no [[probe]]
    std::unique_ptr<FillSource> fills_;    // nullptr: no [[model]]
    std::vector<std::string> probes_said_; // what was said of each probe last
    Models models_;
    Processes processes_;
    std::vector<std::unique_ptr<KvEventSource>> kv_events_;
    World world_;
    Planner planner_;
    Tiers tiers_;
    Roots roots_;
    RootDirs dirs_;
    Layout layout_;
    std::unique_ptr<HintSink> sink_;
    Executor executor_;
    Speech speech_;
    Recorder recorder_;
    Nanos sampled_{};
    std::unique_ptr<Learned> learned_; // nullptr: nothing is kept
    Nanos kept_{};
    bool refresh_ = false;  // tiers have come or gone: ask again
    bool scanning_ = false; // events come from reading a root
    std::uint64_t events_ = 0;
    std::vector<Nanos> burst_; // times of the events that may become hints now
    Delays delays_;            // from such an event to the end of the hints of its burst
    std::uint64_t lost_told_ = 0;
    using Outcomes = std::array<std::uint64_t, HINTIER_FETCHES>;
    Outcomes fetch_outcomes_{};    // of what the chain rule asked for
    Outcomes announce_outcomes_{}; // of what servers announced
};

} // namespace hintier
