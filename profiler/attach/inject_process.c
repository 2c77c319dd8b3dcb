// SPDX-License-Identifier: MIT
#include "profiler/attach/inject_process.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/attach/process_scan.h"
#include "profiler/attach/remote_call.h"
#include "profiler/attach/remote_memory.h"
#include "profiler/attach/safe_stack.h"
#include "symbolize/maps.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/stable_hash.h"
#include "symbolize/util/text.h"

#define MEMORY_NAME GPU_WIRE_MEMORY /* followed by a hash of the library */
#define MEMORY_NAME_FORMAT MEMORY_NAME "-%016" PRIx64
#define ROUND_NS 20000000 /* pause between searches of all threads */
#define RESUME_NS 200000
#define RESUME_LOOKS 25u
#define COPIES_MAX 64u /* each uses some of the process's thread-specific keys */
#define LOADS 4u       /* attempts, if a thread's stack is too small */

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

struct inject_job {
	struct bounded_job job;
	struct inject_request request; /* a copy */
	enum inject_result result;
	char message[INJECT_MESSAGE_MAX];

	uint64_t loader_call, system_call; /* dlopen or __libc_dlopen_mode; syscall(2) */
	bool is_dlopen_mode;
	uint64_t restorer;
	uint64_t libc, libc_inode; /* mapping of the C library; identifies the program */
	char memory_name[48];
	uint64_t copy; /* base of an inactive copy of the library; 0: none */
	struct symbolizer *symbolizer;
	struct address_space *space;
	struct bounded_caller *calls; /* for memory; files use the symbolizer's */
	struct remote_memory memory;
	struct remote_call thread;
	uint64_t search_until_ns, load_until_ns;
	bool thread_is_taken, lacks_room; /* lacks_room: its stack is too small */
	struct safe_stack stack;
	char text[INJECT_TEXT_MAX];
};

