// SPDX-License-Identifier: MIT
#include "profiler/sources/bpf_source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "bpf/stacks.skel.h"

#define RING_BYTES (32u << 20) /* 0.5 s of 200,000 launches/s with 30 frames */
#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, Linux 6.6, newer than our headers */
#define UPROBE_MULTI_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN, likewise */

/* The head of union bpf_attr for BPF_LINK_CREATE with uprobe_multi (linux/bpf.h, Linux 6.6). */
struct uprobe_multi_attr {
	__u32 prog_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 link_flags;
	__u64 path;
	__u64 offsets;
	__u64 ref_ctr_offsets;
	__u64 cookies;
	__u32 count;
	__u32 flags;
	__u32 pid;
	__u32 padding;
};

/* What a program is attached to. */
struct kept_link {
	pid_t pid; /* a probe in this process only; 0: for good */
	int fd;    /* a link of many places; -1: it is `link` */
	struct bpf_link *link;
};

struct bpf_source {
	struct bpf_source_options options;
	struct stacks *bpf;
	struct ring_buffer *ring;
	struct kept_link *links;
	uint32_t link_count, link_capacity;
	bool has_multi;
	bool has_snapshots; /* this kernel gives user registers (Linux 5.15); else frame pointers */
	bpf_source_handler handler;
	void *handler_context;
	size_t drained; /* bytes, in this call of bpf_source_drain */
};

static int stay_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static void remove_link(const struct kept_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	else
		bpf_link__destroy(link->link);
}

/* 0, or -ENOMEM and it is removed. */
static int keep(struct bpf_source *s, struct kept_link link)
{
	if (s->link_count == s->link_capacity) {
		uint32_t capacity = s->link_capacity ? s->link_capacity * 2 : 64;
		struct kept_link *links = realloc(s->links, capacity * sizeof(*links));

		if (!links) {
			remove_link(&link);
			return -ENOMEM;
		}
		s->links = links;
		s->link_capacity = capacity;
	}
	s->links[s->link_count++] = link;
	return 0;
}

/* `link` as libbpf gave it: NULL with errno set where attaching failed. */
static int keep_link(struct bpf_source *s, pid_t pid, struct bpf_link *link)
{
	return link ? keep(s, (struct kept_link){pid, -1, link}) : -errno;
}

/* Frames of what may be told; NULL with `*is_valid` for a snapshot, which has its own. */
static const __u64 *frames_of(const struct stack_event *event, size_t size, bool *is_valid)
{
	*is_valid = true;
	if (size == sizeof(struct stack_snapshot) && event->kind == STACK_EVENT_CPU_SNAPSHOT)
		return NULL;
	if (size == STACK_CALL_SIZE && event->kind == STACK_EVENT_CALL)
		return NULL;
	*is_valid = size >= sizeof(*event) && event->kind != STACK_EVENT_CPU_SNAPSHOT &&
		    event->kind != STACK_EVENT_CALL &&
		    size == sizeof(*event) +
				    (event->user_frames + event->kernel_frames) * sizeof(__u64);
	return (const __u64 *)(event + 1);
}

/* -ENOBUFS stops after this event, which counts as read. */
static int on_event(void *context, void *data, size_t size)
{
	struct bpf_source *s = context;
	bool is_valid;
	const __u64 *frames = frames_of(data, size, &is_valid);

	if (is_valid)
		s->handler(s->handler_context, data, frames);
	s->drained += size;
	return s->drained >= BPF_SOURCE_BATCH ? -ENOBUFS : 0;
}

static void explain_load(int err, char *error, size_t size)
{
	if (err == -EPERM || err == -EACCES)
		snprintf(error, size,
			 "loading eBPF programs is not permitted; run with sudo, or give the "
			 "binary CAP_BPF and CAP_PERFMON");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(error, size,
			 "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing); a kernel "
			 "built with CONFIG_DEBUG_INFO_BTF is needed (Linux 5.11 or later)");
	else
		snprintf(error, size,
			 "the kernel refused the eBPF programs: %s; Linux 5.11 or "
			 "later is needed",
			 strerror(-err));
}

#define LINUX(major, minor) ((major) << 8 | (minor))

static unsigned int kernel_release(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return major << 8 | (minor & 0xff);
}

bool bpf_source_may_probe_returns(void)
{
	return kernel_release() < LINUX(6, 11) || kernel_release() >= LINUX(6, 14);
}

/* Before 6.10 one link for many places kept to a thread, not to a process. */
static bool has_multi_by_process(const struct bpf_source *s)
{
	return s->has_multi && kernel_release() >= LINUX(6, 10);
}

