/* SPDX-License-Identifier: MIT */
/*
 * Lays out --live as text: a view (model/live_view.h) as a block of lines, or numbers as one line.
 *
 * base/terminal.h draws the block. A line has at most `width` columns and no control characters,
 * for any names. Parts that do not fit at the end of a line are left out. Names are cut with an
 * ellipsis.
 */
#ifndef PROFILER_REPORT_LIVE_SCREEN_H
#define PROFILER_REPORT_LIVE_SCREEN_H

#include <stdbool.h>
#include "profiler/base/terminal.h"
#include "profiler/model/live_view.h"

enum live_order { LIVE_BY_TIME, LIVE_BY_CALLS, LIVE_BY_MEAN, LIVE_ORDERS };

/* Choices of the user by keys. */
struct live_settings {
	const char *command; /* untrusted text */
	bool has_keys;
	bool is_paused;
	bool has_quit;
	int table; /* enum live_table, or LIVE_TABLES for all */
	enum live_order order;
};

/*
 * Returns the number of lines for the block on a terminal with `rows` rows. Returns 0 if there is
 * no room.
 */
unsigned int live_screen_height(unsigned int rows);

/* Fills `lines` with the block, up to `width` and `height`. Returns the number of lines. */
unsigned int live_screen_draw(const struct live_view *view, const struct live_settings *settings,
			      unsigned int width, unsigned int height,
			      struct terminal_line lines[TERMINAL_LINES_MAX]);

/* Applies a key. Returns false if the key has no meaning. */
bool live_screen_key(struct live_settings *settings, char key);

/* Writes "12 s: GPU 0 63.2 % busy (41.0 % so far), 5210 kernels/s, ...". */
void live_screen_plain(const struct live_numbers *numbers, char *line, size_t size);

#endif
