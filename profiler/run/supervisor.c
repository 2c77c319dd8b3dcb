// SPDX-License-Identifier: MIT
#include "profiler/run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/attach/payload.h"
#include "profiler/base/exit_status.h"
#include "profiler/run/privilege.h"
#include "symbolize/util/monotonic.h"

enum report_kind {
	REPORT_USER,
	REPORT_FOLDER,
	REPORT_TARGET,
	REPORT_ENDED,
	REPORT_WRITING,
	REPORT_WRITTEN,
	REPORT_DONE
};

/* Message of one atomic write() to the pipe, being smaller than PIPE_BUF. */
struct report {
	int32_t kind;
	int32_t number;                /* REPORT_TARGET: pid; REPORT_DONE: exit status */
	char folder[PAYLOAD_PATH_MAX]; /* REPORT_FOLDER */
};

_Static_assert(sizeof(struct report) <= 4096, "reports are written whole");

struct supervisor {
	struct log *log;
	const struct identity *identity;
	const struct supervisor_display *display; /* NULL: none */
	int control;                              /* display's socket; -1: ended */
	pid_t worker;
	pid_t target;  /* 0: not started, or ended */
	int worker_fd; /* pidfd; -1: not supported, watch for end of `reports` */
	int signals;   /* signalfd */
	int relay;     /* to the worker */
	int reports;   /* from the worker */
	int is_user;   /* eventfd for the worker */
	bool is_writing, has_warned;
	bool is_done;
	int status;          /* exit status if is_done; wait status if killed */
	uint32_t interrupts; /* SIGINTs; reset when the target ends */
	int64_t give_up_ms;  /* the worker's deadline; 0: none */
	char folder[PAYLOAD_PATH_MAX];
};

static bool was_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Finds the signals that would end us, except faults. */
static void find_signals(sigset_t *set)
{
	static const int standard[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGUSR1,  SIGUSR2,
				       SIGALRM, SIGTERM,   SIGPROF, SIGXCPU,  SIGXFSZ,
				       SIGIO,   SIGSTKFLT, SIGPWR,  SIGVTALRM};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		if (!was_ignored(standard[i]))
			sigaddset(set, standard[i]);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		if (!was_ignored(signal))
			sigaddset(set, signal);
}

/* ---- the worker's side ---- */

int supervisor_next_signal(const struct supervisor_link *link, struct supervisor_signal *signal)
{
	ssize_t n = TEMP_FAILURE_RETRY(read(link->signals, signal, sizeof(*signal)));

	if (n < 0)
		return 0;
	return n == sizeof(*signal) ? 1 : -EPIPE;
}

static void report(const struct supervisor_link *link, enum report_kind kind, int number,
		   const char *folder)
{
	struct report report = {.kind = kind, .number = number};

	snprintf(report.folder, sizeof(report.folder), "%s", folder);
	if (TEMP_FAILURE_RETRY(write(link->reports, &report, sizeof(report))) < 0)
		return; /* without a supervisor nobody needs the report */
}

void supervisor_report_user(const struct supervisor_link *link)
{
	struct pollfd answer[] = {{.fd = link->is_user, .events = POLLIN},
				  {.fd = link->signals}}; /* for hangup */

	report(link, REPORT_USER, 0, "");
	while (poll(answer, 2, -1) < 0)
		;
}

void supervisor_report_folder(const struct supervisor_link *link, const char *path)
{
	report(link, REPORT_FOLDER, 0, path);
}

void supervisor_report_target(const struct supervisor_link *link, pid_t pid)
{
	report(link, REPORT_TARGET, pid, "");
}

void supervisor_report_ended(const struct supervisor_link *link)
{
	report(link, REPORT_ENDED, 0, "");
}

/*
 * Returns true if the supervisor lives. The kernel closes its descriptors before it sends the death
 * signal to children, so this is false first.
 */
static bool supervisor_lives(const struct supervisor_link *link)
{
	struct pollfd end = {.fd = link->signals};

	return poll(&end, 1, 0) == 0;
}

void supervisor_report_writing(const struct supervisor_link *link)
{
	/* a FIFO whose reader does not read could block us for ever when nobody can give up;
	 * the output of a worker that outlived its supervisor is still written */
	if (supervisor_lives(link))
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	report(link, REPORT_WRITING, 0, "");
}

void supervisor_report_written(const struct supervisor_link *link)
{
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	report(link, REPORT_WRITTEN, 0, "");
}

/* ---- the supervisor's side ---- */

/* Gives up privilege together with the worker. */
static void become_user(struct supervisor *s)
{
	int err = privilege_become_user(s->identity, false);

	privilege_lock();
	if (!err)
		privilege_drop_all();
	eventfd_write(s->is_user, 1);
}

