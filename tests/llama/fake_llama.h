/* SPDX-License-Identifier: Apache-2.0 */
/* As much of llama.h as its callers' probes look at: the names, and how a batch is passed. */
#ifndef FAKE_LLAMA_H
#define FAKE_LLAMA_H

#include <stddef.h>
#include <stdint.h>

struct llama_context;

struct llama_batch {
	int32_t n_tokens;
	int32_t *token;
	float *embd;
	int32_t *pos;
	int32_t *n_seq_id;
	int32_t **seq_id;
	int8_t *logits;
};

int32_t llama_decode(struct llama_context *ctx, struct llama_batch batch);
int32_t llama_encode(struct llama_context *ctx, struct llama_batch batch);
size_t llama_state_seq_save_file(struct llama_context *ctx, const char *path, int32_t seq,
				 const int32_t *tokens, size_t count);
size_t llama_state_seq_load_file(struct llama_context *ctx, const char *path, int32_t seq,
				 int32_t *tokens, size_t room, size_t *count);
/* Looks like them and tells nothing: nobody is to count it. */
int32_t llama_state_get_size(struct llama_context *ctx);

#endif
