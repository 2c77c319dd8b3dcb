// SPDX-License-Identifier: MIT
#include "profiler/attach/remote_call.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"

#define STOP_NS 200000000u  /* timeout for a sleeping thread to stop */
#define EXEC_NS 2000000000u /* timeout for an exec to reach its stop */
#define HURRY_NS 300000000u /* timeout of a call once it is to hurry */
#define SLEEP_NS 700000000u /* limit of sleep in a call, without CPU time */
#define CALL_LOOK_NS 50000000u
#define RED_ZONE 128u
#define CODE_64 0x33u
#define FLAGS_CLEARED UINT64_C(0x40500) /* direction, traps, alignment checks */
#define SYSCALL_STOP (SIGTRAP | 0x80)

/* Kernel-internal results of an interrupted system call, before it is resumed. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

/* ---- system calls ---- */

/* Continuation of a system call after a stop. Calls outside the table are not suitable. */
enum {
	RESUMED = 1,   /* the kernel resumes it */
	RESTARTED = 2, /* it may end with EINTR, and is restarted here */
};

static const struct system_call {
	uint32_t number, how;
	uint32_t argument, unlimited; /* RESTARTED only: value of `argument` for no timeout */
} system_calls[] = {
	{SYS_epoll_wait, RESTARTED, 3, UINT32_MAX},
	{SYS_epoll_pwait, RESTARTED, 3, UINT32_MAX},
	{SYS_epoll_pwait2, RESTARTED, 3, 0},
	{SYS_rt_sigtimedwait, RESTARTED, 2, 0},
	{SYS_read, RESUMED | RESTARTED, 0, 0}, /* EINTR: with a timeout of the socket */
	{SYS_accept, RESUMED | RESTARTED, 0, 0},
	{SYS_accept4, RESUMED | RESTARTED, 0, 0},
	{SYS_recvfrom, RESUMED | RESTARTED, 0, 0},
	{SYS_recvmsg, RESUMED | RESTARTED, 0, 0},
	{SYS_poll, RESUMED, 0, 0},
	{SYS_select, RESUMED, 0, 0},
	{SYS_pause, RESUMED, 0, 0},
	{SYS_nanosleep, RESUMED, 0, 0},
	{SYS_wait4, RESUMED, 0, 0},
	{SYS_waitid, RESUMED, 0, 0},
	{SYS_futex, RESUMED, 0, 0},
	{SYS_rt_sigsuspend, RESUMED, 0, 0},
	{SYS_ppoll, RESUMED, 0, 0},
	{SYS_pselect6, RESUMED, 0, 0},
	{SYS_clock_nanosleep, RESUMED, 0, 0},
	{SYS_restart_syscall, RESUMED, 0, 0},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct system_call *find_call(uint64_t number)
{
	for (size_t i = 0; i < COUNT(system_calls); i++)
		if (system_calls[i].number == number)
			return &system_calls[i];
	return NULL;
}

static bool is_restarted(uint64_t number)
{
	const struct system_call *call = find_call(number);

	return call && call->how & RESTARTED;
}

/* Returns true for MSG_WAITALL: after a stop, the call would return with partial data. */
static bool waits_for_all(uint64_t number, const uint64_t arguments[6])
{
	return (number == SYS_recvfrom && arguments[3] & MSG_WAITALL) ||
	       (number == SYS_recvmsg && arguments[2] & MSG_WAITALL);
}

bool remote_call_is_fit(pid_t pid, pid_t tid)
{
	const struct system_call *call;
	uint64_t a[6], number, limit;
	char text[512];

	if (!proc_thread_read(pid, tid, "syscall", text, sizeof(text)) ||
	    sscanf(text,
		   "%" SCNu64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64,
		   &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) != 7)
		return false;
	call = find_call(number);
	if (!call || call->how & RESUMED)
		return call && !waits_for_all(number, a);
	limit = a[call->argument];
	return (uint32_t)limit == call->unlimited && (call->unlimited || !limit);
}

/* Returns true if a deliverable signal is pending: it ended the system call. */
static bool has_signal(pid_t pid, pid_t tid, uint64_t blocked)
{
	static const char *const lines[] = {"\nSigPnd:", "\nShdPnd:"};
	char text[8192];

	if (!proc_thread_read(pid, tid, "status", text, sizeof(text)))
		return true;
	for (size_t i = 0; i < COUNT(lines); i++) {
		const char *line = strstr(text, lines[i]);

		if (!line || strtoull(line + strlen(lines[i]), NULL, 16) & ~blocked)
			return true;
	}
	return false;
}

/* ---- stops ---- */

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Returns the signal of a signal-delivery-stop, or 0 for another stop. */
static int delivered_signal(int status)
{
	return status >> 16 == 0 && WSTOPSIG(status) != SYSCALL_STOP ? WSTOPSIG(status) : 0;
}

static int resume(pid_t tid, int how, int signal)
{
	return ptrace((enum __ptrace_request)how, tid, NULL, (void *)(intptr_t)signal) ? -errno : 0;
}

/*
 * Detaches from a thread. If it was killed in its stop, waits for it, STOP_NS at most: its process
 * cannot end before the tracer has seen that.
 */
static void detach(pid_t tid, int signal)
{
	uint64_t deadline_ns = monotonic_ns() + STOP_NS;
	int status;

	while (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal) && errno == ESRCH) {
		pid_t n = waitpid(tid, &status, WNOHANG | __WALL | __WNOTHREAD);

		if ((n == tid && !WIFSTOPPED(status)) || (n < 0 && errno != EINTR) ||
		    monotonic_ns() > deadline_ns)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

/*
 * Detaches from a thread that has executed a program and so got the id of the first thread. Returns
 * -ESRCH, or -ETIMEDOUT if the exec is incomplete and the thread is released with ours.
 */
static int detach_first_thread(pid_t pid)
{
	uint64_t deadline_ns = monotonic_ns() + EXEC_NS;
	int status;

	for (;;) {
		pid_t n = waitpid(pid, &status, WNOHANG | __WALL | __WNOTHREAD);

		if (n == pid && WIFSTOPPED(status))
			detach(pid, 0);
		if (n == pid || (n < 0 && errno != EINTR)) /* ECHILD: not our tracee */
			return -ESRCH;
		if (monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/*
 * Waits for the next stop. Returns 0, -ETIMEDOUT, or -ESRCH if the thread has ended or executed
 * another program. That program may have more rights than the user, so it is detached untouched.
 */
static int wait_stop(const struct remote_call *t, uint64_t deadline_ns, int *status)
{
	long pause_ns = 20000;

	for (;;) {
		pid_t n = waitpid(t->tid, status, WNOHANG | __WALL | __WNOTHREAD);

		if (n == t->tid && WIFSTOPPED(*status) && *status >> 16 == PTRACE_EVENT_EXEC) {
			detach(t->tid, 0);
			return -ESRCH;
		}
		if (n == t->tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (n < 0 && errno != EINTR)
			return t->tid == t->pid ? -ESRCH : detach_first_thread(t->pid);
		if (monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
		if (pause_ns < 1000000)
			pause_ns *= 2;
	}
}

static int get_registers(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec v = {registers, sizeof(*registers)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v))
		return -errno;
	return v.iov_len == sizeof(*registers) ? 0 : -EAGAIN; /* shorter: 32-bit code */
}

static int set_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec v = {(void *)(uintptr_t)registers, sizeof(*registers)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) ? -errno : 0;
}

static int set_signals(pid_t tid, uint64_t signals)
{
	return ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(signals), &signals) ? -errno : 0;
}

static int set_xstate(struct remote_call *t)
{
	struct iovec v = {t->xstate, t->xstate_size};

	return ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ? -errno : 0;
}

/* ---- taking ---- */

static bool is_restart(uint64_t rax)
{
	int64_t result = (int64_t)rax;

	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	       result == -ERESTART_RESTARTBLOCK;
}

/* Sets registers to the beginning of the system call, as the kernel restarts it. */
static void set_restart(const struct remote_call *t, struct user_regs_struct *r)
{
	r->rip -= 2;
	r->rax = r->orig_rax == SYS_restart_syscall ? t->resumed : r->orig_rax;
	r->orig_rax = UINT64_MAX;
}

/* Reads the system call's number from "mov $NUMBER,%eax; syscall". */
static uint64_t number_in_code(const struct remote_call *t)
{
	uint8_t code[7];
	uint32_t number;

	if (!remote_read(t->memory, t->registers.rip - sizeof(code), code, sizeof(code)) ||
	    code[0] != 0xb8)
		return SYS_restart_syscall;
	memcpy(&number, code + 1, sizeof(number));
	return number;
}

/* Notes the system call. After a stop, timed waits appear as restart_syscall. False: unknown. */
static bool note_call(struct remote_call *t)
{
	const struct user_regs_struct *r = &t->registers;

	if (r->orig_rax == SYS_restart_syscall && t->tid == t->resumed_tid &&
	    r->rip == t->resumed_pc && r->rsp == t->resumed_sp)
		return true;
	t->resumed = r->orig_rax == SYS_restart_syscall ? number_in_code(t) : r->orig_rax;
	t->resumed_tid = t->tid;
	t->resumed_pc = r->rip;
	t->resumed_sp = r->rsp;
	return t->resumed != SYS_restart_syscall;
}

/* Returns true if the thread will resume its system call. May change its registers for that. */
static bool will_resume(struct remote_call *t)
{
	struct user_regs_struct *r = &t->registers;
	uint8_t code[2];

	if ((int64_t)r->orig_rax < 0 || (r->cs & 0xffff) != CODE_64)
		return false;
	if (!remote_read(t->memory, r->rip - sizeof(code), code, sizeof(code)) || code[0] != 0x0f ||
	    code[1] != 0x05)
		return false;
	if (is_restart(r->rax))
		return note_call(t);
	if (r->rax != (uint64_t)-EINTR || !is_restarted(r->orig_rax) ||
	    has_signal(t->pid, t->tid, t->signals))
		return false;
	set_restart(t, r);
	return set_registers(t->tid, r) == 0;
}

static int read_state(struct remote_call *t)
{
	struct iovec v = {t->xstate, sizeof(t->xstate)};
	int err = get_registers(t->tid, &t->registers);

	if (err)
		return err;
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ||
	    v.iov_len >= sizeof(t->xstate) || v.iov_len < 576)
		return -EAGAIN;
	t->xstate_size = v.iov_len;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(t->signals), &t->signals))
		return -errno;
	return 0;
}

int remote_call_take(struct remote_call *t, pid_t pid, pid_t tid)
{
	uint64_t deadline = monotonic_ns() + STOP_NS;
	int status, err;

	t->pid = pid;
	t->tid = tid;
	t->is_returned = false;
	/* TRACEEXEC: an exec stops the thread, and the new program is never touched */
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -errno;
	err = wait_stop(t, deadline, &status);
	if (err)
		return err;
	if (!is_event_stop(status) || WSTOPSIG(status) != SIGTRAP) {
		/* a signal came first, or the process was stopped */
		detach(tid, delivered_signal(status));
		return -EAGAIN;
	}
	err = read_state(t);
	if (!err && !will_resume(t))
		err = -EAGAIN;
	if (err)
		detach(tid, 0);
	return err;
}

/* ---- calling ---- */

uint64_t remote_call_find_restorer(const struct remote_memory *memory, uint64_t start, uint64_t end)
{
	/* code of rt_sigreturn: mov $15,%rax; syscall */
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	uint8_t page[4096 + sizeof(code)];

	for (uint64_t at = start; at < end && !remote_memory_is_stuck(memory); at += 4096) {
		size_t n = remote_read_some(memory, at, page, sizeof(page));
		const uint8_t *found = n ? memmem(page, n, code, sizeof(code)) : NULL;

		if (found)
			return at + (uint64_t)(found - page);
	}
	return 0;
}

#define RESTORER_SIZE 9u

/* Layout of a signal frame (arch/x86/include/uapi/asm/sigcontext.h). */
#define XSTATE_HEADER 464u /* offset of sw_reserved, which describes the rest */
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u
#define XFEATURES_TILES (UINT64_C(3) << 17)

struct xstate_header {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t size, padding[7];
};

/* Returns the size of the features in the standard format; at least 576. */
static uint32_t xstate_bytes(uint64_t features)
{
	uint32_t a, b, c, d, most = 576;

	for (uint32_t i = 2; i < 63; i++) {
		if (!(features >> i & 1))
			continue;
		__cpuid_count(13, i, a, b, c, d);
		if (a && a + b > most)
			most = a + b;
	}
	return most;
}

/* Copies the vectors in a signal frame's layout. The kernel accepts tiles only if in use. */
static size_t frame_xstate(const struct remote_call *t, uint8_t *bytes)
{
	struct xstate_header header = {.magic1 = XSTATE_MAGIC1};
	uint32_t magic2 = XSTATE_MAGIC2;
	uint64_t used;

	memcpy(bytes, t->xstate, t->xstate_size);
	memcpy(&header.features, t->xstate + XSTATE_HEADER, sizeof(header.features));
	memcpy(&used, t->xstate + 512, sizeof(used));
	if (!(used & XFEATURES_TILES))
		header.features &= ~XFEATURES_TILES;
	header.size = xstate_bytes(header.features);
	if (header.size > t->xstate_size)
		header.size = (uint32_t)t->xstate_size;
	header.extended_size = header.size + (uint32_t)sizeof(magic2);
	memcpy(bytes + XSTATE_HEADER, &header, sizeof(header));
	memcpy(bytes + header.size, &magic2, sizeof(magic2));
	return header.extended_size;
}

struct frame {
	uint64_t restorer;
	ucontext_t context; /* glibc's matches the kernel's up to 8 bytes of uc_sigmask */
};
#define FRAME_SIZE (offsetof(struct frame, context.uc_sigmask) + 8)

static void fill_frame(const struct remote_call *t, struct frame *f, uint64_t xstate)
{
	struct user_regs_struct r = t->registers;
	greg_t *g = f->context.uc_mcontext.gregs;

	if ((int64_t)r.orig_rax >= 0)
		set_restart(t, &r);
	memset(f, 0, sizeof(*f));
	f->restorer = t->restorer;
	f->context.uc_flags = 7;          /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	f->context.uc_stack.ss_flags = 7; /* invalid: keeps the signal stack */
	g[REG_R8] = (greg_t)r.r8;
	g[REG_R9] = (greg_t)r.r9;
	g[REG_R10] = (greg_t)r.r10;
	g[REG_R11] = (greg_t)r.r11;
	g[REG_R12] = (greg_t)r.r12;
	g[REG_R13] = (greg_t)r.r13;
	g[REG_R14] = (greg_t)r.r14;
	g[REG_R15] = (greg_t)r.r15;
	g[REG_RDI] = (greg_t)r.rdi;
	g[REG_RSI] = (greg_t)r.rsi;
	g[REG_RBP] = (greg_t)r.rbp;
	g[REG_RBX] = (greg_t)r.rbx;
	g[REG_RDX] = (greg_t)r.rdx;
	g[REG_RAX] = (greg_t)r.rax;
	g[REG_RCX] = (greg_t)r.rcx;
	g[REG_RSP] = (greg_t)r.rsp;
	g[REG_RIP] = (greg_t)r.rip;
	g[REG_EFL] = (greg_t)r.eflags;
	g[REG_CSGSFS] = (greg_t)((r.cs & 0xffff) | (r.ss & 0xffff) << 48);
	f->context.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)xstate;
	memcpy(&f->context.uc_sigmask, &t->signals, sizeof(t->signals));
}

