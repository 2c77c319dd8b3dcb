// SPDX-License-Identifier: MIT
#include "profiler/commands/completion.h"

#include <stdbool.h>
#include <string.h>
#include "profiler/commands/option_table.h"

/*
 * Returns whether completion offers the letter. Aliases of an option are offered without the
 * letter.
 */
static bool has_letter(const struct option_entry *e)
{
	return e->id < OPT_GPU_ONLY && e->text;
}

/*
 * Prints `text` with a backslash before each character in `special`. A single quote is printed as
 * `quote`.
 */
static void print_escaped(FILE *out, const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, out);
		else
			fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

static void print_list(FILE *out, const char *const *words)
{
	for (const char *const *word = words; *word; word++)
		fprintf(out, "%s%s", word == words ? "" : " ", *word);
}

/* ---- bash ---- */

/* Prints "-F|-freq|--freq". */
static void print_pattern(FILE *out, const struct option_entry *e)
{
	if (has_letter(e))
		fprintf(out, "-%c%s", e->id, e->name ? "|" : "");
	if (e->name)
		fprintf(out, "-%s|--%s", e->name, e->name);
}

static void print_bash_value(FILE *out, const struct option_entry *e)
{
	fputs("\t", out);
	print_pattern(out, e);
	switch (e->kind) {
	case ARGUMENT_FILE:
		fputs(") _profile_files ;;\n", out);
		break;
	case ARGUMENT_WORD:
	case ARGUMENT_WORDS:
		fputs(e->kind == ARGUMENT_WORD ? ") _profile_word '" : ") _profile_words '", out);
		print_list(out, e->words);
		fputs("' ;;\n", out);
		break;
	default:
		fputs(") ;;\n", out);
	}
}

static void print_long_word(FILE *out, const struct option_entry *e)
{
	if (e->name)
		fprintf(out, "--%s ", e->name);
}

/* Prints the option with its dashes as in help, and the long name of a letter. */
static void print_short_words(FILE *out, const struct option_entry *e)
{
	char shown[OPTION_SHOWN_BYTES];

	fprintf(out, "%s ", option_shown(e, shown));
	if (has_letter(e))
		print_long_word(out, e);
}

static void print_bash_files_case(FILE *out, const struct option_entry *e)
{
	print_pattern(out, e);
	fputs(") files=1 ;;&\n		", out);
}

/* Prints the case of an option with a joined argument. bash splits "--a=b" into three words. */
static void print_bash_joined_case(FILE *out, const struct option_entry *e)
{
	print_pattern(out, e);
	fputs(") [[ ${COMP_WORDS[i + 1]} == = ]] || continue ;;&\n		", out);
}

/* ---- zsh ---- */

/* Prints a spec of _arguments: '*-o+[output file]:FILE:_files'. */
static void print_zsh_spec(FILE *out, const struct option_entry *e, const char *dashes,
			   const char *name, const char *behind)
{
	fprintf(out, "\t'*%s%s%s%s[", dashes, name, e->kind != ARGUMENT_NONE ? behind : "",
		option_is_joined(e) ? "-" : "");
	print_escaped(out, e->text, "[]:\\", "'\\''");
	fputc(']', out);
	if (e->kind != ARGUMENT_NONE)
		fprintf(out, "%s:%s:", option_is_joined(e) ? ":" : "", e->argument);
	switch (e->kind) {
	case ARGUMENT_FILE:
		fputs("_files", out);
		break;
	case ARGUMENT_WORD:
		fputc('(', out);
		print_list(out, e->words);
		fputc(')', out);
		break;
	case ARGUMENT_WORDS:
		fputs("_sequence compadd - ", out);
		print_list(out, e->words);
		break;
	default:
		break;
	}
	fputs("' \\\n", out);
}

static void print_zsh_option(FILE *out, const struct option_entry *e)
{
	char letter[2] = {(char)e->id, '\0'};

	if (has_letter(e))
		print_zsh_spec(out, e, "-", letter, e->is_optional ? "" : "+");
	if (e->takes_one_dash)
		print_zsh_spec(out, e, "-", e->name, "=");
	if (e->name)
		print_zsh_spec(out, e, "--", e->name, "=");
}

