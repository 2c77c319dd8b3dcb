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

#include "symbolize/array.h"
#include "symbolize/safe_open.h"

#define DELETED " (deleted)"

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

void modules_init(struct modules *modules, struct bounded_caller *calls)
{
	*modules = (struct modules){0};
	module_files_init(&modules->files, calls);
}

static int append(struct modules *modules, const struct key *key, bool was_deleted)
{
	struct module module = {
		.dev_major = key->dev_major,
		.dev_minor = key->dev_minor,
		.inode = key->inode,
		.state = key->path[0] == '[' ? MODULE_PSEUDO : MODULE_NOT_OPENED,
		.was_deleted = was_deleted,
	};
	int err;

	if (modules->count >= MODULES_MAX ||
	    modules->path_bytes + key->path_length > MODULES_MAX_PATH_BYTES)
		return -ENOSPC;
	if (!array_make_room(&modules->list, modules->count, &modules->capacity,
			     sizeof(*modules->list)))
		return -ENOMEM;
	module.path = strndup(key->path, key->path_length);
	if (!module.path)
		return -ENOMEM;
	err = hash_index_add(&modules->index, hash_key(key), modules->count);
	if (err) {
		free(module.path);
		return err;
	}
	modules->path_bytes += key->path_length;
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

const char *modules_path(const struct modules *modules, uint32_t index)
{
	static const char *const fixed[] = {"[unknown]", "[kernel]", "[vdso]", "[jit]"};
	const struct module *module = modules_get(modules, index);

	if (module)
		return module->path;
	return index < MODULES_FIRST ? fixed[index] : fixed[MODULE_UNKNOWN];
}

/* ---- opening ---- */

/* Where to look for a file, and what came of it. */
struct open_job {
	struct bounded_job job;
	char *path;
	uint64_t inode;
	pid_t pid;           /* 0: of no process */
	uint64_t start, end; /* its mapping; 0: not known */
	bool was_deleted;
	/* results */
	int fd; /* or -errno */
	struct stat st;
	bool is_elf, was_denied;
};

/* Opens `path` if it is the file; `length` is what snprintf made of it. */
static void try_path(struct open_job *job, const char *path, int length)
{
	if (length < 0 || length >= PATH_MAX + 64) {
		job->fd = -ENAMETOOLONG;
		return;
	}
	job->fd = open_regular(path, SYMLINK_FOLLOW, &job->st);
	if (job->fd >= 0 && job->st.st_ino != job->inode) {
		close(job->fd);
		job->fd = -ESTALE;
	}
	if (job->fd == -EACCES || job->fd == -EPERM)
		job->was_denied = true;
}

/* By path in the root folder of the process, then in ours. */
static void try_paths(struct open_job *job, const char *suffix)
{
	char path[PATH_MAX + 64];

	if (job->pid > 0)
		try_path(job, path,
			 snprintf(path, sizeof(path), "/proc/%d/root%s%s", (int)job->pid, job->path,
				  suffix));
	if (job->fd < 0)
		try_path(job, path, snprintf(path, sizeof(path), "%s%s", job->path, suffix));
}

/* As the process's executable, if it is that: this works for a deleted one, too. */
static void try_executable(struct open_job *job)
{
	char path[64], target[PATH_MAX + sizeof(DELETED)];
	int length = snprintf(path, sizeof(path), "/proc/%d/exe", (int)job->pid);
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	if (size < 0)
		return;
	target[size] = '\0';
	if (starts_with(target, job->path) &&
	    (target[strlen(job->path)] == '\0' || strcmp(target + strlen(job->path), DELETED) == 0))
		try_path(job, path, length);
}

static void try_process(struct open_job *job)
{
	char path[64];

	if (job->end > 0) {
		/* By mapping: works for deleted files and those in other mount namespaces. */
		try_path(job, path,
			 snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
				  (int)job->pid, job->start, job->end));
		job->was_denied = false; /* which takes privilege that is not expected */
	}
	if (job->fd < 0)
		try_paths(job, "");
	if (job->fd < 0 && job->pid > 0)
		try_executable(job);
	if (job->fd < 0 && job->was_deleted)
		try_paths(job, DELETED);
}

static void run_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;
	char magic[SELFMAG];

	try_process(job);
	if (job->fd >= 0)
		job->is_elf = read_exactly(job->fd, magic, sizeof(magic), 0) == 0 &&
			      memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void free_open_job(struct open_job *job)
{
	free(job->path);
	free(job);
}

static void discard_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;

	if (job->fd >= 0)
		close(job->fd);
	free_open_job(job);
}

