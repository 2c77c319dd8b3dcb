/* SPDX-License-Identifier: MIT */
/*
 * --live as text: a view (model/live_view.h) as lines of a block of a terminal, or numbers as one
 * plain line for a log. Draws nothing itself: base/terminal.h does.
 *
 * A line takes at most `width` columns, and has no control characters, whatever the names are. What
 * does not fit into a line is left out at its end, in whole parts; names are cut with an ellipsis.
 */
#ifndef PROFILER_REPORT_LIVE_SCREEN_H
#define PROFILER_REPORT_LIVE_SCREEN_H

#include <stdbool.h>
#include "profiler/base/terminal.h"
#include "profiler/model/live_view.h"

enum live_order { LIVE_BY_TIME, LIVE_BY_CALLS, LIVE_BY_MEAN, LIVE_ORDERS };

/* Choices that the user made with keys. */
struct live_settings {
	const char *command; /* any text */
	bool has_keys;
	bool is_paused;
	bool has_quit;
	int table; /* enum live_table; LIVE_TABLES: all */
	enum live_order order;
};

/* How many lines a terminal with this many rows gives to the block; 0: there is no room. */
unsigned int live_screen_height(unsigned int rows);

/* Draws the block: fills `lines`, as many as fit in `width` and `height`; returns how many. */
unsigned int live_screen_draw(const struct live_view *view, const struct live_settings *settings,
			      unsigned int width, unsigned int height,
			      struct terminal_line lines[TERMINAL_LINES_MAX]);

/* Obeys a key. False: it means nothing. */
bool live_screen_key(struct live_settings *settings, char key);

/* "12 s: GPU 0 63.2 % busy (41.0 % so far), 5210 kernels/s, ..." */
void live_screen_plain(const struct live_numbers *numbers, char *line, size_t size);

#endif
