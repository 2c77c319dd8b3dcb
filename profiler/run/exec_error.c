// SPDX-License-Identifier: MIT
#include "profiler/run/exec_error.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/command_text.h"
#include "profiler/base/exit_status.h"
#include "profiler/base/near_word.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/text.h"

#define FIRST_LINE_MAX 256 /* the kernel's limit (BINPRM_BUF_SIZE) */
#define WRONG_BYTES 4096

/* Returns the next folder in PATH, or NULL. */
static const char *next_in_path(const char *at)
{
	at += strcspn(at, ":");
	return *at ? at + 1 : NULL;
}

/* Finds the file that execvp tried to run. Returns false if there is none. */
static bool find_file(const char *command, char *file, size_t size)
{
	const char *at = getenv("PATH");

	if (!command[0])
		return false;
	if (strchr(command, '/') || !at) {
		snprintf(file, size, "%s", command);
		return access(file, F_OK) == 0;
	}
	for (; at; at = next_in_path(at)) {
		size_t length = strcspn(at, ":");

		snprintf(file, size, "%.*s%s%s", (int)length, at, length ? "/" : "", command);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* Reads a script's first line without "#!" and blanks; "" for other files. */
static void read_first_line(const char *file, char line[FIRST_LINE_MAX + 1])
{
	struct stat st;
	int fd = open_regular(file, SYMLINK_FOLLOW, &st);
	ssize_t n = fd < 0 ? 0 : read(fd, line, FIRST_LINE_MAX);
	size_t blanks;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	if (!starts_with(line, "#!")) {
		line[0] = '\0';
		return;
	}
	blanks = 2 + strspn(line + 2, " \t");
	memmove(line, line + blanks, strlen(line + blanks) + 1);
	line[strcspn(line, "\n")] = '\0';
}

static void explain_missing_part(struct log *log, const char *command, const char *file)
{
	char interpreter[FIRST_LINE_MAX + 1];
	size_t length;

	read_first_line(file, interpreter);
	interpreter[strcspn(interpreter, " \t")] = '\0';
	length = strlen(interpreter);
	if (length == 0)
		log_error(log, "cannot run %s: the loader that it needs does not exist here",
			  command);
	else if (interpreter[length - 1] == '\r')
		log_error(log,
			  "cannot run %s: its first line ends in CR LF, as lines do on Windows; "
			  "save it with LF alone",
			  command);
	else
		log_error(log, "cannot run %s: its interpreter %s does not exist", command,
			  interpreter);
}

/* ---- what would have worked ---- */

/* Returns the interpreter for a file, or NULL if unknown. The result may point into `line`. */
static const char *interpreter_of(const char *file, char line[FIRST_LINE_MAX + 1])
{
	static const char *const by_extension[][2] = {
		{".py", "python3"}, {".sh", "sh"},   {".bash", "bash"}, {".pl", "perl"},
		{".rb", "ruby"},    {".js", "node"}, {".lua", "lua"},   {".jl", "julia"},
		{".R", "Rscript"},  {".php", "php"},
	};
	const char *extension = strrchr(base_name(file), '.'), *word;
	char *rest;

	read_first_line(file, line);
	word = strtok_r(line, " \t\r", &rest);
	if (word && strcmp(base_name(word), "env") == 0) /* "/usr/bin/env -S A=1 python3 -u" */
		do
			word = strtok_r(NULL, " \t\r", &rest);
		while (word && (word[0] == '-' || strchr(word, '=')));
	if (word && (!strchr(word, '/') || access(word, X_OK) == 0))
		return word;
	for (size_t i = 0; extension && i < sizeof(by_extension) / sizeof(by_extension[0]); i++)
		if (strcmp(extension, by_extension[i][0]) == 0)
			return by_extension[i][1];
	return NULL;
}

/*
 * Logs `wrong`, the message "COMMAND: REASON", and the command line that would have worked: `first`
 * (up to two words), then `words`.
 */
static void log_line_for(struct log *log, const char *wrong, const char *const first[2],
			 char *const *words)
{
	size_t count = 0, used = 0;
	char **line, *text;

	while (words[count])
		count++;
	line = calloc(count + 3, sizeof(*line));
	for (int i = 0; line && i < 2 && first[i]; i++)
		line[used++] = (char *)first[i];
	if (line)
		memcpy(line + used, words, count * sizeof(*line));
	text = line ? command_text(line) : NULL;
	log_error(log, "%s; write: profile [options] %s", wrong, text ? text : "...");
	free(text);
	free(line);
}

static bool is_folder(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns true for a file that the user may execute. */
static bool is_program(const char *file)
{
	return !is_folder(file) && access(file, X_OK) == 0;
}

static void explain_no_permission(struct log *log, char *const *command, int err)
{
	char line[FIRST_LINE_MAX + 1], wrong[WRONG_BYTES];
	const char *file = command[0], *interpreter;
	bool is_file = strchr(file, '/') && access(file, F_OK) == 0;

	if (is_file && is_folder(file)) {
		log_error(log, "cannot run %s: it is a folder; name a program in it", file);
	} else if (!is_file || access(file, X_OK) == 0) {
		log_error(log, "cannot run %s: %s", file, strerror(err));
	} else if ((interpreter = interpreter_of(file, line))) {
		snprintf(wrong, sizeof(wrong),
			 "cannot run %s: it has no permission to execute (chmod +x gives it)",
			 file);
		log_line_for(log, wrong, (const char *const[2]){interpreter}, command);
	} else {
		log_error(
			log,
			"cannot run %s: it has no permission to execute; if it is a program, give "
			"it: chmod +x %s",
			file, file);
	}
}

/* ---- what was meant ---- */

/* The best match so far. */
struct nearest {
	const char *word;
	unsigned int slips;
	char path[PATH_MAX]; /* the file; "": none yet */
	char name[NEAR_WORD_MAX + 1];
};

static void look_in_folder(const char *folder, struct nearest *nearest)
{
	DIR *list = opendir(folder);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		unsigned int slips = near_word_slips(nearest->word, entry->d_name);
		char path[PATH_MAX];

		if (slips >= nearest->slips ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			    (int)sizeof(path) ||
		    !is_program(path))
			continue;
		nearest->slips = slips;
		memcpy(nearest->path, path, sizeof(path));
		snprintf(nearest->name, sizeof(nearest->name), "%.*s", NEAR_WORD_MAX,
			 entry->d_name);
	}
	if (list)
		closedir(list);
}

/*
 * Returns the maximum number of slips in a program's name. With thousands of programs, a name that
 * differs in a third of its letters is another one: "nosuch" is not "touch".
 */
static unsigned int slips_of_program(const char *name)
{
	size_t length = strlen(name);

	return length < 4 ? 0 : length < 9 ? 1 : 2;
}

/* Finds the command that was mistyped; "" if there is none. */
static void find_nearest(const char *command, struct nearest *nearest, char meant[PATH_MAX])
{
	const char *at = getenv("PATH"), *slash = strrchr(command, '/');
	char folder[PATH_MAX];

	*nearest = (struct nearest){.word = base_name(command)};
	nearest->slips = slips_of_program(nearest->word) + 1;
	meant[0] = '\0';
	if (slash) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - command) + 1, command);
		look_in_folder(folder, nearest);
		if (nearest->path[0])
			snprintf(meant, PATH_MAX, "%.*s%s", (int)(slash - command) + 1, command,
				 nearest->name);
		return;
	}
	for (; at; at = next_in_path(at)) {
		snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(at, ":"), at);
		if (folder[0])
			look_in_folder(folder, nearest);
	}
	look_in_folder(".", nearest);
	if (nearest->path[0])
		snprintf(meant, PATH_MAX, "%s%s", starts_with(nearest->path, "./") ? "./" : "",
			 nearest->name);
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* Other profilers' words before a command. */
static const char *const running[] = {"record", "launch", "start", "run", "profile", NULL};
/* Other profilers' words before a file, and before a process id. */
static const char *const reading[] = {"report", "stats",   "dump",   "script", "annotate",
				      "view",   "analyze", "export", NULL};