static bool fail(struct inject_job *j, enum inject_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(struct inject_job *j, enum inject_result result, const char *format, ...)
{
	char text[INJECT_MESSAGE_MAX - 24];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	j->result = result;
	snprintf(j->message, sizeof(j->message), "process %d %s", j->request.pid, text);
	return false;
}

static bool fail_stuck(struct inject_job *j, const char *what)
{
	return fail(j, INJECT_STUCK,
		    "has %s that does not answer (restart the server of that FUSE or network file "
		    "system, or unmount it)",
		    what);
}

/* ---- the process's fitness ---- */

static char status_state(const char *status)
{
	const char *line = strstr(status, "\nState:\t");

	return line ? line[8] : '?';
}

static bool has_shadow_stack(const char *status)
{
	const char *line = strstr(status, "\nx86_Thread_features:");
	const char *end = line ? strchr(line + 1, '\n') : NULL,
		   *at = line ? strstr(line, "shstk") : NULL;

	return at && (!end || at < end);
}

/* Returns true if the thread has a seccomp filter. Each thread has its own. */
static bool has_limits(const char *status)
{
	return proc_status_number(status, "\nSeccomp:", 0) != 0;
}

static bool check_status(struct inject_job *j, const char *status)
{
	pid_t pid = j->request.pid;
	char state = status_state(status);

	if (state == 'Z' || state == 'X')
		return fail(j, INJECT_GONE, "has ended");
	if (proc_status_number(status, "\nTgid:", 0) != pid)
		return fail(j, INJECT_GONE, "is a thread of process %ld",
			    proc_status_number(status, "\nTgid:", 0));
	if (proc_status_number(status, "\nTracerPid:", 0) != 0)
		return fail(j, INJECT_DENIED, "is traced by another program (pid %ld)",
			    proc_status_number(status, "\nTracerPid:", 0));
	if (state == 'T' || state == 't')
		return fail(j, INJECT_UNSUITED, "is stopped");
	if (has_limits(status))
		return fail(j, INJECT_UNSUITED,
			    "limits its system calls (seccomp); loading a library might end it");
	if (has_shadow_stack(status))
		return fail(j, INJECT_UNSUITED, "has shadow stacks; no call can be made in it");
	return true;
}

static bool check_program(struct inject_job *j)
{
	const size_t needed = offsetof(Elf64_Ehdr, e_machine) + 1;
	char *header = NULL;
	size_t size = 0;
	int err = proc_file_read(j->calls, j->request.pid, "exe", needed, &header, &size);
	bool fits = !err && size == needed && header[EI_CLASS] == ELFCLASS64 &&
		    header[needed - 1] == EM_X86_64;

	free(err ? NULL : header);
	if (err == -ETIMEDOUT || err == -EBUSY)
		return fail_stuck(j, "a program file");
	if (err == -ENOMEM)
		return fail(j, INJECT_FAILED, "cannot be inspected: out of memory");
	if (err == -ENOENT)
		return fail(j, INJECT_UNSUITED,
			    "has no program file: it has ended, or is a kernel thread");
	if (err)
		return fail(j, INJECT_DENIED, "cannot be inspected: %s", strerror(-err));
	return fits || fail(j, INJECT_UNSUITED, "is not a 64-bit x86 program");
}

/* Rejects a process that shares its memory, as a child of vfork does before exec. */
static bool check_sharing(struct inject_job *j, const char *status)
{
	const int same_memory = 1; /* KCMP_VM */
	pid_t parent = (pid_t)proc_status_number(status, "\nPPid:", 0);

	if (parent > 0 && syscall(SYS_kcmp, parent, j->request.pid, same_memory, 0, 0) == 0)
		return fail(j, INJECT_UNSUITED, "shares the memory of process %d", parent);
	return true;
}

/* Returns true while the search for a thread goes on. */
static bool may_search(const struct inject_job *j)
{
	const _Atomic bool *called_off = j->request.called_off;

	return monotonic_ns() < j->search_until_ns && !(called_off && *called_off) &&
	       !j->job.is_late;
}

/*
 * Visits the process's threads from `first_thread` on, and sets it to the next one. So several
 * rounds cover a process with very many threads.
 */
static bool each_thread(struct inject_job *j, bool (*visit)(struct inject_job *j, pid_t tid))
{
	char path[64];
	struct dirent *entry = NULL;
	uint32_t at = 0, *next = &j->request.first_thread;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", j->request.pid);
	folder = opendir(path);
	while (folder && !found && may_search(j) && (entry = readdir(folder))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || at++ < *next)
			continue;
		*next = at;
		found = visit(j, (pid_t)tid);
	}
	if (!entry)
		*next = 0;
	if (folder)
		closedir(folder);
	return found;
}

static bool check_process(struct inject_job *j)
{
	char *status = NULL;
	size_t size;
	bool fits;

	if (j->request.pid == getpid())
		return fail(j, INJECT_UNSUITED, "is profile itself");
	if (proc_file_read(NULL, j->request.pid, "status", 16384, &status, &size) != 0)
		return fail(j, INJECT_GONE, "does not exist");
	fits = check_status(j, status) && check_program(j) && check_sharing(j, status);
	free(status);
	return fits;
}

/* ---- its loader and its C library ---- */

static bool is_libc(const char *path)
{
	const char *name = base_name(path);

	return strcmp(name, "libc.so.6") == 0 || starts_with(name, "libc-2.");
}

static bool is_musl(const char *path)
{
	return starts_with(base_name(path), "ld-musl") || starts_with(base_name(path), "libc.musl");
}

static void find_dlopen_mode(struct inject_job *j, uint64_t libc)
{
	j->loader_call = remote_function(&j->memory, libc, "__libc_dlopen_mode");
	j->is_dlopen_mode = j->loader_call != 0;
}

static void note_mapping(struct inject_job *j, const struct code_mapping *m, bool is_executable)
{
	const char *name = base_name(m->path);

	if (is_libc(m->path)) {
		if (m->file_offset == 0 && !j->libc) {
			j->libc = m->start;
			j->libc_inode = m->inode;
			j->system_call = remote_function(&j->memory, m->start, "syscall");
			if (!j->loader_call)
				j->loader_call = remote_function(&j->memory, m->start, "dlopen");
		}
		if (is_executable && j->libc && !j->restorer)
			j->restorer = remote_call_find_restorer(&j->memory, m->start, m->end);
	} else if (!j->loader_call && m->file_offset == 0 &&
		   (starts_with(name, "libdl.so") || starts_with(name, "libdl-2."))) {
		j->loader_call = remote_function(&j->memory, m->start, "dlopen");
	}
}

