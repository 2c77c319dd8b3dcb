/* SPDX-License-Identifier: MIT */
/*
 * What `profile` alone and --help print. The lines on options come from option_table.h; this module
 * adds what belongs to no single option, by topic.
 *
 * Lines have at most 80 columns.
 */
#ifndef PROFILER_COMMANDS_HELP_H
#define PROFILER_COMMANDS_HELP_H

#include <stdbool.h>
#include <stdio.h>

/* For who calls without arguments: what it is, three examples, and where to read on. */
void help_first_page(FILE *out);

/* Every option on one line, by group. */
void help_overview(FILE *out);

/* One topic, or "all" of them. False, and nothing is printed: there is none of this name. */
bool help_topic(const char *name, FILE *out);

/* One option: "wall", "--wall", "-o"; names with two dashes or none may be shortened. Likewise. */
bool help_option(const char *name, FILE *out);

#endif