static const char *const attaching[] = {"attach", "top", NULL};

bool exec_error_is_subcommand(const char *word)
{
	return is_one_of(word, running) || is_one_of(word, reading) || is_one_of(word, attaching);
}

static void explain_subcommand(struct log *log, char *const *command)
{
	char wrong[WRONG_BYTES];

	snprintf(wrong, sizeof(wrong), "%s: command not found: profile has no subcommands",
		 command[0]);
	if (is_one_of(command[0], reading) && !is_program(command[1]))
		log_line_for(log, wrong, (const char *const[2]){"--from"}, command + 1);
	else if (is_one_of(command[0], attaching) && isdigit((unsigned char)command[1][0]))
		log_line_for(log, wrong, (const char *const[2]){"-p"}, command + 1);
	else
		log_line_for(log, wrong, (const char *const[2]){NULL}, command + 1);
}

/* "NAME=value" */
static bool is_assignment(const char *word)
{
	size_t name = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "_0123456789");

	return name > 0 && word[name] == '=';
}

/* Explains a command without a slash that is a file in the working directory. */
static bool explain_here(struct log *log, char *const *command)
{
	char line[FIRST_LINE_MAX + 1], wrong[WRONG_BYTES], here[PATH_MAX];
	const char *interpreter;

	if (strchr(command[0], '/') || access(command[0], F_OK) != 0 ||
	    snprintf(here, sizeof(here), "./%s", command[0]) >= (int)sizeof(here))
		return false;
	snprintf(wrong, sizeof(wrong), "%s: command not found: PATH does not lead here",
		 command[0]);
	if (is_program(here)) {
		log_line_for(log, wrong, (const char *const[2]){here}, command + 1);
		return true;
	}
	interpreter = is_folder(here) ? NULL : interpreter_of(here, line);
	if (interpreter)
		log_line_for(log, wrong, (const char *const[2]){interpreter}, command);
	return interpreter;
}

