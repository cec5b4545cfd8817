// SPDX-License-Identifier: Apache-2.0
/*
 * fake_server [STEPS]: a prompt of 512 tokens, STEPS tokens one by one, a state saved and loaded.
 * Waits for a line before it begins, and for another before it ends.
 */
#include "fake_llama.h"

#include <stdio.h>
#include <stdlib.h>

static void wait_for_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 10;
	struct llama_batch batch = {.n_tokens = 512};
	int32_t tokens[512] = {0};
	size_t count = 0;
	int failed;

	wait_for_line();
	failed = llama_encode(NULL, batch) + llama_decode(NULL, batch);
	batch.n_tokens = 1;
	for (int i = 0; i < steps; i++)
		failed += llama_decode(NULL, batch);
	failed += llama_state_get_size(NULL);
	failed += llama_state_seq_save_file(NULL, "state", 0, tokens, 512) != 512;
	failed += llama_state_seq_load_file(NULL, "state", 0, tokens, 512, &count) != 512;
	printf("done\n");
	fflush(stdout);
	wait_for_line();
	return failed != 0;
}
