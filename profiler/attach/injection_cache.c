// SPDX-License-Identifier: MIT
#include "profiler/attach/injection_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "symbolize/util/array.h"

#define DAY_S (24 * 60 * 60)
#define NAME_BYTES sizeof(INJECTION_CACHE_NAME "-0123456789abcdef.so.XXXXXX")

struct copy {
	char name[NAME_BYTES];
	bool is_temporary; /* left by a process that was killed */
	time_t used;
};

struct copies {
	struct copy *list;
	uint32_t count, capacity;
};

/* ---- finding copies ---- */

static bool is_copy_name(const char *name, bool *is_temporary)
{
	const size_t prefix = strlen(INJECTION_CACHE_NAME "-");

	if (strncmp(name, INJECTION_CACHE_NAME "-", prefix) != 0 ||
	    strspn(name + prefix, "0123456789abcdef") != 16)
		return false;
	name += prefix + 16;
	if (strncmp(name, ".so", 3) != 0)
		return false;
	*is_temporary = name[3] == '.';
	return !name[3] || (*is_temporary && strlen(name + 4) == 6);
}

/* Returns the last use. Loading a copy sets atime, where the file system records it. */
static time_t last_use(const struct stat *st)
{
	return st->st_atim.tv_sec > st->st_mtim.tv_sec ? st->st_atim.tv_sec : st->st_mtim.tv_sec;
}

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

static void add_copy(struct copies *c, int folder, const char *name)
{
	struct copy copy;
	struct stat st;

	if (!is_copy_name(name, &copy.is_temporary) ||
	    fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !is_ours(&st) ||
	    !array_make_room(&c->list, c->count, &c->capacity, sizeof(*c->list)))
		return;
	memcpy(copy.name, name, strlen(name) + 1); /* its form bounds it */
	copy.used = last_use(&st);
	c->list[c->count++] = copy;
}

/* ---- removing copies ---- */

/* Removes a copy that nobody has open or mapped. The lease blocks new opens until it is gone. */
static void remove_unused(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return;
	/* an open meanwhile waits, and sends us a signal, which must be harmless */
	if (fstat(fd, &st) == 0 && is_ours(&st) && fcntl(fd, F_SETSIG, SIGURG) == 0 &&
	    fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
		unlinkat(folder, name, 0);
	close(fd); /* releases the lease */
}

/* Orders copies by last use, newest first, then temporary files. */
static int compare_copies(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->is_temporary != y->is_temporary)
		return x->is_temporary ? 1 : -1;
	return (x->used < y->used) - (x->used > y->used);
}

static void remove_old(int folder, struct copies *c, const char *used)
{
	const time_t recent = time(NULL) - DAY_S;
	uint32_t kept = 0;

	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), compare_copies);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct copy *copy = &c->list[i];

		if (strcmp(copy->name, used) == 0)
			continue;
		if (copy->used < recent && (copy->is_temporary || kept >= INJECTION_CACHE_KEPT))
			remove_unused(folder, copy->name);
		kept++;
	}
}

void injection_cache_trim(const char *folder, const char *used)
{
	int fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	struct copies copies = {.count = 0};
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))) {
		while ((entry = readdir(dir)))
			add_copy(&copies, fd, entry->d_name);
		remove_old(fd, &copies, used);
	}
	free(copies.list);
	closedir(dir);
}
