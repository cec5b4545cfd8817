// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's half: fuzz --target=NAME [libFuzzer's arguments]; --list names the targets, and
// --target=NAME --seeds=DIR writes the seeds that are generated.
#include <fstream>

#include "tests/fuzz/target.hpp"

namespace {

const hintier::fuzz::Target* chosen;

[[noreturn]] void list() {
    for (const auto& target : hintier::fuzz::targets())
        std::puts(target.name);
    std::exit(0);
}

[[noreturn]] void write_seeds(const std::string& directory) {
    unsigned number = 0;
    for (const auto& seed : chosen->seeds()) {
        std::ofstream out(directory + "/seed-" + std::to_string(number++), std::ios::binary);
        out.write(reinterpret_cast<const char*>(seed.data()),
                  static_cast<std::streamsize>(seed.size()));
    }
    std::exit(0);
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    std::string_view seeds;
    for (int i = 1; i < *argc; i++) {
        std::string_view word = (*argv)[i];
        if (word == "--list") list();
        if (word.starts_with("--target=")) chosen = hintier::fuzz::find_target(word.substr(9));
        if (word.starts_with("--seeds=")) seeds = word.substr(8);
    }
    if (!chosen) {
        std::fputs("fuzz: --target=NAME, one of --list\n", stderr);
        std::exit(2);
    }
    if (!seeds.empty()) write_seeds(std::string(seeds));
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    chosen->run({data, size});
    return 0;
}
