/* SPDX-License-Identifier: MIT */
/*
 * The process that shows --live on the terminal (live.h).
 *
 * It reads keys only if the command's standard input is another file than the terminal: otherwise
 * the command may read there, and a key would be lost to it. It draws only while its job is in the
 * foreground.
 */
#ifndef PROFILER_COMMANDS_LIVE_DISPLAY_H
#define PROFILER_COMMANDS_LIVE_DISPLAY_H

#include "profiler/base/terminal.h"
#include "profiler/run/identity.h"

/*
 * Shows messages that come through `data` until it is closed, and obeys `control`, the other end of
 * struct supervisor_display's. All signals are blocked. Returns with the terminal as it was.
 */
void live_display_run(struct terminal *terminal, int data, int control,
		      const struct identity *identity, const char *command);

#endif
