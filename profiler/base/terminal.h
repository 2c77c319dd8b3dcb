/* SPDX-License-Identifier: MIT */
/*
 * Shows a block of lines at the bottom of the user's terminal.
 *
 * The rows above the block are a scrolling region. Programs and our messages print there as on a
 * shorter terminal, and their output stays in its history. The block's rows are written in one
 * write, between saving and restoring the cursor. Full-screen programs conflict with the block.
 *
 * stderr must be our controlling terminal. It is opened again, so that non-blocking writes affect
 * nobody else. Reading keys turns off line editing and echo. Signal keys (Ctrl-C, Ctrl-Z) work as
 * usual.
 *
 * The state that terminal_leave restores is shared with processes forked after terminal_open. Any
 * of them can restore it, even if the others have died.
 */
#ifndef PROFILER_BASE_TERMINAL_H
#define PROFILER_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#define TERMINAL_LINES_MAX 48
#define TERMINAL_WIDTH_MAX 400
#define TERMINAL_LINE_BYTES (4 * TERMINAL_WIDTH_MAX + 1)

enum terminal_style { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_REVERSE };

struct terminal_line {
	enum terminal_style style;
	char text[TERMINAL_LINE_BYTES];
};

/* State shared between processes. */
struct terminal_state {
	volatile bool has_block;
	volatile bool has_keys; /* keys are read one by one; `before` must be restored */
	volatile bool is_over;  /* the process that shows the block has ended */
	volatile unsigned int rows, columns, height;
	struct termios before;
};

struct terminal {
	int fd; /* -1 if closed */
	struct terminal_state *state;
	char *pending; /* output not written yet */
	size_t pending_size;
};

/* Returns 0, or -errno. -ENOTTY: stderr is not our terminal, or has no cursor addressing. */
int terminal_open(struct terminal *t);
void terminal_close(struct terminal *t);

/* Returns true if `fd` is this terminal, so that a program may read it. */
bool terminal_is_at(const struct terminal *t, int fd);

/* Returns true if we are in the foreground. */
bool terminal_is_ours(const struct terminal *t);

void terminal_size(const struct terminal *t, unsigned int *rows, unsigned int *columns);

/* Starts reading keys one by one, without echo. */
void terminal_take_keys(struct terminal *t);

/* Returns the next key typed, or '\0'. */
char terminal_next_key(struct terminal *t);

/*
 * Shows a block of `height` lines, of which `count` are given. Makes room first if there is no
 * block yet, or the size has changed. Skips the update while the previous one is pending.
 */
void terminal_show(struct terminal *t, const struct terminal_line *lines, unsigned int count,
		   unsigned int height);

/*
 * Removes the block and restores the key settings. The cursor stays after the program's output. May
 * wait for a terminal that takes no output.
 */
void terminal_leave(struct terminal *t);

#endif
