// SPDX-License-Identifier: Apache-2.0
// record: has hintierd write down what it sees. replay: a recording through its model and rules.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>

#include <fmt/format.h>

#include "agent/base/fd.hpp"
#include "agent/cli/agent_socket.hpp"
#include "agent/cli/command.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/units.hpp"
#include "agent/daemon/config.hpp"
#include "agent/source/recording_file.hpp"
#include "agent/source/replay.hpp"

namespace hintier::cli {

namespace {

struct Recording {
    std::string socket = agent_socket_path;
    std::string file;
    std::string most = "1G";
    std::uint64_t seconds = 0;
};

constexpr std::uint64_t longest_s = 30ULL * 24 * 3600;

// Until a signal, or so many seconds; 0: no end. The signals must be blocked.
void wait_for_end(const sigset_t& signals, std::uint64_t seconds) {
    if (seconds == 0) {
        int signal = 0;
        (void)sigwait(&signals, &signal);
        return;
    }
    const timespec time = {static_cast<time_t>(seconds), 0};
    while (sigtimedwait(&signals, nullptr, &time) < 0 && errno == EINTR) {
    }
}

Result<Exit> record(const Recording& options, bool json) {
    const auto most = parse_size(options.most);
    if (!most) return Failure(most.error());
    const Fd file(open(options.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return fail(errno, "{}: {}", options.file, std::strerror(errno));
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const Json start = {{"op", "record"}, {"most", *most}, {"fds", 1}};
    if (auto started = ask_agent(options.socket, start, file.get()); !started)
        return Failure(started.error());
    if (!json) note(options.seconds ? "recording\n" : "recording; Ctrl-C ends it\n");
    wait_for_end(signals, options.seconds);
    auto stopped = ask_agent(options.socket, {{"op", "record_stop"}});
    if (!stopped) return Failure(stopped.error());
    stopped->erase("ok");
    (*stopped)["file"] = options.file;
    if (json) {
        print_json(*stopped);
        return Exit::ok;
    }
    print(fmt::format("{}: {} lines, {}\n", options.file,
                      human_count(stopped->value("lines", std::uint64_t{0})),
                      human_size(stopped->value("bytes", std::uint64_t{0}))));
    if (stopped->contains("ended")) note("it ended early: " + stopped->value("ended", "") + "\n");
    return Exit::ok;
}

struct Playing {
    std::string file;
    std::string config;
    std::uint64_t speed = 0;
    bool list = false;
};

std::string plan_text(const Plan& plan, Nanos now) {
    std::string text;
    const double seconds = std::chrono::duration<double>(now).count();
    for (const Advice& advice : plan.advice)
        text += fmt::format("{:.6f} {} {:016x} depth {}: {}\n", seconds, describe(advice.verb),
                            advice.object, advice.depth, describe(advice.reason));
    for (const Reap& reap : plan.reap)
        text +=
            fmt::format("{:.6f} reap {:016x}: {}\n", seconds, reap.object, describe(reap.reason));
    return text;
}

Json counts_json(const Replay& replay) {
    const ReplayCounts& counts = replay.counts();
    Json answer = {{"events", counts.events},
                   {"words", counts.words},
                   {"words_refused", counts.refused},
                   {"objects", replay.world().objects()},
                   {"classified", counts.classified},
                   {"fetched", counts.fetched},
                   {"reaped", counts.reaped},
                   {"opened", counts.opened},
                   {"opened_fetched", counts.opened_fetched},
                   {"reasons", Json::object()}};
    for (std::size_t i = 0; i < counts.reasons.size(); ++i)
        if (counts.reasons[i])
            answer["reasons"][std::string(describe(static_cast<Reason>(i)))] = counts.reasons[i];
    return answer;
}

std::string counts_text(const Json& answer) {
    Facts facts;
    for (const auto& [name, value] : answer.items()) {
        if (!value.is_object()) {
            facts.add(name, human_count(value.get<std::uint64_t>()));
            continue;
        }
        for (const auto& [reason, count] : value.items())
            facts.add("  " + reason, human_count(count.get<std::uint64_t>()));
    }
    return facts.text();
}

Nanos time_of(const Recorded& recorded) {
    const auto* event = std::get_if<RecordedEvent>(&recorded);
    return event ? event->event.time : std::get<Words>(recorded).time;
}

Result<Exit> play(const Playing& options, bool json) {
    Config config;
    if (!options.config.empty()) {
        auto loaded = load_config(options.config);
        if (!loaded) return Failure(loaded.error());
        config = std::move(*loaded);
    }
    auto file = RecordingFile::open(options.file);
    if (!file) return Failure(file.error());

    Replay replay(config.world, config.rules, file->roots(), [&](const Plan& plan, Nanos now) {
        if (options.list && !json) print(plan_text(plan, now));
    });
    const auto begun = std::chrono::steady_clock::now();
    Nanos first{};
    const auto played = file->each([&](const Recorded& recorded) {
        if (options.speed) {
            const Nanos at = time_of(recorded);
            first = first == 0ns ? at : first;
            if (at > first)
                std::this_thread::sleep_until(begun +
                                              (at - first) / static_cast<long>(options.speed));
        }
        replay.feed(recorded);
    });
    if (!played) return Failure(played.error());
    replay.finish(1min);
    const Json answer = counts_json(replay);
    json ? print_json(answer) : print(counts_text(answer));
    return Exit::ok;
}

} // namespace

void add_record(CLI::App& app, Command& command) {
    auto options = std::make_shared<Recording>();
    Verb(app, command, "record", "have hintierd write down what it sees",
         "  hintierctl record monday.jsonl --seconds 3600\n")
        .argument("FILE", options->file, "a new file; events as lines of JSON")
        .number("--seconds", "N", options->seconds, longest_s, "end after that; else by Ctrl-C")
        .text("--most", "SIZE", options->most, "end when the file is so large",
              must_parse(parse_size))
        .text("--socket", "PATH", options->socket, "hintierd's control socket")
        .action([options, &command] { return record(*options, command.json); });
}

void add_replay(CLI::App& app, Command& command) {
    auto options = std::make_shared<Playing>();
    Verb(app, command, "replay", "what the rules make of a recording",
         "  hintierctl replay monday.jsonl\n"
         "  hintierctl replay monday.jsonl --list --config /etc/hintier/hintierd.toml\n")
        .argument("FILE", options->file, "made by `hintierctl record`")
        .flag("--list", options->list, "print each hint as it comes")
        .number("--speed", "N", options->speed, 1'000'000,
                "times as fast as it was recorded; 0 or left out: as fast as it goes")
        .text("--config", "FILE", options->config, "rules as hintierd's configuration has them")
        .action([options, &command] { return play(*options, command.json); });
}

} // namespace hintier::cli
