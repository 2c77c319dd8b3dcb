// SPDX-License-Identifier: MIT
#include "cupti_trace/core/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/clock.h"
#include "symbolize/util/guarded_path.h"

#define HIGHEST_FD 4095 /* a higher number would make the kernel's descriptor table large */
#define DEFAULT_FLOAT_MODE 0x1f80u /* all exceptions masked, none raised (Intel SDM 1, 10.2.3) */
#define FEW_FDS 16                 /* so many numbers, from the highest down, are tried first */

static __thread unsigned int depth;

/* Returns MXCSR. In assembler, because the compiler may use no such registers here. */
static uint32_t float_mode(void)
{
	uint32_t mode;

	__asm__ volatile("stmxcsr %0" : "=m"(mode));
	return mode;
}

static void set_float_mode(uint32_t mode)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(mode));
}

static void enter(struct guest *guest, bool is_measured)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t held;

	guest->is_outermost = depth++ == 0;
	if (!guest->is_outermost)
		return;
	guest->error = errno;
	guest->float_mode = float_mode();
	set_float_mode(DEFAULT_FLOAT_MODE);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guest->cancel_state);
	sigfillset(&held);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&held, faults[i]);
	pthread_sigmask(SIG_BLOCK, &held, &guest->signals);
	guest->is_measured = is_measured;
	if (is_measured)
		guest->mark = overhead_begin();
}

void guest_enter(struct guest *guest)
{
	enter(guest, true);
}

void guest_enter_briefly(struct guest *guest)
{
	enter(guest, false);
}

void guest_leave(const struct guest *guest)
{
	depth--;
	if (!guest->is_outermost)
		return;
	if (guest->is_measured)
		overhead_end(&guest->mark);
	errno = guest->error;
	set_float_mode(guest->float_mode);
	pthread_setcancelstate(guest->cancel_state, NULL);
	/* last: a handler that runs here may not come back */
	pthread_sigmask(SIG_SETMASK, &guest->signals, NULL);
}

bool guest_is_pending(int signal)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, signal) == 1;
}

void guest_take_back(int signal)
{
	const struct timespec no_wait = {0, 0};
	sigset_t raised;

	sigemptyset(&raised);
	sigaddset(&raised, signal);
	while (sigtimedwait(&raised, NULL, &no_wait) < 0 && errno == EINTR)
		;
}

/* ---- files ---- */

static bool is_file(int fd, dev_t device, ino_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool guest_still_has(int fd, dev_t device, ino_t inode)
{
	bool has = fd >= 0 && is_file(fd, device, inode);

	if (fd >= 0 && !has)
		guest_note_closed();
	return has;
}

void guest_close(int fd, const struct stat *file)
{
	if (is_file(fd, file->st_dev, file->st_ino))
		close(fd);
}

/* Duplicates a descriptor to a free high number. Returns the new one, or -1 if there is none. */
static int copy_up(int fd)
{
	struct rlimit limit = {.rlim_cur = 0};
	int lowest, high = -1;

	getrlimit(RLIMIT_NOFILE, &limit);
	lowest = limit.rlim_cur > HIGHEST_FD ? HIGHEST_FD + 1 : (int)limit.rlim_cur;
	for (lowest -= FEW_FDS; high < 0 && lowest > fd; lowest /= 2)
		high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
	return high;
}

/*
 * Moves a descriptor to a high number, or keeps it if none is free. Returns the descriptor, or
 * -EBADF if the program closed it.
 */
static int move_up(int fd)
{
	struct stat file;
	int high;

	if (fstat(fd, &file) != 0) {
		guest_note_closed();
		return -EBADF;
	}
	high = copy_up(fd);
	if (high < 0)
		return is_file(fd, file.st_dev, file.st_ino) ? fd : -EBADF;
	if (!is_file(high, file.st_dev, file.st_ino)) {
		close(high);
		guest_note_closed();
		return -EBADF;
	}
	guest_close(fd, &file);
	return high;
}

bool guest_has_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return false;
	return true;
}

