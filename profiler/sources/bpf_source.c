// SPDX-License-Identifier: MIT
#include "profiler/sources/bpf_source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "bpf/stacks.skel.h"
#include "profiler/base/capability_advice.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/base/gpu_devices.h"
#include "profiler/base/measure.h"
#include "profiler/sources/background_load.h"
#include "profiler/sources/bpf_types.h"
#include "profiler/sources/event_ring.h"
#include "profiler/sources/kernel_names.h"
#include "symbolize/util/array.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/monotonic.h"

#define RING_BYTES (32u << 20) /* at most; the kernel takes 0.2 ms for each MiB */
#define LEAST_RING_BYTES (8u << 20)
#define RING_BYTES_PER_CPU (4u << 20)
#define RING_SAMPLES_PER_S 10           /* room for a tenth of a second of the largest samples */
#define LAUNCHES_RING_BYTES (64u << 20) /* 40 ms of 500,000 launches/s with 2 KiB of stack */
#define SLOTS (1u << 14)                /* SLOT_BITS of off_cpu.bpf.h */
#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI of Linux 6.6, missing in older headers */
#define UPROBE_MULTI_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN of Linux 6.6 */
#define VARY_NS 1000000000u
#define GOLDEN_SECTION 0.3819660

/* Head of union bpf_attr for BPF_LINK_CREATE with uprobe_multi (linux/bpf.h, Linux 6.6). */
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

/* Timeout of all probes together; each takes longer the more processes have probes. */
#define PROBING_RUN_MS 60000
/* Timeout of one blocked call, which also waits for other CPUs. */
#define PROBING_SLEEP_MS 20000
#define ATTACHED_PROBING_SLEEP_MS 2000 /* limit in processes that already run */
#define CLOSING_MS 500                 /* closing that takes longer is abandoned */
#define ALL_PROCESSES (-1)

/* Attachment of a BPF program. */
struct kept_link {
	pid_t pid;       /* the only process probed; 0: permanent */
	bool is_lookout; /* set by PROBE_SUBSCRIBE or PROBE_DRIVER */
	int fd;          /* multi-probe link; -1: see `link` */
	struct bpf_link *link;
};

struct kept_links {
	struct kept_link *list;
	uint32_t count, capacity;
};

