// SPDX-License-Identifier: Apache-2.0
// Functions that a shared library exports, or that a binary with a symbol table holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.hpp"

namespace hintier {

struct ElfFunction {
    std::string name;
    std::uint64_t offset = 0; // in the file, of its first instruction
};

// Those whose names `wanted` wants, each place once. ENOEXEC: no ELF file.
Result<std::vector<ElfFunction>> elf_functions(const std::string& path,
                                               const std::function<bool(std::string_view)>& wanted);

} // namespace hintier
