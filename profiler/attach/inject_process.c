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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/attach/remote_call.h"
#include "profiler/attach/remote_memory.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/stable_hash.h"
#include "symbolize/util/text.h"

#define MEMORY_NAME GPU_WIRE_MEMORY /* followed by a hash of the library */
#define MEMORY_NAME_FORMAT MEMORY_NAME "-%016" PRIx64
#define STACK_MAX (256u << 10)
#define FRAMES_MAX 256u
#define ROUND_NS 20000000 /* pause between searches of all threads */
#define RESUME_NS 200000
#define RESUME_LOOKS 25u
#define COPIES_MAX 64u /* each uses some of the process's thread-specific keys */
#define LOADS 4u       /* attempts, if a thread's stack is too small */

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

struct bringing {
	struct bounded_job job;
	struct inject_request copy_of_request, *request;
	enum inject_result result;
	char message[INJECT_MESSAGE_MAX];

	uint64_t loader_call, system_call; /* dlopen or __libc_dlopen_mode; syscall(2) */
	bool is_elder;
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
	uint8_t stack[STACK_MAX];
	struct unwind_frame frames[FRAMES_MAX];
	char text[INJECT_TEXT_MAX];
};

static bool fail(struct bringing *b, enum inject_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(struct bringing *b, enum inject_result result, const char *format, ...)
{
	char text[INJECT_MESSAGE_MAX - 24];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	b->result = result;
	snprintf(b->message, sizeof(b->message), "process %d %s", b->request->pid, text);
	return false;
}

static bool fail_stuck(struct bringing *b, const char *what)
{
	return fail(b, INJECT_STUCK,
		    "has %s that does not answer (restart the server of that FUSE or network file "
		    "system, or unmount it)",
		    what);
}

/* ---- the process's fitness ---- */

static long status_number(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtol(line + strlen(name), NULL, 10) : 0;
}

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
	return status_number(status, "\nSeccomp:") != 0;
}

static bool judge_status(struct bringing *b, const char *status)
{
	pid_t pid = b->request->pid;
	char state = status_state(status);

	if (state == 'Z' || state == 'X')
		return fail(b, INJECT_GONE, "has ended");
	if (status_number(status, "\nTgid:") != pid)
		return fail(b, INJECT_GONE, "is a thread of process %ld",
			    status_number(status, "\nTgid:"));
	if (status_number(status, "\nTracerPid:") != 0)
		return fail(b, INJECT_DENIED, "is traced by another program (pid %ld)",
			    status_number(status, "\nTracerPid:"));
	if (state == 'T' || state == 't')
		return fail(b, INJECT_UNSUITED, "is stopped");
	if (has_limits(status))
		return fail(b, INJECT_UNSUITED,
			    "limits its system calls (seccomp); loading a library might end it");
	if (has_shadow_stack(status))
		return fail(b, INJECT_UNSUITED, "has shadow stacks; no call can be made in it");
	return true;
}

struct program_job {
	struct bounded_job job;
	pid_t pid;
	int err;
	uint8_t header[20];
};

static void run_program(struct bounded_job *opaque)
{
	struct program_job *job = (struct program_job *)opaque;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", job->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		job->err = errno;
		return;
	}
	if (pread(fd, job->header, sizeof(job->header), 0) != sizeof(job->header))
		job->header[EI_CLASS] = 0;
	close(fd);
}

static bool judge_program(struct bringing *b)
{
	struct program_job *job = bounded_job_new(sizeof(*job), run_program, NULL);
	bool fits = false;

	if (!job)
		return fail(b, INJECT_FAILED, "cannot be looked into: out of memory");
	job->pid = b->request->pid;
	if (bounded_call(b->calls, &job->job, BOUNDED_CALL_OPEN_MS) != 0)
		return fail_stuck(b, "a program file");
	if (job->err == ENOENT)
		fail(b, INJECT_UNSUITED,
		     "has no program: it has ended, or is the operating system's");
	else if (job->err)
		fail(b, INJECT_DENIED, "may not be looked into: %s", strerror(job->err));
	else if (job->header[EI_CLASS] != ELFCLASS64 || job->header[18] != EM_X86_64)
		fail(b, INJECT_UNSUITED, "is not a 64-bit x86 program");
	else
		fits = true;
	free(job);
	return fits;
}

