// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/safetensors.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hintier {

namespace {

constexpr std::uint64_t max_header = 100'000'000;
constexpr std::uint64_t max_index = 64 << 20;

struct Kind {
    const char* name;
    std::uint64_t bits;
};

constexpr Kind kinds[] = {
    {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16},
    {"U16", 16},    {"F16", 16}, {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32},    {"C64", 64}, {"F64", 64},    {"I64", 64},    {"U64", 64},
};

// What both documents share: events of a JSON text, without a tree of it in memory.
class Reader {
public:
    using Json = nlohmann::json;

    virtual ~Reader() = default;

    virtual bool on_object_begin() = 0;
    virtual bool on_object_end() = 0;
    virtual bool on_key(std::string& key) = 0;
    virtual bool on_text(std::string& text) = 0;
    virtual bool on_number(std::uint64_t number) = 0;
    virtual bool on_array_begin() = 0;
    virtual bool on_array_end() = 0;
    virtual bool on_other() = 0; // null, booleans, fractions, numbers below 0

    // nlohmann's names for the same.
    bool null() { return on_other(); }
    bool boolean(bool) { return on_other(); }
    bool number_integer(Json::number_integer_t) { return on_other(); }
    bool number_unsigned(Json::number_unsigned_t number) { return on_number(number); }
    bool number_float(Json::number_float_t, const std::string&) { return on_other(); }
    bool string(std::string& text) { return on_text(text); }
    bool binary(Json::binary_t&) { return on_other(); }
    bool start_object(std::size_t) { return on_object_begin(); }
    bool key(std::string& key) { return on_key(key); }
    bool end_object() { return on_object_end(); }
    bool start_array(std::size_t) { return on_array_begin(); }
    bool end_array() { return on_array_end(); }
    bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
        return fail(fmt::format("no JSON at byte {} of the header", position));
    }

    bool fail(std::string why) {
        if (error_.empty()) {
            error_ = std::move(why);
        }
        return false;
    }

    Result<void> parse(const std::string& text) {
        if (Json::sax_parse(text, this, Json::input_format_t::json, true)) return {};
        return failure(error_.empty() ? "no JSON" : error_, EINVAL);
    }

private:
    std::string error_;
};

// {"<tensor>":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},…,"__metadata__":{…}}
class HeaderReader final : public Reader {
public:
    HeaderReader(std::uint64_t data, std::uint64_t room) : data_(data), room_(room) {}

    std::vector<Tensor> tensors;

    bool on_object_begin() override {
        if (++depth_ == 1 || (depth_ == 2 && !array_)) return true;
        return fail("an object where none belongs");
    }

    bool on_object_end() override {
        if (--depth_ == 0 || metadata_) return true;
        return finish();
    }

    bool on_key(std::string& key) override {
        if (depth_ == 1) {
            metadata_ = key == "__metadata__";
            tensor_ = Tensor();
            offsets_.clear();
            has_shape_ = false;
            if (metadata_) return true;
            if (tensors.size() == max_tensors) return fail("too many tensors");
            if (key.empty() || key.size() > max_tensor_name || !printable(key)) {
                return fail("a tensor without a name that can be printed");
            }
            tensor_.name = std::move(key);
        } else {
            member_ = key;
        }
        return true;
    }

    bool on_text(std::string& text) override {
        if (depth_ != 2) return fail("a string where none belongs");
        if (!metadata_ && member_ == "dtype") {
            if (text.size() > 32 || !printable(text)) return fail("an odd dtype");
            tensor_.type = std::move(text);
        }
        return true;
    }

    bool on_array_begin() override {
        if (depth_ != 2 || array_ || metadata_) return fail("an array where none belongs");
        array_ = true;
        has_shape_ = has_shape_ || member_ == "shape";
        return true;
    }

    bool on_array_end() override {
        array_ = false;
        return true;
    }

    bool on_number(std::uint64_t number) override {
        if (depth_ != 2) return fail("a number where none belongs");
        if (!array_) return true;
        std::vector<std::uint64_t>& to = member_ == "shape" ? tensor_.shape : offsets_;
        if (to.size() == max_dimensions) {
            return fail(fmt::format("tensor {}: too many dimensions", tensor_.name));
        }
        to.push_back(number);
        return true;
    }

    bool on_other() override {
        return array_ || depth_ != 2 ? fail("a value where none belongs") : true;
    }

private:
    bool finish() {
        const std::string& name = tensor_.name;
        if (tensor_.type.empty() || !has_shape_ || offsets_.size() != 2) {
            return fail(fmt::format("tensor {}: dtype, shape or data_offsets is missing", name));
        }
        if (offsets_[0] > offsets_[1] || offsets_[1] > room_) {
            return fail(fmt::format("tensor {} ends beyond the file: it was cut, or is still being "
                                    "written",
                                    name));
        }
        tensor_.offset = data_ + offsets_[0];
        tensor_.bytes = offsets_[1] - offsets_[0];
        if (!as_long_as_told()) {
            return fail(
                fmt::format("tensor {}: {} bytes do not hold its shape", name, tensor_.bytes));
        }
        tensor_.parts = parse_tensor_name(name);
        // The slowest dimension, here the first, counts experts.
        const std::uint64_t experts = tensor_.shape.empty() ? 0 : tensor_.shape.front();
        if (tensor_.parts.fused && experts && experts <= 65'536 && tensor_.bytes % experts == 0) {
            tensor_.experts = static_cast<std::uint32_t>(experts);
        }
        tensors.push_back(std::move(tensor_));
        return true;
    }

