/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps of files.bpf.c, and the settings that the agent writes before it loads it.
 */
#ifndef HINTIER_BPF_MAPS_H
#define HINTIER_BPF_MAPS_H

#define READERS_MAX 4096 /* processes that use a root */
#define DEVICES_MAX 8

/* The agent's own process: what it opens or removes is no news to it. */
const volatile __u32 self_pid = 0;

/* A looked-up path matters if its last bytes, those of the mask, are one of these. */
const volatile struct {
	__u64 end;
	__u64 mask; /* 0: none */
} suffixes[HINTIER_TRACE_SUFFIXES] = {};

/* Set by the agent: wake it when something urgent comes. */
volatile __u32 armed = 0;

/* Devices with a root: spares files of all others the walk to the top. Beyond, all are walked. */
volatile __u32 devices[DEVICES_MAX] = {};
volatile __u32 more_devices = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HINTIER_TRACE_ROOTS);
	__type(key, struct hintier_root_key);
	__type(value, __u32);
} roots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, READERS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} readers SEC(".maps");

#endif
