/* SPDX-License-Identifier: MIT */
#include "symbolize/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolize/debuginfod.h"
#include "symbolize/util/file_io.h"

struct wanted {
	const unsigned char *build_id; /* NULL: none */
	size_t build_id_size;
	char *link;        /* the name in .gnu_debuglink; NULL: none */
	uint32_t crc;      /* CRC-32 of the linked file */
	int root;          /* root folder of names; -1: ours */
	off_t max_checked; /* larger files are taken unchecked (in `root`) or refused */
};

/*
 * Reads .gnu_debuglink: a name, a NUL, zeros up to a multiple of four, the CRC. libdw's reader
 * would trust the size of the section.
 */
static void read_link(struct wanted *wanted, const struct elf_file *program)
{
	GElf_Shdr header;
	size_t length;
	char *link;

	if (!elf_file_find_section(program, SHT_PROGBITS, ".gnu_debuglink", &header) ||
	    header.sh_size > PATH_MAX)
		return;
	link = elf_file_read_section(program, &header);
	if (!link)
		return;
	length = (strlen(link) + 1 + 3) / 4 * 4;
	if (length + sizeof(wanted->crc) > header.sh_size) {
		free(link);
		return;
	}
	memcpy(&wanted->crc, link + length, sizeof(wanted->crc));
	wanted->link = link;
}

static bool crc_matches(int fd, const struct wanted *wanted)
{
	unsigned char buffer[65536];
	uint64_t offset = 0;
	uLong crc = crc32(0, NULL, 0);
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size > DEBUG_FILE_MAX_CHECKED)
		return false;
	if (st.st_size > wanted->max_checked)
		return true; /* checked when loaded */

	for (;;) {
		ssize_t got = pread(fd, buffer, sizeof(buffer), (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			return crc == wanted->crc;
		crc = crc32(crc, buffer, (uInt)got);
		offset += (uint64_t)got;
	}
}

static bool is_match(int fd, const struct wanted *wanted)
{
	const void *id = NULL;
	struct elf_file file;
	bool known, same;
	ssize_t size;

	if (elf_file_open(&file, fd) != 0)
		return false;
	size = dwelf_elf_gnu_build_id(file.elf, &id);
	known = size > 0 && wanted->build_id;
	same = known && (size_t)size == wanted->build_id_size &&
	       memcmp(id, wanted->build_id, wanted->build_id_size) == 0;
	elf_file_close(&file);
	if (known)
		return same;
	return wanted->link && crc_matches(fd, wanted);
}

/* Opens the file if it is wanted. Returns a descriptor or -errno. */
__attribute__((format(printf, 2, 3))) static int try_path(const struct wanted *wanted,
							  const char *format, ...)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, length;
	va_list args;

	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (length < 0 || length >= PATH_MAX)
		return -ENOENT;
	fd = wanted->root >= 0 ? open_regular_in(wanted->root, path, &st)
			       : open_regular(path, SYMLINK_FOLLOW, &st);
	if (fd < 0)
		return fd;
	if (is_match(fd, wanted))
		return fd;
	close(fd);
	return -ENOENT;
}

/* Converts the build id to hexadecimal. Returns false if there is none that can be searched for. */
static bool hex_of(const struct wanted *wanted, char hex[BUILD_ID_TEXT])
{
	if (!wanted->build_id || wanted->build_id_size < 2)
		return false;
	build_id_text(wanted->build_id, wanted->build_id_size, hex);
	return true;
}

static int open_by_build_id(const struct wanted *wanted, const char *root)
{
	char hex[BUILD_ID_TEXT];

	return hex_of(wanted, hex)
		       ? try_path(wanted, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2)
		       : -ENOENT;
}

static int open_by_link(const struct wanted *wanted, const char *program, const char *root)
{
	const char *slash = program ? strrchr(program, '/') : NULL;
	int folder, fd = -ENOENT;

	/* The name is untrusted: it must not lead out of the folders. */
	if (!slash || !wanted->link || wanted->link[0] == '\0' || strchr(wanted->link, '/'))
		return -ENOENT;
	folder = slash - program < PATH_MAX ? (int)(slash - program) : PATH_MAX;
	/* A link to the program's own name is valid in .debug/ only. */
	if (strcmp(slash + 1, wanted->link) != 0)
		fd = try_path(wanted, "%.*s/%s", folder, program, wanted->link);
	if (fd < 0)
		fd = try_path(wanted, "%.*s/.debug/%s", folder, program, wanted->link);
	if (fd < 0)
		fd = try_path(wanted, "%s%.*s/%s", root, folder, program, wanted->link);
	return fd;
}

/* Describes the debug file of a program. Free the link with free(3). */
static struct wanted wanted_of(const struct elf_file *program)
{
	struct wanted wanted = {.root = -1, .max_checked = DEBUG_FILE_MAX_CHECKED};
	const void *id = NULL;
	ssize_t size = dwelf_elf_gnu_build_id(program->elf, &id);

	if (size > 0 && size <= BUILD_ID_MAX) {
		wanted.build_id = id;
		wanted.build_id_size = (size_t)size;
	}
	read_link(&wanted, program);
	return wanted;
}

static int open_by_names(const struct wanted *wanted, const struct debug_file_search *search)
{
	int fd = open_by_build_id(wanted, search->root);

	return fd < 0 ? open_by_link(wanted, search->path, search->root) : fd;
}

int debug_file_find_in(int root, const struct elf_file *program, struct debug_file_search *search)
{
	struct wanted wanted = wanted_of(program);
	int fd;

	wanted.root = root;
	wanted.max_checked = DEBUG_FILE_MAX_EARLY;
	fd = open_by_names(&wanted, search);
	free(wanted.link);
	return fd < 0 ? -ENOENT : fd;
}

int debug_file_open(const struct elf_file *program, struct debug_file_search *search)
{
	struct wanted wanted = wanted_of(program);
	int fd = -ENOENT;

	if (search->has_handed && is_match(search->handed, &wanted))
		fd = fcntl(search->handed, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		fd = open_by_names(&wanted, search);
	if (fd < 0 && search->answer[0])
		fd = try_path(&wanted, "%s", search->answer);
	if (fd < 0 && !hex_of(&wanted, search->build_id))
		search->build_id[0] = '\0';
	free(wanted.link);
	return fd < 0 ? -ENOENT : fd;
}

bool debug_file_ask(struct debug_file_search *search)
{
	if (search->has_asked || search->build_id[0] == '\0')
		return false;
	search->has_asked = true;
	if (debuginfod_find(search->build_id, search->answer, sizeof(search->answer)) != 0)
		search->answer[0] = '\0';
	return search->answer[0] != '\0';
}
