// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/app.hpp"

#include <csignal>
#include <exception>

#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <systemd/sd-daemon.h>

#include "agent/base/log.hpp"
#include "agent/base/task.hpp"
#include "agent/daemon/control_server.hpp"
#include "agent/daemon/metrics_server.hpp"

namespace hintier {

namespace {

// What happens to the agent, and when; one coroutine for each source of calls.
class Loop {
public:
    Loop(net::io_context& io, const Config& config, Agent& agent)
        : io_(io), config_(config), agent_(agent), signals_(io, SIGTERM, SIGINT) {}

    void start() {
        if (agent_.files_fd() >= 0) {
            spawn(watch_files());
        }
        spawn(watch_kernel());
        for (const int fd : agent_.kv_event_fds()) {
            spawn(watch_kv_events(fd));
        }
        spawn(every(config_.agent.tick, &Agent::on_tick));
        spawn(place_files());
        spawn(every(config_.agent.recheck, &Agent::on_recheck));
        spawn(watchdog());
        spawn(until_signal());
    }

private:
    using Call = void (Agent::*)();

    // An exception in any of them ends the loop: run() throws it again.
    void spawn(Task<> task) {
        net::co_spawn(io_, std::move(task), [](const std::exception_ptr& error) {
            if (error) std::rethrow_exception(error);
        });
    }

    // Asio closes what it is given, and the descriptors have owners already: it gets copies.
    net::posix::stream_descriptor copy_of(int fd) { return {io_, dup(fd)}; }

    // An event wakes the loop when it has found none. From then on it looks every `coalesce`, for
    // as long as events come, and takes what it finds as one burst.
    Task<> watch_files() {
        const auto readable = net::posix::stream_descriptor::wait_read;
        auto descriptor = copy_of(agent_.files_fd());
        net::steady_timer timer(io_);
        while (true) {
            auto looked = net::steady_timer::clock_type::now();
            if (!agent_.on_files() && agent_.arm_files()) {
                auto [error] = co_await descriptor.async_wait(readable, as_result);
                if (error) co_return;
                looked = net::steady_timer::clock_type::now();
                agent_.on_files();
            }
            timer.expires_at(looked + config_.agent.coalesce);
            auto [cancelled] = co_await timer.async_wait(as_result);
            if (cancelled) co_return;
        }
    }

    // Filesystems choose the places of many files at a time, and seldom.
    Task<> place_files() {
        net::steady_timer timer(io_);
        while (true) {
            timer.expires_after(agent_.on_late() ? Nanos(1ms) : Nanos(1s));
            auto [cancelled] = co_await timer.async_wait(as_result);
            if (cancelled) co_return;
        }
    }

    Task<> watch_kernel() {
        const auto readable = net::posix::stream_descriptor::wait_read;
        auto descriptor = copy_of(agent_.kernel_fd());
        while (true) {
            auto [error] = co_await descriptor.async_wait(readable, as_result);
            if (error) co_return;
            agent_.on_kernel();
        }
    }

    Task<> watch_kv_events(int fd) {
        const auto readable = net::posix::stream_descriptor::wait_read;
        auto descriptor = copy_of(fd);
        while (true) {
            auto [error] = co_await descriptor.async_wait(readable, as_result);
            if (error) co_return;
            agent_.on_kv_events();
        }
    }

    Task<> every(Nanos period, Call call) {
        net::steady_timer timer(io_);
        while (true) {
            timer.expires_after(period);
            auto [cancelled] = co_await timer.async_wait(as_result);
            if (cancelled) co_return;
            (agent_.*call)();
        }
    }

    // Lives in the same loop as everything else: if that hangs, systemd hears nothing.
    Task<> watchdog() {
        std::uint64_t limit_us = 0;
        if (sd_watchdog_enabled(0, &limit_us) <= 0) co_return;
        net::steady_timer timer(io_);
        while (true) {
            timer.expires_after(std::chrono::microseconds(limit_us / 2));
            auto [cancelled] = co_await timer.async_wait(as_result);
            if (cancelled) co_return;
            (void)sd_notify(0, "WATCHDOG=1");
        }
    }

    Task<> until_signal() {
        auto [error, signal] = co_await signals_.async_wait(as_result);
        if (error) co_return;
        log::info("{}: stopping", signal == SIGTERM ? "SIGTERM" : "SIGINT");
        (void)sd_notify(0, "STOPPING=1");
        io_.stop();
    }

    net::io_context& io_;
    const Config& config_;
    Agent& agent_;
    net::signal_set signals_;
};

} // namespace

Result<void> run_app(const Config& config, const Agent::Options& options) {
    const SystemClock clock;
    auto agent = Agent::open(config, options, clock);
    if (!agent) return Failure(std::move(agent.error()));

    net::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE); // nobody else touches it: no locks
    auto server = ControlServer::open(io, config.control, **agent);
    if (!server) return Failure(std::move(server.error()));
    std::unique_ptr<MetricsServer> metrics;
    if (!config.metrics.listen.empty()) {
        auto opened = MetricsServer::open(io, config.metrics, [&] { return (*agent)->metrics(); });
        if (!opened) return Failure(std::move(opened.error()));
        metrics = std::move(*opened);
        log::info("metrics at {}", config.metrics.listen);
    }
    Loop loop(io, config, **agent);
    loop.start();
    log::info("ready, control socket {}", config.control.socket);
    (void)sd_notify(0, "READY=1");
    io.run();
    return {};
}

} // namespace hintier