uint64_t remote_call_lowest(const struct remote_call *t)
{
	const uint64_t most = RED_ZONE + 64 + 4 * 64 + t->xstate_size + 8 + BORROWED_DATA_MAX +
			      sizeof(struct frame) + 32 + BORROWED_STACK_BYTES;

	return t->registers.rsp > most ? t->registers.rsp - most : 0;
}

/*
 * Writes to the stopped thread's memory, in words. Uses the tid, because after an exec by another
 * thread the pid is a different program's, perhaps with more rights.
 */
static int write_words(pid_t tid, uint64_t address, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size; done += sizeof(long)) {
		size_t left = size - done;
		long word = 0;

		memcpy(&word, (const char *)bytes + done,
		       left < sizeof(word) ? left : sizeof(word));
		if (ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)(address + done), (void *)word))
			return errno == ESRCH ? -ESRCH : -ENOBUFS;
	}
	return 0;
}

/* Writes frame, data and vectors below the thread's stack. Returns 0, -ENOBUFS, or -ESRCH. */
static int write_frame(struct remote_call *t, const struct borrowed_call *call)
{
	const uint64_t lowest = remote_call_lowest(t), top = t->registers.rsp;
	uint8_t *xstate = malloc(sizeof(t->xstate) + 64), *room = malloc(top - lowest);
	uint64_t at = (top - RED_ZONE - 64) & ~UINT64_C(63);
	int err = -ENOBUFS;
	struct frame frame;
	size_t size;

	/* proves that all of it is mapped and answers */
	if (!xstate || !room || !lowest || call->data_size > BORROWED_DATA_MAX ||
	    !remote_read(t->memory, lowest, room, top - lowest))
		goto out;
	size = frame_xstate(t, xstate);
	at = (at - size) & ~UINT64_C(63);
	fill_frame(t, &frame, at);
	t->data = (at - BORROWED_DATA_MAX) & ~UINT64_C(63);
	t->frame = ((t->data - sizeof(frame)) & ~UINT64_C(15)) - 8;
	err = write_words(t->tid, at, xstate, size);
	if (!err)
		err = write_words(t->tid, t->data, call->data, call->data_size);
	if (!err)
		err = write_words(t->tid, t->frame, &frame, FRAME_SIZE);
out:
	free(xstate);
	free(room);
	return err;
}

