// SPDX-License-Identifier: MIT
/* profile: run a command, and write where its time went on CPU and GPU. */
#include <signal.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/from.h"
#include "profiler/commands/injection_path.h"
#include "profiler/commands/list_metrics.h"
#include "profiler/commands/run.h"
#include "profiler/run/privilege.h"

/* Ignores signals for failed writes: a reader may leave early, and a file may get too large. */
static void prefer_errors_to_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct inherited inherited;
	enum command command;
	struct options options;
	int status = EXIT_PROFILER_FAILED;

	inherited_note(&inherited);
	dropped_environment_note(&inherited.dropped, argc, argv);
	command = options_parse(argc, argv, &options);
	/* only runs need the capabilities of setcap; nothing was opened so far */
	if (!options_run(&options) && privilege_drop_all() != 0)
		command = COMMAND_WRONG;
	switch (command) {
	case COMMAND_RUN:
	case COMMAND_ATTACH:
		status = run(&options, &inherited);
		break;
	case COMMAND_FROM:
		prefer_errors_to_signals();
		status = from(&options, &inherited);
		break;
	case COMMAND_DIFF:
		status = compare(&options, &inherited);
		break;
	case COMMAND_INJECTION_PATH:
		status = injection_path_print();
		break;
	case COMMAND_LIST_METRICS:
		status = list_metrics(&options);
		break;
	case COMMAND_DONE:
		status = 0;
		break;
	default:
		break;
	}
	options_release(&options);
	return status;
}