/*
 * Runs `task` in a child and waits for SUPERVISOR_TASK_MS at most: the user's files and terminal
 * may block forever, and the supervisor must not.
 */
static void run_in_child(const struct supervisor *s, void (*task)(const struct supervisor *s))
{
	int64_t until = monotonic_ms() + SUPERVISOR_TASK_MS;
	pid_t pid = fork();

	if (pid == 0) {
		task(s);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 && monotonic_ms() < until)
		poll(NULL, 0, 1);
}

static void remove_folder(const struct supervisor *s)
{
	payload_remove_path(s->folder);
}

static void take_report(struct supervisor *s, const struct report *report)
{
	switch (report->kind) {
	case REPORT_USER:
		become_user(s);
		break;
	case REPORT_FOLDER:
		memcpy(s->folder, report->folder, sizeof(s->folder));
		break;
	case REPORT_TARGET:
		s->target = report->number;
		break;
	case REPORT_ENDED:
		s->target = 0;
		s->interrupts = 0;
		break;
	case REPORT_WRITING:
		s->is_writing = true;
		break;
	case REPORT_WRITTEN:
		s->is_writing = s->has_warned = false;
		s->interrupts = 0;
		break;
	case REPORT_DONE:
		s->is_done = true;
		s->status = report->number;
		break;
	}
}