/* Rejects a process that shares its memory, as a child of vfork does before exec. */
static bool judge_sharing(struct bringing *b, const char *status)
{
	const int same_memory = 1; /* KCMP_VM */
	pid_t parent = (pid_t)status_number(status, "\nPPid:");

	if (parent > 0 && syscall(SYS_kcmp, parent, b->request->pid, same_memory, 0, 0) == 0)
		return fail(b, INJECT_UNSUITED, "shares the memory of process %d", parent);
	return true;
}

/* Returns true while the search for a thread goes on. */
static bool may_search(const struct bringing *b)
{
	const _Atomic bool *called_off = b->request->called_off;

	return monotonic_ns() < b->search_until_ns && !(called_off && *called_off) &&
	       !b->job.is_late;
}

/*
 * Visits the process's threads from `first_thread` on, and sets it to the next one. So several
 * rounds cover a process with very many threads.
 */
static bool each_thread(struct bringing *b, bool (*visit)(struct bringing *b, pid_t tid))
{
	char path[64];
	struct dirent *entry = NULL;
	uint32_t at = 0, *next = &b->request->first_thread;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", b->request->pid);
	folder = opendir(path);
	while (folder && !found && may_search(b) && (entry = readdir(folder))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || at++ < *next)
			continue;
		*next = at;
		found = visit(b, (pid_t)tid);
	}
	if (!entry)
		*next = 0;
	if (folder)
		closedir(folder);
	return found;
}

