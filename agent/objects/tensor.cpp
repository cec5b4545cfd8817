// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/tensor.hpp"

#include <algorithm>
#include <charconv>

namespace hintier {

namespace {

// The first row whose word fits one component of a name (at the level after the layer, where there
// is one) decides. `whole`: the component is the word; else it begins with it.
struct Word {
    std::string_view text;
    bool whole;
    Role role;
};

constexpr Word words[] = {
    // llama.cpp's: blk.<layer>.<word>
    {"ffn_gate_inp_shexp", true, Role::shared_expert},
    {"ffn_gate_inp", true, Role::router},
    {"exp_probs_b", true, Role::router},
    {"ffn_gate_tid2eid", true, Role::router},
    {"token_embd", false, Role::embedding},
    {"position_embd", true, Role::embedding},
    {"per_layer_token_embd", true, Role::embedding},
    {"output", true, Role::output},
    {"attn", false, Role::attention},
    {"cross_attn", false, Role::attention},
    {"indexer", false, Role::attention},
    {"ssm", false, Role::ssm},
    {"shortconv", false, Role::ssm},
    {"time_mix", false, Role::ssm},
    {"ffn", false, Role::ffn},
    {"channel_mix", false, Role::ffn},
    // Hugging Face's: model.layers.<layer>.<word>…
    {"embed_tokens", true, Role::embedding},
    {"word_embeddings", true, Role::embedding},
    {"tok_embeddings", true, Role::embedding},
    {"wte", true, Role::embedding},
    {"wpe", true, Role::embedding},
    {"embed_in", true, Role::embedding},
    {"lm_head", true, Role::output},
    {"embed_out", true, Role::output},
    {"self_attn", true, Role::attention},
    {"self_attention", true, Role::attention},
    {"cross_attention", true, Role::attention},
    {"linear_attn", true, Role::ssm},
    {"mixer", true, Role::ssm},
    {"mamba", true, Role::ssm},
    {"shared_expert_gate", true, Role::shared_expert},
    {"shared_expert", true, Role::shared_expert},
    {"shared_experts", true, Role::shared_expert},
    {"shared_mlp", true, Role::shared_expert},
    {"router", true, Role::router},
    {"mlp", true, Role::ffn},
    {"feed_forward", true, Role::ffn},
    {"block_sparse_moe", true, Role::ffn},
};

constexpr std::string_view layer_words[] = {"blk", "layers", "h", "blocks", "layer", "block"};

std::optional<std::uint32_t> number_of(std::string_view text) {
    std::uint32_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end) return {};
    return number;
}

// "a.b.c" without its first component, which is handed out.
std::string_view take_component(std::string_view& rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view first = rest.substr(0, dot);
    rest.remove_prefix(dot == rest.npos ? rest.size() : dot + 1);
    return first;
}

bool is_norm(std::string_view component) {
    return component.ends_with("norm") || component.ends_with("layernorm") ||
           component.starts_with("ln_") || component == "layer_norm";
}

Role role_of(std::string_view component) {
    for (const Word& word : words) {
        if (word.whole ? component == word.text : component.starts_with(word.text)) {
            return word.role;
        }
    }
    return Role::other;
}

bool is_layer_word(std::string_view component) {
    return std::find(std::begin(layer_words), std::end(layer_words), component) !=
           std::end(layer_words);
}

} // namespace

std::string_view role_name(Role role) {
    constexpr std::string_view names[roles] = {"other",     "embedding",    "output", "norm",
                                               "attention", "ssm",          "ffn",    "router",
                                               "expert",    "shared expert"};
    return names[static_cast<std::size_t>(role)];
}

NameParts parse_tensor_name(std::string_view name) {
    NameParts parts;
    std::string_view rest = name;
    std::string_view before; // the component to the left
    bool norm = false;
    bool gate = false;
    while (!rest.empty()) {
        const std::string_view component = take_component(rest);
        const auto number = number_of(component);
        if (number && is_layer_word(before)) {
            if (!parts.layer) {
                parts.layer = number;
                parts.role = Role::other; // what stood before is the model's name, not its part
            }
        } else if (component == "experts") {
            parts.role = Role::expert;
            parts.fused = true; // until a number follows
        } else if (number && before == "experts") {
            parts.expert = number;
            parts.fused = false;
        } else if (number && parts.role == Role::ffn && before.starts_with("ffn_")) {
            parts.role = Role::expert; // blk.<layer>.ffn_gate.<expert>.weight of older files
            parts.expert = number;
        } else if (component.starts_with("ffn_") && component.ends_with("exps")) {
            parts.role = Role::expert;
            parts.fused = true;
        } else if (component.starts_with("ffn_") && component.ends_with("_shexp")) {
            parts.role = Role::shared_expert;
        } else if (parts.role == Role::other) {
            parts.role = role_of(component);
        } else if (const Role inner = role_of(component); inner == Role::shared_expert) {
            parts.role = inner; // mlp.shared_experts.…
        } else if (inner == Role::router) {
            parts.role = inner;
        }
        norm = norm || is_norm(component);
        gate = gate || (component == "gate" && parts.role == Role::ffn);
        before = component;
    }
    if (norm) {
        parts.role = Role::norm;
    } else if (gate) {
        parts.role = Role::router; // mlp.gate.weight; a dense layer has gate_proj
    }
    return parts;
}

std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& numbers,
                                     std::uint64_t first) {
    for (const std::uint64_t number : numbers) {
        if (__builtin_mul_overflow(first, number, &first)) return {};
    }
    return first;
}

} // namespace hintier