/* Reads reports. Returns false at end of file. */
static bool read_reports(struct supervisor *s)
{
	struct report report;
	ssize_t n;

	while ((n = read(s->reports, &report, sizeof(report))) == sizeof(report))
		take_report(s, &report);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void warn_of_writing(const struct supervisor *s)
{
	log_warn(s->log, "the profile is being written; another Ctrl-C gives up");
}

/* ---- the display ---- */

void supervisor_await_display(const struct supervisor_display *display, int64_t timeout_ms)
{
	int64_t until = monotonic_ms() + timeout_ms;

	while (!display->terminal->state->is_over && monotonic_ms() < until)
		poll(NULL, 0, 1);
}

static void leave_terminal(const struct supervisor *s)
{
	terminal_leave(s->display->terminal);
}

/* Ends the display if it still runs, and restores the terminal. */
static void end_display(struct supervisor *s)
{
	if (s->control < 0)
		return;
	if (!s->display->terminal->state->is_over) {
		kill(s->display->pid, SIGKILL);
		run_in_child(s, leave_terminal);
		s->display->terminal->state->is_over = true;
	}
	close(s->control);
	s->control = -1;
	waitpid(s->display->pid, NULL, WNOHANG);
}

/* Waits for the display to end after the worker has, then ends it. */
static void await_display(struct supervisor *s)
{
	if (s->control < 0)
		return;
	supervisor_await_display(s->display, SUPERVISOR_TASK_MS);
	end_display(s);
}

/* Asks the display to leave the terminal, and waits a moment for its answer. */
static void suspend_display(struct supervisor *s)
{
	const char order = SUPERVISOR_SUSPENDS;
	struct pollfd answer = {.fd = s->control, .events = POLLIN};
	char byte;

	if (send(s->control, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 &&
	    poll(&answer, 1, SUPERVISOR_TASK_MS) == 1)
		recv(s->control, &byte, 1, MSG_DONTWAIT);
}

/* Blocks or unblocks Ctrl-Z. */
static void mask_stop_signal(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(how, &set, NULL);
}

/* Stops like the rest of the process group, once the terminal is restored. */
static void stop(struct supervisor *s)
{
	const char order = SUPERVISOR_CONTINUES;

	if (s->control >= 0)
		suspend_display(s);
	kill(getpid(), SIGTSTP);
	mask_stop_signal(SIG_UNBLOCK); /* stops here */
	mask_stop_signal(SIG_BLOCK);
	if (s->control >= 0)
		send(s->control, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Counts a SIGINT. Returns true if it is time to give up. The worker gets the signal, too. */
static bool take_interrupt(struct supervisor *s)
{
	read_reports(s); /* reports from before the signal count */
	s->interrupts++;
	if (s->has_warned)
		return true;
	if (s->is_writing && s->interrupts == 1) {
		s->has_warned = true;
		run_in_child(s, warn_of_writing);
	} else if (s->interrupts >= 2 && s->give_up_ms == 0) {
		s->give_up_ms = monotonic_ms() + SUPERVISOR_TIMEOUT_MS;
	}
	return false;
}

static bool read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;
	bool gives_up = false;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		struct supervisor_signal signal = {
			.number = (int32_t)info.ssi_signo,
			.from_terminal = info.ssi_code > 0, /* sent by the kernel */
		};

		if (signal.number == SIGTSTP) {
			stop(s);
			continue;
		}
		if (signal.number == SIGINT)
			gives_up |= take_interrupt(s);
		/* a worker that does not read for so long does not miss one */
		if (write(s->relay, &signal, sizeof(signal)) < 0)
			continue;
	}
	return gives_up;
}

static void report_giving_up(const struct supervisor *s)
{
	log_error(s->log, "gave up: no profile was written");
}

static int give_up(struct supervisor *s)
{
	if (s->target > 0) /* before its parent: until then its pid is not reused */
		kill(s->target, SIGKILL);
	kill(s->worker, SIGKILL);
	await_display(s);
	run_in_child(s, remove_folder);
	run_in_child(s, report_giving_up);
	return EXIT_SIGNAL_BASE + SIGINT;
}

static void report_death(const struct supervisor *s)
{
	int signal = WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;

	if (signal)
		log_error(s->log, "the profiler was killed by signal %d%s: no profile was written",
			  signal, signal == SIGKILL ? " (out of memory?)" : "");
	else
		log_error(s->log, "the profiler ended unexpectedly: no profile was written");
}

/* Explains the end of a worker that sent no report. */
static int explain_death(struct supervisor *s)
{
	TEMP_FAILURE_RETRY(waitpid(s->worker, &s->status, 0));
	await_display(s);
	run_in_child(s, remove_folder);
	run_in_child(s, report_death);
	return EXIT_PROFILER_FAILED;
}

/* Waits for a worker that is about to end; a thread of it may be stuck. */
static void reap_worker(struct supervisor *s)
{
	struct pollfd end = {.fd = s->worker_fd >= 0 ? s->worker_fd : s->reports};
	int64_t until = monotonic_ms() + SUPERVISOR_REAP_MS, left;

	end.events = POLLIN;
	while ((left = until - monotonic_ms()) > 0 && poll(&end, 1, (int)left) <= 0)
		;
	if (left <= 0)
		kill(s->worker, SIGKILL);
	waitpid(s->worker, NULL, WNOHANG);
}

static int supervise(struct supervisor *s)
{
	for (;;) {
		struct pollfd ready[] = {{.fd = s->signals, .events = POLLIN},
					 {.fd = s->reports, .events = POLLIN},
					 {.fd = s->worker_fd, .events = POLLIN},
					 {.fd = s->control, .events = POLLIN}};
		int64_t left = s->give_up_ms ? s->give_up_ms - monotonic_ms() : -1;
		bool has_ended, gives_up;

		poll(ready, 4, left < 0 && s->give_up_ms ? 0 : (int)left);
		/* check the end first: all its reports are in the pipe by then */
		has_ended = !read_reports(s) || ready[2].revents;
		gives_up = read_signals(s);
		if (ready[3].revents & POLLHUP)
			end_display(s);
		if (s->is_done) {
			reap_worker(s);
			await_display(s);
			return s->status;
		}
		if (has_ended)
			return explain_death(s);
		if (gives_up || (s->give_up_ms && monotonic_ms() >= s->give_up_ms))
			return give_up(s);
	}
}

static int run_worker(const struct supervisor_link *link, supervisor_work work, void *context)
{
	int status;

	prctl(PR_SET_NAME, "profile-worker", 0, 0,
	      0); /* so that looking for us by name finds one process */
	status = work(link, context);
	report(link, REPORT_DONE, status, "");
	return status;
}

int supervisor_run(struct log *log, const struct identity *identity,
		   const struct supervisor_display *display, supervisor_work work, void *context)
{
	struct supervisor s = {.log = log,
			       .identity = identity,
			       .display = display,
			       .control = display ? display->control : -1};
	int relay[2], reports[2];
	sigset_t ours, blocked;

	find_signals(&ours);
	if (display && !was_ignored(SIGTSTP))
		sigaddset(&ours, SIGTSTP);
	blocked = ours;
	sigaddset(&blocked, SIGPIPE); /* write() fails instead; SIGXFSZ is among ours */
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	s.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	s.is_user = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s.signals < 0 || s.is_user < 0 || pipe2(relay, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    pipe2(reports, O_CLOEXEC | O_NONBLOCK) != 0)
		goto failed;
	s.worker = fork();
	if (s.worker < 0)
		goto failed;
	if (s.worker == 0) {
		struct supervisor_link link = {
			.signals = relay[0], .reports = reports[1], .is_user = s.is_user};

		close(s.signals);
		close(relay[1]);
		close(reports[0]);
		if (display) {
			close(display->control);
			mask_stop_signal(SIG_UNBLOCK);
		}
		return run_worker(&link, work, context);
	}
	s.relay = relay[1];
	s.reports = reports[0];
	s.worker_fd = (int)syscall(SYS_pidfd_open, s.worker, 0);
	close(relay[0]);
	close(reports[1]);
	if (display)
		close(display->data);
	return supervise(&s);
failed:
	return log_failure(log, "cannot start a process: %s", strerror(errno));
}
