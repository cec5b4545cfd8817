// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/gguf.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

namespace hintier {

namespace {

constexpr std::uint32_t magic = 0x46554747; // "GGUF"
constexpr std::uint64_t max_header = 256 << 20;
constexpr std::uint64_t max_keys = 1 << 20;
constexpr std::uint64_t smallest_tensor = 8 + 4 + 4 + 8; // of an entry in the header
constexpr std::uint64_t smallest_key = 8 + 4 + 1;
constexpr std::size_t max_text = 65'535; // of a key, and of the values that we keep
constexpr std::size_t most_dimensions = 4;
constexpr int deepest_array = 8;
constexpr std::size_t max_counts = 256; // keys that may turn out to be the architecture's

enum ValueType : std::uint32_t {
    type_u8,
    type_i8,
    type_u16,
    type_i16,
    type_u32,
    type_i32,
    type_f32,
    type_bool,
    type_text,
    type_array,
    type_u64,
    type_i64,
    type_f64,
};

// Bytes of a value of fixed size; 0 for the others.
std::uint64_t value_bytes(std::uint32_t type) {
    constexpr std::uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < std::size(bytes) ? bytes[type] : 0;
}

// How ggml packs elements. Numbers that are missing were given up before version 2 files had them,
// or are younger than this list.
struct Packing {
    std::uint32_t type;
    const char* name;
    std::uint32_t elements; // of a block
    std::uint32_t bytes;
};

constexpr Packing packings[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
};

const Packing* find_packing(std::uint32_t type) {
    for (const Packing& packing : packings) {
        if (packing.type == type) return &packing;
    }
    return nullptr;
}

class Parser {
public:
    explicit Parser(const ByteSource& file) : file_(file), in_(file, max_header) {}

    Result<Gguf> parse() {
        read_head();
        for (std::uint64_t i = 0; in_.ok() && i < gguf_.keys; ++i) {
            read_key();
        }
        for (std::uint64_t i = 0; in_.ok() && i < tensors_; ++i) {
            read_tensor();
        }
        if (!in_.ok()) return Failure(*in_.error());
        take_counts();
        if (auto placed = place(); !placed) return Failure(std::move(placed.error()));
        return std::move(gguf_);
    }

private:
    void read_head() {
        if (in_.u32() != magic) return in_.fail("no GGUF file");
        gguf_.version = in_.u32();
        if (std::uint32_t swapped = __builtin_bswap32(gguf_.version);
            swapped == 2 || swapped == 3) {
            return in_.fail("a big-endian GGUF file: not supported");
        }
        if (gguf_.version != 2 && gguf_.version != 3) {
            return in_.fail(fmt::format("GGUF version {}: not supported", gguf_.version));
        }
        tensors_ = in_.u64();
        gguf_.keys = in_.u64();
        if (tensors_ > max_tensors || tensors_ > file_.size() / smallest_tensor) {
            return in_.fail(fmt::format("{} tensors are too many", tensors_));
        }
        if (gguf_.keys > max_keys || gguf_.keys > file_.size() / smallest_key) {
            return in_.fail(fmt::format("{} keys are too many", gguf_.keys));
        }
        gguf_.tensors.reserve(tensors_);
        unknown_.reserve(tensors_);
    }

    void read_key() {
        const std::string key = in_.text(in_.u64(), max_text);
        const std::uint32_t type = in_.u32();
        if (type == type_text) {
            read_text(key);
        } else if (type == type_array) {
            skip_array(0);
        } else if (const std::uint64_t bytes = value_bytes(type)) {
            read_number(key, type, bytes);
        } else {
            in_.fail(fmt::format("value type {}: not known", type));
        }
    }

    void read_text(const std::string& key) {
        const std::uint64_t length = in_.u64();
        std::string* to = key == "general.architecture" ? &gguf_.architecture
                          : key == "general.name"       ? &gguf_.name
                                                        : nullptr;
        if (!to) return in_.skip(length); // a chat template may be long
        *to = in_.text(length, max_text);
        std::replace_if(
            to->begin(), to->end(),
            [](char c) {
                return !printable({&c, 1});
            },
            ' ');
    }

    // Arrays of arrays are written nowhere, but the format has them.
    void skip_array(int depth) {
        const std::uint32_t type = in_.u32();
        const std::uint64_t count = in_.u64();
        if (const std::uint64_t bytes = value_bytes(type)) {
            std::uint64_t length = 0;
            if (__builtin_mul_overflow(count, bytes, &length)) {
                return in_.fail(fmt::format("an array of {} values", count));
            }
            return in_.skip(length);
        }
        if (type != type_text && (type != type_array || depth == deepest_array)) {
            return in_.fail(fmt::format("an array of value type {}", type));
        }
        for (std::uint64_t i = 0; in_.ok() && i < count; ++i) {
            type == type_text ? in_.skip(in_.u64()) : skip_array(depth + 1);
        }
    }

    void read_number(const std::string& key, std::uint32_t type, std::uint64_t bytes) {
        const bool whole = type != type_f32 && type != type_f64 && type != type_bool;
        std::uint64_t value = 0;
        switch (bytes) {
        case 1:
            value = in_.number<std::uint8_t>();
            break;
        case 2:
            value = in_.number<std::uint16_t>();
            break;
        case 4:
            value = in_.number<std::uint32_t>();
            break;
        default:
            value = in_.number<std::uint64_t>();
        }
        const bool wanted = key == "general.alignment" || key.starts_with("split.") ||
                            key.ends_with(".block_count") || key.ends_with(".expert_count") ||
                            key.ends_with(".expert_used_count");
        if (whole && wanted && counts_.size() < max_counts) {
            counts_[key] = value;
        }
    }