struct bpf_source {
	struct bpf_source_options options;
	struct stacks *bpf;
	struct event_ring ring;
	struct kept_links links;
	int sampling; /* the program of the clocks; -1: `bpf` has it */
	int *clocks;
	uint32_t clock_count, clock_capacity;
	uint32_t ring_bytes;
	uint64_t varied_ns;             /* time of the last change of the clocks' period */
	struct bpf_link *all_times;     /* iterator over times of running threads */
	int times_fd;                   /* descriptor of the iterator; -1: not opened */
	struct bounded_caller *probing; /* runs probing calls; NULL: none so far */
	struct bounded_caller *leaving; /* removes lookouts; NULL: not begun */
	bool has_multi;                 /* kernel supports multi-probe links */
	bool has_probes;
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

/* Keeps a link. Returns 0, or -ENOMEM with the link removed. */
static int keep(struct kept_links *links, struct kept_link link)
{
	if (!array_make_room(&links->list, links->count, &links->capacity, sizeof(link))) {
		remove_link(&link);
		return -ENOMEM;
	}
	links->list[links->count++] = link;
	return 0;
}

/* Keeps libbpf's result `link`, which is NULL with errno set if attaching failed. */
static int keep_link(struct kept_links *links, pid_t pid, struct bpf_link *link)
{
	return link ? keep(links, (struct kept_link){.pid = pid, .fd = -1, .link = link}) : -errno;
}

/*
 * Returns the caller that sets and removes probes with a timeout. The kernel then locks the
 * mappings of each process that maps the file, and may read the file. Either may block forever.
 * Returns NULL if memory is exhausted.
 */
static struct bounded_caller *probing(struct bpf_source *s)
{
	if (s->probing)
		return s->probing;
	s->probing = bounded_caller_new(PROBING_RUN_MS);
	if (s->probing) {
		bounded_caller_keep_capabilities(s->probing);
		bounded_caller_limit_sleep(s->probing, s->options.running
							       ? ATTACHED_PROBING_SLEEP_MS
							       : PROBING_SLEEP_MS);
	}
	return s->probing;
}

struct removal {
	struct bounded_job job;
	uint32_t count;
	struct kept_link links[];
};

static void run_removal(struct bounded_job *opaque)
{
	struct removal *removal = (struct removal *)opaque;

	for (uint32_t i = 0; i < removal->count; i++)
		remove_link(&removal->links[i]);
}

/*
 * Removes the links of a process, or all links. Returns false on a timeout or without memory: the
 * remaining links end with this process.
 */
static bool remove_links(struct bpf_source *s, pid_t pid, unsigned int ms)
{
	struct bounded_caller *calls = probing(s);
	struct removal *removal =
		calls ? bounded_job_new(sizeof(*removal) + s->links.count * sizeof(*s->links.list),
					run_removal, NULL)
		      : NULL;
	uint32_t kept = 0;

	if (!removal)
		return false;
	for (uint32_t i = 0; i < s->links.count; i++) {
		if (pid == ALL_PROCESSES || s->links.list[i].pid == pid)
			removal->links[removal->count++] = s->links.list[i];
		else
			s->links.list[kept++] = s->links.list[i];
	}
	s->links.count = kept;
	if (bounded_call(calls, &removal->job, ms) != 0)
		return false;
	free(removal);
	return true;
}

void bpf_source_end_lookouts(struct bpf_source *s)
{
	struct removal *removal = bounded_job_new(
		sizeof(*removal) + s->links.count * sizeof(*s->links.list), run_removal, NULL);
	uint32_t kept = 0;

	s->leaving = removal && !s->leaving ? bounded_caller_new(PROBING_RUN_MS) : s->leaving;
	for (uint32_t i = 0; removal && s->leaving && i < s->links.count; i++) {
		if (s->links.list[i].is_lookout)
			removal->links[removal->count++] = s->links.list[i];
		else
			s->links.list[kept++] = s->links.list[i];
	}
	if (!removal || !s->leaving || removal->count == 0) {
		free(removal);
		return;
	}
	s->links.count = kept;
	/* left behind at once: the worker goes on, and frees the job */
	if (bounded_call(s->leaving, &removal->job, 0) == 0)
		free(removal);
}

static void explain_load(int err, char *error, size_t size)
{
	if (err == -EPERM) /* EACCES: the verifier rejected the program */
		snprintf(error, size, "loading eBPF programs is not permitted; " CAPABILITY_ADVICE);
	else if (access("/sys/kernel", F_OK) != 0)
		snprintf(error, size,
			 "/sys is not mounted; the kernel's BTF types are at "
			 "/sys/kernel/btf/vmlinux: mount it, as with 'mount -t sysfs none /sys'");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(error, size,
			 "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing); a kernel "
			 "built with CONFIG_DEBUG_INFO_BTF is needed (Linux 5.15 or later)");
	else
		snprintf(error, size, "the kernel refused the eBPF programs: %s%s", strerror(-err),
			 err == -EMFILE || err == -ENFILE || err == -ENOMEM
				 ? "; raise the limit (ulimit)"
				 : "; Linux 5.15 or later is needed");
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

/* ---- opening ---- */

/*
 * Makes maps preallocate before Linux 6.1: programs of sampling clocks may not allocate on demand
 * there.
 */
static void choose_map_flags(struct stacks *bpf)
{
	struct bpf_map *maps[] = {bpf->maps.tracked, bpf->maps.timed, bpf->maps.pythons,
				  bpf->maps.ending};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		if (kernel_release() < LINUX(6, 1))
			bpf_map__set_map_flags(maps[i], 0);
}

/*
 * Returns true if threads of running processes are followed. Before Linux 6.1, sleepable programs,
 * such as the one that follows threads, may not use our maps.
 */
static bool follows_threads(const struct bpf_source_options *o)
{
	return o->times && o->running && kernel_release() >= LINUX(6, 1);
}

/* Returns true if the kernel has bpf_rdonly_cast. */
static bool has_casts(const struct bpf_source_options *o)
{
	return kernel_release() >= LINUX(6, 2) && !o->without_casts;
}

/* Loads only the programs that are needed, because loading takes time. */
static void choose_programs(const struct bpf_source *s, struct stacks *bpf)
{
	const struct bpf_source_options *o = &s->options;
	struct bpf_program *probes[] = {bpf->progs.enter_function, bpf->progs.leave_function,
					bpf->progs.leave_subscribe, bpf->progs.enter_driver};

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		bpf_program__set_autoload(probes[i], o->calls || (i == 0 && o->launches));
		if (s->has_multi)
			bpf_program__set_expected_attach_type(probes[i], ATTACH_UPROBE_MULTI);
	}
	bpf_program__set_autoload(bpf->progs.sample_cpu, o->sample_hz > 0);
	bpf_program__set_autoload(bpf->progs.on_thread, o->threads);
	bpf_program__set_autoload(bpf->progs.on_switch, o->times && has_casts(o));
	bpf_program__set_autoload(bpf->progs.on_switch_before_casts, o->times && !has_casts(o));
	bpf_program__set_autoload(bpf->progs.on_wakeup, o->times);
	bpf_program__set_autoload(bpf->progs.follow_threads, follows_threads(o));
	bpf_program__set_autoload(bpf->progs.on_new_times, o->times);
	bpf_program__set_autoload(bpf->progs.on_exec_times, o->times);
	bpf_program__set_autoload(bpf->progs.list_times, o->times);
}

/* Returns the ring's size, a power of two. Few CPUs fill a small one no faster. */
static uint32_t choose_ring_bytes(const struct bpf_source_options *o)
{
	const int possible = libbpf_num_possible_cpus();
	const uint64_t cpus = possible > 0 ? (uint64_t)possible : 1;
	uint64_t samples = cpus * o->sample_hz * STACK_SNAPSHOT_BYTES / RING_SAMPLES_PER_S;
	uint64_t bytes = LEAST_RING_BYTES;

	if (o->launches)
		return LAUNCHES_RING_BYTES;
	if (o->times)
		return RING_BYTES;
	while (bytes < RING_BYTES && (bytes < cpus * RING_BYTES_PER_CPU || bytes < samples))
		bytes *= 2;
	return (uint32_t)bytes;
}

/*
 * Chooses the time between ticks of the clocks. It is no simple fraction of the sampling period or
 * a millisecond: powers of the golden section are farthest from fractions. The time varies, so that
 * no cycle of a program stays in step with the ticks.
 */
static uint64_t choose_tick_ns(const struct bpf_source *s)
{
	double part = 0;
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
		part = (double)random / UINT32_MAX - 0.5;
	return (uint64_t)((double)measure_sample_ns(s->options.sample_hz) * GOLDEN_SECTION *
			  (1 + part / 2));
}

/* Sets what the programs read as constants. */
static void set_constants(const struct bpf_source *s, struct stacks *bpf)
{
	const struct gpu_devices devices = gpu_devices_read();

	bpf->rodata->calls_bytes = s->ring_bytes / 4 * 3;
	bpf->rodata->sample_ns = measure_sample_ns(s->options.sample_hz);
	bpf->rodata->times_calls = s->options.calls;
	bpf->rodata->sends_python_lines = s->options.python_lines;
	bpf->rodata->keeps_times = s->options.times;
	bpf->bss->follows_new_threads = bpf->bss->times_have_begun = !s->options.running;
	bpf->rodata->keeps_moments = s->options.moments;
	memcpy((void *)bpf->rodata->gpu_devices, devices.ids, sizeof(devices.ids));
	bpf->rodata->takes_kernel_waits = s->options.kernel_waits;
}

/* Loads the programs. The one that samples is loaded by a thread, which uses the object, too. */
static int load_object(struct bpf_source *s, struct stacks *bpf, struct bpf_types *types,
		       struct background_load *sampling)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int err, end;