static bool read_maps(struct inject_job *j, char **text)
{
	size_t size;
	int err = proc_file_read(j->calls, j->request.pid, "maps", PROC_FILE_MAX_MAPS, text, &size);

	if (err == -EACCES || err == -EPERM)
		return fail(j, INJECT_DENIED, "cannot be inspected: %s", strerror(-err));
	if (err == -ETIMEDOUT || err == -EBUSY)
		return fail_stuck(j, "memory");
	if (err)
		return fail(j, INJECT_GONE, "has mappings that cannot be read: %s", strerror(-err));
	return true;
}

static bool is_ours(const struct code_mapping *m)
{
	return m->file_offset == 0 && starts_with(m->path, "/memfd:" MEMORY_NAME);
}

/* Returns true if the mapping is of a memfd with this name. */
static bool is_memory(const struct code_mapping *m, const char *name)
{
	static const char start[] = "/memfd:";
	size_t length = strlen(name);

	return starts_with(m->path, start) && strncmp(m->path + strlen(start), name, length) == 0 &&
	       strcmp(m->path + strlen(start) + length, " (deleted)") == 0;
}

static bool is_file(const struct inject_job *j, const struct code_mapping *m)
{
	const char *slash = strrchr(m->path, '/');
	size_t length = strlen(j->request.file_name);

	return slash && strncmp(slash + 1, j->request.file_name, length) == 0 &&
	       (slash[1 + length] == '\0' || strcmp(slash + 1 + length, " (deleted)") == 0);
}

static bool find_functions(struct inject_job *j)
{
	char *text = NULL, *rest;
	const char *permissions;
	struct code_mapping m;
	uint32_t copies = 0;
	bool has_musl = false, is_active = false;

	if (!read_maps(j, &text))
		return false;
	rest = text;
	while (maps_next_any(&rest, &m, &permissions)) {
		has_musl |= is_musl(m.path);
		copies += is_ours(&m);
		if (j->request.begins_again && m.file_offset == 0 && is_memory(&m, j->memory_name))
			j->copy = m.start;
		is_active |= is_memory(&m, j->request.mark) || is_file(j, &m);
		note_mapping(j, &m, permissions[2] == 'x');
	}
	free(text);
	if (is_active)
		return fail(j, INJECT_ALREADY, "is being profiled already");
	if (copies >= COPIES_MAX && !j->copy)
		return fail(j, INJECT_UNSUITED,
			    "has been profiled %u times: it takes no more copies of the library",
			    copies);
	if (!j->libc)
		return fail(j, INJECT_UNSUITED,
			    has_musl ? "uses a C library other than glibc (musl)"
				     : "has no C library that could load others (it is static)");
	if (!j->loader_call)
		find_dlopen_mode(j, j->libc);
	if (remote_memory_is_stuck(&j->memory))
		return fail_stuck(j, "memory");
	if (!j->loader_call || !j->system_call || !j->restorer)
		return fail(j, INJECT_UNSUITED, "has a C library without a dlopen to be found");
	return true;
}

/* ---- a thread that can be borrowed ---- */

/* Returns true if a thread has no limits. The thread is held, so it cannot get new ones. */
static bool thread_is_free(const struct inject_job *j, pid_t tid)
{
	char name[64], *status = NULL;
	size_t size;
	bool is_free;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (proc_file_read(NULL, j->request.pid, name, 16384, &status, &size) != 0)
		return false;
	is_free = !has_limits(status) && !has_shadow_stack(status);
	free(status);
	return is_free;
}

/* Waits until a thread is fit. A thread just released needs some CPU time to sleep again. */
static bool becomes_fit(pid_t pid, pid_t tid, uint32_t looks)
{
	while (!remote_call_is_fit(pid, tid)) {
		if (--looks == 0)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = RESUME_NS}, NULL);
	}
	return true;
}