static bool judge(struct bringing *b)
{
	char *status = NULL;
	size_t size;
	bool fits;

	if (b->request->pid == getpid())
		return fail(b, INJECT_UNSUITED, "is profile itself");
	if (proc_file_read(NULL, b->request->pid, "status", 16384, &status, &size) != 0)
		return fail(b, INJECT_GONE, "does not exist");
	fits = judge_status(b, status) && judge_program(b) && judge_sharing(b, status);
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

static void find_elder(struct bringing *b, uint64_t libc)
{
	b->loader_call = remote_function(&b->memory, libc, "__libc_dlopen_mode");
	b->is_elder = b->loader_call != 0;
}

static void look_at_mapping(struct bringing *b, const struct remote_mapping *m)
{
	const char *name = base_name(m->path);

	if (is_libc(m->path)) {
		if (m->offset == 0 && !b->libc) {
			b->libc = m->start;
			b->libc_inode = m->inode;
			b->system_call = remote_function(&b->memory, m->start, "syscall");
			if (!b->loader_call)
				b->loader_call = remote_function(&b->memory, m->start, "dlopen");
		}
		if (m->is_executable && b->libc && !b->restorer)
			b->restorer = remote_call_find_restorer(&b->memory, m->start, m->end);
	} else if (!b->loader_call && m->offset == 0 &&
		   (starts_with(name, "libdl.so") || starts_with(name, "libdl-2."))) {
		b->loader_call = remote_function(&b->memory, m->start, "dlopen");
	}
}

static bool read_maps(struct bringing *b, char **text)
{
	size_t size;
	int err =
		proc_file_read(b->calls, b->request->pid, "maps", PROC_FILE_MAX_MAPS, text, &size);

	if (err == -EACCES || err == -EPERM)
		return fail(b, INJECT_DENIED, "may not be looked into: %s", strerror(-err));
	if (err == -ETIMEDOUT || err == -EBUSY)
		return fail_stuck(b, "memory");
	if (err)
		return fail(b, INJECT_GONE, "has mappings that cannot be read: %s", strerror(-err));
	return true;
}

static bool is_ours(const struct remote_mapping *m)
{
	return m->offset == 0 && starts_with(m->path, "/memfd:" MEMORY_NAME);
}

static bool is_same(const struct bringing *b, const struct remote_mapping *m)
{
	const size_t start = strlen("/memfd:"), length = strlen(b->memory_name);

	return is_ours(m) && strncmp(m->path + start, b->memory_name, length) == 0 &&
	       m->path[start + length] == ' ';
}

static bool is_mark(const struct bringing *b, const struct remote_mapping *m)
{
	static const char start[] = "/memfd:";
	size_t length = strlen(b->request->mark);

	return starts_with(m->path, start) &&
	       strncmp(m->path + strlen(start), b->request->mark, length) == 0 &&
	       strcmp(m->path + strlen(start) + length, " (deleted)") == 0;
}

static bool is_file(const struct bringing *b, const struct remote_mapping *m)
{
	const char *slash = strrchr(m->path, '/');
	size_t length = strlen(b->request->file_name);

	return slash && strncmp(slash + 1, b->request->file_name, length) == 0 &&
	       (slash[1 + length] == '\0' || strcmp(slash + 1 + length, " (deleted)") == 0);
}

static bool find_functions(struct bringing *b)
{
	char *text = NULL, *rest;
	struct remote_mapping m;
	uint32_t copies = 0;
	bool has_musl = false, is_active = false;

	if (!read_maps(b, &text))
		return false;
	rest = text;
	while (remote_mapping_next(&rest, &m)) {
		has_musl |= is_musl(m.path);
		copies += is_ours(&m);
		if (b->request->begins_again && is_same(b, &m))
			b->copy = m.start;
		is_active |= is_mark(b, &m) || is_file(b, &m);
		look_at_mapping(b, &m);
	}
	free(text);
	if (is_active)
		return fail(b, INJECT_ALREADY, "is being profiled already");
	if (copies >= COPIES_MAX && !b->copy)
		return fail(b, INJECT_UNSUITED,
			    "has been profiled %u times: it takes no more copies of the library",
			    copies);
	if (!b->libc)
		return fail(b, INJECT_UNSUITED,
			    has_musl ? "has another C library than glibc (musl)"
				     : "has no C library that could load others (it is static)");
	if (!b->loader_call)
		find_elder(b, b->libc);
	if (remote_memory_is_stuck(&b->memory))
		return fail_stuck(b, "memory");
	if (!b->loader_call || !b->system_call || !b->restorer)
		return fail(b, INJECT_UNSUITED, "has a C library without a dlopen to be found");
	return true;
}

/* ---- a thread that can be borrowed ---- */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_delicate_library(const char *name)
{
	static const char *const starts[] = {"ld-linux",    "ld-2.",      "libcuda.so",
					     "libcupti",    "libnvidia",  "libjemalloc",
					     "libtcmalloc", "libmimalloc"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return true;
	return false;
}

static bool is_delicate_function(const char *name)
{
	static const char *const names[] = {"malloc",
					    "calloc",
					    "realloc",
					    "free",
					    "memalign",
					    "valloc",
					    "pvalloc",
					    "aligned_alloc",
					    "posix_memalign",
					    "mallopt",
					    "malloc_trim",
					    "reallocarray",
					    "malloc_info",
					    "cfree",
					    "dlopen",
					    "dlclose",
					    "dl_iterate_phdr",
					    "dlsym",
					    "dlmopen",
					    "exit",
					    "fork",
					    "_Fork",
					    "vfork",
					    "quick_exit",
					    "__cxa_finalize",
					    "pthread_create"};

	return is_one_of(name, names, sizeof(names) / sizeof(names[0])) ||
	       starts_with(name, "operator new") || starts_with(name, "operator delete") ||
	       starts_with(name, "__libc_fork") || starts_with(name, "pthread_create");
}

/* Returns true for the wait of a mutex or C library lock. Condition variables wait differently. */
static bool waits_for_lock(const struct user_regs_struct *r, const char *module, const char *name)
{
	return r->orig_rax == SYS_futex && (r->rsi & 0x7f) == 0 /* FUTEX_WAIT */ &&
	       (is_libc(module) || starts_with(base_name(module), "libpthread")) &&
	       strcmp(name, "syscall") != 0;
}

static bool is_delicate(struct bringing *b, size_t i)
{
	const struct unwind_frame *f = &b->frames[i];
	const char *module = symbolizer_module_path(b->symbolizer, f->code.module);
	const char *name;

	if (i > 0 && !f->is_return_address)
		return true; /* interrupted by a signal */
	if (is_delicate_library(base_name(module)))
		return true;
	name = symbolizer_name(b->symbolizer, f->code, f->is_return_address);
	return is_delicate_function(name) ||
	       (i == 0 && waits_for_lock(&b->thread.registers, module, name));
}

static struct cfi_registers unwind_registers(const struct user_regs_struct *r)
{
	return (struct cfi_registers){.value = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						r->rbp, r->rsp, r->r8, r->r9, r->r10, r->r11,
						r->r12, r->r13, r->r14, r->r15, r->rip},
				      .known = (1u << CFI_REGISTERS) - 1};
}

static bool stack_is_harmless(struct bringing *b)
{
	const struct user_regs_struct *r = &b->thread.registers;
	struct unwind_input input = {.registers = unwind_registers(r), .stack = b->stack};
	enum unwind_end end;
	size_t count;

	input.stack_size = remote_read_some(&b->memory, r->rsp, b->stack, sizeof(b->stack));
	count = symbolizer_unwind(b->symbolizer, b->space, &input, b->frames, FRAMES_MAX, &end);
	if (end != UNWIND_WHOLE && end != UNWIND_GUESSED)
		return false;
	for (size_t i = 0; i < count; i++)
		if (is_delicate(b, i))
			return false;
	return true;
}

/* Returns true if a thread has no limits. The thread is held, so it cannot get new ones. */
static bool thread_is_free(const struct bringing *b, pid_t tid)
{
	char name[64], *status = NULL;
	size_t size;
	bool is_free;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (proc_file_read(NULL, b->request->pid, name, 16384, &status, &size) != 0)
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
 * Takes a thread whose stack is harmless. The first of two looks reads unwind tables while the
 * thread runs on. The second stops it only for an unwind with cached tables.
 */
static bool borrow(struct bringing *b, pid_t tid)
{
	for (int look = 0; look < 2; look++) {
		struct user_regs_struct *r = &b->thread.registers;
		int err;

		if (!becomes_fit(b->request->pid, tid, look == 0 ? 1 : RESUME_LOOKS))
			return false;
		err = remote_call_take(&b->thread, b->request->pid, tid);
		if (err == -EPERM || err == -EACCES)
			b->result = INJECT_DENIED;
		if (err == -ETIMEDOUT) /* our thread has to end, to let go of it */
			b->result = INJECT_NO_THREAD;
		if (err)
			return false;
		if (look == 0) {
			struct user_regs_struct copy = *r;
			size_t n = remote_read_some(&b->memory, r->rsp, b->stack, sizeof(b->stack));
			struct unwind_input input = {.registers = unwind_registers(&copy),
						     .stack = b->stack,
						     .stack_size = n};
			enum unwind_end end;
			size_t count;

			remote_call_release(&b->thread);
			count = symbolizer_unwind(b->symbolizer, b->space, &input, b->frames,
						  FRAMES_MAX, &end);
			for (size_t i = 0; i < count; i++)
				if (is_delicate(b, i))
					return false;
		} else if (thread_is_free(b, tid) && stack_is_harmless(b)) {
			b->thread.restorer = b->restorer;
			b->thread_is_taken = true;
			return true;
		} else {
			remote_call_release(&b->thread);
		}
	}
	return false;
}

static bool visit_thread(struct bringing *b, pid_t tid)
{
	return borrow(b, tid) || b->result != INJECT_DONE || remote_memory_is_stuck(&b->memory);
}

/* Returns true if the process's former program is gone. */
static bool runs_another(struct bringing *b)
{
	uint8_t byte;

	return !remote_read(&b->memory, b->libc, &byte, 1) && !remote_memory_is_stuck(&b->memory);
}

static bool find_thread(struct bringing *b)
{
	b->thread_is_taken = false;
	do {
		bool found;

		if (kill(b->request->pid, 0) != 0 && errno == ESRCH)
			return fail(b, INJECT_GONE, "has ended");
		if (runs_another(b))
			return fail(b, INJECT_GONE, "runs another program by now");
		found = each_thread(b, visit_thread);
		if (found && b->thread_is_taken)
			return true;
		if (remote_memory_is_stuck(&b->memory))
			return fail_stuck(b, "memory");
		/* an ending thread does not stop, either */
		if (b->result == INJECT_NO_THREAD && runs_another(b))
			return fail(b, INJECT_GONE, "has ended");
		if (b->result == INJECT_NO_THREAD)
			return fail(b, INJECT_NO_THREAD,
				    "has a thread that sleeps, but does not stop: it may be "
				    "frozen");
		if (found)
			return fail(b, INJECT_DENIED, "may not be traced by this user");
		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
	} while (may_search(b));
	if (bounded_caller_count_stuck(symbolizer_calls(b->symbolizer)))
		return fail_stuck(b, "a mapped file");
	return fail(b, INJECT_NO_THREAD,
		    "has no thread that sleeps where the library could be loaded");
}

/* ---- loading ---- */

/* Fails for lack of stack, with a retry: another thread may have more. */
static bool lack_room(struct bringing *b)
{
	b->lacks_room = true;
	return fail(b, INJECT_NO_THREAD, "has too little stack in its sleeping thread");
}

static bool call(struct bringing *b, const struct borrowed_call *what, const char *step)
{
	struct borrowed_call bounded = *what;
	uint64_t now = monotonic_ns();
	int err;

	if (b->job.is_late) { /* the caller has given up: return the thread */
		remote_call_release(&b->thread);
		return fail(b, INJECT_STUCK, "answers too late");
	}
	if (!b->load_until_ns)
		b->load_until_ns = now + INJECT_TIMEOUT_NS;
	bounded.timeout_ns = b->load_until_ns > now ? b->load_until_ns - now : 0;
	err = remote_call_run(&b->thread, &bounded);
	if (!err)
		return true;
	if (err == -ESRCH)
		return fail(b, INJECT_GONE, "has ended meanwhile");
	if (err == -ETIMEDOUT)
		return fail(b, INJECT_LATE,
			    "was busy at %s for too long (another of its threads may be loading a "
			    "library)",
			    step);
	if (err == -EAGAIN)
		return fail(b, INJECT_NO_THREAD,
			    "has a thread that sleeps, but runs nothing: it may be frozen");
	remote_call_release(&b->thread);
	if (remote_memory_is_stuck(&b->memory))
		return fail_stuck(b, "memory");
	if (err == -ENOBUFS)
		return lack_room(b);
	return fail(b, INJECT_FAILED, "failed at %s: %s", step, strerror(-err));
}

/* Creates a memfd in the process. Returns its descriptor, -errno, or INT64_MIN: thread lost. */
static int64_t make_memory(struct bringing *b, uint32_t flags)
{
	struct borrowed_call make = {.function = b->system_call,
				     .data = b->memory_name,
				     .data_size = strlen(b->memory_name) + 1,
				     .arguments = {SYS_memfd_create, BORROWED_DATA, flags}};

	if (!call(b, &make, "memfd_create"))
		return INT64_MIN;
	return b->thread.system_call == SYS_memfd_create ? b->thread.system_result : -ENOSYS;
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

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, bytes + done, size - done);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Writes the library to the memfd and gets its inode. Returns 0 or -errno. */
static int fill_memory(struct bringing *b, int theirs, uint64_t *inode)
{
	int fd = borrow_descriptor(b->request->pid, theirs);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return fd;
	/* F_GET_SEALS proves it is memory: stat(2) of other files may block */
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 0 || st.st_size != 0)
		err = -EBADF; /* the program has replaced the file */
	else if (!write_all(fd, b->request->library, b->request->library_size))
		err = -EIO;
	*inode = err ? 0 : st.st_ino;
	close(fd);
	return err;
}

/* Returns the address of the library's entry point, or 0 if it was not loaded. */
static uint64_t find_entry(struct bringing *b, uint64_t inode)
{
	struct remote_mapping m;
	uint64_t entry = 0;
	char *text = NULL, *rest;

	if (!read_maps(b, &text))
		return 0;
	rest = text;
	while (!entry && remote_mapping_next(&rest, &m))
		if (m.inode == inode && is_ours(&m))
			entry = remote_function(&b->memory, m.start, b->request->entry);
	free(text);
	return entry;
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

static bool open_library(struct bringing *b, int theirs)
{
	const uint64_t elder = 0x80000000u; /* __RTLD_DLOPEN */
	struct borrowed_call load = {.function = b->loader_call};
	char path[160];

	name_memory(path, sizeof(path), theirs);
	load.data = path;
	load.data_size = strlen(path) + 1;
	load.arguments[0] = BORROWED_DATA;
	load.arguments[1] = RTLD_NOW | RTLD_LOCAL | (b->is_elder ? elder : 0);
	return call(b, &load, "dlopen");
}

static bool close_memory(struct bringing *b, int theirs)
{
	struct borrowed_call shut = {.function = b->system_call,
				     .arguments = {SYS_close, (uint64_t)theirs}};

	return call(b, &shut, "close");
}

static bool begin(struct bringing *b, uint64_t entry)
{
	struct borrowed_call start = {.function = entry,
				      .data = b->request->text,
				      .data_size = strlen(b->request->text) + 1,
				      .arguments = {BORROWED_DATA}};

	return call(b, &start, "its start");
}

/*
 * Checks again, for the user, that the process may be inspected: we may trace more than the user.
 * Also detects an exec since the search, after which addresses are wrong. A later exec
 * ends the held thread, and with it the injection.
 */
static bool is_still_users(struct bringing *b)
{
	char *text = NULL, *rest;
	struct remote_mapping m;
	uint64_t top = b->thread.registers.rsp, lowest = remote_call_lowest(&b->thread);
	bool has_any, is_same_program = false, has_room = true;

	if (!read_maps(b, &text)) {
		remote_call_release(&b->thread);
		return false;
	}
	has_any = text[0];
	rest = text;
	while (remote_mapping_next(&rest, &m)) {
		is_same_program |=
			m.start == b->libc && m.inode == b->libc_inode && is_libc(m.path);
		has_room &= m.is_writable || m.end <= lowest || m.start > top;
	}
	free(text);
	if (is_same_program && has_room)
		return true;
	remote_call_release(&b->thread);
	if (is_same_program)
		return lack_room(b);
	return has_any ? fail(b, INJECT_GONE, "runs another program by now")
		       : fail(b, INJECT_DENIED,
			      "may not be looked into: its first thread has ended");
}

static bool has_mark(struct bringing *b)
{
	char *text = NULL, *rest;
	struct remote_mapping m;
	bool found = false;

	if (!read_maps(b, &text))
		return false;
	rest = text;
	while (!found && remote_mapping_next(&rest, &m))
		found = is_mark(b, &m);
	free(text);
	return found;
}

/* Starts an inactive copy. Returns true if it is active or the thread is lost; see `*done`. */
static bool begin_again(struct bringing *b, bool *done)
{
	uint64_t entry = remote_function(&b->memory, b->copy, b->request->entry);

	*done = false;
	b->copy = 0; /* only one attempt */
	if (!entry)
		return false;
	if (!begin(b, entry))
		return true;
	if (!has_mark(b))
		return false;
	remote_call_release(&b->thread);
	*done = true;
	return true;
}

/* Loads and starts the library in the borrowed thread, which is always given back. */
static bool load(struct bringing *b)
{
	uint64_t inode = 0, entry;
	int64_t theirs;
	bool done;
	int err;

	if (!is_still_users(b))
		return false;
	if (b->copy && begin_again(b, &done)) {
		if (done)
			b->result = INJECT_DONE;
		return done;
	}
	theirs = make_memory(b, MFD_CLOEXEC | MFD_EXEC);
	if (theirs == -EINVAL)
		theirs = make_memory(b, MFD_CLOEXEC);
	if (theirs == INT64_MIN)
		return false;
	err = theirs < 0 ? (int)theirs : fill_memory(b, (int)theirs, &inode);
	if (err) {
		if (theirs >= 0 && !close_memory(b, (int)theirs))
			return false;
		remote_call_release(&b->thread);
		return fail(b, INJECT_FAILED, "takes no library: %s", strerror(-err));
	}
	if (!open_library(b, (int)theirs) || !close_memory(b, (int)theirs))
		return false;
	entry = find_entry(b, inode);
	if (!entry) {
		remote_call_release(&b->thread);
		return fail(b, INJECT_FAILED,
			    "did not load the library (is /proc mounted there, and memory left?)");
	}
	if (!begin(b, entry))
		return false;
	remote_call_release(&b->thread);
	b->result = INJECT_DONE;
	return true;
}

/* ---- the whole injection ---- */

static void run(struct bounded_job *opaque)
{
	struct bringing *b = (struct bringing *)opaque;
	int err;

	b->calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	if (!b->symbolizer && b->calls)
		b->symbolizer = symbolizer_new();
	b->space = b->symbolizer && b->calls
			   ? address_space_new((uint32_t)b->request->pid, b->request->pid, false)
			   : NULL;
	if (!b->space) {
		fail(b, INJECT_FAILED, "cannot be looked into: out of memory");
		return;
	}
	bounded_caller_limit_sleep(b->calls, INJECT_SLEEP_MS);
	bounded_caller_limit_sleep(symbolizer_calls(b->symbolizer), INJECT_SLEEP_MS);
	if (!judge(b))
		return;
	err = remote_memory_open(&b->memory, b->request->pid, b->calls);
	if (err) {
		fail(b, err == -ESRCH || err == -ENOENT ? INJECT_GONE : INJECT_DENIED,
		     "may not be looked into: %s", strerror(-err));
		return;
	}
	b->thread.memory = &b->memory;
	b->thread.hurries = b->request->called_off;
	b->search_until_ns = monotonic_ns() + INJECT_SEARCH_NS;
	b->result = INJECT_DONE;
	snprintf(b->memory_name, sizeof(b->memory_name), MEMORY_NAME_FORMAT,
		 stable_hash(b->request->library, b->request->library_size));
	if (!find_functions(b))
		return;
	for (uint32_t i = 0; i < LOADS; i++) {
		if (!find_thread(b) || load(b) || !b->lacks_room)
			return;
		b->lacks_room = false;
		b->result = INJECT_DONE;
	}
	b->result = INJECT_NO_THREAD;
}

static void release(struct bounded_job *opaque)
{
	struct bringing *b = (struct bringing *)opaque;

	remote_memory_close(&b->memory);
	address_space_free(b->space);
	symbolizer_free(b->symbolizer);
	bounded_caller_free(b->calls);
}

/*
 * Runs the injection on a tracing thread. The sleep limit applies only to waits for a lock of the
 * process. Other waits poll every few milliseconds.
 */
static int run_apart(struct bringing *b)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	int err;

	if (!calls) {
		release(&b->job);
		free(b);
		return -ENOMEM;
	}
	bounded_caller_keep_capabilities(calls);
	bounded_caller_limit_sleep(calls, INJECT_SLEEP_MS);
	err = bounded_call(calls, &b->job, BOUNDED_CALL_RUN_MS);
	bounded_caller_free(calls); /* releases traced threads */
	return err;
}

enum inject_result inject_process(struct inject_request *request, char *message)
{
	struct bringing *b = bounded_job_new(sizeof(*b), run, release);
	struct symbolizer *given = request->symbolizer;
	enum inject_result result;
	int err = b ? 0 : -ENOMEM;

	message[0] = '\0';
	if (b && strlen(request->text) >= INJECT_TEXT_MAX) {
		err = -E2BIG;
		free(b);
	}
	if (!err) {
		b->memory.fd = -1;
		b->copy_of_request = *request;
		b->request = &b->copy_of_request;
		snprintf(b->text, sizeof(b->text), "%s", request->text);
		b->request->text = b->text;
		b->symbolizer = given;
		request->symbolizer = NULL;
		b->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)request->pid;
		err = run_apart(b);
	}
	if (err == -EBUSY) /* not started: the symbolizer is still ours */
		request->symbolizer = given;
	if (err == -ETIMEDOUT)
		snprintf(message, INJECT_MESSAGE_MAX,
			 "process %d does not answer: a thread of it holds a lock, or waits for a "
			 "FUSE or network file system (restart its server, or unmount it)",
			 request->pid);
	else if (err)
		snprintf(message, INJECT_MESSAGE_MAX, "process %d: %s", request->pid,
			 strerror(-err));
	if (err)
		return err == -ETIMEDOUT ? INJECT_STUCK : INJECT_FAILED;
	snprintf(message, INJECT_MESSAGE_MAX, "%s", b->message);
	request->first_thread = b->request->first_thread;
	result = b->result;
	if (b->symbolizer && !bounded_caller_count_stuck(symbolizer_calls(b->symbolizer))) {
		request->symbolizer = b->symbolizer;
		b->symbolizer = NULL;
	}
	release(&b->job);
	free(b);
	return result;
}
