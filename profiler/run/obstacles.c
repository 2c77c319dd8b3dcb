// SPDX-License-Identifier: MIT
#include "profiler/run/obstacles.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/attach/process_scan.h"
#include "profiler/base/gpu_devices.h"
#include "profiler/run/target_environment.h"
#include "symbolize/maps.h"
#include "symbolize/util/array.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/text.h"

#define ENVIRONMENT_MAX (4u << 20) /* bytes */
#define AUXV_BYTES 65536
#define STATUS_BYTES 65536
#define FIRST_PAUSE_NS 100000000u
#define WARN_PAUSE_NS 3000000000u /* pause after which a warning is due */
#define LONGEST_PAUSE_NS 60000000000u
#define DESCRIPTORS_MAX 65536u
#define FIRST_SCAN_NS 10000000u
#define LONGEST_SCAN_NS 3200000000u
#define INSPECTIONS_MAX_NS 100000000u /* per round; the pipe is not read meanwhile */
#define SCAN_PAUSES 4u                /* minimum pause after a scan, in multiples of its duration */
#define ANCESTORS_MAX 1000

/* A process that has mapped the driver and has not said hello. */
struct silent {
	uint32_t id;
	pid_t pid;
	uint64_t due_ns, pause_ns;
	bool is_new; /* not inspected yet */
};

struct obstacles {
	struct collect *collect;
	struct log *log;
	struct obstacles_options options;
	struct gpu_devices devices;
	struct stat library, pipe;
	bool knows_own;   /* `library` and `pipe` are set */
	uint32_t filters; /* seccomp filters of this process */
	struct silent *silent;
	uint32_t count, capacity;
	bool has_warned[UNTRACED_CAUSES];
	uint64_t scan_due_ns, scan_pause_ns;
	pid_t scanned_to;  /* pid at which the last scan timed out; 0: it was complete */
	uint64_t watch_ns; /* spent in obstacles_watch since the last obstacles_look */
};

/* ---- files ---- */

