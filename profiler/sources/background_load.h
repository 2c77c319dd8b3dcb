/* SPDX-License-Identifier: MIT */
/*
 * Loads a BPF object's programs for perf events in a thread, while libbpf loads the others. The
 * kernel's verifier takes most of a start, and checks programs of privileged processes in parallel.
 *
 *	background_load_begin(&load);
 *	... bpf_object__open, bpf_object__load: a program that does nothing takes its place
 *	err = background_load_end(&load);
 *	... load.fd
 *	background_load_release(&load);
 *
 * At most one such program an object, one object at a time, in one thread.
 */
#ifndef PROFILER_SOURCES_BACKGROUND_LOAD_H
#define PROFILER_SOURCES_BACKGROUND_LOAD_H

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct background_load {
	int fd;        /* the loaded program, owned; -1: none */
	int err;       /* 0 or -errno */
	bool is_begun; /* the thread runs, or has run */
	pthread_t thread;
	/* copies of what the program is loaded from */
	char name[BPF_OBJ_NAME_LEN];
	struct bpf_insn *list;
	size_t count;
	struct bpf_prog_load_opts options;
};

/* Begins: objects opened from here on. Returns 0 or -errno. */
int background_load_begin(struct background_load *load);

/*
 * Waits for the thread, which uses the object. Returns 0, or -errno of the load. Then `fd` is the
 * program, or -1 if libbpf loaded it, or none.
 */
int background_load_end(struct background_load *load);

/* Ends the load, and closes the program. */
void background_load_release(struct background_load *load);

#endif