/*
 * Takes a thread whose stack is safe. The first of two looks reads unwind tables while the thread
 * runs on. The second stops it only for an unwind with cached tables.
 */
static bool borrow(struct inject_job *j, pid_t tid)
{
	for (int look = 0; look < 2; look++) {
		int err;

		if (!becomes_fit(j->request.pid, tid, look == 0 ? 1 : RESUME_LOOKS))
			return false;
		err = remote_call_take(&j->thread, j->request.pid, tid);
		if (err == -EPERM || err == -EACCES)
			j->result = INJECT_DENIED;
		if (err == -ETIMEDOUT) /* our thread has to end, to let go of it */
			j->result = INJECT_NO_THREAD;
		if (err)
			return false;
		safe_stack_copy(&j->stack, &j->memory, &j->thread.registers);
		if (look == 1 && thread_is_free(j, tid) &&
		    safe_stack_check(&j->stack, j->symbolizer, j->space, true)) {
			j->thread.restorer = j->restorer;
			j->thread_is_taken = true;
			return true;
		}
		remote_call_release(&j->thread);
		if (look == 0 && !safe_stack_check(&j->stack, j->symbolizer, j->space, false))
			return false;
	}
	return false;
}

static bool visit_thread(struct inject_job *j, pid_t tid)
{
	return borrow(j, tid) || j->result != INJECT_DONE || remote_memory_is_stuck(&j->memory);
}

/* Returns true if the process's former program is gone. */
static bool runs_another(struct inject_job *j)
{
	uint8_t byte;

	return !remote_read(&j->memory, j->libc, &byte, 1) && !remote_memory_is_stuck(&j->memory);
}

static bool find_thread(struct inject_job *j)
{
	j->thread_is_taken = false;
	do {
		bool found;

		if (kill(j->request.pid, 0) != 0 && errno == ESRCH)
			return fail(j, INJECT_GONE, "has ended");
		if (runs_another(j))
			return fail(j, INJECT_GONE, "runs another program by now");
		found = each_thread(j, visit_thread);
		if (found && j->thread_is_taken)
			return true;
		if (remote_memory_is_stuck(&j->memory))
			return fail_stuck(j, "memory");
		/* an ending thread does not stop, either */
		if (j->result == INJECT_NO_THREAD && runs_another(j))
			return fail(j, INJECT_GONE, "has ended");
		if (j->result == INJECT_NO_THREAD)
			return fail(j, INJECT_NO_THREAD,
				    "has a thread that sleeps, but does not stop: it may be "
				    "frozen");
		if (found)
			return fail(j, INJECT_DENIED, "may not be traced by this user");
		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
	} while (may_search(j));
	if (bounded_caller_count_stuck(symbolizer_calls(j->symbolizer)))
		return fail_stuck(j, "a mapped file");
	return fail(j, INJECT_NO_THREAD,
		    "has no thread that sleeps where the library could be loaded");
}

/* ---- loading ---- */

/* Fails for lack of stack, with a retry: another thread may have more. */
static bool fail_small_stack(struct inject_job *j)
{
	j->lacks_room = true;
	return fail(j, INJECT_NO_THREAD, "has too little stack in its sleeping thread");
}

static bool call(struct inject_job *j, const struct borrowed_call *what, const char *step)
{
	struct borrowed_call bounded = *what;
	uint64_t now = monotonic_ns();
	int err;

	if (j->job.is_late) { /* the caller has given up: return the thread */
		remote_call_release(&j->thread);
		return fail(j, INJECT_STUCK, "answers too late");
	}
	if (!j->load_until_ns)
		j->load_until_ns = now + INJECT_TIMEOUT_NS;
	bounded.timeout_ns = j->load_until_ns > now ? j->load_until_ns - now : 0;
	err = remote_call_run(&j->thread, &bounded);
	if (!err)
		return true;
	if (err == -ESRCH)
		return fail(j, INJECT_GONE, "has ended meanwhile");
	if (err == -ETIMEDOUT)
		return fail(j, INJECT_LATE,
			    "was busy at %s for too long (another of its threads may be loading a "
			    "library)",
			    step);
	if (err == -EAGAIN)
		return fail(j, INJECT_NO_THREAD,
			    "has a thread that sleeps, but runs nothing: it may be frozen");
	remote_call_release(&j->thread);
	if (remote_memory_is_stuck(&j->memory))
		return fail_stuck(j, "memory");
	if (err == -ENOBUFS)
		return fail_small_stack(j);
	return fail(j, INJECT_FAILED, "failed at %s: %s", step, strerror(-err));
}