static uint64_t argument(const struct remote_call *t, const struct borrowed_call *call, uint32_t i)
{
	uint64_t value = call->arguments[i];

	return value >= BORROWED_DATA && value - BORROWED_DATA < BORROWED_DATA_MAX
		       ? value - BORROWED_DATA + t->data
		       : value;
}

static bool is_fault(pid_t tid, int signal)
{
	siginfo_t info = {.si_code = 0};

	return (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
		signal == SIGTRAP || signal == SIGSYS) &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* Handles a system call stop. Returns true at the rt_sigreturn that ends the call. */
static bool has_returned(struct remote_call *t, bool *was_entry)
{
	struct user_regs_struct r;

	if (get_registers(t->tid, &r) != 0)
		return false;
	if (r.orig_rax == SYS_rt_sigreturn && r.rsp == t->frame + 8 &&
	    r.rip == t->restorer + RESTORER_SIZE)
		return true;
	*was_entry = !*was_entry;
	if (!*was_entry) {
		t->system_call = r.orig_rax;
		t->system_result = (int64_t)r.rax;
	}
	return false;
}

/* Restores the thread and detaches, at a stop outside of system calls. */
static void restore_and_detach(struct remote_call *t, int signal)
{
	set_xstate(t);
	set_signals(t->tid, t->signals);
	set_registers(t->tid, &t->registers);
	detach(t->tid, signal);
}

/*
 * Gives up a call, which goes on by itself. If it has not begun (frozen thread), takes it back and
 * returns -EAGAIN; otherwise returns -ETIMEDOUT.
 */
static int abandon(struct remote_call *t, uint64_t function)
{
	struct user_regs_struct r;
	int status;

	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) ||
	    wait_stop(t, monotonic_ns() + STOP_NS, &status) != 0)
		return -ETIMEDOUT;
	if (get_registers(t->tid, &r) == 0 && r.rip == function && r.rsp == t->frame) {
		restore_and_detach(t, delivered_signal(status));
		return -EAGAIN;
	}
	detach(t->tid, delivered_signal(status));
	return -ETIMEDOUT;
}

