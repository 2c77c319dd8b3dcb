/* SPDX-License-Identifier: MIT */
/*
 * Completion for shells, made from option_table.h: options, what their arguments may be, files,
 * then the command with its own completion, as for sudo.
 *
 * The scripts are for bash 4.4 (with the package bash-completion for the command's own arguments),
 * zsh 5 and fish 3, in their packages' interfaces: programmable completion; _arguments and _normal;
 * complete.
 */
#ifndef PROFILER_COMMANDS_COMPLETION_H
#define PROFILER_COMMANDS_COMPLETION_H

#include <stdio.h>

/* The words of --completion, in this order. */
enum completion_shell { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH };

void completion_print(enum completion_shell shell, FILE *out);

#endif