	bpf_map__set_max_entries(bpf->maps.events, s->ring_bytes);
	if (s->options.times)
		bpf_map__set_max_entries(bpf->maps.slots, SLOTS);
	set_constants(s, bpf);
	choose_map_flags(bpf);
	choose_programs(s, bpf);
	err = bpf_types_provide(types, bpf->obj);
	if (!err)
		err = stacks__load(bpf);
	end = background_load_end(sampling);
	if (!err)
		err = end;
	return err ? err
		   : bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_pidns_level), &run);
}

static int load(struct bpf_source *s)
{
	struct background_load sampling;
	struct bpf_types types;
	int err = bpf_types_begin(&types);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types.path);
	struct stacks *bpf = NULL;

	if (!err)
		err = background_load_begin(&sampling);
	if (!err && !(bpf = stacks__open_opts(&options)))
		err = -errno;
	if (!err)
		err = load_object(s, bpf, &types, &sampling);
	bpf_types_end(&types);
	if (!err) {
		s->bpf = bpf;
		s->sampling = sampling.fd;
		if (s->sampling >= 0)
			bpf_program__unload(bpf->progs.sample_cpu); /* the one in its place */
	} else if (bpf) {
		stacks__destroy(bpf);
		background_load_release(&sampling);
	}
	return err;
}