/* A bounded job that inspects files in a process's root folder, and its descriptors. */
struct inspection {
	struct bounded_job job;
	char root[64], descriptors[64], library[PATH_MAX + 64], pipe[PATH_MAX + 64];
	struct stat ours, our_pipe;
	struct gpu_devices devices;
	bool wants_files;
	/* results */
	struct untraced_signs signs; /* `files` */
	uint32_t opened;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void check_pipe(struct inspection *seen)
{
	struct stat theirs;

	seen->signs.files.have_pipe =
		stat(seen->pipe, &theirs) == 0 && is_same(&theirs, &seen->our_pipe);
	seen->signs.files.may_write_pipe = seen->signs.files.have_pipe && theirs.st_mode & S_IWUSR;
}

static void check_library(struct inspection *seen)
{
	struct statvfs system;
	struct stat theirs;
	int fd = open(seen->library, O_PATH | O_CLOEXEC);
	bool is_there = fd >= 0 && fstat(fd, &theirs) == 0;

	/* an unsearchable folder proves nothing, nor does the one of a process that ends */
	seen->signs.files.are_known = is_there || ((errno == ENOENT || errno == ENOTDIR) &&
						   access(seen->root, X_OK) == 0);
	seen->signs.files.have_library = is_there && is_same(&theirs, &seen->ours);
	if (is_there && fstatvfs(fd, &system) == 0)
		seen->signs.files.are_noexec = system.f_flag & ST_NOEXEC;
	if (fd >= 0)
		close(fd);
}

/* Returns true for a GPU device's descriptor, without asking a file system's server. */
static bool is_gpu_device(const struct inspection *seen, int folder, const char *name)
{
	struct statx st;
	uint32_t id;

	if (statx(folder, name, AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0 || !S_ISCHR(st.stx_mode))
		return false;
	id = GPU_DEVICE_ID(st.stx_rdev_major, st.stx_rdev_minor);
	for (int i = 0; i < GPU_DEVICES; i++)
		if (id && id == seen->devices.ids[i])
			return true;
	return false;
}

static void count_devices(struct inspection *seen)
{
	DIR *folder = opendir(seen->descriptors);
	const struct dirent *entry;
	uint32_t checked = 0;

	while (folder && checked++ < DESCRIPTORS_MAX && (entry = readdir(folder)))
		seen->opened += entry->d_name[0] != '.' &&
				is_gpu_device(seen, dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}

static void run_inspection(struct bounded_job *opaque)
{
	struct inspection *seen = (struct inspection *)opaque;

	count_devices(seen);
	if (!seen->wants_files)
		return;
	check_library(seen);
	check_pipe(seen);
}

/* Inspects a process; free the result. Returns NULL on timeout or when out of memory. */
static struct inspection *inspect(struct obstacles *o, pid_t pid, bool wants_files)
{
	struct inspection *seen = bounded_job_new(sizeof(*seen), run_inspection, NULL);

	if (!seen)
		return NULL;
	seen->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	seen->devices = o->devices;
	seen->ours = o->library;
	seen->our_pipe = o->pipe;
	seen->wants_files = wants_files;
	snprintf(seen->root, sizeof(seen->root), "/proc/%d/root/", (int)pid);
	snprintf(seen->descriptors, sizeof(seen->descriptors), "/proc/%d/fd", (int)pid);
	snprintf(seen->library, sizeof(seen->library), "/proc/%d/root%s", (int)pid,
		 o->options.library);
	snprintf(seen->pipe, sizeof(seen->pipe), "/proc/%d/root%s", (int)pid, o->options.pipe);
	return bounded_call(collect_calls(o->collect), &seen->job, BOUNDED_CALL_OPEN_MS) == 0
		       ? seen
		       : NULL;
}

/* ---- the environment ---- */

/* Notes the values of the two variables; NULL: not set. */
static void take_variables(const struct obstacles *o, pid_t pid, const char *library,
			   const char *pipe, struct untraced_signs *signs)
{
	signs->environment.names_pipe = pipe && strcmp(pipe, o->options.pipe) == 0;
	signs->environment.has_variable = library && library[0] != '\0';
	signs->environment.names_library = library && strcmp(library, o->options.library) == 0;
	if (signs->environment.has_variable && !signs->environment.names_library)
		log_verbose(o->log, "process %d has " TARGET_ENVIRONMENT_CUDA "=%s", (int)pid,
			    library);
}

/*
 * Reads AT_SECURE: true if the program has more rights than the user that executed it. It is not
 * read from 32-bit programs, whose pairs have another size. Returns false if the process has no
 * memory left, or may not be read.
 */
static bool read_auxv(struct obstacles *o, pid_t pid, bool *is_secure)
{
	unsigned long pair[2];
	bool is_64_bit = false;
	char *text = NULL;
	size_t size = 0;

	*is_secure = false;
	if (proc_file_read(collect_calls(o->collect), pid, "auxv", AUXV_BYTES, &text, &size) != 0)
		return false;
	for (size_t at = 0; at + sizeof(pair) <= size; at += sizeof(pair)) {
		memcpy(pair, text + at, sizeof(pair));
		*is_secure |= pair[0] == AT_SECURE && pair[1];
		is_64_bit |= pair[0] == AT_PHENT && pair[1] == sizeof(Elf64_Phdr);
	}
	*is_secure &= is_64_bit;
	free(text);
	return size > 0;
}

/*
 * Reads the variables that the driver will use: the first of each name, as getenv(3) does. A
 * program that sets a process title may overwrite its environment. So the environment counts as
 * unknown unless all of it is "NAME=VALUE", or if it exceeds the limit.
 */
static void read_variables(struct obstacles *o, pid_t pid, struct untraced_signs *signs)
{
	const char *library = NULL, *pipe = NULL;
	bool can_be_read;
	char *text = NULL;
	size_t size = 0;
	int err = proc_file_read(collect_calls(o->collect), pid, "environ", ENVIRONMENT_MAX, &text,
				 &size);

	/* checked second: the environment of an ended process is empty, too */
	can_be_read = read_auxv(o, pid, &signs->is_secure);
	if (err)
		return;
	signs->environment.is_known = size > 0 ? size < ENVIRONMENT_MAX : can_be_read;
	for (size_t at = 0; at < size && signs->environment.is_known; at += strlen(text + at) + 1) {
		signs->environment.is_known = strchr(text + at, '=') > text + at;
		if (!library)
			library = variable_value(text + at, TARGET_ENVIRONMENT_CUDA);
		if (!pipe)
			pipe = variable_value(text + at, GPU_WIRE_PIPE_ENV);
	}
	take_variables(o, pid, library, pipe, signs);
	free(text);
}

/* ---- the state ---- */

/* Counts active seccomp filters (before Linux 5.9: 1 if there are any). */
static uint32_t count_filters(const char *status)
{
	long mode = proc_status_number(status, "\nSeccomp:", 0);

	return (uint32_t)(mode == 2 ? proc_status_number(status, "\nSeccomp_filters:", 1) : mode);
}

static char *read_status(pid_t pid)
{
	char *text = NULL;
	size_t size;

	return proc_file_read(NULL, pid, "status", STATUS_BYTES, &text, &size) == 0 ? text : NULL;
}

static void read_state(const struct obstacles *o, pid_t pid, struct untraced_signs *signs)
{
	char *text = read_status(pid);
	const char *line = text ? strstr(text, "\nUid:") : NULL;
	unsigned int real, effective;

	if (!text)
		return;
	if (line && sscanf(line, "\nUid: %u %u", &real, &effective) == 2) {
		signs->is_root = effective == 0;
		signs->is_other_user = !signs->is_root && effective != geteuid();
	}
	signs->is_filtered = count_filters(text) > o->filters;
	free(text);
}

/* ---- processes ---- */

struct obstacles *obstacles_new(struct collect *collect, struct log *log,
				const struct obstacles_options *options)
{
	struct obstacles *o = calloc(1, sizeof(*o));
	char *status;

	if (!o)
		return NULL;
	o->collect = collect;
	o->log = log;
	o->options = *options;
	o->devices = gpu_devices_read();
	o->knows_own =
		stat(options->library, &o->library) == 0 && stat(options->pipe, &o->pipe) == 0;
	status = read_status(getpid());
	o->filters = status ? count_filters(status) : 0;
	free(status);
	return o;
}

void obstacles_free(struct obstacles *o)
{
	if (!o)
		return;
	free(o->silent);
	free(o);
}

/* Notes the number of open devices, without inherited ones. */
static void note_devices(struct process *process, const struct inspection *seen)
{
	uint32_t opened = seen->opened > process->gpu.inherits_nvml
				  ? seen->opened - process->gpu.inherits_nvml
				  : 0;

	if (opened > process->gpu.opened)
		process->gpu.opened = opened;
}

static void find_obstacle(struct obstacles *o, struct process *process)
{
	struct untraced_signs signs = {.libc = process->gpu.libc,
				       .needed_glibc_minor = o->options.needed_glibc_minor};
	enum untraced_cause cause;
	struct inspection *seen;

	read_variables(o, process->pid, &signs);
	read_state(o, process->pid, &signs);
	seen = inspect(o, process->pid, true);
	if (seen) {
		signs.files = seen->signs.files;
		signs.files.are_known &= o->knows_own;
		signs.files.may_write_pipe |= signs.is_root;
		note_devices(process, seen);
	}
	free(seen);
	cause = untraced_find_cause(&signs);
	if (cause != UNTRACED_NOT_KNOWN) /* the process may have ended since */
		process->gpu.obstacle = cause;
}

/* Returns a process that `collect` knows, or NULL. */
static struct process *known_process(const struct obstacles *o, pid_t pid)
{
	return collect_knows_process(o->collect, pid) ? collect_find_process(o->collect, pid)
						      : NULL;
}

/* Returns the process, or NULL if it has ended, executed another program, or is traced. */
static struct process *still_silent(const struct obstacles *o, const struct silent *silent)
{
	struct process *process = known_process(o, silent->pid);
	bool is_silent = process && process->id == silent->id && !process_has_spoken(process) &&
			 !process->ended_ns;

	return is_silent ? process : NULL;
}

static void add_silent(struct obstacles *o, const struct process *process, bool is_new)
{
	if (!array_make_room(&o->silent, o->count, &o->capacity, sizeof(*o->silent)))
		return; /* never inspected again */
	o->silent[o->count++] = (struct silent){.id = process->id,
						.pid = process->pid,
						.due_ns = 0,
						.pause_ns = FIRST_PAUSE_NS,
						.is_new = is_new};
}

/* Logs the obstacle of a process that has mapped the driver. */
static void log_found(const struct obstacles *o, const struct process *process)
{
	if (process->gpu.obstacle == UNTRACED_NOT_FOUND)
		log_verbose(o->log, "process %d loaded the CUDA driver", (int)process->pid);
	else
		log_verbose(o->log, "process %d loaded the CUDA driver, and cannot be traced: %s",
			    (int)process->pid, untraced_cause_text(process->gpu.obstacle));
}

static bool maps_driver(const struct process_event *event)
{
	return event->type == PROCESS_MAP && event->mapping.path &&
	       starts_with(base_name(event->mapping.path), "libcuda.so");
}

void obstacles_watch(struct obstacles *o, const struct process_event *event,
		     struct process *process)
{
	uint64_t begun_ns;

	if (!o || !maps_driver(event) || !process->gpu.has_driver || process->gpu.has_obstacle ||
	    process_has_spoken(process) || process->ended_ns)
		return;
	process->gpu.has_obstacle = true;
	if (o->watch_ns >= INSPECTIONS_MAX_NS) {
		add_silent(o, process, true);
		return;
	}
	begun_ns = monotonic_ns();
	find_obstacle(o, process);
	log_found(o, process);
	add_silent(o, process, false);
	o->watch_ns += monotonic_ns() - begun_ns;
}

/* ---- where the kernel reports no processes ---- */

static bool descends_from(const struct process_scan *scan, const struct scanned_process *process,
			  pid_t command)
{
	for (int i = 0; process && i < ANCESTORS_MAX; i++) {
		if (process->pid == command)
			return true;
		process = process_scan_find(scan, process->parent);
	}
	return false;
}

/* Notes the libraries that a process has mapped. Returns false if ours is one, or on error. */
static bool note_mapped(struct obstacles *o, struct process *process)
{
	bool has_ours = false;
	const char *permissions;
	struct code_mapping mapping;
	char *text = NULL, *rest;
	size_t size;

	if (proc_file_read(collect_calls(o->collect), process->pid, "maps", PROC_FILE_MAX_MAPS,
			   &text, &size) != 0)
		return false;
	rest = text;
	while (maps_next_any(&rest, &mapping, &permissions)) {
		const char *name = base_name(mapping.path);

		untraced_note_file(&process->gpu.libc, name);
		process->gpu.has_driver |= starts_with(name, "libcuda.so");
		process->gpu.has_nvml |= starts_with(name, "libnvidia-ml.so");
		has_ours |= strcmp(name, base_name(o->options.library)) == 0;
	}
	free(text);
	return !has_ours;
}

/* Adds a process that has a GPU device open, if there is an obstacle. */
static void add_untraceable(struct obstacles *o, const struct scanned_process *scanned,
			    const struct inspection *seen)
{
	struct process found = {.pid = scanned->pid}, *process;

	if (!note_mapped(o, &found) || !found.gpu.has_driver)
		return;
	note_devices(&found, seen);
	find_obstacle(o, &found);
	if (!untraced_is_obstacle(found.gpu.obstacle))
		return; /* it may be about to say hello */
	process = collect_find_process(o->collect, scanned->pid);
	if (!process || process_has_spoken(process) || process->gpu.has_obstacle)
		return;
	if (process->source == PROCESS_GUESSED)
		process->source = PROCESS_STARTED;
	process->gpu.has_obstacle = process->gpu.has_driver = true;
	process->gpu.has_nvml = found.gpu.has_nvml;
	process->gpu.libc = found.gpu.libc;
	process->gpu.opened = found.gpu.opened;
	process->gpu.obstacle = found.gpu.obstacle;
	log_found(o, process);
	add_silent(o, process, false);
}

/* Inspects a process, unless it is known or no descendant of the command. */
static void scan_one(struct obstacles *o, const struct process_scan *all,
		     const struct scanned_process *p, pid_t command)
{
	const struct process *known = known_process(o, p->pid);
	struct inspection *seen;

	if (p->has_ended || p->is_kernel || (known && known->gpu.has_obstacle) ||
	    !descends_from(all, p, command))
		return;
	seen = inspect(o, p->pid, false);
	if (seen && seen->opened)
		add_untraceable(o, p, seen);
	free(seen);
}

/* Scans all processes, from where the last scan timed out. /proc lists them by ascending pid. */
static void scan(struct obstacles *o, pid_t command)
{
	struct process_scan all = {0};
	pid_t from = o->scanned_to;
	uint64_t until_ns;

	o->scanned_to = 0;
	if (process_scan_all(&all) != 0) {
		process_scan_release(&all);
		return;
	}
	until_ns = monotonic_ns() + INSPECTIONS_MAX_NS;
	for (uint32_t i = 0; i < all.count; i++) {
		if (all.list[i].pid <= from)
			continue;
		scan_one(o, &all, &all.list[i], command);
		if (monotonic_ns() >= until_ns) {
			o->scanned_to = all.list[i].pid;
			break;
		}
	}
	process_scan_release(&all);
}

void obstacles_scan(struct obstacles *o, pid_t command, uint64_t now_ns)
{
	uint64_t ended_ns, pause_ns;

	if (!o || now_ns < o->scan_due_ns)
		return;
	if (o->scan_due_ns)
		scan(o, command);
	ended_ns = monotonic_ns();
	if (!o->scan_pause_ns)
		o->scan_pause_ns = FIRST_SCAN_NS;
	else if (o->scan_pause_ns < LONGEST_SCAN_NS && !o->scanned_to)
		o->scan_pause_ns *= 2;
	pause_ns = SCAN_PAUSES * (ended_ns - now_ns);
	o->scan_due_ns = ended_ns + (pause_ns > o->scan_pause_ns ? pause_ns : o->scan_pause_ns);
}

/* Counts open devices, and searches for an obstacle if none was found. */
static void inspect_again(struct obstacles *o, struct process *process)
{
	struct inspection *seen;

	if (!untraced_is_obstacle(process->gpu.obstacle)) {
		find_obstacle(o, process);
		return;
	}
	seen = inspect(o, process->pid, false);
	if (seen)
		note_devices(process, seen);
	free(seen);
}

/* Warns during a long run, of the first process with each cause. */
static void warn_untraced(struct obstacles *o, const struct process *process)
{
	bool uses = process->lacks_gpu_time || process->gpu.opened > process->gpu.has_nvml;

	if (!uses || o->has_warned[process->gpu.obstacle])
		return;
	o->has_warned[process->gpu.obstacle] = true;
	log_warn(o->log, "process %d (%s) uses the GPU and is not traced: %s", (int)process->pid,
		 process->comm ? process->comm : "?", untraced_cause_text(process->gpu.obstacle));
}

/* Inspects a process that is due. */
static void inspect_due(struct obstacles *o, struct silent *silent, struct process *process)
{
	inspect_again(o, process);
	if (silent->is_new) {
		log_found(o, process);
		silent->is_new = false;
		return;
	}
	if (silent->pause_ns >= WARN_PAUSE_NS)
		warn_untraced(o, process);
	if (silent->pause_ns < LONGEST_PAUSE_NS)
		silent->pause_ns *= 2;
}

void obstacles_look(struct obstacles *o, uint64_t now_ns)
{
	uint64_t until_ns = 0; /* set after the first inspection; later ones may have to wait */
	uint32_t kept = 0;

	for (uint32_t i = 0; o && i < o->count; i++) {
		struct silent silent = o->silent[i];
		struct process *process = still_silent(o, &silent);
		bool is_due = silent.is_new || (silent.due_ns && silent.due_ns <= now_ns);
		bool waits = is_due && until_ns && monotonic_ns() >= until_ns;

		if (!process)
			continue;
		if (is_due && !waits) {
			if (!until_ns)
				until_ns = monotonic_ns() + INSPECTIONS_MAX_NS;
			inspect_due(o, &silent, process);
		}
		if (!waits && silent.due_ns <= now_ns)
			silent.due_ns = now_ns + silent.pause_ns;
		o->silent[kept++] = silent;
	}
	if (o) {
		o->count = kept;
		o->watch_ns = 0;
	}
}

void obstacles_finish(struct obstacles *o)
{
	for (uint32_t i = 0; o && i < o->count; i++) {
		struct process *process = still_silent(o, &o->silent[i]);

		if (process)
			inspect_again(o, process);
	}
}
