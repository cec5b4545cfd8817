// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration; agent/hintierd.toml documents every key with its default.
//
// Nothing is guessed: an unknown key, a wrong type, a number out of range or a rule that an
// adapter forbids is an error that names file, line and key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/log.hpp"
#include "agent/base/result.hpp"
#include "agent/daemon/learned.hpp"
#include "agent/daemon/metrics_config.hpp"
#include "agent/model/world.hpp"
#include "agent/plan/planner.hpp"
#include "agent/source/kv_event_source.hpp"

namespace hintier {

struct Config {
    struct Control {
        std::string socket = "/run/hintier/hintierd.sock";
        std::uint32_t mode = 0660;
        std::string group; // of the socket; empty: the daemon's own
        std::uint32_t max_connections = 64;
        std::uint32_t max_line = 4 << 20;  // bytes of one request
        std::uint32_t max_requests = 1000; // a second, of one user
    } control;

    struct Agent {
        log::Level level = log::Level::info;
        Nanos coalesce = 750us; // events that come this close together are handled as one burst
        Nanos tick = 100ms;     // how often rules that wait for something are asked
        Nanos recheck = 5s;     // how often roots that are not there are looked for
        std::uint32_t scan_rate = 20'000; // entries a second read below roots at the start
    } agent;

    struct Trace {
        bool files = true; // watch roots; off: no BPF, only what sessions tell
        bool io = true;    // count hintier_io
        std::uint32_t ring_bytes = 1 << 20;
    } trace;

    MetricsConfig metrics;
    Learned::Config learned;
    World::Config world;
    Planner::Config rules;
    std::vector<Root> roots;
    std::vector<KvEventConfig> kv_events;
    std::vector<std::string> probes; // libraries and binaries whose calls are watched
    std::vector<std::string> models; // files whose fills are watched
};

Result<Config> parse_config(std::string_view text, const std::string& file_name);
Result<Config> load_config(const std::string& path);

} // namespace hintier