/* Occupies closed standard descriptors with files that can be neither read nor written. */
static int take_standard(int placeholders[STDERR_FILENO + 1], struct stat *root)
{
	int count = 0, fd;

	if (guest_has_standard())
		return 0;
	while ((fd = open("/", O_PATH | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO) {
		fstat(fd, root);
		placeholders[count++] = fd;
	}
	if (fd >= 0 && fstat(fd, root) == 0)
		guest_close(fd, root);
	return count;
}

static _Atomic int first_seccomp_mode; /* SECCOMP_MODE_FILTER in a container */
static _Atomic int first_no_new_privs;

static int seccomp_mode(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
}

static int no_new_privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

void guest_begin(void)
{
	atomic_store(&first_seccomp_mode, seccomp_mode());
	atomic_store(&first_no_new_privs, no_new_privs());
}

bool guest_has_filter(void)
{
	return seccomp_mode() != SECCOMP_MODE_DISABLED;
}

bool guest_is_sandboxed(void)
{
	int mode = seccomp_mode();

	return mode != SECCOMP_MODE_DISABLED &&
	       (mode != atomic_load(&first_seccomp_mode) ||
		no_new_privs() != atomic_load(&first_no_new_privs));
}

int guest_open(const char *path, int flags)
{
	int placeholders[STDERR_FILENO + 1], count, fd;
	struct stat root;

	if (guest_is_sandboxed())
		return -EPERM;
	count = take_standard(placeholders, &root);
	if (flags & O_CREAT) {
		fd = guarded_open(path, flags, 0666);
	} else {
		fd = open(path, flags | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	while (count > 0)
		guest_close(placeholders[--count], &root);
	return fd < 0 ? fd : move_up(fd);
}

struct guest_root guest_root(void)
{
	struct statx st = {.stx_ino = 0};

	if (statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID, &st) != 0)
		return (struct guest_root){0};
	return (struct guest_root){
		.mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
		.device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.inode = st.stx_ino,
	};
}

bool guest_is_in_root(const struct guest_root *root)
{
	struct guest_root now = guest_root();

	return now.mount == root->mount && now.device == root->device && now.inode == root->inode;
}

/* ---- descriptors of our own ---- */

#define ISOLATED_STACK (64u << 10)

static _Atomic uint64_t isolated_until_ns;
static _Atomic uint64_t isolation_ns = GUEST_ISOLATED_FIRST_NS;

void guest_note_closed(void)
{
	uint64_t lasts = atomic_load(&isolation_ns);

	if (guest_is_isolated())
		return;
	atomic_store(&isolation_ns, lasts * GUEST_ISOLATED_FACTOR);
	atomic_store(&isolated_until_ns, clock_now_ns() + lasts);
}

bool guest_is_isolated(void)
{
	uint64_t until = atomic_load_explicit(&isolated_until_ns, memory_order_relaxed);

	return until != 0 && clock_now_ns() < until;
}

struct isolated {
	void (*work)(void *data);
	void *data;
	bool has_run;
	int lives; /* cleared by the kernel at the thread's end */
};

static void run_isolated(struct isolated *isolated)
{
	/* the kernel copies only the lowest few dozen of the program's descriptors, for a moment */
	if (syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) != 0)
		return;
	isolated->work(isolated->data);
	isolated->has_run = true;
}

/*
 * Starts a thread that runs run_isolated on the stack that ends at `top`, and ends. Returns the
 * thread's id or -errno. The thread shares the caller's thread-local storage, so the caller must
 * only wait until then. (CLONE_VFORK would do that, but valgrind ends programs that use it here.)
 */
static long start_isolated(char *top, struct isolated *isolated)
{
	const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				    CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	register int *lives __asm__("r10") = &isolated->lives;
	register long tls __asm__("r8") = 0;
	void **stack = (void **)top;
	long tid;

	*--stack = (void *)(uintptr_t)run_isolated;
	*--stack = isolated;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined rip\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rdi\n\t"
			 "pop %%rax\n\t"
			 "call *%%rax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "=a"(tid)
			 : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(0), "r"(lives),
			   "r"(tls), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory", "cc");
	return tid;
}

static void wait_for_end(int *lives)
{
	int value;

	while ((value = __atomic_load_n(lives, __ATOMIC_ACQUIRE)) != 0)
		syscall(SYS_futex, lives, FUTEX_WAIT, value, NULL, NULL, 0);
}

bool guest_run_isolated(void (*work)(void *data), void *data)
{
	struct isolated isolated = {.work = work, .data = data, .lives = 1};
	sigset_t all, signals;
	char *stack;

	/* a filter may kill a process that makes a thread in an unusual way */
	if (guest_has_filter())
		return false;
	stack = mmap(NULL, ISOLATED_STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &signals); /* the thread inherits this mask */
	if (start_isolated(stack + ISOLATED_STACK, &isolated) > 0)
		wait_for_end(&isolated.lives);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	munmap(stack, ISOLATED_STACK);
	return isolated.has_run;
}

void guest_run_with_files(void (*work)(void *data), void *data)
{
	if (!guest_is_isolated() || !guest_run_isolated(work, data))
		work(data);
}