/*
 * Loads the programs, with multi-probe links if possible. Before Linux 6.10 a multi-probe link is
 * limited to a thread, not to a process.
 */
static int load_for_kernel(struct bpf_source *s)
{
	int err;

	s->has_multi = kernel_release() >= LINUX(6, 10) && !s->options.single_probes;
	err = load(s);
	if (!err || err == -EPERM || !s->has_multi)
		return err;
	s->has_multi = false;
	return load(s);
}

/* Attaches programs for good, up to the first NULL. */
static int attach_all(struct bpf_source *s, struct bpf_program *const *programs)
{
	int err = 0;

	for (; *programs && !err; programs++)
		err = keep_link(&s->links, 0, bpf_program__attach_trace(*programs));
	return err;
}

static int follow_times(struct bpf_source *s)
{
	struct bpf_program *programs[] = {
		s->bpf->progs.on_new_times, s->bpf->progs.on_exec_times,
		has_casts(&s->options) ? s->bpf->progs.on_switch
				       : s->bpf->progs.on_switch_before_casts,
		s->bpf->bss->needs_wakeups ? s->bpf->progs.on_wakeup : NULL, NULL};

	s->all_times = bpf_program__attach_iter(s->bpf->progs.list_times, NULL);
	return s->all_times ? attach_all(s, programs) : -errno;
}

static int follow_processes(struct bpf_source *s)
{
	struct bpf_program *programs[] = {s->bpf->progs.on_fork,
					  s->bpf->progs.on_exec,
					  s->bpf->progs.on_exit,
					  s->bpf->progs.on_free,
					  s->options.threads ? s->bpf->progs.on_thread : NULL,
					  NULL};
	int err = attach_all(s, programs);

	return !err && s->options.times ? follow_times(s) : err;
}

static int start_clock(struct bpf_source *s, int cpu, uint64_t tick_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = tick_ns,
		.exclude_idle = 1,
	};
	int fd;

	if (!array_make_room(&s->clocks, s->clock_count, &s->clock_capacity, sizeof(*s->clocks)))
		return -ENOMEM;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	s->clocks[s->clock_count++] = fd;
	/* no link: a link would take a second descriptor per CPU */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF,
		  s->sampling >= 0 ? s->sampling : bpf_program__fd(s->bpf->progs.sample_cpu)) != 0)
		return -errno;
	return 0;
}

static int start_clocks(struct bpf_source *s)
{
	int cpus = libbpf_num_possible_cpus(), err;
	uint64_t tick_ns = choose_tick_ns(s);

	s->bpf->bss->tick_ns = tick_ns;
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = start_clock(s, cpu, tick_ns);
		if (err && err != -ENODEV &&
		    err != -ENXIO) /* -ENODEV and -ENXIO mean an offline CPU */
			return err;
	}
	return s->clock_count > 0 ? 0 : -ENODEV;
}

void bpf_source_vary_clocks(struct bpf_source *s, uint64_t now_ns)
{
	uint64_t tick_ns;

	if (s->clock_count == 0 || now_ns - s->varied_ns < VARY_NS)
		return;
	s->varied_ns = now_ns;
	tick_ns = choose_tick_ns(s);
	/* changing a clock restarts it: half a tick is lost, on average */
	s->bpf->bss->tick_ns = tick_ns + (uint64_t)((double)tick_ns * tick_ns / (2.0 * VARY_NS));
	for (uint32_t i = 0; i < s->clock_count; i++)
		ioctl(s->clocks[i], PERF_EVENT_IOC_PERIOD, &tick_ns);
}

void bpf_source_set_time_range(struct bpf_source *s, const struct time_range *time_range)
{
	s->bpf->bss->samples_from_ns = time_range->from_ns;
	s->bpf->bss->launches_from_ns = time_range_recorded_from(time_range);
	s->bpf->bss->recorded_to_ns = time_range->to_ns;
}

void bpf_source_stop_clocks(struct bpf_source *s)
{
	while (s->clock_count > 0) {
		int fd = s->clocks[--s->clock_count];

		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); /* a child may hold the descriptor, too */
		close(fd);
	}
}

