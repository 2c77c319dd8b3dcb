/* SPDX-License-Identifier: MIT */
/*
 * A block of lines at the bottom of the user's terminal, below what programs print there.
 *
 * The rows above the block are a scrolling region: the program's output and our messages go on in
 * them as if the terminal were shorter, and stay where they are, and in the terminal's history,
 * when the block is gone. Its own rows are written between saving and restoring the cursor, in one
 * write. Programs that move about the whole screen do not mix with it.
 *
 * The terminal is ours as stderr and as controlling terminal, opened again, so that we can write
 * without blocking while nobody else is affected. With keys its line editing and echo are off;
 * signals typed there (Ctrl-C, Ctrl-Z) are sent as always.
 *
 * What terminal_leave has to undo is in memory that is shared with processes forked after
 * terminal_open, each of which can do it, whatever has happened to the others.
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

/* Shared. */
struct terminal_state {
	volatile bool has_block;
	volatile bool has_keys; /* `before` is to be restored */
	volatile bool is_over;  /* whoever shows the block does not any more */
	volatile unsigned int rows, columns, height;
	struct termios before;
};

struct terminal {
	int fd; /* -1: none */
	struct terminal_state *state;
	char *pending; /* what could not be written yet */
	size_t pending_size;
};

/* 0; -ENOTTY: stderr is not our terminal, or one without cursor addressing; -errno. */
int terminal_open(struct terminal *t);
void terminal_close(struct terminal *t);

/* Returns whether `fd` is this terminal: a program may read it. */
bool terminal_is_at(const struct terminal *t, int fd);

/* Returns whether we are in the foreground: else it is another's. */
bool terminal_is_ours(const struct terminal *t);

void terminal_size(const struct terminal *t, unsigned int *rows, unsigned int *columns);

/* Keys come one by one from now on. */
void terminal_take_keys(struct terminal *t);

/* The next key typed; '\0': none. */
char terminal_next_key(struct terminal *t);

/*
 * Shows a block of `height` lines, `count` of which are given. Makes room for it if there is none
 * yet, or the terminal's size or the height has changed. Skips it while the terminal does not take
 * the last one.
 */
void terminal_show(struct terminal *t, const struct terminal_line *lines, unsigned int count,
		   unsigned int height);

/*
 * Removes the block, if there is one, and restores what keys changed; the cursor stays where the
 * program's output ended. May wait for a terminal that takes no output.
 */
void terminal_leave(struct terminal *t);

#endif
