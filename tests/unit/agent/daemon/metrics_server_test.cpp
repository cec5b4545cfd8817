// SPDX-License-Identifier: Apache-2.0
// The metrics server on sockets of its own, asked by well-behaved scrapers and by others.
#include "agent/daemon/metrics_server.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "agent/base/fd.hpp"
#include "agent/daemon/http.hpp"

namespace hintier {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

class MetricsServerTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-metrics-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        config_.listen = dir_ + "/sock";
    }
    void TearDown() override {
        io_.stop();
        if (loop_.joinable()) loop_.join();
        server_.reset();
        EXPECT_FALSE(fs::exists(dir_ + "/sock")) << "the socket goes with the server";
        fs::remove_all(dir_);
    }
    void start() {
        auto opened = MetricsServer::open(io_, config_, [this] {
            ++made_;
            return std::string("answer 42\n");
        });
        ASSERT_TRUE(opened) << opened.error().text;
        server_ = std::move(*opened);
        loop_ = std::thread([this] { io_.run(); });
    }
    Fd connect() const {
        SocketAddress address = *metrics_address(config_.listen);
        if (address.storage.ss_family == AF_INET) {
            reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(server_->port());
        }
        Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), address.size),
                  0);
        return fd;
    }
    static void say(const Fd& fd, std::string_view text) {
        (void)!send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
    // Until the server hangs up, or ten seconds of silence.
    static std::string hear(const Fd& fd) {
        std::string all;
        char part[4096];
        pollfd wait = {fd.get(), POLLIN, 0};
        while (poll(&wait, 1, 10'000) > 0) {
            const ssize_t n = recv(fd.get(), part, sizeof(part), 0);
            if (n <= 0) return all;
            all.append(part, static_cast<std::size_t>(n));
        }
        ADD_FAILURE() << "the server does not hang up";
        return all;
    }
    std::string ask(std::string_view text) const {
        const Fd fd = connect();
        say(fd, text);
        return hear(fd);
    }

    boost::asio::io_context io_{1};
    MetricsConfig config_;
    std::atomic<int> made_ = 0;
    std::unique_ptr<MetricsServer> server_;
    std::thread loop_;
    std::string dir_;
};

TEST_F(MetricsServerTest, AnswersOnAUnixSocket) {
    start();
    EXPECT_EQ(server_->port(), 0);
    const std::string answer = ask(request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nanswer 42\n")) << answer;
    EXPECT_NE(answer.find("version=0.0.4"), answer.npos);
    EXPECT_NE(answer.find("Content-Length: 10\r\n"), answer.npos);
    struct stat st;
    ASSERT_EQ(stat(config_.listen.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0666U);
}

TEST_F(MetricsServerTest, AnswersOnALoopbackPort) {
    config_.listen = "127.0.0.1:0";
    start();
    EXPECT_NE(server_->port(), 0);
    EXPECT_TRUE(ask(request).ends_with("answer 42\n"));
}

TEST_F(MetricsServerTest, TakesARequestInPieces) {
    start();
    const Fd fd = connect();
    for (const char c : request) {
        say(fd, {&c, 1});
    }
    EXPECT_TRUE(hear(fd).ends_with("answer 42\n"));
}

TEST_F(MetricsServerTest, ReplacesADeadSocketAndNothingElse) {
    std::ofstream(config_.listen) << "precious";
    const auto refused = MetricsServer::open(io_, config_, [] { return std::string(); });
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("no socket"), std::string::npos) << refused.error().text;
    EXPECT_EQ(fs::file_size(config_.listen), 8U);
    fs::remove(config_.listen);
    start();
}

TEST_F(MetricsServerTest, RefusesEverythingElse) {
    start();
    EXPECT_TRUE(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    EXPECT_TRUE(ask("rubbish\r\n\r\n").starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(ask(std::string(4, '\0') + "\n\n").starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(ask(std::string(2 * http_max_head, 'x')).starts_with("HTTP/1.1 431 "));
    EXPECT_EQ(made_, 0) << "none of these has asked for metrics";
    EXPECT_TRUE(ask(request).ends_with("answer 42\n"));
}

TEST_F(MetricsServerTest, MakesOneAnswerForManyWhoAskAtOnce) {
    config_.fresh = 1h;
    start();
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(ask(request).ends_with("answer 42\n"));
    }
    EXPECT_EQ(made_, 1);
}

TEST_F(MetricsServerTest, HangsUpOnWhoSaysNothing) {
    config_.patience = 100ms;
    config_.max_connections = 2;
    start();
    const Fd silent = connect();
    const Fd slow = connect();
    say(slow, "GET /metr");
    EXPECT_EQ(hear(silent), "");
    EXPECT_EQ(hear(slow), "");
    EXPECT_TRUE(ask(request).ends_with("answer 42\n")) << "their places are free again";
}

TEST_F(MetricsServerTest, HasSoManyConnectionsAtOnce) {
    config_.max_connections = 2;
    start();
    const Fd first = connect();
    const Fd second = connect();
    say(first, "G");
    say(second, "G");
    EXPECT_EQ(ask(request), "") << "one too many";
    say(first, request.substr(1));
    EXPECT_TRUE(hear(first).ends_with("answer 42\n"));
    EXPECT_TRUE(ask(request).ends_with("answer 42\n"));
}

TEST_F(MetricsServerTest, SurvivesThoseWhoLeaveEarly) {
    start();
    for (int i = 0; i < 100; ++i) {
        const Fd fd = connect();
        say(fd, i % 2 ? request : request.substr(0, 7));
    }
    EXPECT_TRUE(ask(request).ends_with("answer 42\n"));
}

TEST(MetricsConfig, IsLocalOnly) {
    for (const char* good :
         {"", "/run/hintier/m", "127.0.0.1:9466", "127.9.9.9:1", "[::1]:65535"}) {
        MetricsConfig config;
        config.listen = good;
        EXPECT_TRUE(config.validate()) << good;
    }
    for (const char* bad : {"0.0.0.0:1", "10.0.0.1:9466", "[::]:1", "[2001:db8::1]:1",
                            "localhost:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                            "127.0.0.1:9x", "::1:9", ":1", "relative/path", "[:1", "[]:1"}) {
        MetricsConfig config;
        config.listen = bad;
        EXPECT_FALSE(config.validate()) << bad;
    }
    MetricsConfig config;
    config.listen = "/" + std::string(100, 'x');
    EXPECT_FALSE(config.validate());
    config = {};
    config.max_connections = 0;
    EXPECT_FALSE(config.validate());
}

} // namespace
} // namespace hintier
