// SPDX-License-Identifier: MIT
#include "profiler/tables/kernel_class.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/model/work_names.h"
#include "profiler/tables/kernel_family.h"
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/text.h"

/* ---- the built-in rules ---- */

/* A kernel's name in lower case: the whole, and without template arguments and parameters. */
struct lower_name {
	char whole[KERNEL_CLASS_NAME_BYTES], head[KERNEL_CLASS_NAME_BYTES];
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void put_lower(char to[KERNEL_CLASS_NAME_BYTES], const char *text)
{
	size_t length = strnlen(text, KERNEL_CLASS_NAME_BYTES - 1);

	for (size_t i = 0; i < length; i++)
		to[i] = lower(text[i]);
	to[length] = '\0';
}

static void read_name(struct lower_name *to, const char *name)
{
	char *head;

	put_lower(to->whole, name);
	head = kernel_family(to->whole, FAMILY_TEMPLATE);
	put_lower(to->head, head ? head : to->whole);
	free(head);
}

/* Returns whether a text has the parts of a pattern, in their order. `end`: of the pattern. */
static bool has_pattern(const char *text, const char *pattern, const char *end)
{
	bool is_anchored = pattern < end && *pattern == '^';

	for (pattern += is_anchored; pattern < end; pattern++, is_anchored = false) {
		const char *star = memchr(pattern, '*', (size_t)(end - pattern)), *at;
		size_t length = (size_t)((star ? star : end) - pattern);

		at = is_anchored ? (strncmp(text, pattern, length) == 0 ? text : NULL)
				 : memmem(text, strlen(text), pattern, length);
		if (!at)
			return false;
		text = at + length;
		pattern += length;
	}
	return true;
}

static bool rule_matches(const char *patterns, const struct lower_name *name)
{
	for (const char *end; *patterns; patterns = *end ? end + 1 : end) {
		end = patterns + strcspn(patterns, "|");
		if (has_pattern(memchr(patterns, '<', (size_t)(end - patterns)) ? name->whole
										: name->head,
				patterns, end))
			return true;
	}
	return false;
}

const char *kernel_class_built_in(const char *name)
{
	const struct kernel_class_rule *rule = kernel_class_rules;
	struct lower_name lower_case;

	read_name(&lower_case, name);
	while (rule->class && !rule_matches(rule->patterns, &lower_case))
		rule++;
	return rule->class ? rule->class : KERNEL_CLASS_OTHER;
}

/* ---- the user's rules ---- */

struct user_rule {
	const char *class;
	regex_t regex;
};

/* A name whose class is known. */
struct classed_name {
	const char *name, *class;
};

struct kernel_classes {
	const char *path;
	struct intern texts; /* classes and names */
	struct user_rule *rules;
	uint32_t rule_count, rule_capacity;
	RECORD_SET(struct classed_name);
};

void kernel_classes_free(struct kernel_classes *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->rule_count; i++)
		regfree(&c->rules[i].regex);
	free(c->rules);
	record_set_release(&c->set);
	intern_release(&c->texts);
	free(c);
}

const char *kernel_classes_path(const struct kernel_classes *c)
{
	return c->path;
}

/* Ends a text before the blanks at its end. */
static void trim_end(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
}

/* Splits a line into class and expression. Returns the expression; "" if there is none. */
static char *split_line(char *line)
{
	char *tab = strchr(line, '\t'), *gap = strstr(line, "  "), *end = tab ? tab : gap;

	if (tab && gap && gap < tab)
		end = gap;
	if (!end)
		end = strchr(line, ' ');
	if (!end)
		return line + strlen(line);
	*end++ = '\0';
	trim_end(line);
	return end + strspn(end, " \t");
}

/* Adds the rule of a line. Returns NULL, or what is wrong; `text` has room for it. */
static const char *add_rule(struct kernel_classes *c, char *line, char *text, size_t size)
{
	char *expression = split_line(line);
	struct user_rule rule;
	int wrong;

	if (!*line || !*expression)
		return "a class, blanks and a regular expression are wanted";
	if (strlen(line) >= KERNEL_CLASS_WORD_BYTES)
		return "the class is too long";
	/* regcomp recurses for each parenthesis */
	if (strlen(expression) > KERNEL_CLASS_RULE_BYTES)
		return "the expression is too long";
	if (c->rule_count == KERNEL_CLASS_RULES_MAX)
		return "too many rules";
	rule.class = intern_string(&c->texts, line);
	if (!rule.class ||
	    !array_make_room(&c->rules, c->rule_count, &c->rule_capacity, sizeof(*c->rules)))
		return "out of memory";
	wrong = regcomp(&rule.regex, expression, REG_EXTENDED | REG_NOSUB);
	if (wrong) {
		regerror(wrong, &rule.regex, text, size);
		return text;
	}
	c->rules[c->rule_count++] = rule;
	return NULL;
}

