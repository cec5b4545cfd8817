// SPDX-License-Identifier: Apache-2.0
/*
 * file_load WHAT COUNT RATE DIR: COUNT files, RATE a second: `create` writes them as vLLM does, by a
 * temporary name; `lookup` asks for them, in the order of their chain, `open` opens and closes them.
 * Prints the nanoseconds of CPU it has used itself, in the kernel too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "file_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void create(const char *name)
{
	char temporary[128];
	int fd;

	snprintf(temporary, sizeof(temporary), "%.36s_x.tmp", name);
	fd = open(temporary, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd < 0 || write(fd, name, 16) != 16 || close(fd) || rename(temporary, name))
		die(name);
}

static void lookup(const char *name)
{
	if (access(name, F_OK))
		die(name);
}

static void just_open(const char *name)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0 || close(fd))
		die(name);
}

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*what)(const char *name) = create;
	long long count, rate, start, cpu;
	char name[64];

	if (argc != 5) {
		fprintf(stderr, "usage: file_load create|lookup|open COUNT RATE DIR\n");
		return 2;
	}
	if (!strcmp(argv[1], "lookup"))
		what = lookup;
	if (!strcmp(argv[1], "open"))
		what = just_open;
	count = atoll(argv[2]);
	rate = atoll(argv[3]);
	if (chdir(argv[4]))
		die(argv[4]);
	just_open("."); /* a process that uses the root: its lookups count */
	if (what == lookup)
		just_open("00000000000000000000000000000000.bin");
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (long long i = 0; i < count; i++) {
		const long long due = start + i * 1000000000LL / rate;
		const struct timespec t = {due / 1000000000LL, due % 1000000000LL};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		snprintf(name, sizeof(name), "%032llx.bin", i);
		what(name);
	}
	printf("%lld\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	return 0;
}
