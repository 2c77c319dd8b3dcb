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

/* Prints options with their dashes as in help, or all options that have two dashes. */
static void print_bash_options(FILE *out, bool two_dashes)
{
	char shown[OPTION_SHOWN_BYTES];

	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->text)
			continue;
		if (!two_dashes)
			fprintf(out, "%s ", option_shown(e, shown));
		if (e->name && (two_dashes || has_letter(e)))
			fprintf(out, "--%s ", e->name);
	}
}

/* Prints the cases of options that files follow instead of a command. */
static void print_bash_of_files(FILE *out)
{
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->is_of_files)
			continue;
		print_pattern(out, e);
		fputs(") files=1 ;;&\n		", out);
	}
}

/* Prints the cases of options with a joined argument. bash splits "--a=b" into three words. */
static void print_bash_joined(FILE *out)
{
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!option_is_joined(e))
			continue;
		print_pattern(out, e);
		fputs(") [[ ${COMP_WORDS[i + 1]} == = ]] || continue ;;&\n		", out);
	}
}

static void print_bash(FILE *out)
{
	bool is_first = true;

	fputs("# bash completion for profile, printed by: profile --completion bash\n"
	      "\n"
	      "# In these functions `cur` is what has been typed of the word.\n"
	      "_profile_word()\n"
	      "{\n"
	      "	mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	      "}\n"
	      "\n"
	      "# some of the words, with commas between, each once\n"
	      "_profile_words()\n"
	      "{\n"
	      "	local typed='' word left=''\n"
	      "\n"
	      "	[[ $cur == *,* ]] && typed=${cur%,*},\n"
	      "	for word in $1; do\n"
	      "		[[ ,$typed == *,$word,* ]] || left+=\" $typed$word\"\n"
	      "	done\n"
	      "	_profile_word \"$left\"\n"
	      "	compopt -o nospace 2>/dev/null\n"
	      "}\n"
	      "\n"
	      "_profile_files()\n"
	      "{\n"
	      "	mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	      "	compopt -o filenames 2>/dev/null\n"
	      "}\n"
	      "\n"
	      "# the command that begins at word $1, as it would be without profile\n"
	      "_profile_command()\n"
	      "{\n"
	      "	if declare -F _command_offset >/dev/null; then\n"
	      "		_command_offset \"$1\"\n"
	      "	elif (($1 == COMP_CWORD)) && [[ $cur != */* ]]; then\n"
	      "		mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	      "	else\n"
	      "		_profile_files\n"
	      "	fi\n"
	      "}\n"
	      "\n"
	      "_profile()\n"
	      "{\n"
	      "	local cur=${COMP_WORDS[COMP_CWORD]} option='' files='' i\n"
	      "\n"
	      "	COMPREPLY=()\n"
	      "	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "		case ${COMP_WORDS[i]} in\n"
	      "		--)\n"
	      "			[[ $files ]] && continue\n"
	      "			_profile_command $((i + 1))\n"
	      "			return\n"
	      "			;;\n"
	      "		",
	      out);
	print_bash_of_files(out);
	print_bash_joined(out);
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->kind == ARGUMENT_NONE)
			continue;
		fputs(is_first ? "" : "|", out);
		print_pattern(out, e);
		is_first = false;
	}
	fputs(")\n"
	      "			option=${COMP_WORDS[i]}\n"
	      "			# --unit=us is three words\n"
	      "			[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
	      "			((++i < COMP_CWORD)) && option=\n"
	      "			;;\n"
	      "		-?*) ;;\n"
	      "		*)\n"
	      "			[[ $files ]] && continue\n"
	      "			_profile_command \"$i\"\n"
	      "			return\n"
	      "			;;\n"
	      "		esac\n"
	      "	done\n"
	      "	[[ $option && $cur == = ]] && cur=\n"
	      "	case $option in\n"
	      "	'') ;;\n",
	      out);
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->kind != ARGUMENT_NONE)
			print_bash_value(out, e);
	fputs("	esac\n"
	      "	[[ $option ]] && return\n"
	      "	case $cur in\n"
	      "	--*) _profile_word '",
	      out);
	print_bash_options(out, true);
	fputs("' ;;\n"
	      "	-*) _profile_word '",
	      out);
	print_bash_options(out, false);
	fputs("' ;;\n"
	      "	*)\n"
	      "		if [[ $files ]]; then _profile_files; else _profile_command "
	      "\"$COMP_CWORD\"; fi\n"
	      "		;;\n"
	      "	esac\n"
	      "}\n"
	      "\n"
	      "complete -F _profile profile\n",
	      out);
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