/* Creates a memfd in the process. Returns its descriptor, -errno, or INT64_MIN: thread lost. */
static int64_t make_memory(struct inject_job *j, uint32_t flags)
{
	struct borrowed_call make = {.function = j->system_call,
				     .data = j->memory_name,
				     .data_size = strlen(j->memory_name) + 1,
				     .arguments = {SYS_memfd_create, BORROWED_DATA, flags}};

	if (!call(j, &make, "memfd_create"))
		return INT64_MIN;
	return j->thread.system_call == SYS_memfd_create ? j->thread.system_result : -ENOSYS;
}

/*
 * Duplicates a descriptor of the process. Opening the file anew could exceed the process's rights.
 */
static int borrow_descriptor(pid_t pid, int theirs)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), fd;

	if (process < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
	if (fd < 0)
		fd = -errno;
	close(process);
	return fd;
}

/* Writes the library to the memfd and gets its inode. Returns 0 or -errno. */
static int fill_memory(struct inject_job *j, int theirs, uint64_t *inode)
{
	int fd = borrow_descriptor(j->request.pid, theirs);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return fd;
	/* F_GET_SEALS proves it is memory: stat(2) of other files may block */
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 0 || st.st_size != 0)
		err = -EBADF; /* the program has replaced the file */
	else if (write_exactly(fd, j->request.library, j->request.library_size) != 0)
		err = -EIO;
	*inode = err ? 0 : st.st_ino;
	close(fd);
	return err;
}

/*
 * Finds a memfd by name, and the beginning of the one with this inode unless `inode` is 0. Returns
 * the address of its first mapping, or 0.
 */
static uint64_t find_memory(struct inject_job *j, const char *name, uint64_t inode)
{
	const char *permissions;
	struct code_mapping m;
	char *text = NULL, *rest;
	uint64_t found = 0;

	if (!read_maps(j, &text))
		return 0;
	rest = text;
	while (!found && maps_next_any(&rest, &m, &permissions))
		if (is_memory(&m, name) && (!inode || (m.inode == inode && m.file_offset == 0)))
			found = m.start;
	free(text);
	return found;
}

/* Returns the address of the library's entry point, or 0 if it was not loaded. */
static uint64_t find_entry(struct inject_job *j, uint64_t inode)
{
	uint64_t base = find_memory(j, j->memory_name, inode);

	return base ? remote_function(&j->memory, base, j->request.entry) : 0;
}

/*
 * Writes a path for dlopen with a unique spelling. The loader identifies libraries by path, and
 * descriptor numbers repeat.
 */
static void name_memory(char *path, size_t size, int theirs)
{
	uint64_t spelling = monotonic_ns();
	size_t used = (size_t)snprintf(path, size, "/proc/self/fd/");

	for (uint32_t i = 0; i < 40; i++)
		used += (size_t)snprintf(path + used, size - used, "%s",
					 spelling >> i & 1 ? ".//" : "./");
	snprintf(path + used, size - used, "%d", theirs);
}

static bool open_library(struct inject_job *j, int theirs)
{
	const uint64_t dlopen_flag = 0x80000000u; /* __RTLD_DLOPEN */
	struct borrowed_call load = {.function = j->loader_call};
	char path[160];

	name_memory(path, sizeof(path), theirs);
	load.data = path;
	load.data_size = strlen(path) + 1;
	load.arguments[0] = BORROWED_DATA;
	load.arguments[1] = RTLD_NOW | RTLD_LOCAL | (j->is_dlopen_mode ? dlopen_flag : 0);
	return call(j, &load, "dlopen");
}

