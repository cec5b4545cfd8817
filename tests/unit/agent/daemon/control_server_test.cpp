// SPDX-License-Identifier: Apache-2.0
// The daemon's own server on a socket of its own, spoken to by bare lines and by both clients.
#include "agent/daemon/control_server.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/client/hintier_client.h"

namespace hintier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Writes down what it is told.
class Scribe final : public ControlService {
public:
    Answer session_started(const Peer& peer, const Spoken& spoken) override {
        return told("started", peer, spoken);
    }
    Answer session_resumes(const Peer& peer, const Spoken& spoken) override {
        return told("resumes", peer, spoken);
    }
    Answer session_ended(const Peer& peer, const Spoken& spoken) override {
        return told("ended", peer, spoken);
    }
    Answer request_queued(const Peer& peer, const Spoken& spoken) override {
        return told("queued", peer, spoken);
    }
    Answer load(const Peer&, const Load& load) override {
        char byte = 0;
        if (pread(load.file.get(), &byte, 1, 0) != 1) return system_failure("read");
        heard.push_back(std::string("load ") + byte + ' ' + std::to_string(load.klass) + ' ' +
                        std::to_string(load.in_ms));
        return Json{{"bytes", 1}};
    }
    Answer advise(const Peer&, const Question& question) override {
        heard.push_back("advise " + std::to_string(question.names.size()));
        return Json{{"restore", question.bytes < question.recompute_ms},
                    {"restore_ms", question.bytes}};
    }
    Answer record(const Peer&, Fd, std::uint64_t) override { return Json::object(); }
    Answer record_stop(const Peer&) override { return Json::object(); }
    Answer status() override { return Json::object(); }
    Answer explain(std::string_view) override { return failure("say \"please\""); }
    Answer heat(std::size_t) override { return Json::object(); }
    Answer models(std::size_t) override { return Json::object(); }
    Answer stop_reaping(const Peer&) override { return Json::object(); }

    std::vector<std::string> heard;

private:
    Answer told(const char* what, const Peer& peer, const Spoken& spoken) {
        EXPECT_EQ(peer.uid, getuid());
        EXPECT_EQ(peer.pid > 0, true);
        std::string line = std::string(what) + ' ' + spoken.session + ' ' + spoken.root;
        for (const std::string_view name : spoken.names) {
            line.append(" ").append(name);
        }
        if (!spoken.named) line += " (as before)";
        heard.push_back(line + ' ' + std::to_string(spoken.in_ms));
        if (spoken.session == "nobody") return failure("no \"nobody\" was told of");
        return Json{{"known", spoken.names.size()}};
    }
};

class ControlServerTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-control-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        config_.socket = dir_ + "/sock";
    }
    void TearDown() override {
        stop();
        fs::remove_all(dir_);
    }
    void start() {
        auto opened = ControlServer::open(io_, config_, scribe_);
        ASSERT_TRUE(opened) << opened.error().text;
        server_ = std::move(*opened);
        loop_ = std::thread([this] { io_.run(); });
    }
    // Nothing is heard any more afterwards: the test may look at it.
    void stop() {
        io_.stop();
        if (loop_.joinable()) loop_.join();
        server_.reset();
    }
    Fd connect() const {
        Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        config_.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
                  0);
        return fd;
    }
    static void say(const Fd& fd, std::string_view bytes, std::vector<int> passed = {}) {
        alignas(cmsghdr) char control[CMSG_SPACE(32 * sizeof(int))] = {};
        iovec data{const_cast<char*>(bytes.data()), bytes.size()};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        if (!passed.empty()) {
            auto* part = reinterpret_cast<cmsghdr*>(control);
            part->cmsg_level = SOL_SOCKET;
            part->cmsg_type = SCM_RIGHTS;
            part->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
            std::memcpy(CMSG_DATA(part), passed.data(), passed.size() * sizeof(int));
            message.msg_control = control;
            message.msg_controllen = CMSG_SPACE(passed.size() * sizeof(int));
        }
        ASSERT_EQ(sendmsg(fd.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    // What comes until so many lines are there, or the server hangs up.
    static std::string hear(const Fd& fd, int lines = 1) {
        std::string text;
        char part[4096];
        while (std::count(text.begin(), text.end(), '\n') < lines) {
            const ssize_t n = recv(fd.get(), part, sizeof(part), 0);
            if (n <= 0) return text + "<end>";
            text.append(part, static_cast<std::size_t>(n));
        }
        return text;
    }
    static bool ok(const std::string& line) { return Json::parse(line).at("ok"); }

    std::string dir_;
    Config::Control config_;
    Scribe scribe_;
    boost::asio::io_context io_{1};
    std::unique_ptr<ControlServer> server_;
    std::thread loop_;
};

TEST_F(ControlServerTest, LinesComeInAnyPieces) {
    start();
    const Fd peer = connect();
    say(peer, "{\"op\":\"pi");
    say(peer, "ng\"}\n{\"op\":\"status\"}\n{\"op\"");
    say(peer, ":\"no\"}\n");
    const std::string text = hear(peer, 3);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
    EXPECT_NE(text.find("unknown op"), std::string::npos);
}

TEST_F(ControlServerTest, DescriptorsGoToTheLineThatClaimsThem) {
    start();
    std::ofstream(dir_ + "/a") << "A";
    std::ofstream(dir_ + "/b") << "B";
    const Fd a(open((dir_ + "/a").c_str(), O_RDONLY));
    const Fd b(open((dir_ + "/b").c_str(), O_RDONLY));
    const Fd peer = connect();
    say(peer, "{\"op\":\"load\",\"fds\":1}\n");
    EXPECT_FALSE(ok(hear(peer))); // none has come
    say(peer,
        "{\"op\":\"load\",\"fds\":1,\"in_ms\":7}\n{\"op\":\"load\",\"fds\":1,\"class\":\"kv\"}\n",
        {a.get(), b.get()});
    const std::string text = hear(peer, 2);
    EXPECT_EQ(text.find("false"), std::string::npos) << text;
    say(peer, "{\"op\":\"load\",\"fds\":1,\"class\":\"x\"}\n{\"op\":\"load\"}\n", {a.get()});
    EXPECT_EQ(hear(peer, 2).find("true"), std::string::npos);
    stop();
    EXPECT_EQ(scribe_.heard, (std::vector<std::string>{"load A 1 7", "load B 3 0"}));
}

TEST_F(ControlServerTest, UnclaimedDescriptorsAreClosedAndBounded) {
    start();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        const Fd write_end(ends[1]);
        const Fd peer = connect();
        say(peer, "{\"op\":\"ping\"}\n", {write_end.get()});
        EXPECT_TRUE(ok(hear(peer)));
    }
    char byte = 0;
    const Fd read_end(ends[0]);
    EXPECT_EQ(read(read_end.get(), &byte, 1), 0); // the last writer is gone with the connection
    const Fd peer = connect();
    say(peer, "{\"op\":\"ping\"}\n", std::vector<int>(17, read_end.get()));
    EXPECT_EQ(hear(peer), "<end>");
}

TEST_F(ControlServerTest, QuotaIsOfTheUserNotOfTheConnection) {
    config_.max_requests = 20;
    start();
    unsigned answered = 0;
    bool refused = false;
    for (int i = 0; i < 200 && !refused; ++i) {
        const Fd peer = connect();
        say(peer, "{\"op\":\"ping\"}\n");
        const std::string text = hear(peer);
        refused = text.find("too many requests") != text.npos;
        answered += refused ? 0 : 1;
    }
    EXPECT_TRUE(refused);
    EXPECT_GE(answered, 20U);
}

TEST_F(ControlServerTest, LongLinesAndManyConnectionsAreRefused) {
    config_.max_line = 4096;
    config_.max_connections = 2;
    start();
    const Fd one = connect();
    say(one, std::string(5000, 'x'));
    EXPECT_NE(hear(one).find("line too long"), std::string::npos);
    EXPECT_EQ(hear(one), "<end>");
    const Fd two = connect();
    const Fd three = connect();
    say(two, "{\"op\":\"ping\"}\n");
    EXPECT_TRUE(ok(hear(two)));
    say(three, "{\"op\":\"ping\"}\n");
    EXPECT_TRUE(ok(hear(three)));
    EXPECT_NE(hear(connect()).find("too many connections"), std::string::npos);
}

TEST_F(ControlServerTest, ClientInC) {
    start();
    std::ofstream(dir_ + "/model") << "M";
    const Fd model(open((dir_ + "/model").c_str(), O_RDONLY));
    hintier_client* client = hintier_connect(config_.socket.c_str());
    ASSERT_NE(client, nullptr);
    const char* names[] = {"a.bin", "x/b \"quoted\"\t.bin"};
    EXPECT_EQ(hintier_session_started(client, "s1", "/kv", names, 2), 0) << hintier_error(client);
    EXPECT_EQ(hintier_session_resumes(client, "s1", 2000), 0);
    EXPECT_EQ(hintier_request_queued(client, nullptr, nullptr, names, 1, 5), 0);
    EXPECT_EQ(hintier_session_ended(client, "s1", nullptr, nullptr, 0), 0);
    EXPECT_EQ(hintier_session_ended(client, "nobody", nullptr, nullptr, 0), -EINVAL);
    EXPECT_STREQ(hintier_error(client), "no \"nobody\" was told of");
    EXPECT_EQ(hintier_load(client, model.get(), 9), 0) << hintier_error(client);
    std::uint64_t ms = 0;
    EXPECT_EQ(hintier_advise(client, 300, 700, &ms), 1);
    EXPECT_EQ(ms, 300U);
    EXPECT_EQ(hintier_advise(client, 900, 700, nullptr), 0);
    stop(); // the client is told so, and not by a signal
    EXPECT_LT(hintier_session_resumes(client, "s1", 1), 0);
    EXPECT_EQ(hintier_session_resumes(client, "s1", 1), -ENOTCONN);
    hintier_close(client);
    EXPECT_EQ(scribe_.heard,
              (std::vector<std::string>{"started s1 /kv a.bin x/b \"quoted\"\t.bin 0",
                                        "resumes s1  (as before) 2000", "queued   a.bin 5",
                                        "ended s1  (as before) 0", "ended nobody  (as before) 0",
                                        "load M 1 9", "advise 0", "advise 0"}));
    EXPECT_EQ(hintier_connect(config_.socket.c_str()), nullptr);
    hintier_close(nullptr);
}

TEST_F(ControlServerTest, ClientInPython) {
    start();
    std::ofstream(dir_ + "/test.py") << R"(
import sys
sys.path.insert(0, sys.argv[1])
import hintier
with hintier.Client(sys.argv[2]) as tier:
    assert tier.session_started("s1", ["a.bin", 'b"\t.bin'], root="/kv")["known"] == 2
    tier.session_resumes("s1", in_ms=2000)
    tier.request_queued(["a.bin"], in_ms=5)
    tier.session_ended("s1")
    with open(__file__, "rb") as file:
        tier.load(file, in_ms=9)
    assert tier.advise(700, bytes=300) is True
    assert tier.advise(700, bytes=900) is False
    try:
        tier.ask("explain", file="x")
        raise SystemExit("not refused")
    except hintier.Refused as refused:
        assert str(refused) == 'say "please"', refused
)";
    const std::string line = "python3 -B " + dir_ + "/test.py " SOURCE_DIR "/agent/client " +
                             config_.socket + " >" + dir_ + "/out 2>&1";
    const int status = std::system(line.c_str());
    std::ostringstream said;
    said << std::ifstream(dir_ + "/out").rdbuf();
    EXPECT_EQ(status, 0) << said.str();
    stop();
    EXPECT_EQ(scribe_.heard, (std::vector<std::string>{
                                 "started s1 /kv a.bin b\"\t.bin 0", "resumes s1  (as before) 2000",
                                 "queued   a.bin 5", "ended s1  (as before) 0", "load \n 1 9",
                                 "advise 0", "advise 0"}));
}

} // namespace
} // namespace hintier
