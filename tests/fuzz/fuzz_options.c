/* SPDX-License-Identifier: MIT */
/*
 * Any command line: parsed or refused, nothing read outside its words, nothing leaked. Bytes above
 * 127 stand for the options, so that most words mean something; a newline ends a word.
 */
#include <fcntl.h>
#include <regex.h>
#include <sanitizer/common_interface_defs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/commands/option_table.h"
#include "profiler/commands/options.h"

#define WORDS_MAX 40

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the C library's place, whose memory is as large as a pattern asks. Some are refused. */
int regcomp(regex_t *pattern, const char *text, int flags)
{
	(void)flags;
	memset(pattern, 0, sizeof(*pattern));
	return text[0] == '(' ? REG_EPAREN : 0;
}

void regfree(regex_t *pattern)
{
	(void)pattern;
}

static int outside, nowhere;
static size_t entries;

/* Discards the parser's output, but not that of sanitizers and the fuzzer. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	outside = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	while (option_table[entries].id)
		entries++;
	if (outside < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		abort();
	__sanitizer_set_report_fd((void *)(uintptr_t)outside); /* NOLINT: the interface is so */
	return 0;
}

/* The words, each with memory of its own: a read outside is seen. */
static int spell(const uint8_t *data, size_t size, char *words[WORDS_MAX + 1])
{
	char shown[OPTION_SHOWN_BYTES], word[512];
	size_t used = 0, i;
	int count = 0;

	words[count++] = strdup("profile");
	for (i = 0; i <= size && count < WORDS_MAX; i++) {
		if (i == size || data[i] == '\n') {
			word[used] = '\0';
			words[count++] = strdup(word);
			used = 0;
		} else if (data[i] > 127) {
			option_shown(&option_table[(data[i] - 128U) % entries], shown);
			used += (size_t)snprintf(word + used, sizeof(word) - used, "%s", shown);
		} else if (data[i]) {
			word[used++] = (char)data[i];
		}
		if (used > sizeof(word) - OPTION_SHOWN_BYTES)
			used = sizeof(word) - OPTION_SHOWN_BYTES;
	}
	words[count] = NULL;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MAX + 1], *parsed[WORDS_MAX + 1];
	struct options options;
	int count = spell(data, size, words);
	enum command result;

	memcpy(parsed, words, sizeof(parsed)); /* the parser moves them */
	if (dup2(nowhere, STDERR_FILENO) < 0)
		abort();
	result = options_parse(count, parsed, &options);
	if (dup2(outside, STDERR_FILENO) < 0)
		abort();
	if (result != options.command)
		abort();
	if (result == COMMAND_RUN && (!options.run.command || !options.run.command[0]))
		abort();
	if (options_run(&options) && (options.run.measure.attached != (result == COMMAND_ATTACH) ||
				      options.output_count == 0))
		abort();
	if (options.output_count > OUTPUTS_MAX)
		abort();
	options_release(&options);
	for (int i = 0; i < count; i++)
		free(words[i]);
	return 0;
}