static bool close_memory(struct inject_job *j, int theirs)
{
	struct borrowed_call shut = {.function = j->system_call,
				     .arguments = {SYS_close, (uint64_t)theirs}};

	return call(j, &shut, "close");
}

static bool begin(struct inject_job *j, uint64_t entry)
{
	struct borrowed_call start = {.function = entry,
				      .data = j->request.text,
				      .data_size = strlen(j->request.text) + 1,
				      .arguments = {BORROWED_DATA}};

	return call(j, &start, "its start");
}

/*
 * Checks again, for the user, that the process may be inspected: we may trace more than the user.
 * Also detects an exec since the search, after which addresses are wrong. A later exec
 * ends the held thread, and with it the injection.
 */
static bool is_still_users(struct inject_job *j)
{
	char *text = NULL, *rest;
	const char *permissions;
	struct code_mapping m;
	uint64_t top = j->thread.registers.rsp, lowest = remote_call_lowest(&j->thread);
	bool has_any, is_same_program = false, has_room = true;

	if (!read_maps(j, &text)) {
		remote_call_release(&j->thread);
		return false;
	}
	has_any = text[0];
	rest = text;
	while (maps_next_any(&rest, &m, &permissions)) {
		is_same_program |=
			m.start == j->libc && m.inode == j->libc_inode && is_libc(m.path);
		has_room &= permissions[1] == 'w' || m.end <= lowest || m.start > top;
	}
	free(text);
	if (is_same_program && has_room)
		return true;
	remote_call_release(&j->thread);
	if (is_same_program)
		return fail_small_stack(j);
	return has_any ? fail(j, INJECT_GONE, "runs another program by now")
		       : fail(j, INJECT_DENIED, "cannot be inspected: its main thread has ended");
}

/* Starts an inactive copy. Returns true if it is active or the thread is lost; see `*done`. */
static bool begin_again(struct inject_job *j, bool *done)
{
	uint64_t entry = remote_function(&j->memory, j->copy, j->request.entry);

	*done = false;
	j->copy = 0; /* only one attempt */
	if (!entry)
		return false;
	if (!begin(j, entry))
		return true;
	if (!find_memory(j, j->request.mark, 0))
		return false;
	remote_call_release(&j->thread);
	*done = true;
	return true;
}

/* Loads and starts the library in the borrowed thread, which is always given back. */
static bool load(struct inject_job *j)
{
	uint64_t inode = 0, entry;
	int64_t theirs;
	bool done;
	int err;

	if (!is_still_users(j))
		return false;
	if (j->copy && begin_again(j, &done)) {
		if (done)
			j->result = INJECT_DONE;
		return done;
	}
	theirs = make_memory(j, MFD_CLOEXEC | MFD_EXEC);
	if (theirs == -EINVAL)
		theirs = make_memory(j, MFD_CLOEXEC);
	if (theirs == INT64_MIN)
		return false;
	err = theirs < 0 ? (int)theirs : fill_memory(j, (int)theirs, &inode);
	if (err) {
		if (theirs >= 0 && !close_memory(j, (int)theirs))
			return false;
		remote_call_release(&j->thread);
		return fail(j, INJECT_FAILED, "could not be given the library: %s", strerror(-err));
	}
	if (!open_library(j, (int)theirs) || !close_memory(j, (int)theirs))
		return false;
	entry = find_entry(j, inode);
	if (!entry) {
		remote_call_release(&j->thread);
		return fail(j, INJECT_FAILED,
			    "did not load the library (is /proc mounted there, and memory left?)");
	}
	if (!begin(j, entry))
		return false;
	remote_call_release(&j->thread);
	j->result = INJECT_DONE;
	return true;
}

/* ---- the whole injection ---- */