struct bpf_source *bpf_source_open(const struct bpf_source_options *options, char *error,
				   size_t error_size)
{
	struct bpf_source *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		goto out;
	s->options = *options;
	s->times_fd = s->sampling = -1;
	s->ring_bytes = choose_ring_bytes(options);
	libbpf_set_print(stay_quiet);
	err = load_for_kernel(s);
	if (!err)
		err = event_ring_map(&s->ring, bpf_map__fd(s->bpf->maps.events), s->ring_bytes);
	if (!err)
		err = follow_processes(s);
	if (err)
		goto out;
	if (options->sample_hz > 0)
		err = start_clocks(s);
	if (!err)
		return s;
	snprintf(error, error_size, "cannot start the sampling clock: %s%s", strerror(-err),
		 err == -EACCES || err == -EPERM ? "; " CAPABILITY_ADVICE : "");
	bpf_source_close(s);
	return NULL;
out:
	explain_load(err, error, error_size);
	bpf_source_close(s);
	return NULL;
}

void bpf_source_close(struct bpf_source *s)
{
	bool is_left = false;

	if (!s)
		return;
	bpf_source_stop_clocks(s);
	free(s->clocks);
	bounded_caller_free(s->leaving);
	if (s->probing) {
		is_left = !remove_links(s, ALL_PROCESSES, CLOSING_MS) ||
			  bounded_caller_has_abandoned(s->probing);
		bounded_caller_free(s->probing);
	}
	if (is_left)
		return; /* an abandoned thread may still use it */
	for (uint32_t i = 0; i < s->links.count; i++)
		remove_link(&s->links.list[i]);
	free(s->links.list);
	if (s->times_fd >= 0)
		close(s->times_fd);
	if (s->sampling >= 0)
		close(s->sampling);
	bpf_link__destroy(s->all_times);
	event_ring_unmap(&s->ring);
	stacks__destroy(s->bpf);
	free(s);
}

struct kernel_names *bpf_source_kernel_names(const struct bpf_source *s)
{
	return kernel_names_new(bpf_program__fd(s->bpf->progs.name_kernel_function),
				bpf_map__fd(s->bpf->maps.bss),
				(size_t)(s->bpf->bss->kernel_name - (const char *)s->bpf->bss));
}

/* ---- processes ---- */

static int put_in(struct bpf_map *map, pid_t pid, const void *value, size_t size)
{
	__u32 key = (__u32)pid;

	return bpf_map__update_elem(map, &key, sizeof(key), value, size, BPF_ANY);
}

static int take_from(struct bpf_map *map, pid_t pid)
{
	__u32 key = (__u32)pid;
	int err = bpf_map__delete_elem(map, &key, sizeof(key), 0);

	return err == -ENOENT ? 0 : err;
}

/* Tells the BPF side the calling thread's user. */
static int set_viewer(struct bpf_source *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	return s->bpf->bss->viewer.is_known
		       ? 0
		       : bpf_prog_test_run_opts(bpf_program__fd(s->bpf->progs.find_viewer), &run);
}

int bpf_source_track(struct bpf_source *s, pid_t pid)
{
	const struct stack_process begun = {.is_open = 1, .program.began_ns = monotonic_ns()};
	int err = set_viewer(s);

	return err ? err : put_in(s->bpf->maps.tracked, pid, &begun, sizeof(begun));
}

