/* SPDX-License-Identifier: MIT */
/*
 * Checks combinations of options against a table of rules: needs, and exclusions.
 */
#ifndef PROFILER_COMMANDS_OPTION_RULES_H
#define PROFILER_COMMANDS_OPTION_RULES_H

#include <stdbool.h>
#include "profiler/commands/option_values.h"

enum rule_stage {
	RULES_OF_ALL, /* rules of every command */
	RULES_OF_RUN, /* rules of run and attach */
};

/* Checks the rules of a stage. Returns false after printing the first broken rule on stderr. */
bool option_rules_check(const struct parsed_options *o, enum rule_stage stage);

/* Returns how launch stacks are taken: in the process or by uprobes. */
enum launch_stacks option_rules_launch_stacks(const struct parsed_options *o);

/* Returns the option that selects running processes. Returns NULL if there is none. */
const char *option_rules_attach(const struct parsed_options *o);

#endif