static void explain_not_found(struct log *log, char *const *command)
{
	static const char *const of_shells[] = {"source", ".",    "export", "ulimit",
						"alias",  "eval", "exec",   "module",
						"cd",     "set",  NULL};
	char wrong[WRONG_BYTES], meant[PATH_MAX];
	const char *name = command[0];
	struct nearest nearest;

	if (explain_here(log, command))
		return;
	snprintf(wrong, sizeof(wrong), "%s: command not found", name);
	if (strpbrk(name, " \t\n")) {
		snprintf(wrong, sizeof(wrong), "'%s': command not found: it is one word", name);
		log_line_for(log, wrong, (const char *const[2]){"sh", "-c"}, command);
	} else if (is_assignment(name)) {
		log_line_for(log, wrong, (const char *const[2]){"env"}, command);
	} else if (is_one_of(name, of_shells)) {
		log_error(
			log,
			"%s: command not found: shells have it built in; write: profile [options] "
			"sh -c '%s ...'",
			name, name);
	} else if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
		log_error(log, "%s; write: profile --%s", wrong, name);
	} else if (exec_error_is_subcommand(name) && command[1]) {
		explain_subcommand(log, command);
	} else if (find_nearest(name, &nearest, meant), meant[0]) {
		log_error(log, "%s; did you mean %s?", wrong, meant);
	} else if (getenv("SUDO_UID")) {
		log_error(
			log,
			"%s: command not found; sudo replaces PATH: give the command's path, as in "
			"\"$(command -v %s)\"",
			name, name);
	} else {
		log_error(log, "%s", wrong);
	}
}

int exec_error_explain(struct log *log, char *const *command, int err)
{
	char file[PATH_MAX];

	if (err == ENOENT && !find_file(command[0], file, sizeof(file))) {
		explain_not_found(log, command);
		return EXIT_NOT_FOUND;
	}
	if (err == ENOENT)
		explain_missing_part(log, command[0], file);
	else if (err == EACCES)
		explain_no_permission(log, command, err);
	else
		log_error(log, "cannot run %s: %s", command[0], strerror(err));
	return EXIT_CANNOT_RUN;
}
