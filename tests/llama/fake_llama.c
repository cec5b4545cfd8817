// SPDX-License-Identifier: Apache-2.0
// A library with llama.cpp's names that computes nothing.
#include "fake_llama.h"

#include <unistd.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

EXPORTED int32_t llama_decode(struct llama_context *ctx, struct llama_batch batch)
{
	(void)ctx;
	usleep(1000);
	return batch.n_tokens < 0;
}

EXPORTED int32_t llama_encode(struct llama_context *ctx, struct llama_batch batch)
{
	(void)ctx;
	return batch.n_tokens < 0;
}

EXPORTED size_t llama_state_seq_save_file(struct llama_context *ctx, const char *path, int32_t seq,
					  const int32_t *tokens, size_t count)
{
	(void)ctx, (void)path, (void)seq, (void)tokens;
	return count;
}

EXPORTED size_t llama_state_seq_load_file(struct llama_context *ctx, const char *path, int32_t seq,
					  int32_t *tokens, size_t room, size_t *count)
{
	(void)ctx, (void)path, (void)seq, (void)tokens;
	*count = room;
	return room;
}

EXPORTED int32_t llama_state_get_size(struct llama_context *ctx)
{
	(void)ctx;
	return 0;
}