/* Prints "-diff|--diff" with `between` as the separator. */
static void print_files_words(FILE *out, const char *between)
{
	bool is_first = true;

	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->is_of_files)
			continue;
		fprintf(out, "%s-%s%s--%s", is_first ? "" : between, e->name, between, e->name);
		is_first = false;
	}
}

static void print_zsh(FILE *out)
{
	fputs("#compdef profile\n"
	      "# zsh completion for profile, printed by: profile --completion zsh\n"
	      "\n"
	      "# files in place of a command: the option comes first, for behind a command it is\n"
	      "# the command's\n"
	      "local -a how operands\n"
	      "how=(-S -A '-*')\n"
	      "operands=('(-):command:_command_names -e' '*::argument:_normal')\n"
	      "case ${words[2]} in\n"
	      "(",
	      out);
	print_files_words(out, "|");
	fputs(")\n"
	      "	how=()\n"
	      "	operands=('*:file:_files')\n"
	      "	;;\n"
	      "esac\n"
	      "_arguments $how \\\n",
	      out);
	for (const struct option_entry *e = option_table; e->id; e++) {
		char letter[2] = {(char)e->id, '\0'};

		if (!e->text)
			continue;
		if (has_letter(e))
			print_zsh_spec(out, e, "-", letter, e->is_optional ? "" : "+");
		if (e->takes_one_dash)
			print_zsh_spec(out, e, "-", e->name, "=");
		if (e->name)
			print_zsh_spec(out, e, "--", e->name, "=");
	}
	fputs("	$operands\n", out);
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

static void print_fish(FILE *out)
{
	fputs("# fish completion for profile, printed by: profile --completion fish\n"
	      "\n"
	      "# Files follow in place of a command.\n"
	      "function __profile_has_files\n"
	      "	set -l words (commandline -opc)\n"
	      "	contains -- \"$words[2]\" ",
	      out);
	print_files_words(out, " ");
	fputs("\n"
	      "end\n"
	      "\n"
	      "# The command and what follows it, up to the cursor, each with a NUL; false: the "
	      "cursor\n"
	      "# is before it.\n"
	      "function __profile_command\n"
	      "	__profile_has_files\n"
	      "	and return 1\n"
	      "	set -l words (commandline -opc) (commandline -ct)\n"
	      "	set -l i 2\n"
	      "	set -l is_behind false\n"
	      "	while test $i -lt (count $words)\n"
	      "		switch $words[$i]\n"
	      "			case --\n"
	      "				set i (math $i + 1)\n"
	      "				set is_behind true\n"
	      "				break\n"
	      "			case",
	      out);
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->kind == ARGUMENT_NONE || option_is_joined(e))
			continue;
		if (has_letter(e))
			fprintf(out, " -%c", e->id);
		if (e->name)
			fprintf(out, " -%s --%s", e->name, e->name);
	}
	fputs("\n"
	      "				set i (math $i + 2)\n"
	      "			case -\n"
	      "				break\n"
	      "			case '-*'\n"
	      "				set i (math $i + 1)\n"
	      "			case '*'\n"
	      "				break\n"
	      "		end\n"
	      "	end\n"
	      "	test $i -le (count $words)\n"
	      "	and begin\n"
	      "		$is_behind\n"
	      "		or not string match -q -- '-*' $words[$i]\n"
	      "	end\n"
	      "	or return 1\n"
	      "	string join0 -- $words[$i..-1]\n"
	      "	return 0 # join0 fails where there is one word\n"
	      "end\n"
	      "\n"
	      "function __profile_complete_command\n"
	      "	set -l words (__profile_command | string split0)\n"
	      "	set -l last $words[-1]\n"
	      "	set -e words[-1]\n"
	      "	complete -C (string join ' ' -- (string escape -- $words) $last)\n"
	      "end\n"
	      "\n"
	      "complete -c profile -f\n"
	      "complete -c profile -n __profile_has_files -F\n"
	      "complete -c profile -n '__profile_command >/dev/null' -x -a "
	      "'(__profile_complete_command)'\n",
	      out);
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->text)
			print_fish_option(out, e);
}

void completion_print(enum completion_shell shell, FILE *out)
{
	switch (shell) {
	case COMPLETION_BASH:
		print_bash(out);
		break;
	case COMPLETION_ZSH:
		print_zsh(out);
		break;
	case COMPLETION_FISH:
		print_fish(out);
		break;
	}
}
