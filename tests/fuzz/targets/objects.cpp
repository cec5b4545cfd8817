// SPDX-License-Identifier: Apache-2.0
// Model files: any bytes are tensors that lie inside the file, or an error of one line.
#include "agent/objects/gguf.hpp"
#include "agent/objects/safetensors.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/agent/objects/builders.hpp"

using hintier::fuzz::Bytes;
using hintier::fuzz::require;

namespace {

Bytes bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}

hintier::MemoryBytes file_of(std::span<const std::uint8_t> input) {
    return hintier::MemoryBytes(std::as_bytes(input));
}

void check(const std::vector<hintier::Tensor>& tensors, std::uint64_t size) {
    require(tensors.size() <= hintier::max_tensors, "tensors are bounded");
    for (const hintier::Tensor& tensor : tensors) {
        require(tensor.offset <= size && tensor.bytes <= size - tensor.offset,
                "a tensor lies inside the file");
        require(tensor.name.size() <= hintier::max_tensor_name &&
                    tensor.shape.size() <= hintier::max_dimensions,
                "name and shape are bounded");
        if (!tensor.experts) continue;
        const auto last = tensor.slice(tensor.experts - 1);
        require(last && last->offset >= tensor.offset &&
                    last->offset - tensor.offset + last->length <= tensor.bytes,
                "an expert lies inside its tensor");
    }
}

template <class T>
bool accepted(const hintier::Result<T>& read) {
    if (!read)
        require(!read.error().text.empty() && read.error().text.find('\n') == std::string::npos,
                "an error is one line");
    return read.has_value();
}

std::vector<Bytes> gguf_seeds() {
    hintier::GgufBuilder small;
    small.key("general.architecture", 8, hintier::gguf_text("llama"))
        .key("llama.block_count", 4, hintier::u32(2))
        .key("llama.expert_count", 4, hintier::u32(4))
        .key("tokens", 9, hintier::u32(8) + hintier::u64(1) + hintier::gguf_text("a"))
        .tensor("token_embd.weight", {64, 8}, 0, 0)
        .tensor("blk.1.ffn_up_exps.weight", {32, 32, 4}, 0, 2048);
    small.data = 2048 + 32 * 32 * 4 * 4;
    hintier::GgufBuilder old;
    old.version = 2;
    old.tensor("output.weight", {32}, 1, 0).data = 64;
    return {bytes_of(small.bytes()), bytes_of(old.bytes())};
}

std::vector<Bytes> safetensors_seeds() {
    return {bytes_of(hintier::safetensors(
                R"({"__metadata__":{"format":"pt"},"model.layers.3.mlp.experts.2.up_proj.weight":)"
                R"({"dtype":"BF16","shape":[4,8],"data_offsets":[0,64]}})",
                64)),
            bytes_of(R"({"metadata":{},"weight_map":{"a":"model-00001-of-00002.safetensors"}})")};
}

} // namespace

FUZZ_TARGET(gguf, gguf_seeds) {
    const hintier::MemoryBytes file = file_of(input);
    const auto model = hintier::read_gguf(file);
    if (accepted(model)) check(model->tensors, file.size());
}

FUZZ_TARGET(safetensors, safetensors_seeds) {
    const hintier::MemoryBytes file = file_of(input);
    const auto tensors = hintier::read_safetensors(file);
    if (accepted(tensors)) check(*tensors, file.size());
    if (const auto shards = hintier::read_shard_map(file); accepted(shards))
        for (const auto& [tensor, shard] : *shards)
            require(shard.find('/') == std::string::npos, "a shard lies beside its index");
}