/*
 * Waits for the next stop in a call. Polls `hurries`. Waits SLEEP_NS at most while the thread does
 * not run: it may wait for a lock, or for a file that never answers.
 */
static int await_stop(struct remote_call *t, uint64_t *deadline, int *status)
{
	char ran[64] = "", now_ran[64];
	uint64_t ran_ns = monotonic_ns();
	bool hurried = false;

	for (;;) {
		uint64_t now = monotonic_ns(), until = now + CALL_LOOK_NS;
		int err = wait_stop(t, until < *deadline ? until : *deadline, status);

		if (err != -ETIMEDOUT || monotonic_ns() > *deadline)
			return err;
		if (!hurried && t->hurries && *t->hurries) {
			hurried = true;
			if (now + HURRY_NS < *deadline)
				*deadline = now + HURRY_NS;
		}
		if (!proc_thread_read(t->pid, t->tid, "schedstat", now_ran, sizeof(now_ran)) ||
		    strcmp(ran, now_ran) != 0 || proc_thread_state(t->pid, t->tid) == 'R') {
			memcpy(ran, now_ran, sizeof(ran));
			ran_ns = now;
		} else if (now - ran_ns > SLEEP_NS) {
			return -ETIMEDOUT;
		}
	}
}

static int follow_call(struct remote_call *t, uint64_t function, uint64_t deadline)
{
	bool was_entry = t->is_returned; /* the exit of rt_sigreturn comes next */
	int signal = 0;

	for (;;) {
		int status, err = resume(t->tid, PTRACE_SYSCALL, signal);

		if (!err)
			err = await_stop(t, &deadline, &status);
		if (err == -ETIMEDOUT)
			return abandon(t, function);
		if (err)
			return err;
		signal = delivered_signal(status);
		if (signal && is_fault(t->tid, signal))
			return -EFAULT;
		if (WSTOPSIG(status) == SYSCALL_STOP && has_returned(t, &was_entry))
			return 0;
	}
}