int bpf_source_follow_threads(struct bpf_source *s)
{
	struct bpf_link *link;
	char unused[64];
	int fd, err = 0;
	ssize_t n = 0;

	if (!follows_threads(&s->options))
		return -EOPNOTSUPP;
	s->bpf->bss->follows_new_threads = 1; /* threads that are started meanwhile */
	link = bpf_program__attach_iter(s->bpf->progs.follow_threads, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		err = fd;
	/* reading runs the iterator, which writes nothing and pauses after a million threads */
	while (fd >= 0 &&
	       ((n = read(fd, unused, sizeof(unused))) > 0 || (n < 0 && errno == EAGAIN)))
		;
	if (n < 0)
		err = -errno;
	if (!err)
		s->bpf->bss->times_have_begun = 1;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

void bpf_source_untrack(struct bpf_source *s, pid_t pid)
{
	take_from(s->bpf->maps.tracked, pid);
}

bool bpf_source_follows_any(const struct bpf_source *s)
{
	__u32 first;

	return bpf_map__get_next_key(s->bpf->maps.tracked, NULL, &first, sizeof(first)) == 0;
}

bool bpf_source_follows(const struct bpf_source *s, pid_t pid)
{
	__u32 key = (__u32)pid;
	struct stack_process value;

	return bpf_map__lookup_elem(s->bpf->maps.tracked, &key, sizeof(key), &value, sizeof(value),
				    0) == 0;
}

int bpf_source_set_python(struct bpf_source *s, pid_t pid, const struct stack_python *python)
{
	/* once the process has ended, nobody would remove the entry */
	if (!bpf_source_follows(s, pid))
		return -ESRCH;
	return put_in(s->bpf->maps.pythons, pid, python, sizeof(*python));
}

bool bpf_source_has_calls(const struct bpf_source *s)
{
	return s->options.calls;
}

int bpf_source_time_calls(struct bpf_source *s, pid_t pid, bool on)
{
	__u8 yes = 1;

	if (!bpf_source_has_calls(s))
		return -EOPNOTSUPP;
	if (on)
		s->bpf->bss->times_any = 1;
	return on ? put_in(s->bpf->maps.timed, pid, &yes, sizeof(yes))
		  : take_from(s->bpf->maps.timed, pid);
}

void bpf_source_stop_times(struct bpf_source *s)
{
	s->bpf->bss->times_over_ns = monotonic_ns();
}

/*
 * Reads `size` bytes, in as many pieces as the kernel returns. Returns false at the end or on an
 * error.
 */
static bool read_whole(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			return false;
	}
	return true;
}

bool bpf_source_next_times(struct bpf_source *s, struct stack_times *times)
{
	if (s->times_fd < 0 && s->all_times)
		s->times_fd = bpf_iter_create(bpf_link__fd(s->all_times));
	return s->times_fd >= 0 && read_whole(s->times_fd, times, sizeof(*times));
}

bool bpf_source_lacks_times(const struct bpf_source *s)
{
	return s->bpf->bss->times_over_ns && s->bpf->bss->followed_threads > 0;
}

/* ---- probes ---- */

/* Job that attaches programs to functions of one file, with the resulting links. */
struct attaching {
	struct bounded_job job; /* owns the file */
	bool has_multi;
	struct {
		struct bpf_program *program;
		bool at_return;
	} parts[2];
	uint32_t part_count;
	pid_t pid;       /* 0: in all processes */
	bool is_lookout; /* as in struct kept_link */
	uint64_t *offsets, *cookies;
	uint32_t count;
	struct kept_links links;
	int err;
};

static int attach_multi(struct attaching *a, struct bpf_program *program, bool at_return,
			const char *path)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(program),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (__u64)(uintptr_t)path,
		.offsets = (__u64)(uintptr_t)a->offsets,
		.cookies = (__u64)(uintptr_t)a->cookies,
		.count = a->count,
		.flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (__u32)a->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : keep(&a->links, (struct kept_link){.pid = a->pid, .fd = fd});
}

static int attach(struct attaching *a, struct bpf_program *program, bool at_return)
{
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", a->job.fd);
	if (a->has_multi)
		return attach_multi(a, program, at_return, path);
	for (uint32_t i = 0; i < a->count && !err && !a->job.is_late; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = a->cookies[i],
			    .retprobe = at_return);

		err = keep_link(&a->links, a->pid,
				bpf_program__attach_uprobe_opts(program, a->pid ? a->pid : -1, path,
								a->offsets[i], &opts));
	}
	return err;
}

static void run_attaching(struct bounded_job *opaque)
{
	struct attaching *a = (struct attaching *)opaque;

	for (uint32_t i = 0; i < a->part_count && !a->err; i++)
		a->err = attach(a, a->parts[i].program, a->parts[i].at_return);
}

static void release_attaching(struct attaching *a)
{
	free(a->offsets);
	free(a->cookies);
	free(a->links.list);
}

static void discard_attaching(struct bounded_job *opaque)
{
	struct attaching *a = (struct attaching *)opaque;

	for (uint32_t i = 0; i < a->links.count; i++)
		remove_link(&a->links.list[i]);
	release_attaching(a);
}

static void add_part(struct attaching *a, struct bpf_program *program, bool at_return)
{
	a->parts[a->part_count].program = program;
	a->parts[a->part_count++].at_return = at_return;
}

