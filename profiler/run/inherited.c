// SPDX-License-Identifier: MIT
#include "profiler/run/inherited.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "symbolize/util/text.h"

/* Opens each closed standard descriptor: open() returns the lowest free number. */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH | O_CLOEXEC);
}

void inherited_note(struct inherited *inherited)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	memset(inherited, 0, sizeof(*inherited));
	sigprocmask(SIG_SETMASK, NULL, &inherited->mask);
	getrlimit(RLIMIT_NOFILE, &inherited->files);
	getrlimit(RLIMIT_MEMLOCK, &inherited->locked_memory);
	inherited->nice = getpriority(PRIO_PROCESS, 0);
	sigaction(SIGCHLD, &standard, &inherited->child_end);
	hold_standard_descriptors();
}

void inherited_restore(const struct inherited *inherited)
{
	setrlimit(RLIMIT_NOFILE, &inherited->files);
	setrlimit(RLIMIT_MEMLOCK, &inherited->locked_memory);
	setpriority(PRIO_PROCESS, 0, inherited->nice);
	sigaction(SIGCHLD, &inherited->child_end, NULL);
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* ---- variables that the loader removed ---- */

static bool is_there(const char *text, char *const *environment)
{
	for (; *environment; environment++)
		if (*environment == text)
			return true;
	return false;
}

void dropped_environment_find(struct dropped_environment *dropped, const char *from, const char *to,
			      char *const *environment)
{
	size_t length;

	dropped->count = 0;
	for (; from < to && dropped->count < DROPPED_VARIABLES_MAX; from += length + 1) {
		length = strnlen(from, (size_t)(to - from));
		if (from + length < to && strchr(from, '=') && from[0] != '=' &&
		    !is_there(from, environment))
			dropped->list[dropped->count++] = from;
	}
}

void dropped_environment_note(struct dropped_environment *dropped, int argc, char *const *argv)
{
	const char *from = argc > 0 ? argv[argc - 1] : NULL;
	const char *to = (const char *)getauxval(AT_EXECFN); /* behind the environment's strings */

	dropped->count = 0;
	if (getauxval(AT_SECURE) && from && to && from < to)
		dropped_environment_find(dropped, from + strlen(from) + 1, to, environ);
}

void dropped_environment_names(const struct dropped_environment *dropped, char *text, size_t size)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < dropped->count; i++)
		append_text(text, size, "%s%.*s", i ? ", " : "",
			    (int)strcspn(dropped->list[i], "="), dropped->list[i]);
}

void dropped_environment_restore(const struct dropped_environment *dropped)
{
	for (uint32_t i = 0; i < dropped->count; i++) {
		size_t length = strcspn(dropped->list[i], "=");
		char *name = strndup(dropped->list[i], length);

		if (name)
			setenv(name, dropped->list[i] + length + 1, 0);
		free(name);
	}
}
