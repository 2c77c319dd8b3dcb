// SPDX-License-Identifier: MIT
#include "profiler/base/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Escape sequences of ECMA-48 and the VT100, which all current terminals support. */
#define SAVE_CURSOR "\0337"
#define RESTORE_CURSOR "\0338"
#define INDEX "\033D" /* moves down, scrolling at the bottom */
#define NO_REGION "\033[r"
#define ERASE_BELOW "\033[J"
#define ERASE_LINE "\033[K"
#define NO_STYLE "\033[0m"

#define LEAVE_TIMEOUT_MS 10000

int terminal_open(struct terminal *t)
{
	const char *kind = getenv("TERM");
	void *shared;

	*t = (struct terminal){.fd = -1};
	/* tcgetpgrp fails unless stderr is our controlling terminal */
	if (!isatty(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) < 0 || !kind || !kind[0] ||
	    strcmp(kind, "dumb") == 0)
		return -ENOTTY;
	shared = mmap(NULL, sizeof(*t->state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return -errno;
	t->state = shared;
	t->fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd >= 0)
		return 0;
	munmap(shared, sizeof(*t->state));
	return -ENOTTY;
}

void terminal_close(struct terminal *t)
{
	if (t->fd < 0)
		return;
	close(t->fd);
	munmap(t->state, sizeof(*t->state));
	free(t->pending);
	*t = (struct terminal){.fd = -1};
}

bool terminal_is_at(const struct terminal *t, int fd)
{
	struct stat ours, other;

	(void)t; /* /dev/tty has its own device number: compare with stderr */
	return isatty(fd) && fstat(STDERR_FILENO, &ours) == 0 && fstat(fd, &other) == 0 &&
	       ours.st_rdev == other.st_rdev;
}

bool terminal_is_ours(const struct terminal *t)
{
	return tcgetpgrp(t->fd) == getpgrp();
}

void terminal_size(const struct terminal *t, unsigned int *rows, unsigned int *columns)
{
	struct winsize size = {0};

	ioctl(t->fd, TIOCGWINSZ, &size);
	*rows = size.ws_row;
	*columns = size.ws_col;
}

/* ---- keys ---- */

void terminal_take_keys(struct terminal *t)
{
	struct termios now;

	if (t->state->has_keys || tcgetattr(t->fd, &now) != 0)
		return;
	t->state->before = now;
	t->state->has_keys = true;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	tcsetattr(t->fd, TCSANOW, &now);
}

char terminal_next_key(struct terminal *t)
{
	char key;

	return t->state->has_keys && read(t->fd, &key, 1) == 1 ? key : '\0';
}

/* ---- writing ---- */

/* Writes pending output. Returns true if nothing is left. */
static bool write_pending(struct terminal *t)
{
	ssize_t n;

	if (t->pending_size == 0)
		return true;
	n = write(t->fd, t->pending, t->pending_size);
	if (n > 0) {
		t->pending_size -= (size_t)n;
		memmove(t->pending, t->pending + n, t->pending_size);
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		t->pending_size = 0; /* the terminal has gone */
	}
	return t->pending_size == 0;
}

/* Writes `text`, and owns it. */
static void write_text(struct terminal *t, char *text, size_t size)
{
	free(t->pending);
	t->pending = text;
	t->pending_size = text ? size : 0;
	write_pending(t);
}

/*
 * Erases the block, and everything below the cursor if resizing may have moved the block. The
 * cursor stays above it.
 */
static void put_end(FILE *out, const struct terminal_state *s, bool is_moved)
{
	if (is_moved)
		fputs(SAVE_CURSOR NO_REGION RESTORE_CURSOR ERASE_BELOW, out);
	else
		fprintf(out, SAVE_CURSOR NO_REGION "\033[%u;1H" ERASE_BELOW RESTORE_CURSOR,
			s->rows - s->height + 1);
}

/* Scrolls up to make room, so that the cursor is above the block. Keeps its column. */
static void put_begin(FILE *out, const struct terminal_state *s)
{
	for (unsigned int i = 0; i < s->height; i++)
		fputs(INDEX, out);
	fprintf(out, "\033[%uA" SAVE_CURSOR "\033[1;%ur" RESTORE_CURSOR, s->height,
		s->rows - s->height);
}

static void put_line(FILE *out, const struct terminal_line *line)
{
	static const char *const begin[] = {
		[TERMINAL_PLAIN] = "", [TERMINAL_BOLD] = "\033[1m", [TERMINAL_REVERSE] = "\033[7m"};

	fprintf(out, "%s%s%s", begin[line->style], line->text, line->style ? NO_STYLE : "");
}

static void change_size(struct terminal *t, FILE *out, unsigned int height)
{
	struct terminal_state *s = t->state;
	unsigned int rows, columns;
	bool is_moved;

	terminal_size(t, &rows, &columns);
	is_moved = s->rows != rows || s->columns != columns;
	if (s->has_block && !is_moved && s->height == height)
		return;
	if (s->has_block)
		put_end(out, s, is_moved);
	s->rows = rows;
	s->columns = columns;
	s->height = height;
	s->has_block = height > 0 && height < rows;
	if (s->has_block)
		put_begin(out, s);
}

void terminal_show(struct terminal *t, const struct terminal_line *lines, unsigned int count,
		   unsigned int height)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!write_pending(t))
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	change_size(t, out, height);
	if (t->state->has_block) {
		/* set the region again: a program may have reset the terminal */
		fprintf(out, SAVE_CURSOR NO_STYLE "\033[1;%ur", t->state->rows - height);
		for (unsigned int i = 0; i < height; i++) {
			fprintf(out, "\033[%u;1H" ERASE_LINE, t->state->rows - height + 1 + i);
			if (i < count)
				put_line(out, &lines[i]);
		}
		fputs(RESTORE_CURSOR, out);
	}
	fclose(out);
	write_text(t, text, size);
}

/* Waits up to LEAVE_TIMEOUT_MS until pending output is written. */
static void finish_pending(struct terminal *t)
{
	struct pollfd ready = {.fd = t->fd, .events = POLLOUT};

	for (int waited = 0; !write_pending(t) && waited < LEAVE_TIMEOUT_MS; waited += 100)
		poll(&ready, 1, 100);
	t->pending_size = 0;
}

void terminal_leave(struct terminal *t)
{
	struct terminal_state *s = t->state;
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	finish_pending(t);
	if (s->has_block && (out = open_memstream(&text, &size))) {
		unsigned int rows, columns;

		terminal_size(t, &rows, &columns);
		put_end(out, s, rows != s->rows || columns != s->columns);
		fclose(out);
		write_text(t, text, size);
		finish_pending(t);
	}
	s->has_block = false;
	/* in the background another program owns the settings */
	if (s->has_keys && terminal_is_ours(t))
		tcsetattr(t->fd, TCSANOW, &s->before);
	s->has_keys = false;
}
