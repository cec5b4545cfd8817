// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hintier {
namespace {

Event event(EventKind kind, std::uint32_t pid, Nanos at, Call call = Call::none,
            std::uint32_t tokens = 0) {
    Event one;
    one.kind = kind;
    one.pid = pid;
    one.time = at;
    one.call = call;
    one.tokens = tokens;
    return one;
}

TEST(Processes, CountWhatIsCalled) {
    const auto self = static_cast<std::uint32_t>(getpid());
    Processes processes;
    processes.apply(event(EventKind::called, self, 1s, Call::decode, 512));
    EXPECT_EQ(processes.all().at(self).inside, Call::decode);
    processes.apply(event(EventKind::returned, self, 2s, Call::decode));
    processes.apply(event(EventKind::called, self, 3s, Call::decode, 1));
    processes.apply(event(EventKind::returned, self, 4s, Call::decode));
    processes.apply(event(EventKind::opened, self, 5s));
    const Processes::Process& process = processes.all().at(self);
    EXPECT_FALSE(process.name.empty());
    EXPECT_EQ(process.entered[static_cast<std::size_t>(Call::decode)], 2U);
    EXPECT_EQ(process.tokens, 513U);
    EXPECT_EQ(process.files, 1U);
    EXPECT_EQ(process.inside, Call::none);
    processes.apply(event(EventKind::exited, self, 6s));
    EXPECT_TRUE(processes.all().empty());
}

TEST(Processes, AreNotMadeByOtherEvents) {
    Processes processes;
    for (const EventKind kind : {EventKind::lookup, EventKind::renamed, EventKind::unlinked,
                                 EventKind::stored, EventKind::seen, EventKind::filled}) {
        processes.apply(event(kind, 7, 1s));
    }
    processes.apply(event(EventKind::called, 0, 1s, Call::decode));
    EXPECT_TRUE(processes.all().empty());
}

TEST(Processes, AreBounded) {
    Processes processes;
    processes.apply(event(EventKind::called, 1'000'000, 1000s, Call::decode, 1));
    for (std::uint32_t pid = 1; pid <= 2 * Processes::most; ++pid) {
        processes.apply(event(EventKind::called, 5'000'000 + pid, Nanos(pid), Call::decode, 1));
    }
    EXPECT_EQ(processes.all().size(), Processes::most);
    EXPECT_TRUE(processes.all().contains(1'000'000)) << "the idlest go first";
}

} // namespace
} // namespace hintier
