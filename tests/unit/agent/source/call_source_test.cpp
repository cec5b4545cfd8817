// SPDX-License-Identifier: Apache-2.0
#include "agent/source/call_source.hpp"

#include <cstring>
#include <fstream>

#include <dlfcn.h>

#include <gtest/gtest.h>

#include "agent/source/elf_functions.hpp"

// One of the names that are looked for, in this very binary.
extern "C" __attribute__((noinline, used)) int llama_decode_of_test(int n) {
    return n + 1;
}

namespace hintier {
namespace {

TEST(CallNamed, KnowsWhatTellsAPhase) {
    EXPECT_EQ(call_named("llama_decode"), Call::decode);
    EXPECT_EQ(call_named("llama_encode"), Call::encode);
    for (const char* save :
         {"llama_state_save_file", "llama_state_seq_save_file", "llama_save_session_file"}) {
        EXPECT_EQ(call_named(save), Call::state_save) << save;
    }
    for (const char* load :
         {"llama_state_load_file", "llama_state_seq_load_file", "llama_load_session_file"}) {
        EXPECT_EQ(call_named(load), Call::state_load) << load;
    }
    for (const char* other :
         {"", "llama_decode_internal", "llama_state_get_size", "llama_model_load",
          "llama_model_save_to_file", "my_llama_decode", "llama_decode.cold",
          "llama_state_seq_save_file.cold", "save", "load"}) {
        EXPECT_EQ(call_named(other), Call::none) << other;
    }
}

hintier_call record(std::uint8_t what, bool returned) {
    hintier_call call{};
    call.time_ns = 42;
    call.pid = 7;
    call.tid = 8;
    call.tokens = 512;
    call.what = what;
    call.returned = returned;
    return call;
}

TEST(CallRecords, BecomeEvents) {
    Event event;
    ASSERT_TRUE(decode(record(HINTIER_CALL_DECODE, false), event));
    EXPECT_EQ(event.kind, EventKind::called);
    EXPECT_EQ(event.call, Call::decode);
    EXPECT_EQ(event.tokens, 512U);
    EXPECT_EQ(event.pid, 7U);
    EXPECT_EQ(event.tid, 8U);
    EXPECT_EQ(event.time, 42ns);
    ASSERT_TRUE(decode(record(HINTIER_CALL_STATE_LOAD, true), event));
    EXPECT_EQ(event.kind, EventKind::returned);
    EXPECT_EQ(event.call, Call::state_load);
    ASSERT_TRUE(decode(record(HINTIER_CALL_EXIT, true), event));
    EXPECT_EQ(event.kind, EventKind::exited);
    EXPECT_FALSE(decode(record(HINTIER_CALL_STATE_LOAD + 1, false), event));
    EXPECT_FALSE(decode(record(255, true), event));
}

TEST(ElfFunctions, AreFoundInASymbolTable) {
    const auto found = elf_functions(
        "/proc/self/exe", [](std::string_view name) { return name == "llama_decode_of_test"; });
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_EQ(found->size(), 1U);
    // The place in the file holds the instructions that are in memory.
    std::ifstream self("/proc/self/exe", std::ios::binary);
    self.seekg(static_cast<std::streamoff>(found->front().offset));
    char bytes[8] = {};
    self.read(bytes, sizeof(bytes));
    EXPECT_EQ(
        std::memcmp(bytes, reinterpret_cast<const void*>(&llama_decode_of_test), sizeof(bytes)), 0);
}

TEST(ElfFunctions, AreFoundInALibraryWithoutASymbolTable) {
    Dl_info info;
    ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &info), 0);
    const auto found =
        elf_functions(info.dli_fname, [](std::string_view name) { return name == "dlopen"; });
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_GE(found->size(), 1U);
    EXPECT_EQ(found->front().offset, reinterpret_cast<std::uintptr_t>(&dlopen) -
                                         reinterpret_cast<std::uintptr_t>(info.dli_fbase));
}

TEST(ElfFunctions, AreNotLookedForInOtherFiles) {
    const auto all = [](std::string_view) { return true; };
    EXPECT_EQ(elf_functions("/nowhere", all).error().code, ENOENT);
    const std::string path = testing::TempDir() + "hintier-elf";
    std::ifstream self("/proc/self/exe", std::ios::binary);
    std::string bytes(1 << 20, '\0');
    self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (const std::string& text :
         {std::string(), std::string("#!/bin/sh\n"), std::string("\177ELF"), bytes.substr(0, 64)}) {
        std::ofstream(path, std::ios::binary) << text;
        const auto found = elf_functions(path, all);
        EXPECT_TRUE(!found || found->empty()) << text.size();
    }
    // Cut off and damaged: whatever is found, nothing is read beyond the file.
    for (std::size_t at = 0; at < bytes.size(); at += 4099) {
        std::string damaged = bytes;
        damaged[at % 4096] = static_cast<char>(damaged[at % 4096] + 1 + static_cast<char>(at));
        std::ofstream(path, std::ios::binary) << damaged;
        (void)elf_functions(path, all);
    }
}

} // namespace
} // namespace hintier