/* Returns a mask of all signals but faults. */
static uint64_t blocked_in_call(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	uint64_t all = UINT64_MAX;

	for (size_t i = 0; i < COUNT(faults); i++)
		all &= ~(UINT64_C(1) << (faults[i] - 1));
	return all;
}

int remote_call_run(struct remote_call *t, const struct borrowed_call *call)
{
	struct user_regs_struct r = t->registers;
	int err = write_frame(t, call);

	if (err)
		return err;
	r.rip = call->function;
	r.rsp = t->frame;
	r.rbp = 0;
	r.rax = 0;
	r.orig_rax = UINT64_MAX; /* no system call to resume */
	r.eflags &= ~FLAGS_CLEARED;
	r.rdi = argument(t, call, 0);
	r.rsi = argument(t, call, 1);
	r.rdx = argument(t, call, 2);
	r.rcx = argument(t, call, 3);
	r.r8 = argument(t, call, 4);
	r.r9 = argument(t, call, 5);
	err = set_registers(t->tid, &r);
	if (!err)
		err = set_signals(t->tid, blocked_in_call());
	if (err)
		return err;
	err = follow_call(t, call->function, monotonic_ns() + call->timeout_ns);
	t->is_returned = err == 0;
	return err;
}

/*
 * Leaves rt_sigreturn without executing it. Registers of an interrupted system call must be set at
 * a stop where the kernel checks for signals: only then does it resume the call. If we are killed
 * before, the thread's registers restart the call.
 */
static void leave_sigreturn(struct remote_call *t)
{
	struct user_regs_struct r = t->registers;
	int status;

	if ((int64_t)r.orig_rax >= 0)
		set_restart(t, &r);
	set_xstate(t);
	set_signals(t->tid, t->signals);
	if (set_registers(t->tid, &r) != 0 || ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) ||
	    resume(t->tid, PTRACE_CONT, 0) != 0 ||
	    wait_stop(t, monotonic_ns() + STOP_NS, &status) != 0)
		return; /* the thread has ended */
	restore_and_detach(t, delivered_signal(status));
}

void remote_call_release(struct remote_call *t)
{
	if (t->is_returned)
		leave_sigreturn(t);
	else
		restore_and_detach(t, 0);
}