/* A probe's program for the way of attaching it: one takes some 20 ms to load. */
static void choose_probe(struct bpf_program *multi, struct bpf_program *single, bool wanted,
			 bool many)
{
	bpf_program__set_expected_attach_type(multi, ATTACH_UPROBE_MULTI);
	bpf_program__set_autoload(multi, wanted && many);
	bpf_program__set_autoload(single, wanted && !many);
}

static int load(struct bpf_source *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct stacks *bpf = s->bpf;
	bool calls = s->options.calls && s->has_snapshots, samples = s->options.sample_hz > 0;
	bool by_process = has_multi_by_process(s);
	int err;

	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf->rodata->times_calls = calls;
	bpf->rodata->calls_bytes = RING_BYTES / 4 * 3;
	bpf_program__set_autoload(bpf->progs.on_exec, calls);
	choose_probe(bpf->progs.launch_multi, bpf->progs.launch_single, s->options.launches,
		     s->has_multi);
	choose_probe(bpf->progs.call_multi, bpf->progs.call_single, calls, by_process);
	choose_probe(bpf->progs.call_end_multi, bpf->progs.call_end_single, calls, by_process);
	choose_probe(bpf->progs.subscribe_end_multi, bpf->progs.subscribe_end_single, calls,
		     s->has_multi);
	bpf_program__set_autoload(bpf->progs.cpu_snapshot, samples && s->has_snapshots);
	bpf_program__set_autoload(bpf->progs.cpu_sample, samples && !s->has_snapshots);
	err = stacks__load(bpf);
	if (err)
		return err;
	return bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_pidns_level), &run);
}

/* Loads with all that a new kernel has, else with less. */
static int open_and_load(struct bpf_source *s)
{
	int err = -EINVAL;

	for (int attempt = 0; attempt < 3; attempt++) {
		s->has_multi = attempt == 0;
		s->has_snapshots = attempt < 2;
		s->bpf = stacks__open();
		if (!s->bpf)
			return -errno;
		err = load(s);
		if (err == 0 || err == -EPERM)
			break;
		stacks__destroy(s->bpf);
		s->bpf = NULL;
	}
	return err;
}

struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size)
{
	struct bpf_source *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		goto out;
	s->options = *options;
	libbpf_set_print(stay_quiet);
	err = open_and_load(s);
	if (!err)
		err = keep_link(s, 0, bpf_program__attach(s->bpf->progs.on_fork));
	if (!err)
		err = keep_link(s, 0, bpf_program__attach(s->bpf->progs.on_exit));
	if (!err && bpf_source_has_calls(s))
		err = keep_link(s, 0, bpf_program__attach(s->bpf->progs.on_exec));
	if (!err) {
		s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), on_event, s, NULL);
		if (!s->ring)
			err = -errno;
	}
out:
	if (!err)
		return s;
	explain_load(err, error, error_size);
	bpf_source_close(s);
	return NULL;
}

void bpf_source_close(struct bpf_source *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->link_count; i++)
		remove_link(&s->links[i]);
	free(s->links);
	ring_buffer__free(s->ring);
	stacks__destroy(s->bpf);
	free(s);
}

int bpf_source_track(struct bpf_source *s, pid_t pid)
{
	__u32 key = (__u32)pid;
	__u8 yes = 1;
	int err = bpf_map__update_elem(s->bpf->maps.tracked, &key, sizeof(key), &yes, sizeof(yes),
				       BPF_ANY);

	return err;
}

int bpf_source_set_python(struct bpf_source *s, pid_t pid, const struct stack_python *python)
{
	__u32 key = (__u32)pid;
	int err;

	if (python)
		return bpf_map__update_elem(s->bpf->maps.pythons, &key, sizeof(key), python,
					    sizeof(*python), BPF_ANY);
	err = bpf_map__delete_elem(s->bpf->maps.pythons, &key, sizeof(key), 0);
	return err == -ENOENT ? 0 : err;
}

bool bpf_source_follows(const struct bpf_source *s, pid_t pid)
{
	__u32 key = (__u32)pid;
	__u8 value;

	return bpf_map__lookup_elem(s->bpf->maps.tracked, &key, sizeof(key), &value, sizeof(value),
				    0) == 0;
}

bool bpf_source_has_calls(const struct bpf_source *s)
{
	return s->options.calls && s->has_snapshots;
}

