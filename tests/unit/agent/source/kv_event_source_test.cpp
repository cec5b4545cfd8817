// SPDX-License-Identifier: Apache-2.0
// The source against a publisher that speaks as vLLM's does: PUB, and a ROUTER for replays.
#include "agent/source/kv_event_source.hpp"

#include <poll.h>
#include <unistd.h>
#include <zmq.h>

#include <gtest/gtest.h>

#include "agent/model/kv_name.hpp"
#include "tests/unit/agent/source/pack.hpp"

namespace hintier {
namespace {

using namespace test;

class Publisher {
public:
    explicit Publisher(const std::string& name) {
        open(pub_, ZMQ_PUB, name);
        open(router_, ZMQ_ROUTER, name + "-replay");
    }
    ~Publisher() {
        zmq_close(pub_);
        zmq_close(router_);
        zmq_ctx_term(context_);
    }
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // `sent` false: kept for the replay only, as if it had been lost on the way.
    void publish(const std::string& payload, bool sent = true) {
        if (sent) {
            send(pub_, "kv-events", ZMQ_SNDMORE);
            send(pub_, big(kept_.size(), 8), ZMQ_SNDMORE);
            send(pub_, payload, 0);
        }
        kept_.push_back(payload);
    }
    void publish_raw(const std::vector<std::string>& frames) {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            send(pub_, frames[i], i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
        }
    }
    // Answers a request for a replay, if one has come: identity | empty | start.
    bool serve() {
        std::vector<std::string> frames;
        for (int more = 1; more;) {
            char part[512];
            const int n = zmq_recv(router_, part, sizeof(part), ZMQ_DONTWAIT);
            if (n < 0) return false;
            frames.emplace_back(part, static_cast<std::size_t>(n));
            std::size_t size = sizeof(more);
            zmq_getsockopt(router_, ZMQ_RCVMORE, &more, &size);
        }
        EXPECT_EQ(frames.size(), 3U);
        EXPECT_EQ(frames.at(1), "");
        std::uint64_t start = 0;
        for (const char c : frames.at(2)) {
            start = start << 8U | static_cast<unsigned char>(c);
        }
        asked.push_back(start);
        for (std::uint64_t i = start; i < kept_.size(); ++i) {
            reply(frames[0], big(i, 8), kept_[i]);
        }
        reply(frames[0], std::string(8, '\xFF'), "");
        return true;
    }

    std::vector<std::uint64_t> asked;

private:
    void open(void*& socket, int type, const std::string& name) {
        socket = zmq_socket(context_, type);
        const int linger = 0;
        zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
        EXPECT_EQ(zmq_bind(socket, name.c_str()), 0) << zmq_strerror(zmq_errno());
    }
    static void send(void* socket, const std::string& frame, int flags) {
        EXPECT_GE(zmq_send(socket, frame.data(), frame.size(), flags), 0);
    }
    void reply(const std::string& to, const std::string& number, const std::string& payload) {
        send(router_, to, ZMQ_SNDMORE);
        send(router_, "", ZMQ_SNDMORE);
        send(router_, number, ZMQ_SNDMORE);
        send(router_, payload, 0);
    }

    void* context_ = zmq_ctx_new();
    void* pub_ = nullptr;
    void* router_ = nullptr;
    std::vector<std::string> kept_;
};

struct Heard final : EventSink {
    void event(const Event& event) override {
        EXPECT_EQ(event.kind, EventKind::stored);
        links.emplace_back(event.before, KvName::from_hex(event.name)->object());
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> links;
};

class KvEventSourceTest : public testing::Test {
protected:
    void SetUp() override {
        name_ = "ipc:///tmp/hintier-kv-" + std::to_string(getpid());
        publisher_ = std::make_unique<Publisher>(name_);
        auto opened = KvEventSource::open({name_, name_ + "-replay", "kv", 1}, 0, clock_);
        ASSERT_TRUE(opened) << opened.error().text;
        source_ = std::move(*opened);
        // A subscription takes its time: repeat the first message until it is heard.
        for (int i = 0; i < 1000 && source_->counts().batches == 0; ++i) {
            publisher_->publish(batch_array({stored_array({1}, pack_nil())}));
            wait(10);
            source_->drain(heard_);
        }
        ASSERT_GT(source_->counts().batches, 0U);
        // Others of these may still be on their way: what is sent after them comes after them.
        publisher_->publish(batch_array({stored_array({2}, pack_nil())}));
        until([&] { return !heard_.links.empty() && heard_.links.back().second == 2; });
        heard_.links.clear();
    }
    void TearDown() override {
        source_.reset();
        publisher_.reset();
        for (const char* suffix : {"", "-replay"}) {
            (void)unlink((name_.substr(6) + suffix).c_str());
        }
    }
    void wait(int ms) const {
        pollfd fds[] = {{source_->fd(), POLLIN, 0}, {source_->replay_fd(), POLLIN, 0}};
        (void)poll(fds, 2, ms);
    }
    template <class Done>
    void until(Done done) {
        for (int i = 0; i < 1000 && !done(); ++i) {
            wait(10);
            source_->drain(heard_);
            publisher_->serve();
        }
        ASSERT_TRUE(done());
    }