static void run(struct bounded_job *opaque)
{
	struct inject_job *j = (struct inject_job *)opaque;
	int err;

	j->calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	if (!j->symbolizer && j->calls)
		j->symbolizer = symbolizer_new();
	j->space = j->symbolizer && j->calls
			   ? address_space_new((uint32_t)j->request.pid, j->request.pid, false)
			   : NULL;
	if (!j->space) {
		fail(j, INJECT_FAILED, "cannot be inspected: out of memory");
		return;
	}
	bounded_caller_limit_sleep(j->calls, INJECT_SLEEP_MS);
	bounded_caller_limit_sleep(symbolizer_calls(j->symbolizer), INJECT_SLEEP_MS);
	if (!check_process(j))
		return;
	err = remote_memory_open(&j->memory, j->request.pid, j->calls);
	if (err) {
		fail(j, err == -ESRCH || err == -ENOENT ? INJECT_GONE : INJECT_DENIED,
		     "cannot be inspected: %s", strerror(-err));
		return;
	}
	j->thread.memory = &j->memory;
	j->thread.hurries = j->request.called_off;
	j->search_until_ns = monotonic_ns() + INJECT_SEARCH_NS;
	j->result = INJECT_DONE;
	snprintf(j->memory_name, sizeof(j->memory_name), MEMORY_NAME_FORMAT,
		 stable_hash(j->request.library, j->request.library_size));
	if (!find_functions(j))
		return;
	for (uint32_t i = 0; i < LOADS; i++) {
		if (!find_thread(j) || load(j) || !j->lacks_room)
			return;
		j->lacks_room = false;
		j->result = INJECT_DONE;
	}
	j->result = INJECT_NO_THREAD;
}

static void release(struct bounded_job *opaque)
{
	struct inject_job *j = (struct inject_job *)opaque;

	remote_memory_close(&j->memory);
	address_space_free(j->space);
	symbolizer_free(j->symbolizer);
	bounded_caller_free(j->calls);
}

/*
 * Runs the injection on a tracing thread. The sleep limit applies only to waits for a lock of the
 * process. Other waits poll every few milliseconds.
 */
static int run_traced(struct inject_job *j)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	int err;

	if (!calls) {
		release(&j->job);
		free(j);
		return -ENOMEM;
	}
	bounded_caller_keep_capabilities(calls);
	bounded_caller_limit_sleep(calls, INJECT_SLEEP_MS);
	err = bounded_call(calls, &j->job, BOUNDED_CALL_RUN_MS);
	bounded_caller_free(calls); /* releases traced threads */
	return err;
}

static enum inject_result explain_error(char *message, pid_t pid, int err)
{
	if (err != -ETIMEDOUT) {
		snprintf(message, INJECT_MESSAGE_MAX, "process %d: %s", pid, strerror(-err));
		return INJECT_FAILED;
	}
	snprintf(message, INJECT_MESSAGE_MAX,
		 "process %d does not answer: a thread of it holds a lock, or waits for a "
		 "FUSE or network file system (restart its server, or unmount it)",
		 pid);
	return INJECT_STUCK;
}

enum inject_result inject_process(struct inject_request *request, char *message)
{
	struct inject_job *j = bounded_job_new(sizeof(*j), run, release);
	struct symbolizer *given = request->symbolizer;
	enum inject_result result;
	int err;

	if (!j)
		return explain_error(message, request->pid, -ENOMEM);
	if (strlen(request->text) >= INJECT_TEXT_MAX) {
		free(j);
		return explain_error(message, request->pid, -E2BIG);
	}
	j->memory.fd = -1;
	j->request = *request;
	snprintf(j->text, sizeof(j->text), "%s", request->text);
	j->request.text = j->text;
	j->symbolizer = given;
	request->symbolizer = NULL;
	j->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)request->pid;
	err = run_traced(j);
	if (err == -EBUSY) /* not started: the symbolizer is still ours */
		request->symbolizer = given;
	if (err)
		return explain_error(message, request->pid, err);
	snprintf(message, INJECT_MESSAGE_MAX, "%s", j->message);
	request->first_thread = j->request.first_thread;
	result = j->result;
	if (j->symbolizer && !bounded_caller_count_stuck(symbolizer_calls(j->symbolizer))) {
		request->symbolizer = j->symbolizer;
		j->symbolizer = NULL;
	}
	release(&j->job);
	free(j);
	return result;
}
