// SPDX-License-Identifier: MIT
/* profile: run a command, and write where its time went on CPU and GPU. */
#include "profiler/base/exit_status.h"
#include "profiler/commands/run.h"

int main(int argc, char **argv)
{
	struct inherited inherited;
	struct options options;

	inherited_note(&inherited);
	switch (options_parse(argc, argv, &options)) {
	case OPTIONS_RUN:
		return run(&options, &inherited);
	case OPTIONS_DONE:
		return 0;
	default:
		return EXIT_PROFILER_FAILED;
	}
}