    std::uint64_t count(const std::string& key) const {
        const auto it = counts_.find(key);
        return it == counts_.end() ? 0 : it->second;
    }

    void take_counts() {
        gguf_.layers = count(gguf_.architecture + ".block_count");
        gguf_.experts = count(gguf_.architecture + ".expert_count");
        gguf_.experts_used = count(gguf_.architecture + ".expert_used_count");
        gguf_.split_no = count("split.no");
        gguf_.split_count = count("split.count");
        gguf_.split_tensors = count("split.tensors.count");
        if (counts_.contains("general.alignment")) {
            gguf_.alignment = count("general.alignment");
        }
    }

    void read_tensor() {
        Tensor tensor;
        tensor.name = in_.text(in_.u64(), max_tensor_name);
        const std::uint32_t dimensions = in_.u32();
        if (in_.ok() && (tensor.name.empty() || !printable(tensor.name))) {
            return in_.fail("a tensor without a name that can be printed");
        }
        if (dimensions > most_dimensions) {
            return in_.fail(fmt::format("tensor {} has {} dimensions", tensor.name, dimensions));
        }
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            tensor.shape.push_back(in_.u64());
        }
        const std::uint32_t type = in_.u32();
        tensor.offset = in_.u64();
        tensor.parts = parse_tensor_name(tensor.name);
        const Packing* packing = find_packing(type);
        unknown_.push_back(!packing);
        if (packing) {
            set_bytes(tensor, *packing);
        } else {
            tensor.type = fmt::format("type {}", type);
        }
        gguf_.tensors.push_back(std::move(tensor));
    }

    void set_bytes(Tensor& tensor, const Packing& packing) {
        tensor.type = packing.name;
        std::vector<std::uint64_t> blocks = tensor.shape;
        const std::uint64_t row = blocks.empty() ? 1 : blocks.front();
        if (row % packing.elements) {
            return in_.fail(fmt::format("tensor {}: rows of {} elements are no whole blocks of {}",
                                        tensor.name, row, packing.name));
        }
        if (!blocks.empty()) {
            blocks.front() /= packing.elements;
        }
        const auto bytes = product(blocks, packing.bytes);
        if (!bytes) return in_.fail(fmt::format("tensor {} is too large", tensor.name));
        tensor.bytes = *bytes;
    }

    // From offsets in the data to offsets in the file, with everything checked against its size.
    Result<void> place() {
        if (!std::has_single_bit(gguf_.alignment)) {
            return failure(fmt::format("an alignment of {}", gguf_.alignment), EINVAL);
        }
        // A multiple of a power of two may wrap to 0, which is then below the header's end.
        gguf_.data = (in_.at() + gguf_.alignment - 1) & ~(gguf_.alignment - 1);
        if (gguf_.tensors.empty()) {
            gguf_.data = std::min(gguf_.data, file_.size());
            return {};
        }
        if (gguf_.data < in_.at() || gguf_.data > file_.size()) {
            return failure("the file ends before its tensors begin", EINVAL);
        }
        const std::uint64_t room = file_.size() - gguf_.data;
        measure_unknown(room);
        for (Tensor& tensor : gguf_.tensors) {
            if (tensor.offset % gguf_.alignment) {
                return failure(fmt::format("tensor {} is not aligned", tensor.name), EINVAL);
            }
            if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
                return failure(fmt::format("tensor {} ends beyond the file: it was cut, or is "
                                           "still being written",
                                           tensor.name),
                               EINVAL);
            }
            tensor.offset += gguf_.data;
            if (tensor.parts.fused && !tensor.shape.empty()) {
                set_experts(tensor);
            }
        }
        return {};
    }

    // A type that is younger than we are: up to the next tensor.
    void measure_unknown(std::uint64_t room) {
        if (std::find(unknown_.begin(), unknown_.end(), true) == unknown_.end()) return;
        std::vector<std::uint64_t> starts;
        for (const Tensor& tensor : gguf_.tensors) {
            starts.push_back(tensor.offset);
        }
        std::sort(starts.begin(), starts.end());
        for (std::size_t i = 0; i < unknown_.size(); ++i) {
            Tensor& tensor = gguf_.tensors[i];
            if (!unknown_[i]) continue;
            const auto next = std::upper_bound(starts.begin(), starts.end(), tensor.offset);
            const std::uint64_t end = next == starts.end() ? room : *next;
            tensor.bytes = end > tensor.offset ? end - tensor.offset : 0;
        }
    }

    // The slowest dimension, which is the last, counts experts. If it counts anything else, or the
    // bytes do not divide, then the name has misled us.
    void set_experts(Tensor& tensor) {
        const std::uint64_t experts = tensor.shape.back();
        const bool as_told = !gguf_.experts || experts == gguf_.experts;
        if (experts && experts <= 65'536 && as_told && tensor.bytes % experts == 0) {
            tensor.experts = static_cast<std::uint32_t>(experts);
        }
    }

    const ByteSource& file_;
    Cursor in_;
    Gguf gguf_;
    std::uint64_t tensors_ = 0;
    std::map<std::string, std::uint64_t> counts_;
    std::vector<bool> unknown_; // for each tensor: of a type that is not in the list
};

} // namespace

bool is_gguf(const ByteSource& file) {
    return file.size() >= 4 && Cursor(file, 4).u32() == magic;
}

Result<Gguf> read_gguf(const ByteSource& file) {
    return Parser(file).parse();
}

} // namespace hintier
