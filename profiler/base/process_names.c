// SPDX-License-Identifier: MIT
#include "profiler/base/process_names.h"

#include <string.h>
#include "symbolize/util/text.h"

#define COMM_LENGTH 15 /* length limit of the kernel (TASK_COMM_LEN) */

/* Command line options of interpreters. */
static const struct interpreter {
	const char *name;           /* a version may follow */
	const char *with_value;     /* short options whose value may be the next argument */
	const char *module;         /* short option with a module or a file; "" if none */
	const char *inline_code;    /* short options followed by code */
	const char *long_values[7]; /* long options whose value is the next argument */
} interpreters[] = {
	{"python", "WXQ", "m", "c", {"--check-hash-based-pycs"}},
	{"pypy", "WXQ", "m", "c", {NULL}},
	{"perl", "IMmDF", "", "eE", {NULL}},
	{"ruby", "IrEC", "", "e", {NULL}},
	{"node", "rC", "", "ep", {"--require", "--import", "--loader", "--experimental-loader"}},
	{"php", "dcz", "f", "rBRE", {NULL}},
	{"lua", "l", "", "e", {NULL}},
	{"julia", "JCptLH", "", "eE", {NULL}},
	{"Rscript", "", "", "e", {NULL}},
	{"sh", "oO", "", "c", {NULL}},
	{"dash", "oO", "", "c", {NULL}},
	{"bash", "oO", "", "c", {"--rcfile", "--init-file"}},
	{"zsh", "oO", "", "c", {NULL}},
	{"ksh", "oO", "", "c", {NULL}},
	{"java",
	 "",
	 "",
	 "",
	 {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}},
};

/* Dynamic loader treated as an interpreter, with options of glibc and musl. */
static const struct interpreter loader = {
	.with_value = "",
	.module = "",
	.inline_code = "",
	.long_values = {"--library-path", "--preload", "--argv0", "--audit", "--inhibit-rpath",
			"--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"},
};

/* Matches "ld-linux-x86-64.so.2", "ld64.so.2", "ld-musl-x86_64.so.1", "ld.so", "ld-2.31.so". */
bool process_names_is_loader(const char *name)
{
	const char *const starts[] = {"ld-linux", "ld64.so", "ld-musl-", "ld.so", "ld-2."};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return true;
	return false;
}

/* Returns the interpreter of "python3.13", "perl5.36.0" or "python3-dbg"; NULL if there is none. */
static const struct interpreter *interpreter_named(const char *name)
{
	if (process_names_is_loader(name))
		return &loader;
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++) {
		size_t length = strlen(interpreters[i].name);

		if (strncmp(name, interpreters[i].name, length) != 0)
			continue;
		if (!name[length] || strchr("0123456789-.", name[length]))
			return &interpreters[i];
	}
	return NULL;
}

bool process_names_is_interpreter(const char *name)
{
	return interpreter_named(name) != NULL;
}

/* Returns the next argument, or NULL after the last. */
static const char *next_argument(const char *argument, const char *end)
{
	const char *next = argument + strlen(argument) + 1;

	return next < end ? next : NULL;
}

static bool takes_next(const struct interpreter *interpreter, const char *argument)
{
	const size_t count = sizeof(interpreter->long_values) / sizeof(interpreter->long_values[0]);

	for (size_t i = 0; i < count && interpreter->long_values[i]; i++)
		if (strcmp(argument, interpreter->long_values[i]) == 0)
			return true;
	return false;
}

/*
 * Finds the script: the first argument that is neither an option nor an option's value. Returns
 * NULL for code on the command line, standard input, or no script.
 */
static const char *find_script(const struct interpreter *in, const char *argument, const char *end)
{
	while ((argument = next_argument(argument, end))) {
		bool skips = false;

		if (argument[0] != '-' && !(argument[0] == '+' && strchr(in->with_value, 'O')))
			return argument[0] ? argument : NULL;
		if (strcmp(argument, "-") == 0)
			return NULL;
		if (strcmp(argument, "--") == 0 || strcmp(argument, "-jar") == 0)
			return next_argument(argument, end);
		if (takes_next(in, argument)) {
			skips = true;
		} else if (argument[1] != '-') {
			for (const char *c = argument + 1; *c; c++) {
				if (strchr(in->inline_code, *c))
					return NULL;
				if (strchr(in->module, *c))
					return c[1] ? c + 1 : next_argument(argument, end);
				if (!strchr(in->with_value, *c))
					continue;
				skips = !c[1];
				break;
			}
		}
		if (skips)
			argument = next_argument(argument, end);
		if (!argument)
			break;
	}
	return NULL;
}

/* Adds the base name of `text`, and `text` itself if `whole`. */
static void add(struct process_names *names, const char *text, bool whole)
{
	const char *base = base_name(text);

	if (base[0])
		names->list[names->count++] = base;
	if (text != base && whole)
		names->list[names->count++] = text;
}

/* Sets the program to the last component of `path`, ignoring trailing slashes (python3 app/). */
static void set_program(struct process_names *names, const char *path)
{
	size_t end = strlen(path), at;

	while (end > 0 && path[end - 1] == '/')
		end--;
	at = end;
	while (at > 0 && path[at - 1] != '/')
		at--;
	names->program = path + at;
	names->program_bytes = end - at;
	if (end == at || strspn(path + at, ".") >= end - at) /* "/", "." and ".." name nothing */
		names->program = NULL;
}

/* Returns true for the absolute path of the program, false for a title that resembles a path. */
static bool is_path(const char *text, const char *comm, const char *exe)
{
	const char *base = base_name(text);

	return text[0] == '/' && !strchr(text, ' ') &&
	       (strncmp(base, comm, COMM_LENGTH) == 0 || strcmp(base, exe) == 0);
}

void process_names_find(struct process_names *names, const char *comm, const char *exe,
			const char *cmdline, size_t size, bool with_paths)
{
	const struct interpreter *interpreter;
	const char *argument = cmdline;

	names->count = 0;
	names->program = NULL;
	names->program_bytes = 0;
	if (size == 0)
		return;
	add(names, cmdline, with_paths || !is_path(cmdline, comm, exe));
	interpreter = interpreter_named(base_name(cmdline) + (cmdline[0] == '-'));
	while (interpreter && names->count + 2 <= PROCESS_NAMES_MAX &&
	       (argument = find_script(interpreter, argument, cmdline + size))) {
		add(names, argument, with_paths || argument[0] != '/');
		set_program(names, argument);
		/* a loader may run an interpreter */
		interpreter =
			interpreter == &loader ? interpreter_named(base_name(argument)) : NULL;
	}
}
