/* SPDX-License-Identifier: MIT */
#include "symbolize/ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/util/file_io.h"
#include "symbolize/util/sorted.h"

struct ksym {
	uint64_t address;
	const char *name; /* NULL: no function, only the end of the previous one */
	char type;
};

struct ksyms {
	char *text; /* storage of the names */
	struct ksym *list;
	size_t count;
};

static bool parse_line(char *line, struct ksym *symbol)
{
	char *end;

	errno = 0;
	symbol->address = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
		return false;
	symbol->type = end[1];
	line = end + 3;
	line[strcspn(line, "\t ")] = '\0';
	if (*line == '\0' || symbol->address == 0)
		return false;
	symbol->name = strchr("tTwW", symbol->type) ? line : NULL;
	return true;
}

/* Compares two functions at one address by preference: global, strong, plain, short. */
static int preference(const struct ksym *x, const struct ksym *y)
{
	static const char order[] = "TWtw";
	size_t dashes_x = strspn(x->name, "_"), dashes_y = strspn(y->name, "_");
	size_t length_x = strlen(x->name), length_y = strlen(y->name);

	if (x->type != y->type)
		return strchr(order, x->type) < strchr(order, y->type) ? -1 : 1;
	if (dashes_x != dashes_y)
		return dashes_x < dashes_y ? -1 : 1;
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->name || !y->name)
		return (x->name == NULL) - (y->name == NULL);
	return preference(x, y);
}

static void keep_first_of_each_address(struct ksyms *ksyms)
{
	size_t kept = 0;

	for (size_t i = 0; i < ksyms->count; i++) {
		if (kept > 0 && ksyms->list[kept - 1].address == ksyms->list[i].address)
			continue;
		ksyms->list[kept++] = ksyms->list[i];
	}
	ksyms->count = kept;
}

static int parse(struct ksyms *ksyms, size_t size)
{
	char *end = ksyms->text + size;
	size_t lines = 1;

	for (const char *c = ksyms->text; (c = memchr(c, '\n', (size_t)(end - c))); c++)
		lines++;
	ksyms->list = calloc(lines, sizeof(*ksyms->list));
	if (!ksyms->list)
		return -ENOMEM;
	for (char *line = ksyms->text; line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));

		if (newline)
			*newline = '\0';
		if (parse_line(line, &ksyms->list[ksyms->count]))
			ksyms->count++;
		line = newline ? newline + 1 : end;
	}
	qsort(ksyms->list, ksyms->count, sizeof(*ksyms->list), compare);
	keep_first_of_each_address(ksyms);
	return 0;
}

int ksyms_read(int fd, struct ksyms **result)
{
	struct ksyms *ksyms = calloc(1, sizeof(*ksyms));
	size_t size;
	int err;

	if (!ksyms)
		return -ENOMEM;
	err = read_to_end(fd, KSYMS_MAX_BYTES, &ksyms->text, &size);
	if (!err)
		err = parse(ksyms, size);
	if (err) {
		ksyms_free(ksyms);
		return err;
	}
	*result = ksyms;
	return 0;
}

int ksyms_load(struct ksyms **ksyms)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = ksyms_read(fd, ksyms);
	close(fd);
	return err;
}

const char *ksyms_find(const struct ksyms *ksyms, uint64_t address)
{
	size_t count = sorted_count(ksyms->list, ksyms->count, sizeof(*ksyms->list), address);

	if (count == 0 || address - ksyms->list[count - 1].address >= KSYMS_MAX_FUNCTION)
		return NULL;
	return ksyms->list[count - 1].name;
}

void ksyms_free(struct ksyms *ksyms)
{
	if (!ksyms)
		return;
	free(ksyms->list);
	free(ksyms->text);
	free(ksyms);
}
