// SPDX-License-Identifier: Apache-2.0
// Model files as bytes, right ones and wrong ones.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace hintier {

template <class T>
std::string little(T value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    return bytes;
}

inline std::string u32(std::uint32_t n) {
    return little(n);
}
inline std::string u64(std::uint64_t n) {
    return little(n);
}
inline std::string gguf_text(std::string_view text) {
    return u64(text.size()) + std::string(text);
}

struct GgufBuilder {
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
    std::vector<std::string> keys;
    std::vector<std::string> tensors;
    std::uint64_t data = 0; // bytes of data behind the header

    GgufBuilder& key(std::string_view name, std::uint32_t type, std::string_view value) {
        keys.push_back(gguf_text(name) + u32(type) + std::string(value));
        return *this;
    }
    GgufBuilder& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type,
                        std::uint64_t offset) {
        std::string entry = gguf_text(name) + u32(static_cast<std::uint32_t>(shape.size()));
        for (const std::uint64_t dimension : shape) {
            entry += u64(dimension);
        }
        tensors.push_back(entry + u32(type) + u64(offset));
        return *this;
    }
    std::string bytes() const {
        std::string file = "GGUF" + u32(version) + u64(tensors.size()) + u64(keys.size());
        for (const std::string& key : keys) {
            file += key;
        }
        for (const std::string& tensor : tensors) {
            file += tensor;
        }
        file.resize((file.size() + alignment - 1) / alignment * alignment);
        file.resize(file.size() + data);
        return file;
    }
};

inline std::string safetensors(std::string_view header, std::uint64_t data) {
    std::string file = u64(header.size()) + std::string(header);
    file.resize(file.size() + data);
    return file;
}

inline std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace hintier
