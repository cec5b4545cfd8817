/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hintier_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 5
#define LONGEST_ANSWER (1 << 20)

struct text {
	char *bytes;
	size_t length, room;
	bool failed; /* no memory */
};

struct hintier_client {
	int fd;
	struct text out, in;
	char error[256];
};

/* ---- text that grows ---- */

static void add(struct text *text, const char *bytes, size_t length)
{
	if (text->failed)
		return;
	if (text->room - text->length < length + 1) {
		size_t room = (text->length + length + 1) * 2;
		char *larger = realloc(text->bytes, room);

		if (!larger) {
			text->failed = true;
			return;
		}
		text->bytes = larger;
		text->room = room;
	}
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = 0;
}

static void add_text(struct text *text, const char *words)
{
	add(text, words, strlen(words));
}

/* As a JSON string; bytes beyond ASCII go through, as UTF-8 if they are. */
static void add_string(struct text *text, const char *value)
{
	add_text(text, "\"");
	for (; *value; value++) {
		char escape[8];

		if (*value == '"' || *value == '\\') {
			add_text(text, "\\");
			add(text, value, 1);
		} else if ((unsigned char)*value < 0x20) {
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*value);
			add_text(text, escape);
		} else {
			add(text, value, 1);
		}
	}
	add_text(text, "\"");
}

static void add_member(struct text *text, const char *name, const char *value)
{
	if (!value)
		return;
	add_text(text, ",\"");
	add_text(text, name);
	add_text(text, "\":");
	add_string(text, value);
}

static void add_number(struct text *text, const char *name, uint64_t value)
{
	char member[64];

	snprintf(member, sizeof(member), ",\"%s\":%" PRIu64, name, value);
	add_text(text, member);
}

static void add_names(struct text *text, const char *const *names, size_t count)
{
	size_t i;

	if (!names)
		return;
	add_text(text, ",\"names\":[");
	for (i = 0; i < count; i++) {
		if (i)
			add_text(text, ",");
		add_string(text, names[i]);
	}
	add_text(text, "]");
}

/* ---- answers: one flat object, as hintierd writes it ---- */

/* Where the value of a member begins; NULL if there is none. Strings are stepped over. */
static const char *member(const char *answer, const char *name)
{
	size_t length = strlen(name);
	const char *at = answer;

	while (*at) {
		const char *begin;

		if (*at++ != '"')
			continue;
		for (begin = at; *at && *at != '"'; at++)
			if (*at == '\\' && at[1])
				at++;
		if (!*at)
			return NULL;
		if ((size_t)(at - begin) == length && !memcmp(begin, name, length) && at[1] == ':')
			return at + 2;
		at++;
	}
	return NULL;
}

static bool is_true(const char *answer, const char *name)
{
	const char *value = member(answer, name);

	return value && !strncmp(value, "true", 4);
}

/* ---- one line there, one line back ---- */

/* hintierd's reason, without JSON's backslashes. */
static void take_reason(struct hintier_client *client)
{
	const char *at = member(client->in.bytes, "error");
	size_t n = 0;

	if (!at || *at != '"')
		at = "\"refused\"";
	for (at++; *at && *at != '"' && n + 1 < sizeof(client->error); at++) {
		if (*at == '\\' && at[1])
			at++;
		client->error[n++] = *at;
	}
	client->error[n] = 0;
}

static int failed(struct hintier_client *client, int error, const char *what)
{
	snprintf(client->error, sizeof(client->error), "%s: %s", what, strerror(error));
	return -error;
}