    // Types that are younger than the list are taken at their word.
    bool as_long_as_told() const {
        for (const Kind& kind : kinds) {
            if (tensor_.type != kind.name) continue;
            const auto bits = product(tensor_.shape, kind.bits);
            return bits && *bits % 8 == 0 && *bits / 8 == tensor_.bytes;
        }
        return true;
    }

    std::uint64_t data_;
    std::uint64_t room_;
    int depth_ = 0;
    bool array_ = false;
    bool metadata_ = false;
    bool has_shape_ = false;
    std::string member_;
    Tensor tensor_;
    std::vector<std::uint64_t> offsets_;
};

// {"metadata":{…},"weight_map":{"<tensor>":"<file>",…}}
class IndexReader final : public Reader {
public:
    ShardMap shards;
    bool has_map = false;

    bool on_object_begin() override {
        ++depth_;
        if (depth_ == 2 && top_key_) {
            in_map_ = true;
            has_map = true;
        }
        return deep();
    }
    bool on_object_end() override {
        --depth_;
        in_map_ = in_map_ && depth_ >= 2;
        return true;
    }
    bool on_key(std::string& key) override {
        if (depth_ == 1) {
            top_key_ = key == "weight_map";
        } else if (in_map_) {
            tensor_ = std::move(key);
        }
        return true;
    }
    bool on_text(std::string& text) override {
        if (!in_map_ || depth_ != 2) return true;
        // A shard lies beside its index: a path would lead a reader anywhere.
        if (text.empty() || text.size() > 255 || text == "." || text == ".." ||
            text.find('/') != text.npos || !printable(text)) {
            return fail("weight_map names a file that is no plain file name");
        }
        if (tensor_.empty() || tensor_.size() > max_tensor_name || !printable(tensor_)) {
            return fail("a tensor without a name that can be printed");
        }
        if (shards.size() == max_tensors) return fail("too many tensors");
        shards[std::move(tensor_)] = std::move(text);
        tensor_.clear();
        return true;
    }
    bool on_number(std::uint64_t) override { return !in_map_ || fail("weight_map maps to names"); }
    bool on_other() override { return !in_map_ || fail("weight_map maps to names"); }
    bool on_array_begin() override {
        ++depth_;
        return deep();
    }
    bool on_array_end() override {
        --depth_;
        return true;
    }

private:
    bool deep() {
        if (in_map_ && depth_ > 2) return fail("weight_map maps to names");
        return depth_ <= 64 || fail("nested too deeply");
    }

    int depth_ = 0;
    bool top_key_ = false;
    bool in_map_ = false;
    std::string tensor_;
};

Result<std::string> read_text(const ByteSource& file, std::uint64_t offset, std::uint64_t length) {
    std::string text(length, '\0');
    auto done = file.read(offset, std::as_writable_bytes(std::span(text)));
    if (!done) return Failure(std::move(done.error()));
    return text;
}

Result<void> check_names(std::vector<Tensor>& tensors) {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        names.push_back(tensor.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return {};
    return failure(fmt::format("tensor {} is there twice", *twice), EINVAL);
}

} // namespace

Result<std::vector<Tensor>> read_safetensors(const ByteSource& file) {
    constexpr std::uint64_t head = 8;
    if (file.size() < head) return failure("too short for a safetensors file", EINVAL);
    const std::uint64_t length = Cursor(file, head).u64();
    if (length > file.size() - head) {
        return failure("no safetensors file, or one that was cut: the header ends beyond it",
                       EINVAL);
    }
    if (length > max_header) return failure("a header of more than 100 MB", EINVAL);
    auto text = read_text(file, head, length);
    if (!text) return Failure(std::move(text.error()));
    if (!text->starts_with('{')) return failure("no safetensors file", EINVAL);

    HeaderReader reader(head + length, file.size() - head - length);
    if (auto read = reader.parse(*text); !read) return Failure(std::move(read.error()));
    if (auto fine = check_names(reader.tensors); !fine) return Failure(std::move(fine.error()));
    return std::move(reader.tensors);
}

Result<ShardMap> read_shard_map(const ByteSource& file) {
    if (file.size() > max_index) return failure("an index of more than 64 MiB", EINVAL);
    auto text = read_text(file, 0, file.size());
    if (!text) return Failure(std::move(text.error()));
    IndexReader reader;
    if (auto read = reader.parse(*text); !read) return Failure(std::move(read.error()));
    if (!reader.has_map || reader.shards.empty()) {
        return failure("no index of shards: weight_map is missing or empty", EINVAL);
    }
    return std::move(reader.shards);
}

} // namespace hintier
