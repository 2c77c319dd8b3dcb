// SPDX-License-Identifier: MIT
#include "profiler/attach/injection.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "profiler/attach/payload.h"
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/stable_hash.h"

#define CACHE_NAME "libprofile_cupti"
#define CACHE_KEPT 8u
#define DAY_S (24 * 60 * 60)
#define NAME_BYTES sizeof(CACHE_NAME "-0123456789abcdef.so.XXXXXX")

struct copy {
	char name[NAME_BYTES];
	bool is_temporary; /* left by a process that was killed */
	time_t used;
};

struct copies {
	struct copy *list;
	uint32_t count, capacity;
};

/* Returns the bytes up to the last loaded segment. Packages strip the debug sections behind. */
static size_t count_mapped(const unsigned char *library)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)library;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(library + header->e_phoff);
	size_t end = 0;

	for (uint32_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	return end;
}

/*
 * Returns true if the file, or a link's target, is the library. Compares all loaded bytes except
 * the ELF header, which also locates the section table.
 */
static bool is_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const unsigned char *library;
	bool same = false;
	struct stat st;
	size_t size;
	void *map;

	if (fd < 0)
		return false;
	library = payload_library(&size);
	size = count_mapped(library);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size >= size) {
		const size_t after = sizeof(Elf64_Ehdr);

		map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		same = map != MAP_FAILED && memcmp((const unsigned char *)map + after,
						   library + after, size - after) == 0;
		if (map != MAP_FAILED)
			munmap(map, size);
	}
	close(fd);
	return same;
}

static bool find_installed(char path[INJECTION_PATH_MAX])
{
	char self[INJECTION_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int length;

	if (n <= 0)
		return false;
	self[n] = '\0';
	length = snprintf(path, INJECTION_PATH_MAX, "%s/lib/profile-injection/" CACHE_NAME ".so",
			  dirname(dirname(self)));
	return length > 0 && length < INJECTION_PATH_MAX && is_library(path);
}

static int make_folder(const char *path)
{
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Makes the folder of copies. Returns 0, -EPERM if others could replace its content, or -errno. */
static int make_own_folder(const char *path)
{
	int err = make_folder(path);
	struct stat st;

	if (err)
		return err;
	if (stat(path, &st) != 0)
		return -errno;
	return (st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & S_IWOTH ? -EPERM : 0;
}

/* Writes the path of the copy, and makes its folder. Returns 0 or -errno. */
static int name_copy(char path[INJECTION_PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *below = "";
	const unsigned char *library;
	size_t size;
	int err, n;

	path[0] = '\0';
	if (!cache || cache[0] != '/') { /* the XDG specification ignores relative paths */
		cache = home;
		below = "/.cache";
	}
	if (!cache || cache[0] != '/')
		return -ENOENT;
	n = snprintf(path, INJECTION_PATH_MAX, "%s%s", cache, below);
	if (n < 0 || n > INJECTION_PATH_MAX - 100)
		return -ENAMETOOLONG;
	err = make_folder(path);
	if (err)
		return err;
	n += snprintf(path + n, INJECTION_PATH_MAX - (size_t)n, "/profile");
	err = make_own_folder(path);
	if (err)
		return err;
	library = payload_library(&size); /* the hash is only a name: contents are compared */
	snprintf(path + n, INJECTION_PATH_MAX - (size_t)n, "/" CACHE_NAME "-%016" PRIx64 ".so",
		 stable_hash(library, size));
	return 0;
}

static int write_library(int fd)
{
	size_t size;
	const unsigned char *library = payload_library(&size);
	int err = write_exactly(fd, library, size);

	if (err)
		return err;
	/* a loader maps it, perhaps for another user */
	return fchmod(fd, 0755) == 0 ? 0 : -errno;
}

static int make_copy(const char *path)
{
	char temporary[INJECTION_PATH_MAX + 8];
	int fd, err;

	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_library(fd);
	if (close(fd) != 0 && !err)
		err = -errno;
	if (!err && rename(temporary, path) != 0)
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

/* ---- copies of other builds ---- */

static bool is_copy_name(const char *name, bool *is_temporary)
{
	const size_t prefix = strlen(CACHE_NAME "-");

	if (strncmp(name, CACHE_NAME "-", prefix) != 0 ||
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
		if (copy->used < recent && (copy->is_temporary || kept >= CACHE_KEPT))
			remove_unused(folder, copy->name);
		kept++;
	}
}

/* Removes old copies of other builds next to the copy `path`, which is in use. */
static void trim_cache(const char *path)
{
	char folder[INJECTION_PATH_MAX];
	struct copies copies = {.count = 0};
	const char *slash = strrchr(path, '/');
	const struct dirent *entry;
	struct stat st;
	DIR *dir;
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))) {
		while ((entry = readdir(dir)))
			add_copy(&copies, fd, entry->d_name);
		remove_old(fd, &copies, slash + 1);
	}
	free(copies.list);
	closedir(dir);
}

/* ---- all of it ---- */

int injection_find(char path[INJECTION_PATH_MAX])
{
	int err;

	if (find_installed(path))
		return 0;
	err = name_copy(path);
	if (err)
		return err;
	if (is_library(path)) {
		utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* marks it as used */
		return 0;
	}
	err = make_copy(path);
	if (!err)
		trim_cache(path);
	return err;
}
