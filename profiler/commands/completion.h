/* SPDX-License-Identifier: MIT */
/*
 * Prints shell completion: templates in completion/, filled in from option_table.h.
 *
 * Completion offers options, their arguments, files, and the command with its own completion, as
 * for sudo. The scripts use the interfaces of bash 4.4 (programmable completion), zsh 5
 * (_arguments and _normal) and fish 3 (complete). In bash the command's own arguments need the
 * package bash-completion.
 */
#ifndef PROFILER_COMMANDS_COMPLETION_H
#define PROFILER_COMMANDS_COMPLETION_H

#include <stdio.h>

/* Words of --completion, in this order. */
enum completion_shell { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH };

void completion_print(enum completion_shell shell, FILE *out);

#endif
