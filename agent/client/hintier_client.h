/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an inference server tells hintierd: a few calls over a Unix socket, each one line there and
 * one line back. Take this file and hintier_client.c into your own tree; nothing else is needed.
 *
 * Names are file names of KV blocks, or paths below the watched directory `root`, head of the
 * chain first. `root` may be NULL when hintierd watches only one. A call answers 0 or a negative
 * errno, and hintier_error() says why in words. Not for use by two threads at once.
 *
 * When hintierd is not there, nothing is lost but speed: ignore errors, and try to connect again
 * now and then.
 */
#ifndef HINTIER_CLIENT_H
#define HINTIER_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HINTIER_SOCKET "/run/hintier/hintierd.sock"

struct hintier_client;

/* NULL with errno set on failure. `path`: NULL for HINTIER_SOCKET. */
struct hintier_client *hintier_connect(const char *path);
void hintier_close(struct hintier_client *client);
const char *hintier_error(const struct hintier_client *client);

/* A session and its blocks so far; call it again to add blocks. */
int hintier_session_started(struct hintier_client *client, const char *session, const char *root,
			    const char *const *names, size_t count);
/* It goes on in so many milliseconds: have its blocks fetched by then. */
int hintier_session_resumes(struct hintier_client *client, const char *session, uint32_t in_ms);
/* Nobody will read its blocks again. `names` NULL: those told before. */
int hintier_session_ended(struct hintier_client *client, const char *session, const char *root,
			  const char *const *names, size_t count);
/* A request waits that will read these blocks. `session` may be NULL. */
int hintier_request_queued(struct hintier_client *client, const char *session, const char *root,
			   const char *const *names, size_t count, uint32_t in_ms);
/* The file open for reading as `fd` will be read whole in so many milliseconds. */
int hintier_load(struct hintier_client *client, int fd, uint32_t in_ms);

/* 1: restoring `bytes` of KV is faster than computing them again in recompute_ms; 0: it is not.
 * `restore_ms` (may be NULL) is set to how long restoring would take. */
int hintier_advise(struct hintier_client *client, uint64_t bytes, uint64_t recompute_ms,
		   uint64_t *restore_ms);

#ifdef __cplusplus
}
#endif

#endif
