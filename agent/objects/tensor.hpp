// SPDX-License-Identifier: Apache-2.0
// What a model file holds: tensors, what each is for, and where its bytes lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hintier {

enum class Role : std::uint8_t {
    other,
    embedding,
    output,
    norm,
    attention,
    ssm, // state-space and other recurrent mixers
    ffn,
    router, // chooses the experts
    expert,
    shared_expert,
};
inline constexpr std::size_t roles = 10;

std::string_view role_name(Role role);

// What a tensor's name tells, in llama.cpp's naming and in those of Hugging Face's models.
struct NameParts {
    Role role = Role::other;
    std::optional<std::uint32_t> layer;
    std::optional<std::uint32_t> expert; // the one whose tensor it is
    bool fused = false;                  // the tensors of all experts of the layer in one
};
NameParts parse_tensor_name(std::string_view name);

struct Tensor {
    std::string name;
    std::string type;                 // as its format calls it: "Q4_K", "BF16"
    std::vector<std::uint64_t> shape; // in the order of the file
    NameParts parts;
    std::uint32_t experts = 0; // fused: that many, one after another, all equally long
    std::uint32_t file = 0;    // of the model's files
    std::uint64_t offset = 0;  // bytes from the file's start
    std::uint64_t bytes = 0;

    // Bytes of one expert of a fused tensor: [begin, begin + length).
    struct Slice {
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
    };
    std::optional<Slice> slice(std::uint32_t expert) const {
        if (expert >= experts) return {};
        return Slice{offset + bytes / experts * expert, bytes / experts};
    }
};

// More than any model has; what a hostile file can make us keep.
inline constexpr std::size_t max_tensors = 262'144;
inline constexpr std::size_t max_tensor_name = 512;
inline constexpr std::size_t max_dimensions = 8;

// Product with overflow seen.
std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& numbers,
                                     std::uint64_t first = 1);

} // namespace hintier