static void hang_up(struct hintier_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static void begin(struct hintier_client *client, const char *op)
{
	client->out.length = 0;
	client->out.failed = false;
	add_text(&client->out, "{\"op\":");
	add_string(&client->out, op);
}

/* The descriptor, if there is one, travels with the first byte. */
static int send_all(struct hintier_client *client, int passed)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	size_t sent = 0;

	while (sent < client->out.length) {
		struct iovec data = { client->out.bytes + sent, client->out.length - sent };
		struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
		ssize_t n;

		if (passed >= 0 && !sent) {
			memset(&control, 0, sizeof(control));
			control.header.cmsg_level = SOL_SOCKET;
			control.header.cmsg_type = SCM_RIGHTS;
			control.header.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
			message.msg_control = &control;
			message.msg_controllen = sizeof(control.bytes);
		}
		n = sendmsg(client->fd, &message, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return 0;
}

static int receive_line(struct hintier_client *client)
{
	client->in.length = 0;
	client->in.failed = false;
	for (;;) {
		char part[4096];
		ssize_t n = recv(client->fd, part, sizeof(part), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (!n)
			return -EPIPE;
		add(&client->in, part, (size_t)n);
		if (client->in.failed)
			return -ENOMEM;
		if (part[n - 1] == '\n')
			return 0;
		if (client->in.length > LONGEST_ANSWER)
			return -EMSGSIZE;
	}
}

static int finish(struct hintier_client *client, int passed)
{
	int error;

	add_text(&client->out, "}\n");
	if (client->out.failed)
		return failed(client, ENOMEM, "request");
	if (client->fd < 0)
		return failed(client, ENOTCONN, "hintierd");
	error = send_all(client, passed);
	if (!error)
		error = receive_line(client);
	if (error) { /* what else comes on this connection could belong to another question */
		hang_up(client);
		return failed(client, -error, "hintierd");
	}
	if (is_true(client->in.bytes, "ok"))
		return 0;
	take_reason(client);
	return -EINVAL;
}

/* ---- the calls ---- */

struct hintier_client *hintier_connect(const char *path)
{
	struct timeval patience = { PATIENCE_S, 0 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct hintier_client *client;
	int error;

	if (!path)
		path = HINTIER_SOCKET;
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	strcpy(address.sun_path, path);
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd >= 0) {
		setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		if (!connect(client->fd, (struct sockaddr *)&address, sizeof(address)))
			return client;
	}
	error = errno;
	hintier_close(client);
	errno = error;
	return NULL;
}

void hintier_close(struct hintier_client *client)
{
	if (!client)
		return;
	hang_up(client);
	free(client->out.bytes);
	free(client->in.bytes);
	free(client);
}

const char *hintier_error(const struct hintier_client *client)
{
	return client->error;
}

int hintier_session_started(struct hintier_client *client, const char *session, const char *root,
			    const char *const *names, size_t count)
{
	begin(client, "session_started");
	add_member(&client->out, "session", session);
	add_member(&client->out, "root", root);
	add_names(&client->out, names, count);
	return finish(client, -1);
}

int hintier_session_resumes(struct hintier_client *client, const char *session, uint32_t in_ms)
{
	begin(client, "session_resumes");
	add_member(&client->out, "session", session);
	add_number(&client->out, "in_ms", in_ms);
	return finish(client, -1);
}

int hintier_session_ended(struct hintier_client *client, const char *session, const char *root,
			  const char *const *names, size_t count)
{
	begin(client, "session_ended");
	add_member(&client->out, "session", session);
	add_member(&client->out, "root", root);
	add_names(&client->out, names, count);
	return finish(client, -1);
}

int hintier_request_queued(struct hintier_client *client, const char *session, const char *root,
			   const char *const *names, size_t count, uint32_t in_ms)
{
	begin(client, "request_queued");
	add_member(&client->out, "session", session);
	add_member(&client->out, "root", root);
	add_names(&client->out, names, count);
	add_number(&client->out, "in_ms", in_ms);
	return finish(client, -1);
}

int hintier_load(struct hintier_client *client, int fd, uint32_t in_ms)
{
	begin(client, "load");
	add_number(&client->out, "in_ms", in_ms);
	add_number(&client->out, "fds", 1);
	return finish(client, fd);
}

int hintier_advise(struct hintier_client *client, uint64_t bytes, uint64_t recompute_ms,
		   uint64_t *restore_ms)
{
	const char *value;
	int error;

	begin(client, "advise");
	add_number(&client->out, "bytes", bytes);
	add_number(&client->out, "recompute_ms", recompute_ms);
	error = finish(client, -1);
	if (error)
		return error;
	value = member(client->in.bytes, "restore_ms");
	if (restore_ms)
		*restore_ms = value ? strtoull(value, NULL, 10) : 0;
	return is_true(client->in.bytes, "restore");
}
