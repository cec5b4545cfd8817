// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/report.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <fmt/format.h>

namespace hintier::replay {

namespace {

struct Times {
    std::vector<Time> ttft, restore;
    std::uint64_t from_dram = 0, from_tier = 0, recomputed = 0, failed = 0;
};

Times collect(const std::vector<Outcome>& outcomes, Time mark) {
    Times times;
    for (const auto& outcome : outcomes) {
        if (outcome.computed < 0 || outcome.arrived < mark) continue;
        times.ttft.push_back(outcome.computed - outcome.arrived);
        if (outcome.restored >= 0) times.restore.push_back(outcome.restored - outcome.arrived);
        times.from_dram += outcome.from_dram;
        times.from_tier += outcome.from_tier;
        times.recomputed += outcome.recomputed;
        times.failed += outcome.failed;
    }
    return times;
}

double rounded(double value, double parts) {
    return std::round(value * parts) / parts;
}

nlohmann::ordered_json percentiles(const std::vector<Time>& times) {
    return {{"p50", percentile_ms(times, 0.50)},
            {"p90", percentile_ms(times, 0.90)},
            {"p99", percentile_ms(times, 0.99)}};
}

} // namespace

Counts Counts::since(const Counts& mark) const {
    Counts difference = *this;
    difference.stored -= mark.stored;
    difference.store_skipped -= mark.store_skipped;
    difference.loaded -= mark.loaded;
    difference.load_missing -= mark.load_missing;
    difference.loaded_wrong -= mark.loaded_wrong;
    difference.looked_up -= mark.looked_up;
    difference.removed -= mark.removed;
    difference.told_dead -= mark.told_dead;
    difference.told_unknown -= mark.told_unknown;
    difference.busy -= mark.busy;
    difference.at -= mark.at;
    difference.cpu_ns -= mark.cpu_ns;
    return difference;
}

double percentile_ms(std::vector<Time> times, double share) {
    if (times.empty()) return 0;
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(times.size())));
    const auto nth =
        times.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(times.begin(), nth, times.end());
    return rounded(to_ms(*nth), 1e3);
}

nlohmann::ordered_json to_json(const Plan& plan, const std::vector<Outcome>& outcomes,
                               const Report& report, double ttft_limit_ms) {
    const Times times = collect(outcomes, from_ms(plan.mark_ms));
    const Counts& counts = report.counts;
    const auto good = std::count_if(times.ttft.begin(), times.ttft.end(),
                                    [&](Time t) { return to_ms(t) <= ttft_limit_ms; });
    const double requests = std::max<double>(1, static_cast<double>(times.ttft.size()));
    const double operations = std::max<double>(1, static_cast<double>(counts.object_operations()));
    return {
        {"requests", times.ttft.size()},
        {"ttft_ms", percentiles(times.ttft)},
        {"restore_ms", percentiles(times.restore)},
        {"restored_requests", times.restore.size()},
        {"ttft_limit_ms", ttft_limit_ms},
        {"goodput", rounded(static_cast<double>(good) / requests, 1e6)},
        {"ssd_read_bytes", counts.loaded * report.block_bytes},
        {"kv_created_bytes", counts.stored * report.block_bytes},
        {"reads_verified", counts.loaded},
        {"reads_wrong", counts.loaded_wrong},
        {"blocks_from_dram", times.from_dram},
        {"blocks_from_tier", times.from_tier},
        {"stores_skipped", counts.store_skipped},
        {"loads_missing", counts.load_missing},
        {"lookups", counts.looked_up},
        {"files_removed", counts.removed},
        {"names_told_dead", counts.told_dead},
        {"names_unknown", counts.told_unknown},
        {"dead_left", report.dead_left},
        {"reap_postponed", report.reap_postponed},
        {"requests_recomputed_by_rule", times.recomputed},
        {"dram_peak_blocks", report.dram_peak_blocks},
        {"latest_arrival_ms", rounded(to_ms(report.latest_event), 1e3)},
        {"compute_utilisation",
         counts.at > 0
             ? rounded(static_cast<double>(counts.busy) / static_cast<double>(counts.at), 1e6)
             : 0},
        {"object_operations", counts.object_operations()},
        {"cpu_ns_per_object_operation", std::round(counts.cpu_ns / operations)},
    };
}

std::string progress_line(const Plan& plan, const std::vector<Outcome>& outcomes, Time now,
                          const Counts& counts) {
    const Times times = collect(outcomes, 0);
    const auto minute = now / from_ms(60'000);
    return fmt::format("replay: minute {}/{}: {} requests, ttft p50 {:.0f} p99 {:.0f} ms, restore "
                       "p50 {:.1f} ms, {} stored, {} loaded, {} removed, {} wrong",
                       minute, plan.length_ms / 60'000, times.ttft.size(),
                       percentile_ms(times.ttft, 0.5), percentile_ms(times.ttft, 0.99),
                       percentile_ms(times.restore, 0.5), counts.stored, counts.loaded,
                       counts.removed, counts.loaded_wrong);
}

double cpu_busy_ns() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0;
    std::ifstream uptime_file("/proc/uptime");
    double uptime = 0;
    if (!(stat >> cpu >> user >> nice >> system >> idle >> iowait) || !(uptime_file >> uptime))
        return 0;
    const double processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    return (uptime * processors - (idle + iowait) / ticks) * 1e9;
}

} // namespace hintier::replay
