// SPDX-License-Identifier: MIT
#include "profiler/sources/background_load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LICENSE "Dual MIT/GPL"

/* The load in progress, for libbpf's callback. */
static struct background_load *current;

static void *run(void *context)
{
	struct background_load *load = context;

	load->fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, load->name, LICENSE, load->list,
				 load->count, &load->options);
	if (load->fd < 0)
		load->err = -errno;
	return NULL;
}

/* Copies what libbpf is about to load. The options point into the object. */
static bool copy(struct background_load *load, const struct bpf_program *program,
		 const struct bpf_prog_load_opts *options)
{
	const size_t size =
		options->sz < sizeof(load->options) ? options->sz : sizeof(load->options);

	load->count = bpf_program__insn_cnt(program);
	load->list = malloc(load->count * sizeof(*load->list));
	if (!load->list)
		return false;
	memcpy(load->list, bpf_program__insns(program), load->count * sizeof(*load->list));
	memcpy(&load->options, options, size);
	load->options.sz = sizeof(load->options);
	snprintf(load->name, sizeof(load->name), "%s", bpf_program__name(program));
	return true;
}

/* Starts the thread, and gives libbpf a program that returns 0. Without memory libbpf loads all. */
static int divert(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	static struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct background_load *load = current;

	(void)cookie;
	if (!load || load->is_begun || !copy(load, program, options))
		return 0;
	if (pthread_create(&load->thread, NULL, run, load) != 0)
		return 0;
	load->is_begun = true;
	options->func_info = options->line_info = NULL;
	options->func_info_cnt = options->line_info_cnt = 0;
	return bpf_program__set_insns(program, nothing, sizeof(nothing) / sizeof(nothing[0]));
}

int background_load_begin(struct background_load *load)
{
	static bool is_registered; /* for all objects: see bpf_types */
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = divert);

	*load = (struct background_load){.fd = -1};
	if (!is_registered) {
		int id = libbpf_register_prog_handler("perf_event", BPF_PROG_TYPE_PERF_EVENT, 0,
						      &options);

		if (id < 0)
			return id;
		is_registered = true;
	}
	current = load;
	return 0;
}

int background_load_end(struct background_load *load)
{
	current = NULL;
	if (load->is_begun)
		pthread_join(load->thread, NULL);
	load->is_begun = false;
	free(load->list);
	load->list = NULL;
	return load->err;
}

void background_load_release(struct background_load *load)
{
	background_load_end(load);
	if (load->fd >= 0)
		close(load->fd);
	load->fd = -1;
}
