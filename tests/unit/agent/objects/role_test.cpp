// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/tensor.hpp"

#include <gtest/gtest.h>

namespace hintier {
namespace {

struct Case {
    const char* name;
    Role role;
    int layer;  // -1: none
    int expert; // -1: none, -2: all of them
};

constexpr Case cases[] = {
    // llama.cpp
    {"token_embd.weight", Role::embedding, -1, -1},
    {"token_embd_norm.weight", Role::norm, -1, -1},
    {"output.weight", Role::output, -1, -1},
    {"output_norm.weight", Role::norm, -1, -1},
    {"rope_freqs.weight", Role::other, -1, -1},
    {"blk.0.attn_q.weight", Role::attention, 0, -1},
    {"blk.31.attn_output.weight", Role::attention, 31, -1},
    {"blk.3.attn_kv_a_mqa.weight", Role::attention, 3, -1},
    {"blk.3.attn_norm.weight", Role::norm, 3, -1},
    {"blk.3.attn_q_norm.weight", Role::norm, 3, -1},
    {"blk.3.ffn_norm.weight", Role::norm, 3, -1},
    {"blk.3.ffn_up.weight", Role::ffn, 3, -1},
    {"blk.3.ffn_gate_inp.weight", Role::router, 3, -1},
    {"blk.3.exp_probs_b.bias", Role::router, 3, -1},
    {"blk.3.ffn_down_exps.weight", Role::expert, 3, -2},
    {"blk.3.ffn_gate_up_exps.weight", Role::expert, 3, -2},
    {"blk.3.ffn_up_shexp.weight", Role::shared_expert, 3, -1},
    {"blk.3.ffn_gate_inp_shexp.weight", Role::shared_expert, 3, -1},
    {"blk.7.ffn_gate.5.weight", Role::expert, 7, 5},
    {"blk.7.ssm_conv1d.weight", Role::ssm, 7, -1},
    {"enc.blk.2.attn_k.weight", Role::attention, 2, -1},
    {"v.blk.2.attn_k.weight", Role::attention, 2, -1},
    // Hugging Face
    {"model.embed_tokens.weight", Role::embedding, -1, -1},
    {"lm_head.weight", Role::output, -1, -1},
    {"model.norm.weight", Role::norm, -1, -1},
    {"model.layers.12.self_attn.q_proj.weight", Role::attention, 12, -1},
    {"model.layers.12.self_attn.q_norm.weight", Role::norm, 12, -1},
    {"model.layers.12.input_layernorm.weight", Role::norm, 12, -1},
    {"model.layers.12.post_attention_layernorm.weight", Role::norm, 12, -1},
    {"model.layers.12.mlp.down_proj.weight", Role::ffn, 12, -1},
    {"model.layers.12.mlp.gate_proj.weight", Role::ffn, 12, -1},
    {"model.layers.12.mlp.gate.weight", Role::router, 12, -1},
    {"model.layers.12.mlp.gate.e_score_correction_bias", Role::router, 12, -1},
    {"model.layers.12.mlp.router.weight", Role::router, 12, -1},
    {"model.layers.12.mlp.experts.127.up_proj.weight", Role::expert, 12, 127},
    {"model.layers.12.mlp.experts.127.up_proj.weight_scale_inv", Role::expert, 12, 127},
    {"model.layers.12.mlp.experts.gate_up_proj", Role::expert, 12, -2},
    {"model.layers.12.mlp.experts.gate_up_proj_blocks", Role::expert, 12, -2},
    {"model.layers.12.mlp.shared_experts.up_proj.weight", Role::shared_expert, 12, -1},
    {"model.layers.12.mlp.shared_expert_gate.weight", Role::shared_expert, 12, -1},
    {"model.layers.5.block_sparse_moe.experts.7.w2.weight", Role::expert, 5, 7},
    {"model.layers.5.block_sparse_moe.gate.weight", Role::router, 5, -1},
    {"language_model.model.layers.1.feed_forward.router.weight", Role::router, 1, -1},
    {"language_model.model.layers.1.feed_forward.experts.down_proj", Role::expert, 1, -2},
    {"model.layers.4.linear_attn.in_proj_qkvz.weight", Role::ssm, 4, -1},
    {"backbone.layers.4.mixer.in_proj.weight", Role::ssm, 4, -1},
    {"transformer.wte.weight", Role::embedding, -1, -1},
    {"h.11.attn.c_attn.weight", Role::attention, 11, -1},
    {"h.11.ln_1.weight", Role::norm, 11, -1},
    {"transformer.h.11.mlp.c_fc.weight", Role::ffn, 11, -1},
    // no model's
    {"", Role::other, -1, -1},
    {".", Role::other, -1, -1},
    {"....", Role::other, -1, -1},
    {"layers", Role::other, -1, -1},
    {"layers.99999999999.x", Role::other, -1, -1},
    {"layers.-1.x", Role::other, -1, -1},
    {"experts", Role::expert, -1, -2},
};

TEST(TensorName, TellsRoleLayerAndExpert) {
    for (const Case& one : cases) {
        const NameParts parts = parse_tensor_name(one.name);
        EXPECT_EQ(role_name(parts.role), role_name(one.role)) << one.name;
        EXPECT_EQ(parts.layer ? static_cast<int>(*parts.layer) : -1, one.layer) << one.name;
        EXPECT_EQ(parts.fused    ? -2
                  : parts.expert ? static_cast<int>(*parts.expert)
                                 : -1,
                  one.expert)
            << one.name;
    }
}

TEST(Tensor, SlicesAreEquallyLongAndEndWithTheTensor) {
    Tensor tensor;
    tensor.offset = 13'008'832; // gpt-oss-20b, blk.0.ffn_down_exps, as its file map tells
    tensor.bytes = 32ULL * 4'406'400;
    tensor.experts = 32;
    EXPECT_EQ(tensor.slice(1)->offset, 17'415'232U);
    EXPECT_EQ(tensor.slice(1)->length, 4'406'400U);
    EXPECT_EQ(tensor.slice(31)->offset + tensor.slice(31)->length, tensor.offset + tensor.bytes);
    EXPECT_FALSE(tensor.slice(32));
    EXPECT_FALSE(Tensor().slice(0));
}

TEST(Product, SeesOverflow) {
    EXPECT_EQ(product({2, 3}, 4), 24U);
    EXPECT_EQ(product({}, 4), 4U);
    EXPECT_EQ(product({1ULL << 32, 1ULL << 32}), std::nullopt);
    EXPECT_EQ(product({1ULL << 63, 2, 0}), std::nullopt);
}

} // namespace
} // namespace hintier