static struct open_job *new_open_job(const struct module *module, pid_t pid,
				     const struct map_entry *entry)
{
	struct open_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct bounded_job){.run = run_open, .discard = discard_open};
	job->path = strdup(module->path);
	job->inode = module->inode;
	job->pid = pid;
	job->start = entry ? entry->start : 0;
	job->end = entry ? entry->end : 0;
	job->was_deleted = module->was_deleted;
	job->fd = -ENOENT;
	if (!job->path) {
		free(job);
		return NULL;
	}
	return job;
}

static uint64_t device_of(const struct module *module)
{
	return (uint64_t)module->dev_major << 32 | module->dev_minor;
}

static bool is_stuck(const struct modules *modules, const struct module *module)
{
	for (uint32_t i = 0; i < modules->stuck_count; i++)
		if (modules->stuck_devices[i] == device_of(module))
			return true;
	return false;
}

static void note_stuck(struct modules *modules, const struct module *module)
{
	if (modules->stuck_count < BOUNDED_CALL_MAX_ABANDONED)
		modules->stuck_devices[modules->stuck_count++] = device_of(module);
}

/*
 * Looks for the module's file: true and the job with its result; false if it is out of reach, or
 * not to be had in time.
 */
static bool open_module(struct modules *modules, struct module *module, pid_t pid,
			const struct map_entry *entry, struct open_job **result)
{
	struct open_job *job = is_stuck(modules, module) ? NULL : new_open_job(module, pid, entry);
	int err;

	if (!job)
		return false;
	err = bounded_call(modules->files.calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (err == -ETIMEDOUT) {
		note_stuck(modules, module);
		return false;
	}
	module->was_denied |= job->was_denied;
	if (!err && job->fd >= 0) {
		*result = job;
		return true;
	}
	free_open_job(job);
	return false;
}

/* ---- modules and their files ---- */

static void try_to_open(struct modules *modules, struct module *module, pid_t pid,
			const struct map_entry *entry)
{
	struct open_job *job;
	int64_t position;

	if (module->attempts >= MODULES_MAX_ATTEMPTS)
		return;
	module->attempts++;
	if (!open_module(modules, module, pid, entry, &job))
		return;
	if (!job->is_elf) {
		module->state = MODULE_NOT_ELF;
		module_files_close(&modules->files, job->fd);
	} else {
		position = module_files_add(&modules->files, job->fd, &job->st);
		if (position >= 0) {
			module->state = MODULE_HAS_FILE;
			module->file = (uint32_t)position;
		}
	}
	free_open_job(job);
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

static void count_unreadable(struct modules *modules, struct module *module, uint32_t index)
{
	if (module->is_missed || !module->was_denied)
		return;
	module->is_missed = true;
	if (modules->unreadable++ == 0)
		modules->unreadable_first = index;
}

int64_t modules_find_file(struct modules *modules, uint32_t index)
{
	struct module *module = modules_get(modules, index);

	if (module && module->state == MODULE_NOT_OPENED) {
		try_to_open(modules, module, 0, NULL);
		module->attempts = MODULES_MAX_ATTEMPTS; /* now or never */
		if (module->state == MODULE_NOT_OPENED)
			count_unreadable(modules, module, index);
	}
	return module && module->state == MODULE_HAS_FILE ? (int64_t)module->file : -1;
}

/* A descriptor of the file for now, if it is still the one that is there; or -1. */
static int open_again(struct modules *modules, struct module *module)
{
	struct open_job *job;
	int fd = -1;

	if (!open_module(modules, module, 0, NULL, &job))
		return -1;
	if (module_file_is(&modules->files.list[module->file], &job->st))
		fd = job->fd;
	else
		module_files_close(&modules->files, job->fd);
	free_open_job(job);
	return fd;
}

struct module_file *modules_load(struct modules *modules, uint32_t index, enum table_kind kind)
{
	struct module *module = modules_get(modules, index);
	struct module_file *file;
	uint64_t abandoned;

	/* Who unwinds comes by again: its code has been pinned, and may be with better luck. */
	if (kind != TABLE_CFI)
		modules_find_file(modules, index);
	if (!module || module->state != MODULE_HAS_FILE)
		return NULL;
	file = &modules->files.list[module->file];
	if (file->tables[kind].was_tried || is_stuck(modules, module))
		return file;
	abandoned = bounded_caller_count_abandoned(modules->files.calls);
	module_file_load(&modules->files, file, kind,
			 file->fd < 0 ? open_again(modules, module) : -1, module->path);
	if (bounded_caller_count_abandoned(modules->files.calls) != abandoned)
		note_stuck(modules, module);
	return file;
}

void modules_release(struct modules *modules)
{
	module_files_release(&modules->files);
	for (uint32_t i = 0; i < modules->count; i++)
		free(modules->list[i].path);
	free(modules->list);
	hash_index_release(&modules->index);
	*modules = (struct modules){0};
}