/* Adds the rules of a file's text. Returns false after writing what is wrong. */
static bool add_rules(struct kernel_classes *c, char *text, char error[KERNEL_CLASS_ERROR_BYTES])
{
	char why[128], *line = text, *next;

	for (uint32_t number = 1; line; line = next, number++) {
		const char *wrong;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		trim_end(line);
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		wrong = add_rule(c, line, why, sizeof(why));
		if (wrong) {
			snprintf(error, KERNEL_CLASS_ERROR_BYTES, "%.350s:%u: %s", c->path, number,
				 wrong);
			return false;
		}
	}
	return true;
}

/* Reads a file of at most KERNEL_CLASS_FILE_BYTES. Returns 0 or -errno. The caller frees `text`. */
static int read_file(const char *path, char **text)
{
	struct stat st;
	int fd = open_regular(path, SYMLINK_FOLLOW, &st), err;
	size_t size = 0;

	*text = NULL;
	if (fd < 0)
		return fd;
	err = st.st_size > KERNEL_CLASS_FILE_BYTES ? -EFBIG : 0;
	if (!err)
		err = read_to_end(fd, KERNEL_CLASS_FILE_BYTES, text, &size);
	close(fd);
	if (!err && memchr(*text, '\0', size))
		err = -EILSEQ;
	return err;
}

struct kernel_classes *kernel_classes_read(const char *path, char error[KERNEL_CLASS_ERROR_BYTES])
{
	struct kernel_classes *c = calloc(1, sizeof(*c));
	char *text = NULL;
	int err = c ? read_file(path, &text) : -ENOMEM;
	bool is_read = false;

	if (c)
		c->path = path;
	if (err)
		snprintf(error, KERNEL_CLASS_ERROR_BYTES, "%.350s: %s", path,
			 err == -EINVAL   ? "not a regular file"
			 : err == -EILSEQ ? "not a text file"
					  : strerror(-err));
	else
		is_read = add_rules(c, text, error);
	free(text);
	if (is_read)
		return c;
	kernel_classes_free(c);
	return NULL;
}

/* Returns the class by the user's rules; NULL if none matches. */
static const char *class_by_user(const struct kernel_classes *c, const char *name)
{
	char text[KERNEL_CLASS_NAME_BYTES];

	snprintf(text, sizeof(text), "%s", name);
	for (uint32_t i = 0; i < c->rule_count; i++)
		if (regexec(&c->rules[i].regex, text, 0, NULL, 0) == 0)
			return c->rules[i].class;
	return NULL;
}

static bool name_equal(const void *records, uint32_t position, const void *key)
{
	return strcmp(((const struct classed_name *)records)[position].name, key) == 0;
}

/* Finds a name's class by all rules, and keeps it. Without memory it is found again each time. */
static const char *class_by_all(struct kernel_classes *c, const char *name)
{
	uint32_t hash = hash_bytes(name, strlen(name));
	uint32_t at = record_find_equal(c, hash, name_equal, name);
	struct classed_name found;

	if (at != RECORD_NONE)
		return c->list[at].class;
	found.class = class_by_user(c, name);
	if (!found.class)
		found.class = kernel_class_built_in(name);
	found.name = intern_string(&c->texts, name);
	if (found.name)
		record_add_hashed(c, hash_bytes(found.name, strlen(found.name)), &found);
	return found.class;
}

/* ---- frames ---- */

static bool is_memory_work(const char *name)
{
	return starts_with(name, "[GPU_Memcpy") || starts_with(name, "[GPU_Memset") ||
	       starts_with(name, "[GPU_UVM");
}

const char *kernel_class_of(struct kernel_classes *c, const struct frame_info *frame)
{
	const char *prefix = work_frame(GPU_WORK_KERNEL), *name = frame->name;

	if (frame->class != CLASS_GPU_KERNEL)
		return is_memory_work(name) ? KERNEL_CLASS_MEMORY : KERNEL_CLASS_OTHER;
	if (starts_with(name, prefix))
		name += strlen(prefix);
	return c ? class_by_all(c, name) : kernel_class_built_in(name);
}