int bpf_source_time_calls(struct bpf_source *s, pid_t pid, bool on)
{
	__u32 key = (__u32)pid;
	__u8 yes = 1;
	int err;

	if (!bpf_source_has_calls(s))
		return -EOPNOTSUPP;
	if (!on) {
		err = bpf_map__delete_elem(s->bpf->maps.timed, &key, sizeof(key), 0);
		return err == -ENOENT ? 0 : err;
	}
	return bpf_map__update_elem(s->bpf->maps.timed, &key, sizeof(key), &yes, sizeof(yes),
				    BPF_ANY);
}

static int start_clock(struct bpf_source *s, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / s->options.sample_hz,
		.exclude_idle = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = keep_link(s, 0,
			bpf_program__attach_perf_event(s->has_snapshots ? s->bpf->progs.cpu_snapshot
									: s->bpf->progs.cpu_sample,
						       fd));
	if (err)
		close(fd);
	return err;
}

int bpf_source_start(struct bpf_source *s, char *error, size_t error_size)
{
	int cpus = libbpf_num_possible_cpus(), started = 0, err = -ENODEV;

	if (s->options.sample_hz == 0)
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = start_clock(s, cpu);
		if (err == 0)
			started++;
		else if (err != -ENODEV && err != -ENXIO) /* those: an offline CPU */
			break;
	}
	if (started > 0 && (err == 0 || err == -ENODEV || err == -ENXIO))
		return 0;
	snprintf(error, error_size, "cannot start the sampling clock: %s%s", strerror(-err),
		 err == -EACCES || err == -EPERM ? "; run with sudo, or give the binary CAP_PERFMON"
						 : "");
	return err;
}

static int attach_multi(struct bpf_source *s, struct bpf_program *program, bool at_return,
			pid_t pid, const char *path, const uint64_t *offsets,
			const uint64_t *functions, uint32_t count)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(program),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (__u64)(uintptr_t)path,
		.offsets = (__u64)(uintptr_t)offsets,
		.cookies = (__u64)(uintptr_t)functions,
		.count = count,
		.flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (__u32)pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : keep(s, (struct kept_link){pid, fd, NULL});
}

static int attach_single(struct bpf_source *s, struct bpf_program *program, bool at_return,
			 pid_t pid, const char *path, uint64_t offset, uint64_t function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = function, .retprobe = at_return);

	return keep_link(
		s, pid,
		bpf_program__attach_uprobe_opts(program, pid ? pid : -1, path, offset, &opts));
}

static int attach(struct bpf_source *s, struct bpf_program *multi, struct bpf_program *single,
		  bool at_return, pid_t pid, const char *path, const uint64_t *offsets,
		  const uint64_t *functions, uint32_t count)
{
	int err = 0;

	if (pid ? has_multi_by_process(s) : s->has_multi)
		return attach_multi(s, multi, at_return, pid, path, offsets, functions, count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = attach_single(s, single, at_return, pid, path, offsets[i], functions[i]);
	return err;
}

void bpf_source_remove_probes(struct bpf_source *s, pid_t pid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->link_count; i++) {
		if (s->links[i].pid == pid)
			remove_link(&s->links[i]);
		else
			s->links[kept++] = s->links[i];
	}
	s->link_count = kept;
}

int bpf_source_probe(struct bpf_source *s, enum bpf_source_probe probe, pid_t pid, const char *path,
		     const uint64_t *offsets, const uint64_t *functions, uint32_t count)
{
	int err;

	if (count == 0)
		return 0;
	if (probe == PROBE_LAUNCH)
		return attach(s, s->bpf->progs.launch_multi, s->bpf->progs.launch_single, false,
			      pid, path, offsets, functions, count);
	if (!bpf_source_has_calls(s))
		return -EOPNOTSUPP;
	if (probe == PROBE_SUBSCRIBE)
		return attach(s, s->bpf->progs.subscribe_end_multi,
			      s->bpf->progs.subscribe_end_single, true, pid, path, offsets,
			      functions, count);
	/* the returns first: an entry without its return would last for ever */
	err = attach(s, s->bpf->progs.call_end_multi, s->bpf->progs.call_end_single, true, pid,
		     path, offsets, functions, count);
	if (err)
		return err;
	return attach(s, s->bpf->progs.call_multi, s->bpf->progs.call_single, false, pid, path,
		      offsets, functions, count);
}

int bpf_source_fd(const struct bpf_source *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

bool bpf_source_drain(struct bpf_source *s, bpf_source_handler handler, void *context)
{
	s->handler = handler;
	s->handler_context = context;
	s->drained = 0;
	return ring_buffer__consume(s->ring) != -ENOBUFS;
}

struct stack_counters bpf_source_counters(const struct bpf_source *s)
{
	return s->bpf->bss->counters;
}
