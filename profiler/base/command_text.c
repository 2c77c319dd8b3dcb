// SPDX-License-Identifier: MIT
#include "profiler/base/command_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define WORDS_MAX 1024

/* Writes a word, quoted if a shell would interpret it. */
static void add_word(FILE *out, const char *word)
{
	bool is_plain = *word && !word[strcspn(word, " \t\n\r\"'\\$`!*?[](){}<>|&;#~")];

	if (is_plain) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (size_t n; *word; word += n) {
		n = strcspn(word, "'");
		fwrite(word, 1, n, out);
		if (word[n] == '\'') {
			fputs("'\\''", out);
			n++;
		}
	}
	fputc('\'', out);
}

char *command_text(char *const *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; words[i] && ftell(out) < COMMAND_TEXT_BYTES; i++) {
		if (i > 0)
			fputc(' ', out);
		add_word(out, words[i]);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	if (size > COMMAND_TEXT_BYTES)
		text[COMMAND_TEXT_BYTES] = '\0';
	clean_text(text);
	return text;
}

char *command_text_packed(char *packed, size_t size)
{
	char *words[WORDS_MAX + 1];
	uint32_t count = 0;

	for (size_t at = 0; at < size && count < WORDS_MAX; at += strlen(packed + at) + 1)
		words[count++] = packed + at;
	words[count] = NULL;
	return count ? command_text(words) : NULL;
}

/* Reads one word, without its quotes, into `out`. Returns the text after the word. */
static const char *read_word(const char *text, char **out)
{
	bool is_quoted = false;

	for (; *text && (is_quoted || *text != ' '); text++) {
		if (*text == '\'') {
			is_quoted = !is_quoted;
			continue;
		}
		if (*text == '\\' && !is_quoted && text[1])
			text++;
		*(*out)++ = *text;
	}
	*(*out)++ = '\0';
	return text;
}

char **command_words(const char *text)
{
	size_t length = strlen(text), count = 0, most = length / 2 + 2;
	char **words = malloc(most * sizeof(*words) + length + 2), *out;

	if (!words)
		return NULL;
	for (out = (char *)(words + most); *text; text += *text == ' ') {
		words[count++] = out;
		text = read_word(text, &out);
	}
	words[count] = NULL;
	return words;
}