static uint64_t *make_cookies(enum bpf_source_probe probe, const uint64_t *functions,
			      uint32_t count)
{
	uint64_t *cookies = calloc(count, sizeof(*cookies));

	for (uint32_t i = 0; cookies && i < count; i++) {
		cookies[i] = functions[i];
		if (probe == PROBE_LAUNCH)
			cookies[i] |= STACK_PROBE_LAUNCH;
		if (cuda_function_is_driver((uint16_t)functions[i]))
			cookies[i] |= STACK_PROBE_DRIVER;
	}
	return cookies;
}

bool bpf_source_has_probes(const struct bpf_source *s)
{
	return s->has_probes;
}

bool bpf_source_probes_need_admin(const struct bpf_source *s)
{
	return !s->has_multi;
}

void bpf_source_remove_probes(struct bpf_source *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->links.count; i++)
		if (s->links.list[i].pid == pid) {
			remove_links(s, pid, BOUNDED_CALL_LOAD_MS);
			return;
		}
}

/* Runs the job, keeps its links, and frees it. */
static int run_probing(struct bpf_source *s, struct attaching *a)
{
	struct bounded_caller *calls = probing(s);
	struct attaching refused = *a; /* memory and descriptor of a job that is refused */
	int err = calls ? bounded_call(calls, &a->job, BOUNDED_CALL_LOAD_MS) : -ENOMEM;

	if (err == -EBUSY) {
		close(refused.job.fd);
		release_attaching(&refused);
	}
	if (err == -ETIMEDOUT || err == -EBUSY) /* a late job still owns its memory */
		return err;
	for (uint32_t i = 0; !err && i < a->links.count; i++) {
		a->links.list[i].is_lookout = a->is_lookout;
		err = keep(&s->links, a->links.list[i]);
	}
	if (!err)
		err = a->err;
	close(a->job.fd);
	release_attaching(a);
	free(a);
	return err;
}

int bpf_source_probe(struct bpf_source *s, enum bpf_source_probe probe, pid_t pid, const char *path,
		     const uint64_t *offsets, const uint64_t *functions, uint32_t count)
{
	struct attaching *a;

	if (count == 0)
		return 0;
	if (probe == PROBE_LAUNCH ? !s->options.launches : !s->options.calls)
		return -EOPNOTSUPP;
	a = bounded_job_new(sizeof(*a), run_attaching, discard_attaching);
	if (!a)
		return -ENOMEM;
	a->has_multi = s->has_multi;
	a->pid = pid;
	a->is_lookout = probe == PROBE_SUBSCRIBE || probe == PROBE_DRIVER;
	a->count = count;
	a->cookies = make_cookies(probe, functions, count);
	a->offsets = calloc(count, sizeof(*offsets));
	a->job.fd = open(path, O_PATH | O_CLOEXEC); /* O_PATH on a descriptor's path never blocks */
	if (!a->cookies || !a->offsets || a->job.fd < 0) {
		int err = a->job.fd < 0 ? -errno : -ENOMEM;

		if (a->job.fd >= 0)
			close(a->job.fd);
		release_attaching(a);
		free(a);
		return err;
	}
	memcpy(a->offsets, offsets, count * sizeof(*offsets));
	s->has_probes = true;
	/* returns first: an entry without its return would stay open forever */
	if (probe == PROBE_CALL)
		add_part(a, s->bpf->progs.leave_function, true);
	if (probe == PROBE_SUBSCRIBE)
		add_part(a, s->bpf->progs.leave_subscribe, true);
	else if (probe == PROBE_DRIVER)
		add_part(a, s->bpf->progs.enter_driver, false);
	else
		add_part(a, s->bpf->progs.enter_function, false);
	return run_probing(s, a);
}

/* ---- events ---- */

int bpf_source_fd(const struct bpf_source *s)
{
	return bpf_map__fd(s->bpf->maps.events);
}

void bpf_source_fill(struct bpf_source *s)
{
	event_ring_fill(&s->ring, BPF_SOURCE_BATCH);
}

const struct stack_event *bpf_source_next(struct bpf_source *s)
{
	return event_ring_next(&s->ring);
}

void bpf_source_keep(struct bpf_source *s)
{
	event_ring_relieve(&s->ring);
}

bool bpf_source_has_more(const struct bpf_source *s)
{
	return s->ring.has_more;
}

struct stack_counters bpf_source_counters(const struct bpf_source *s)
{
	struct stack_counters counters = s->bpf->bss->counters;

	if (bpf_source_lacks_times(s))
		counters.lost_times += (__u64)s->bpf->bss->followed_threads;
	return counters;
}
