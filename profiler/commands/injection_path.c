// SPDX-License-Identifier: MIT
#include "profiler/commands/injection_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "profiler/attach/injection.h"
#include "profiler/base/exit_status.h"
#include "profiler/base/log.h"
#include "profiler/run/identity.h"

int injection_path_print(void)
{
	struct log log = {.level = LOG_NORMAL};
	char path[INJECTION_PATH_MAX] = "";
	struct identity identity;
	int err = identity_find(&identity, false);

	if (!err)
		err = identity_become(&identity);
	if (err)
		return log_failure(&log, "cannot become the user who called sudo: %s",
				   strerror(-err));
	err = injection_find(path);
	if (err && !path[0])
		log_error(&log, "there is no folder for the library: HOME is not set");
	else if (err == -EPERM)
		log_error(&log,
			  "%s is not used: other users may change what is in it, or it is theirs; "
			  "take their right to write (chmod go-w), or set XDG_CACHE_HOME",
			  path);
	else if (err)
		log_error(&log, "cannot make %s: %s", path, strerror(-err));
	if (err)
		return EXIT_PROFILER_FAILED;
	errno = 0;
	if (puts(path) >= 0 && fflush(stdout) == 0)
		return 0;
	return log_failure(&log, "writing to standard output: %s", strerror(errno));
}
