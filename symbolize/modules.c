/* SPDX-License-Identifier: MIT */
#include "symbolize/modules.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/debug_file.h"
#include "symbolize/safe_open.h"

#define DELETED " (deleted)"

/* A file may be out of reach from one process and in reach from another; but try a few times only.
 */
#define MAX_ATTEMPTS 16

struct key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const char *path;
	size_t path_length;
};

static uint32_t hash_key(const struct key *key)
{
	uint32_t numbers[5] = {
		key->dev_major,
		key->dev_minor,
		(uint32_t)key->inode,
		(uint32_t)(key->inode >> 32),
		hash_bytes(key->path, key->path_length),
	};

	return hash_bytes(numbers, sizeof(numbers));
}

static bool has_key(const void *records, uint32_t position, const void *opaque)
{
	const struct module *module = (const struct module *)records + position;
	const struct key *key = opaque;

	return module->inode == key->inode && module->dev_major == key->dev_major &&
	       module->dev_minor == key->dev_minor &&
	       strncmp(module->path, key->path, key->path_length) == 0 &&
	       module->path[key->path_length] == '\0';
}

static bool starts_with(const char *string, const char *start)
{
	return strncmp(string, start, strlen(start)) == 0;
}

/* The fixed module that a mapping belongs to, or MODULE_UNKNOWN if it has one of its own. */
static uint32_t fixed_module(const struct code_mapping *mapping)
{
	const char *path = mapping->path;

	if (strcmp(path, "[vdso]") == 0)
		return MODULE_VDSO;
	if (path[0] == '[')
		return starts_with(path, "[anon") || starts_with(path, "[heap") ||
				       starts_with(path, "[stack")
			       ? MODULE_JIT
			       : MODULE_UNKNOWN;
	return mapping->inode == 0 || path[0] != '/' || path[1] == '/' ? MODULE_JIT
								       : MODULE_UNKNOWN;
}

/* Files that hold code made at run time, if they cannot be opened to be asked. */
static bool is_shared_memory(const char *path)
{
	return starts_with(path, "/memfd:") || starts_with(path, "/dev/zero") ||
	       starts_with(path, "/SYSV") || starts_with(path, "/anon_hugepage");
}

