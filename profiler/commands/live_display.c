// SPDX-License-Identifier: MIT
#include "profiler/commands/live_display.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "profiler/shape/live_names.h"
#include "profiler/report/live_screen.h"
#include "profiler/run/privilege.h"
#include "profiler/run/supervisor.h"

#define TICK_MS 100 /* ms between checks of the terminal's size */

struct display {
	struct terminal *terminal;
	int data, control;
	struct live_names *names;
	const struct live_view *view; /* NULL until the first message */
	struct live_settings settings;
	struct terminal_line *lines;
	char *message;
	bool is_suspended, is_changed, is_over;
};

/* Drops privileges, and closes files whose end other processes wait for. */
static void detach(const struct identity *identity)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
		dup2(nothing, fd);
	prctl(PR_SET_NAME, "profile-display", 0, 0, 0);
	privilege_lower_priority();
	if (privilege_become_user(identity, false) != 0)
		_exit(1); /* the supervisor notices the exit */
	privilege_lock();
	privilege_drop_all();
}

/* ---- what comes in ---- */

static void take_message(struct display *d)
{
	ssize_t n = recv(d->data, d->message, LIVE_MESSAGE_MAX, MSG_DONTWAIT);
	const struct live_view *view;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		d->is_over = true;
		return;
	}
	/* looking up names is costly: skip messages that will not be shown */
	if (n < 0 || d->settings.has_quit || d->settings.is_paused || d->is_suspended)
		return;
	view = live_names_read(d->names, d->message, (size_t)n);
	if (!view)
		return;
	d->view = view;
	d->is_changed = true;
}

static void take_control(struct display *d)
{
	char order;
	ssize_t n = recv(d->control, &order, 1, MSG_DONTWAIT);

	if (n == 0) { /* the supervisor has ended: the worker will end, too */
		close(d->control);
		d->control = -1;
	}
	if (n != 1)
		return;
	d->is_suspended = order == SUPERVISOR_SUSPENDS;
	d->is_changed = true;
	if (!d->is_suspended)
		return;
	terminal_leave(d->terminal);
	send(d->control, &order, 1, MSG_NOSIGNAL);
}

static void take_keys(struct display *d)
{
	char key;

	while ((key = terminal_next_key(d->terminal)))
		d->is_changed |= live_screen_key(&d->settings, key);
}

/* ---- what goes out ---- */

static void show(struct display *d)
{
	const struct terminal_state *s = d->terminal->state;
	unsigned int rows, columns, height;

	if (d->is_suspended || d->settings.has_quit || !terminal_is_ours(d->terminal)) {
		if (s->has_block || s->has_keys)
			terminal_leave(d->terminal);
		d->is_changed = true;
		return;
	}
	terminal_size(d->terminal, &rows, &columns);
	if (!d->view || (!d->is_changed && rows == s->rows && columns == s->columns))
		return;
	d->is_changed = false;
	if (d->settings.has_keys)
		terminal_take_keys(d->terminal);
	height = live_screen_height(rows);
	terminal_show(d->terminal, d->lines,
		      live_screen_draw(d->view, &d->settings, columns, height, d->lines), height);
}

static void await(struct display *d)
{
	struct pollfd ready[] = {{.fd = d->data, .events = POLLIN},
				 {.fd = d->control, .events = POLLIN},
				 {.fd = -1, .events = POLLIN}};

	if (d->terminal->state->has_keys)
		ready[2].fd = d->terminal->fd;
	if (poll(ready, 3, TICK_MS) <= 0)
		return;
	if (ready[1].revents)
		take_control(d);
	if (ready[0].revents)
		take_message(d);
	if (ready[2].revents & POLLIN)
		take_keys(d);
	else if (ready[2].revents) /* the terminal has hung up */
		d->settings.has_quit = true;
}

void live_display_run(struct terminal *terminal, int data, int control,
		      const struct identity *identity, const char *command)
{
	struct display d = {
		.terminal = terminal,
		.data = data,
		.control = control,
		.settings = {.command = command,
			     .has_keys = !terminal_is_at(terminal, STDIN_FILENO),
			     .table = LIVE_TABLES},
		.lines = calloc(TERMINAL_LINES_MAX, sizeof(*d.lines)),
		.message = malloc(LIVE_MESSAGE_MAX),
	};
	int kallsyms = privilege_open_kallsyms();

	detach(identity);
	d.names = live_names_new(kallsyms);
	while (d.lines && d.message && d.names && !d.is_over) {
		await(&d);
		if (!d.is_over)
			show(&d);
	}
	terminal_leave(terminal);
	terminal->state->is_over = true;
}