    std::string name_;
    ManualClock clock_;
    std::unique_ptr<Publisher> publisher_;
    std::unique_ptr<KvEventSource> source_;
    Heard heard_;
};

TEST_F(KvEventSourceTest, BlocksAreLinkedInOrder) {
    publisher_->publish(batch_array({stored_array({10, 11, 12}, pack(9)),
                                     pack_array({pack_text("BlockRemoved"), hashes({4, 5})}),
                                     pack_array({pack_text("AllBlocksCleared")})}));
    until([&] { return heard_.links.size() == 3; });
    EXPECT_EQ(heard_.links,
              (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{9, 10}, {10, 11}, {11, 12}}));
    EXPECT_EQ(source_->counts().removed, 2U);
    EXPECT_EQ(source_->counts().cleared, 1U);
    EXPECT_EQ(source_->counts().gaps, 0U);
}

TEST_F(KvEventSourceTest, WhatWasLostIsReplayed) {
    publisher_->publish(batch_array({stored_array({20}, pack_nil())}), false);
    publisher_->publish(batch_array({stored_array({21}, pack(20))}), false);
    publisher_->publish(batch_array({stored_array({22}, pack(21))}));
    until([&] { return source_->counts().replayed == 2; });
    EXPECT_EQ(publisher_->asked.size(), 1U);
    EXPECT_EQ(source_->counts().gaps, 1U);
    EXPECT_EQ(heard_.links.size(), 3U); // the live one first, and once
    publisher_->publish(batch_array({stored_array({23}, pack(22))}));
    until([&] { return heard_.links.size() == 4; });
    EXPECT_EQ(source_->counts().lost, 0U);
}

TEST_F(KvEventSourceTest, AReplayThatDoesNotComeIsGivenUp) {
    publisher_->publish(batch_array({stored_array({20}, pack_nil())}), false);
    publisher_->publish(batch_array({stored_array({21}, pack(20))}));
    for (int i = 0; i < 1000 && source_->counts().gaps == 0; ++i) {
        wait(10);
        source_->drain(heard_);
    }
    clock_.advance(1s);
    source_->drain(heard_);
    EXPECT_EQ(source_->counts().lost, 0U);
    clock_.advance(10s);
    source_->drain(heard_);
    EXPECT_EQ(source_->counts().lost, 1U);
}

TEST_F(KvEventSourceTest, NonsenseIsCounted) {
    publisher_->publish_raw({"kv-events"});
    publisher_->publish_raw({"kv-events", "short", "x"});
    publisher_->publish("\xC1");
    publisher_->publish_raw(std::vector<std::string>(50, "kv"));
    publisher_->publish_raw({"other topic", big(9, 8), "x"});
    publisher_->publish(batch_array({stored_array({30}, pack_nil())}));
    until([&] { return heard_.links.size() == 1; });
    EXPECT_EQ(source_->counts().wrong, 4U);
}

TEST(KvEventConfig, RanksFollowEachOther) {
    EXPECT_EQ(*endpoint_of("tcp://localhost:5557", 2), "tcp://localhost:5559");
    EXPECT_EQ(*endpoint_of("tcp://[::1]:5557", 0), "tcp://[::1]:5557");
    EXPECT_EQ(*endpoint_of("inproc://kv", 1), "inproc://kv_dp1");
    for (const char* wrong : {"localhost:5557", "tcp://localhost", "tcp://x:0", "tcp://x:70000",
                              "tcp://x:65535x", "http://x:1"}) {
        EXPECT_FALSE(endpoint_of(wrong, 0)) << wrong;
    }
    EXPECT_FALSE(endpoint_of("tcp://x:65535", 1));
    EXPECT_TRUE((KvEventConfig{"tcp://x:1", "", "", 4}.validate()));
    EXPECT_FALSE((KvEventConfig{"", "", "", 1}.validate()));
    EXPECT_FALSE((KvEventConfig{"tcp://*:5557", "", "", 1}.validate()));
    EXPECT_FALSE((KvEventConfig{"tcp://x:65535", "", "", 2}.validate()));
}

} // namespace
} // namespace hintier
