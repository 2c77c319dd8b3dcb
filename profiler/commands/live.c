// SPDX-License-Identifier: MIT
#include "profiler/commands/live.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "profiler/commands/live_display.h"
#include "profiler/report/live_screen.h"

#define PICKS_MAX 1024u
#define PLAIN_BYTES 2048

static const uint32_t picks_of[LIVE_TABLES] = {
	[LIVE_KERNELS] = 64, [LIVE_SITES] = 128, [LIVE_FUNCTIONS] = PICKS_MAX};

/* ---- start ---- */

/* Returns false if the display cannot be started. */
static bool start_display(struct live *l, const struct identity *identity, const char *command)
{
	int data[2], control[2] = {-1, -1};
	sigset_t all, before;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, data) != 0)
		return false;
	/* the display ends with the worker, not by a signal from the terminal */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0 ? fork() : -1;
	if (pid == 0) {
		close(data[0]);
		close(control[0]);
		live_display_run(&l->terminal, data[1], control[1], identity, command);
		_exit(0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(data[1]);
	close(control[1]);
	if (pid < 0) {
		close(data[0]);
		close(control[0]);
		return false;
	}
	l->to_display = data[0];
	l->display = (struct supervisor_display){
		.pid = pid, .control = control[0], .data = data[0], .terminal = &l->terminal};
	return true;
}

void live_start(struct live *l, const struct measure *measure, bool has_call_times,
		const struct identity *identity, const char *command)
{
	*l = (struct live){.measure = *measure, .has_call_times = has_call_times, .to_display = -1};
	if (terminal_open(&l->terminal) == 0 && !start_display(l, identity, command ? command : ""))
		terminal_close(&l->terminal);
}

/* ---- numbers ---- */

static uint32_t tenths_of_percent(uint64_t part, uint64_t whole)
{
	double value = whole ? 1000.0 * (double)part / (double)whole : 0;

	return value > 1000 ? 1000 : (uint32_t)(value + 0.5);
}

static uint64_t per(double count, double whole)
{
	return whole > 0 ? (uint64_t)(count / whole + 0.5) : 0;
}

static uint64_t count_lost(const struct session_view *view)
{
	const struct ledger *l = view->collected.ledger;

	return view->lost_samples + l->launches.dropped + l->gpu.dropped + l->gpu.unmatched +
	       l->pipe.malformed + l->pipe.lost_batches + l->bounds.out_of_memory +
	       l->bounds.refused;
}

static void take_devices(struct live_numbers *n, const struct session_view *view)
{
	const struct gpu_load *load = view->collected.load;
	uint64_t until = view->now_ns - LIVE_LAG_NS, from = until - LIVE_PERIOD_NS;

	if (from < view->start_ns)
		from = view->start_ns;
	for (uint32_t i = 0; i < load->count; i++) {
		const struct gpu_load_device *d = &load->devices[i];

		struct live_device *shown = &n->devices[n->device_count++];

		*shown = (struct live_device){
			.busy = tenths_of_percent(gpu_load_busy(d, from, until), until - from),
			.busy_so_far = tenths_of_percent(d->busy_ns, n->elapsed_ns),
			.memory = gpu_load_memory(load, d->key),
		};
		devices_label_of_key(view->collected.devices, d->key, shown->label);
	}
}

static struct live_numbers take_numbers(struct live *l, const struct session_view *view)
{
	const struct ledger *ledger = view->collected.ledger;
	uint64_t call_ns =
		view->collected.load->launch_ns + ledger->calls.wait_ns + ledger->calls.timed_ns;
	bool times_calls = l->has_call_times || l->measure.waits || ledger->calls.timed;
	double ns = (double)(view->now_ns - l->last.time_ns);
	struct live_numbers n = {
		.elapsed_ns = view->now_ns - view->start_ns,
		.kernels = ledger->gpu.kernels,
		.kernels_per_s = per((double)(ledger->gpu.kernels - l->last.kernels) * 1e9, ns),
		.waiting = view->waiting,
		.cpu = per((double)(ledger->cpu.samples - l->last.samples) *
				   (double)view->sample_ns * 100,
			   ns),
		.calls = per((double)(call_ns - l->last.call_ns) * 100, ns),
		.lost = count_lost(view),
		.pid = (uint32_t)view->pid,
	};

	if (!l->measure.traces_gpu)
		n.kernels = LIVE_NO_VALUE;
	if (!l->measure.samples_cpu)
		n.cpu = LIVE_NO_VALUE;
	if (!l->measure.traces_gpu || !times_calls)
		n.calls = LIVE_NO_VALUE;
	take_devices(&n, view);
	l->last.time_ns = view->now_ns;
	l->last.kernels = ledger->gpu.kernels;
	l->last.samples = ledger->cpu.samples;
	l->last.call_ns = call_ns;
	return n;
}

/* ---- tables ---- */

/* Continues a pass over the rows for at most LIVE_STEP_NS. */
static void step(struct live *l, const struct session_view *view)
{
	if (live_sums_step(&l->sums, &view->collected, LIVE_STEP_NS)) {
		l->in_pass = false;
		l->has_tables = true;
	}
}

static void begin_pass(struct live *l, const struct session_view *view)
{
	if (l->in_pass || view->now_ns < l->next_pass_ns)
		return;
	live_sums_begin(&l->sums);
	l->in_pass = true;
	step(l, view);
}

static void add_tables(struct live *l, const struct session_view *view)
{
	l->has_tables = false;
	if (!live_sums_are_of(&l->sums, &view->collected))
		return; /* the tables have changed: the next pass has the new numbers */
	for (int i = 0; i < LIVE_TABLES; i++) {
		uint32_t count = live_sums_pick(&l->sums, &view->collected, (enum live_table)i,
						l->picks, picks_of[i]);

		live_writer_add(l->writer, &view->collected, &l->sums.whole[i], l->picks, count);
	}
	l->next_pass_ns = view->now_ns + l->sums.spent_ns * LIVE_PASS_SHARE;
}

static void send_message(struct live *l, const struct session_view *view)
{
	struct live_numbers numbers = take_numbers(l, view);

	live_writer_begin(l->writer, &numbers);
	if (l->has_tables)
		add_tables(l, view);
	/* a message that finds no room in the socket is dropped; the next one follows in a second
	 */
	send(l->to_display, l->writer->bytes, l->writer->used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void print_line(struct live *l, const struct session_view *view)
{
	struct live_numbers numbers = take_numbers(l, view);
	struct log shown = {
		.level = LOG_NORMAL}; /* the user asked for these lines: print them also with -q */
	char line[PLAIN_BYTES];

	live_screen_plain(&numbers, line, sizeof(line));
	log_line(&shown, "%s", line);
}

/* Allocates the buffers at the first use. */
static bool has_memory(struct live *l)
{
	if (!l->writer)
		l->writer = calloc(1, sizeof(*l->writer));
	if (!l->picks)
		l->picks = calloc(PICKS_MAX, sizeof(*l->picks));
	return l->writer && l->picks;
}

void live_update(struct live *l, const struct session_view *view)
{
	if (l->next_ns == 0) {
		l->next_ns = view->start_ns + LIVE_PERIOD_NS;
		l->last.time_ns = view->start_ns;
	}
	if (l->in_pass)
		step(l, view);
	if (view->now_ns < l->next_ns)
		return;
	while (l->next_ns <= view->now_ns)
		l->next_ns += LIVE_PERIOD_NS;
	if (l->display.pid <= 0) {
		print_line(l, view);
	} else if (l->to_display >= 0 && has_memory(l)) {
		begin_pass(l, view);
		send_message(l, view);
	}
}

/* ---- end ---- */

void live_end(struct live *l)
{
	if (l->to_display >= 0) {
		close(l->to_display);
		l->to_display = -1;
		supervisor_await_display(&l->display, SUPERVISOR_TIMEOUT_MS);
	}
	live_sums_release(&l->sums);
	if (l->writer)
		live_writer_release(l->writer);
	free(l->writer);
	free(l->picks);
	l->writer = NULL;
	l->picks = NULL;
}
