/* SPDX-License-Identifier: MIT */
/*
 * Runs the process that displays --live on the terminal (live.h).
 *
 * The display reads keys only if the command's stdin is not the terminal. Otherwise the command
 * might lose a key that it waits for. The display draws only while its job is in the foreground.
 */
#ifndef PROFILER_COMMANDS_LIVE_DISPLAY_H
#define PROFILER_COMMANDS_LIVE_DISPLAY_H

#include "profiler/base/terminal.h"
#include "profiler/run/identity.h"

/*
 * Shows messages from `data` until the socket is closed. Takes orders from `control`, the peer of
 * the socket in struct supervisor_display. All signals are blocked. Returns with the terminal
 * restored.
 */
void live_display_run(struct terminal *terminal, int data, int control,
		      const struct identity *identity, const char *command);

#endif
