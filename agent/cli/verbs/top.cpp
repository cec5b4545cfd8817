// SPDX-License-Identifier: Apache-2.0
// top: what the tiers and the agent do now, again and again.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <fmt/format.h>

#include "agent/cli/agent_socket.hpp"
#include "agent/cli/command.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/cli/top.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string socket = agent_socket_path;
    std::string fast_budget;
    std::string bulk_budget;
    std::uint64_t interval = 2; // seconds
    bool once = false;
};

constexpr std::uint64_t longest_interval = 3600;

volatile std::sig_atomic_t stopped = 0;

// A terminal of which every frame fills the screen; as it was when this goes.
class Screen {
public:
    Screen() {
        if (tcgetattr(STDIN_FILENO, &was_) == 0) {
            termios raw = was_;
            raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            keys_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
        }
        print("\033[?1049h\033[?25l");
    }
    ~Screen() {
        print("\033[?25h\033[?1049l");
        if (keys_) (void)tcsetattr(STDIN_FILENO, TCSANOW, &was_);
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    bool keys() const { return keys_; }

    // What does not fit is cut: a terminal that scrolls shows the end instead of the head.
    static void draw(const std::string& text) {
        winsize size{};
        const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
        const std::size_t rows = known ? size.ws_row : 24, columns = known ? size.ws_col : 80;
        std::string frame = "\033[H";
        std::size_t at = 0;
        for (std::size_t row = 0; row + 1 < rows && at < text.size(); row++) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            frame += text.substr(at, std::min(end - at, columns)) + "\033[K\r\n";
            at = end + 1;
        }
        print(frame + "\033[J");
    }

private:
    termios was_{};
    bool keys_ = false;
};

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

Result<Look> look(Dm& dm, const std::string& socket) {
    Look look;
    if (device_mapper_present()) {
        auto tiers = dm.devices_of(target_type, DmAsk::status);
        if (!tiers) return Failure(tiers.error());
        auto all = tiers->empty() ? std::vector<TierStats>() : read_stats();
        if (!all) return Failure(all.error());
        for (const DmDevice& tier : *tiers)
            for (TierStats& stats : *all)
                if (stats.id == tier.id) look.tiers.push_back({tier.name, std::move(stats)});
    }
    if (auto agent = ask_agent(socket, {{"op", "status"}})) {
        agent->erase("ok");
        look.agent = std::move(*agent);
    }
    look.at_ns = now_ns();
    return look;
}

// False when the user has had enough.
bool wait(std::uint64_t seconds, bool keys) {
    const std::uint64_t until = now_ns() + seconds * 1'000'000'000;
    for (std::uint64_t now = now_ns(); now < until && !stopped; now = now_ns()) {
        pollfd in = {keys ? STDIN_FILENO : -1, POLLIN, 0};
        const int ready = poll(&in, 1, static_cast<int>((until - now + 999'999) / 1'000'000));
        char key = 0;
        if (ready > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')) return false;
    }
    return !stopped;
}

Result<WearBudget> budget_of(const Options& options) {
    WearBudget budget;
    for (auto [text, to] : {std::pair(&options.fast_budget, &budget.fast),
                            std::pair(&options.bulk_budget, &budget.bulk)}) {
        if (text->empty()) continue;
        auto size = parse_size(*text);
        if (!size) return Failure(size.error());
        *to = *size;
    }
    return budget;
}

Result<Exit> top(const Options& options, bool json) {
    const auto budget = budget_of(options);
    if (!budget) return Failure(budget.error());
    struct sigaction stop = {};
    stop.sa_handler = [](int) { stopped = 1; };
    sigaction(SIGINT, &stop, nullptr);
    sigaction(SIGTERM, &stop, nullptr);

    Dm dm;
    auto before = look(dm, options.socket);
    if (!before) return Failure(before.error());
    std::unique_ptr<Screen> screen;
    if (!options.once && !json && stdout_is_terminal()) screen = std::make_unique<Screen>();
    while (wait(options.interval, screen && screen->keys())) {
        auto now = look(dm, options.socket);
        if (!now) return Failure(now.error());
        const Json report = top_report(*before, *now, *budget);
        if (json)
            print(report.dump(-1, ' ', false, Json::error_handler_t::replace) +
                  "\n"); // a line each
        else if (screen)
            Screen::draw(fmt::format("hintierctl top, each {} s; q ends\n\n", options.interval) +
                         top_text(report));
        else
            print(top_text(report) + (options.once ? "" : "\n"));
        (void)std::fflush(stdout);
        if (options.once) break;
        before = std::move(now);
    }
    return Exit::ok;
}

} // namespace

void add_top(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "top", "what the tiers and the agent do now",
         "  hintierctl top\n"
         "  hintierctl top --bulk-budget 30T\n"
         "  hintierctl top --once --json | jq '.tiers[].wear.bulk'\n")
        .number("--interval", "SECONDS", options->interval, longest_interval,
                "between two looks, 2 unless told")
        .flag("--once", options->once, "one interval, then end")
        .text("--fast-budget", "SIZE", options->fast_budget,
              "bytes a day that fast may be programmed with")
        .text("--bulk-budget", "SIZE", options->bulk_budget, "the same of bulk")
        .text("--socket", "PATH", options->socket, "hintierd's control socket")
        .together(
            [options] { return options->interval ? std::string() : "--interval is at least 1"; })
        .action([options, &command] { return top(*options, command.json); });
}

} // namespace hintier::cli
