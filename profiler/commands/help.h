/* SPDX-License-Identifier: MIT */
/*
 * Prints help: the first page of `profile` alone, and --help. Lines on options come from
 * option_table.h.
 *
 * Lines have at most 80 columns.
 */
#ifndef PROFILER_COMMANDS_HELP_H
#define PROFILER_COMMANDS_HELP_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the page for a call without arguments: purpose, three examples, further reading. */
void help_first_page(FILE *out);

/* Prints each option on one line, by group. */
void help_overview(FILE *out);

/* Prints a topic, or "all" topics. Returns false if the topic is unknown. */
bool help_topic(const char *name, FILE *out);

/*
 * Prints help on an option: "wall", "--wall", "-o". Names with two dashes or none may be
 * shortened. Returns false if the option is unknown.
 */
bool help_option(const char *name, FILE *out);

#endif
