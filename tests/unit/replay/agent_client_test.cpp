// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/agent_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace hintier::replay {
namespace {

// An agent that gives one answer to one line.
class OneAnswer {
public:
    explicit OneAnswer(std::string answer)
        : path_(testing::TempDir() + "ht-agent-" + std::to_string(getpid())) {
        listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
        unlink(path_.c_str());
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_EQ(listen(listener_, 1), 0);
        thread_ = std::thread([this, answer] {
            const int fd = accept(listener_, nullptr, nullptr);
            char byte;
            while (read(fd, &byte, 1) == 1 && byte != '\n')
                line_ += byte;
            EXPECT_EQ(write(fd, answer.data(), answer.size()), ssize_t(answer.size()));
            close(fd);
        });
    }
    ~OneAnswer() {
        close(listener_);
        unlink(path_.c_str());
    }
    std::string line() {
        thread_.join();
        return line_;
    }
    const std::string& path() const { return path_; }

private:
    std::string path_, line_;
    int listener_;
    std::thread thread_;
};

TEST(AgentClient, NamesTheDeadHeadFirst) {
    OneAnswer agent("{\"ok\":true,\"files\":1,\"unknown\":1}\n");
    AgentClient client(agent.path(), "/mnt/kv");
    EXPECT_EQ(client.session_ended(17, std::vector<BlockId>{3, 4}), 1u);
    const auto told = nlohmann::json::parse(agent.line());
    EXPECT_EQ(told["op"], "session_ended");
    EXPECT_EQ(told["session"], "17");
    EXPECT_EQ(told["root"], "/mnt/kv");
    ASSERT_EQ(told["names"].size(), 2u);
    EXPECT_EQ(told["names"][0], BlockPath(3).c_str());
    EXPECT_EQ(told["names"][1], BlockPath(4).c_str());
}

TEST(AgentClient, ARefusalOrSilenceEndsTheRun) {
    for (const char* answer : {"{\"ok\":false,\"error\":\"no such root\"}\n", "nonsense\n", ""}) {
        OneAnswer agent(answer);
        AgentClient client(agent.path(), "/mnt/kv");
        EXPECT_THROW(client.session_ended(1, std::vector<BlockId>{3}), std::runtime_error)
            << answer;
        agent.line();
    }
}

TEST(AgentClient, AnAbsentAgentIsNamed) {
    try {
        AgentClient client("/nonexistent/hintierd.sock", "/mnt/kv");
        FAIL() << "connected to nothing";
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("/nonexistent/hintierd.sock"));
    }
}

} // namespace
} // namespace hintier::replay
