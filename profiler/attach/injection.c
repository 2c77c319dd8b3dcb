// SPDX-License-Identifier: MIT
#include "profiler/attach/injection.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profiler/attach/injection_cache.h"
#include "profiler/attach/payload.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/stable_hash.h"

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
	for (int i = 0; i < 2; i++) { /* remove the program's name, then its folder */
		char *slash = strrchr(self, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	length = snprintf(path, INJECTION_PATH_MAX,
			  "%s/lib/profile-injection/" INJECTION_CACHE_NAME ".so", self);
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
	snprintf(path + n, INJECTION_PATH_MAX - (size_t)n,
		 "/" INJECTION_CACHE_NAME "-%016" PRIx64 ".so", stable_hash(library, size));
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

/* Removes old copies of other builds. */
static void trim_cache(const char *path)
{
	char folder[INJECTION_PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	injection_cache_trim(folder, slash + 1);
}

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
