/* SPDX-License-Identifier: MIT */
/*
 * Which options go together. The rules are rows of a table: what an option needs, and what it is
 * not with.
 */
#ifndef PROFILER_COMMANDS_OPTION_RULES_H
#define PROFILER_COMMANDS_OPTION_RULES_H

#include <stdbool.h>
#include "profiler/commands/option_values.h"

enum rule_stage {
	RULES_OF_ALL, /* whatever is done */
	RULES_OF_RUN, /* a command, or processes that run already */
};

/* Prints on stderr the first rule of this stage that the options break, and returns false. */
bool option_rules_check(const struct parsed_options *o, enum rule_stage stage);

/* Returns how launch stacks are taken: in the process or by uprobes. */
enum launch_stacks option_rules_launch_stacks(const struct parsed_options *o);

/* Returns the option by which processes are chosen that run already; NULL: there is none. */
const char *option_rules_attach(const struct parsed_options *o);

#endif