/* ---- fish ---- */

static void print_fish_option(FILE *out, const struct option_entry *e)
{
	fputs("complete -c profile -n 'not __profile_command >/dev/null'", out);
	if (has_letter(e))
		fprintf(out, " -s %c", e->id);
	if (e->takes_one_dash)
		fprintf(out, " -o %s", e->name);
	if (e->name)
		fprintf(out, " -l %s", e->name);
	switch (e->kind) {
	case ARGUMENT_NONE:
		break;
	case ARGUMENT_TEXT:
		fputs(option_is_joined(e) ? " -f" : " -x", out);
		break;
	case ARGUMENT_FILE:
		fputs(" -r -F", out);
		break;
	case ARGUMENT_WORD:
	case ARGUMENT_WORDS:
		fputs(option_is_joined(e) ? " -f" : " -x", out);
		fputs(e->kind == ARGUMENT_WORD ? " -a '" : " -a '(__fish_append , ", out);
		print_list(out, e->words);
		fputs(e->kind == ARGUMENT_WORD ? "'" : ")'", out);
	}
	fputs(" -d '", out);
	print_escaped(out, e->text, "\\", "\\'");
	fputs("'\n", out);
}

/* Prints " -F -freq --freq". */
static void print_fish_words(FILE *out, const struct option_entry *e)
{
	if (has_letter(e))
		fprintf(out, " -%c", e->id);
	if (e->name)
		fprintf(out, " -%s --%s", e->name, e->name);
}

/* ---- templates ---- */

static bool takes_files(const struct option_entry *e)
{
	return e->is_of_files;
}

static bool takes_value(const struct option_entry *e)
{
	return e->kind != ARGUMENT_NONE;
}

static bool takes_next_word(const struct option_entry *e)
{
	return takes_value(e) && !option_is_joined(e);
}

static bool has_text(const struct option_entry *e)
{
	return e->text;
}

/* Markers in the templates. Each stands for all options that `has` selects. */
static const struct marker {
	const char *name;
	bool (*has)(const struct option_entry *e);
	void (*print)(FILE *out, const struct option_entry *e);
	const char *between;
} markers[] = {
	{"file_options", takes_files, print_bash_files_case, ""},
	{"joined_options", option_is_joined, print_bash_joined_case, ""},
	{"value_options", takes_value, print_pattern, "|"},
	{"values", takes_value, print_bash_value, ""},
	{"long_words", has_text, print_long_word, ""},
	{"short_words", has_text, print_short_words, ""},
	{"zsh_files", takes_files, print_pattern, "|"},
	{"zsh_options", has_text, print_zsh_option, ""},
	{"fish_files", takes_files, print_fish_words, ""},
	{"fish_value_words", takes_next_word, print_fish_words, ""},
	{"fish_options", has_text, print_fish_option, ""},
};

static void print_marker(FILE *out, const char *name, size_t size)
{
	const struct marker *m = markers;
	const char *between = "";

	while (strlen(m->name) != size || memcmp(m->name, name, size) != 0)
		m++;
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!m->has(e))
			continue;
		fputs(between, out);
		m->print(out, e);
		between = m->between;
	}
}

extern const char completion_bash[], completion_zsh[], completion_fish[];

void completion_print(enum completion_shell shell, FILE *out)
{
	static const char *const templates[] = {[COMPLETION_BASH] = completion_bash,
						[COMPLETION_ZSH] = completion_zsh,
						[COMPLETION_FISH] = completion_fish};
	const char *at = strchr(templates[shell], '\n') + 1; /* behind the licence */
	size_t size;

	while (*at) {
		size = strcspn(at, "@");
		fwrite(at, 1, size, out);
		at += size;
		if (!*at)
			break;
		size = strcspn(++at, "@");
		print_marker(out, at, size);
		at += size + 1;
	}
}
