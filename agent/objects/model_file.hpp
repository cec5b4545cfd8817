// SPDX-License-Identifier: Apache-2.0
// A model as it lies on disk: one GGUF or safetensors file, or all that belong together.
#pragma once

#include <string>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/objects/tensor.hpp"

namespace hintier {

struct ModelFiles {
    struct File {
        std::string path;
        std::uint64_t bytes = 0;
    };

    std::string format;       // "GGUF 3", "safetensors"
    std::string architecture; // as the file calls it; safetensors files do not
    std::string name;
    std::uint64_t layers = 0;
    std::uint64_t experts = 0; // of a layer
    std::uint64_t experts_used = 0;
    std::vector<File> files;
    std::vector<Tensor> tensors; // ordered by file and offset
};

inline constexpr std::size_t max_files = 4096;

// `path`: a GGUF file or any one of a split model's, a safetensors file, an index of shards
// (*.index.json), or a directory with one of these as Hugging Face lays it out. An error is one
// line that begins with the file at fault.
Result<ModelFiles> read_model(const std::string& path);

// "model-00002-of-00009.gguf" → {"model", 2, 9}; count 0: not of a split model.
struct SplitName {
    std::string prefix;
    unsigned number = 0;
    unsigned count = 0;
};
SplitName parse_split_name(std::string_view path);
std::string split_name(const SplitName& split, unsigned number);

} // namespace hintier
