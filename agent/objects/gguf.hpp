// SPDX-License-Identifier: Apache-2.0
// GGUF, versions 2 and 3: llama.cpp's model files. One file; model.hpp puts split files together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/objects/bytes.hpp"
#include "agent/objects/tensor.hpp"

namespace hintier {

struct Gguf {
    std::uint32_t version = 0;
    std::string architecture; // general.architecture
    std::string name;         // general.name
    std::uint64_t alignment = 32;
    std::uint64_t layers = 0;  // <architecture>.block_count
    std::uint64_t experts = 0; // <architecture>.expert_count
    std::uint64_t experts_used = 0;
    std::uint64_t split_no = 0; // this file, from 0
    std::uint64_t split_count = 0;
    std::uint64_t split_tensors = 0; // in all files together
    std::uint64_t keys = 0;
    std::uint64_t data = 0; // where the tensors' bytes begin
    std::vector<Tensor> tensors;
};

bool is_gguf(const ByteSource& file);

// Takes any bytes. At most some 300 bytes a tensor are kept, whatever the file claims, and no more
// than 256 MiB of it are read.
Result<Gguf> read_gguf(const ByteSource& file);

} // namespace hintier