static int append(struct modules *modules, const struct key *key, bool was_deleted)
{
	struct module module = {
		.dev_major = key->dev_major,
		.dev_minor = key->dev_minor,
		.inode = key->inode,
		.state = key->path[0] == '[' ? MODULE_PSEUDO : MODULE_NOT_OPENED,
		.was_deleted = was_deleted,
		.fd = -1,
	};
	int err;

	if (modules->count >= MODULES_MAX)
		return -ENOSPC;
	if (modules->count == modules->capacity) {
		uint32_t capacity = modules->capacity ? modules->capacity * 2 : 64;
		struct module *bigger = realloc(modules->list, capacity * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		modules->list = bigger;
		modules->capacity = capacity;
	}
	module.path = strndup(key->path, key->path_length);
	if (!module.path)
		return -ENOMEM;
	err = hash_index_add(&modules->index, hash_key(key), modules->count);
	if (err) {
		free(module.path);
		return err;
	}
	modules->list[modules->count++] = module;
	return 0;
}

int modules_add(struct modules *modules, const struct code_mapping *mapping, uint32_t *index)
{
	struct key key = {
		.dev_major = mapping->dev_major,
		.dev_minor = mapping->dev_minor,
		.inode = mapping->inode,
		.path = mapping->path,
		.path_length = strnlen(mapping->path, PATH_MAX),
	};
	size_t suffix = strlen(DELETED);
	bool was_deleted = false;
	uint32_t position;
	int err;

	*index = fixed_module(mapping);
	if (*index != MODULE_UNKNOWN)
		return 0;
	if (key.path_length > suffix &&
	    strcmp(mapping->path + key.path_length - suffix, DELETED) == 0) {
		key.path_length -= suffix;
		was_deleted = true;
	}
	position = hash_index_find(&modules->index, hash_key(&key), has_key, modules->list, &key);
	if (position == HASH_INDEX_NONE) {
		position = modules->count;
		err = append(modules, &key, was_deleted);
		if (err)
			return err;
	}
	*index = position + MODULES_FIRST;
	return 0;
}

struct module *modules_get(const struct modules *modules, uint32_t index)
{
	if (index < MODULES_FIRST || index - MODULES_FIRST >= modules->count)
		return NULL;
	return &modules->list[index - MODULES_FIRST];
}

static int open_checked(const struct module *module, const char *path, int length)
{
	struct stat st;
	int fd;

	if (length < 0 || length >= PATH_MAX + 64)
		return -ENAMETOOLONG;
	fd = open_regular(path, SYMLINK_FOLLOW, &st);
	if (fd >= 0 && st.st_ino != module->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* By path in the root folder of `pid`, then in ours; 0 for no process. */
static int open_by_path(const struct module *module, pid_t pid, const char *suffix)
{
	char path[PATH_MAX + 64];
	int fd = -ENOENT, length;

	if (pid > 0) {
		length = snprintf(path, sizeof(path), "/proc/%d/root%s%s", (int)pid, module->path,
				  suffix);
		fd = open_checked(module, path, length);
	}
	if (fd < 0) {
		length = snprintf(path, sizeof(path), "%s%s", module->path, suffix);
		fd = open_checked(module, path, length);
	}
	return fd;
}

static int open_module(const struct module *module, pid_t pid, const struct map_entry *entry)
{
	char path[PATH_MAX + 64];
	int fd = -ENOENT, length;

	if (entry) {
		/* By mapping: works for deleted files and those in other mount namespaces. */
		length = snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
				  (int)pid, entry->start, entry->end);
		fd = open_checked(module, path, length);
	}
	if (fd < 0)
		fd = open_by_path(module, pid, "");
	if (fd < 0 && module->was_deleted)
		fd = open_by_path(module, pid, DELETED);
	return fd;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return read_exactly(fd, magic, sizeof(magic), 0) == 0 &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void try_to_open(struct modules *modules, struct module *module, pid_t pid,
			const struct map_entry *entry)
{
	int fd;

	if (module->attempts >= MAX_ATTEMPTS)
		return;
	module->attempts++;
	fd = open_module(module, pid, entry);
	if (fd < 0)
		return;
	if (!is_elf(fd)) {
		module->state = MODULE_NOT_ELF;
	} else if (modules->open >= MODULES_MAX_OPEN) {
		module->state = MODULE_NOT_KEPT;
	} else {
		module->state = MODULE_OPEN;
		module->fd = fd;
		modules->open++;
		return;
	}
	close(fd);
}

uint32_t modules_pin(struct modules *modules, pid_t pid, const struct map_entry *entry)
{
	struct module *module = modules_get(modules, entry->module);

	if (!module)
		return entry->module;
	if (module->state == MODULE_NOT_OPENED)
		try_to_open(modules, module, pid, entry);
	if (module->state == MODULE_NOT_ELF ||
	    (module->state == MODULE_NOT_OPENED && is_shared_memory(module->path)))
		return MODULE_JIT;
	return entry->module;
}

void modules_load(struct modules *modules, struct module *module)
{
	int fd = module->fd;

	if (module->state == MODULE_NOT_OPENED || module->state == MODULE_NOT_KEPT)
		fd = open_module(module, 0, NULL);
	else if (module->state != MODULE_OPEN)
		return;
	if (module->state == MODULE_OPEN)
		modules->open--;
	module->state = MODULE_LOADED;
	module->fd = -1;
	if (fd < 0)
		return;
	if (elf_syms_load(fd, module->path, DEBUG_FILE_ROOT, &module->syms) == 0) {
		module->names = calloc(elf_syms_count(module->syms) + 1, sizeof(*module->names));
		if (!module->names) {
			elf_syms_free(module->syms);
			module->syms = NULL;
		}
	}
	close(fd);
}

/* The open file, or one to be closed by close_again; negative: it cannot be had. */
static int open_again(const struct module *module)
{
	if (module->state == MODULE_NOT_ELF || module->state == MODULE_PSEUDO)
		return -ENOEXEC;
	return module->state == MODULE_OPEN ? module->fd : open_module(module, 0, NULL);
}

static void close_again(const struct module *module, int fd)
{
	if (module->state != MODULE_OPEN)
		close(fd);
}

void modules_load_cfi(struct modules *modules, struct module *module)
{
	int fd;

	(void)modules;
	if (module->tried_cfi)
		return;
	fd = open_again(module);
	module->tried_cfi = true;
	if (fd < 0)
		return;
	if (elf_cfi_load(fd, &module->cfi) != 0)
		module->cfi = NULL;
	close_again(module, fd);
}

void modules_load_dwarf(struct modules *modules, struct module *module)
{
	int fd;

	(void)modules;
	if (module->tried_dwarf)
		return;
	fd = open_again(module);
	module->tried_dwarf = true;
	if (fd < 0)
		return;
	if (dwarf_load(fd, module->path, DEBUG_FILE_ROOT, &module->dwarf) != 0)
		module->dwarf = NULL;
	close_again(module, fd);
}

void modules_release(struct modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->list[i];

		if (module->fd >= 0)
			close(module->fd);
		elf_syms_free(module->syms);
		elf_cfi_free(module->cfi);
		dwarf_free(module->dwarf);
		free(module->names);
		free(module->path);
	}
	free(modules->list);
	hash_index_release(&modules->index);
	*modules = (struct modules){0};
}
