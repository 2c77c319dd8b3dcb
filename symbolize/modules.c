/* SPDX-License-Identifier: MIT */
#include "symbolize/modules.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/mapped_file.h"
#include "symbolize/process_debug.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

struct key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const char *path;
	size_t path_length;
	const char *build_id; /* "": unknown */
};

static uint32_t hash_key(const struct key *key)
{
	uint32_t numbers[6] = {
		key->dev_major,
		key->dev_minor,
		(uint32_t)key->inode,
		(uint32_t)(key->inode >> 32),
		hash_bytes(key->path, key->path_length),
		hash_bytes(key->build_id, strlen(key->build_id)),
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
	       module->path[key->path_length] == '\0' &&
	       strcmp(module->build_id ? module->build_id : "", key->build_id) == 0;
}

/* Returns the fixed module that a mapping belongs to; MODULE_UNKNOWN: the mapping has its own. */
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

/*
 * Returns whether a path is of memory for code generated at run time, also if it cannot be opened.
 */
static bool is_shared_memory(const char *path)
{
	return starts_with(path, "/memfd:") || starts_with(path, "/dev/zero") ||
	       starts_with(path, "/SYSV") || starts_with(path, "/anon_hugepage");
}

bool modules_is_memory(const char *path, uint64_t inode)
{
	return inode == 0 || path[0] != '/' || path[1] == '/' || is_shared_memory(path) ||
	       starts_with(path, "/dev/");
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
	uint64_t bytes = key->path_length + strlen(key->build_id);
	int err;

	if (modules->count >= MODULES_MAX || modules->path_bytes + bytes > MODULES_MAX_PATH_BYTES)
		return -ENOSPC;
	if (!array_make_room(&modules->list, modules->count, &modules->capacity,
			     sizeof(*modules->list)))
		return -ENOMEM;
	module.path = strndup(key->path, key->path_length);
	module.build_id = key->build_id[0] ? strdup(key->build_id) : NULL;
	err = module.path && (module.build_id || !key->build_id[0])
		      ? hash_index_add(&modules->index, hash_key(key), modules->count)
		      : -ENOMEM;
	if (err) {
		free(module.path);
		free(module.build_id);
		return err;
	}
	modules->path_bytes += bytes;
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
		.build_id = mapping->build_id ? mapping->build_id : "",
	};
	size_t suffix = strlen(MAPPED_FILE_DELETED);
	bool was_deleted = false;
	uint32_t position;
	int err;

	*index = fixed_module(mapping);
	if (*index != MODULE_UNKNOWN)
		return 0;
	if (key.path_length > suffix &&
	    strcmp(mapping->path + key.path_length - suffix, MAPPED_FILE_DELETED) == 0) {
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

static struct module_file *file_of(const struct modules *modules, const struct module *module)
{
	return module && module->state == MODULE_HAS_FILE ? &modules->files.list[module->file]
							  : NULL;
}

const char *modules_build_id(const struct modules *modules, uint32_t index)
{
	const struct module_file *file = file_of(modules, modules_get(modules, index));

	return file ? file->build_id : NULL;
}

/* ---- modules and their files ---- */

static uint64_t device_of(const struct module *module)
{
	return (uint64_t)module->dev_major << 32 | module->dev_minor;
}

/*
 * Tries to open the module's file, of which `entry` may be a mapping of `pid`. Returns whether the
 * file is open.
 */
static bool open_module(struct modules *modules, struct module *module, pid_t pid,
			const struct map_entry *entry, struct opened_file *file)
{
	const struct mapped_file mapped = {.pid = pid,
					   .start = entry ? entry->start : 0,
					   .end = entry ? entry->end : 0,
					   .device = device_of(module),
					   .inode = module->inode,
					   .build_id = module->build_id,
					   .path = module->path,
					   .was_deleted = module->was_deleted};

	mapped_file_open(modules->files.calls, &mapped, file);
	module->was_denied |= file->was_denied;
	return file->fd >= 0;
}

static void try_to_open(struct modules *modules, struct module *module, pid_t pid,
			const struct map_entry *entry)
{
	struct opened_file file;
	int64_t position;
	int debug;

	if (module->attempts >= MODULES_MAX_ATTEMPTS)
		return;
	module->attempts++;
	if (!open_module(modules, module, pid, entry, &file))
		return;
	if (!file.is_elf) {
		module->state = MODULE_NOT_ELF;
		bounded_close(modules->files.calls, file.fd);
		return;
	}
	debug = process_debug_open(modules->files.calls, pid, file.fd, module->path);
	position = module_files_add(&modules->files, file.fd, &file.st);
	if (position >= 0) {
		module->state = MODULE_HAS_FILE;
		module->file = (uint32_t)position;
	}
	if (debug >= 0 && position >= 0)
		module_files_add_debug(&modules->files, &modules->files.list[position], debug);
	else if (debug >= 0)
		bounded_close(modules->files.calls, debug);
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

static void count_loss(struct module_loss *loss, uint32_t index)
{
	if (loss->count++ == 0)
		loss->first = index;
}

static void count_missed(struct modules *modules, struct module *module, uint32_t index)
{
	if (module->is_missed)
		return;
	module->is_missed = true;
	count_loss(module->was_denied ? &modules->unreadable : &modules->absent, index);
}

int64_t modules_find_file(struct modules *modules, uint32_t index)
{
	struct module *module = modules_get(modules, index);

	if (module && module->state == MODULE_NOT_OPENED) {
		try_to_open(modules, module, 0, NULL);
		module->attempts = MODULES_MAX_ATTEMPTS; /* no further attempts */
		if (module->state == MODULE_NOT_OPENED)
			count_missed(modules, module, index);
	}
	return module && module->state == MODULE_HAS_FILE ? (int64_t)module->file : -1;
}

/* Reopens the file. Returns a descriptor if the file is unchanged, or -1. */
static int open_again(struct modules *modules, struct module *module)
{
	struct opened_file file;

	if (!open_module(modules, module, 0, NULL, &file))
		return -1;
	if (module_file_is(&modules->files.list[module->file], &file.st))
		return file.fd;
	bounded_close(modules->files.calls, file.fd);
	return -1;
}

struct module_file *modules_load(struct modules *modules, uint32_t index, enum table_kind kind)
{
	struct module *module = modules_get(modules, index);
	struct module_file *file;

	/* unwinding pins code first, and may succeed later */
	if (kind != TABLE_CFI)
		modules_find_file(modules, index);
	file = file_of(modules, module);
	if (file && !file->tables[kind].was_tried)
		module_file_load(&modules->files, file, kind,
				 file->fd < 0 ? open_again(modules, module) : -1,
				 &(struct file_place){device_of(module), module->path});
	return file;
}

void modules_note_unread(struct modules *modules, uint32_t index, struct module_file *file)
{
	enum dwarf_unread kind = file->dwarf ? dwarf_unread(file->dwarf) : DWARF_UNREAD_NOTHING;

	if (kind == DWARF_UNREAD_NOTHING || file->is_unread)
		return;
	file->is_unread = true;
	if (modules->unread.count == 0)
		modules->unread_kind = kind;
	count_loss(&modules->unread, index);
}

bool modules_is_code_in_memory(const struct modules *modules, uint32_t index)
{
	const struct module *module = modules_get(modules, index);

	return module ? module->state != MODULE_PSEUDO &&
				modules_is_memory(module->path, module->inode)
		      : index == MODULE_JIT;
}

bool modules_has_file(const struct modules *modules, uint32_t index)
{
	return file_of(modules, modules_get(modules, index)) != NULL;
}

int modules_call(struct modules *modules, uint32_t index, struct bounded_job *job)
{
	struct module *module = modules_get(modules, index);
	struct module_file *file = file_of(modules, module);
	int err = -EBADF;

	if (file) {
		err = module_file_call(&modules->files, file,
				       file->fd < 0 ? open_again(modules, module) : -1,
				       device_of(module), job);
	}
	if (!err)
		table_quota_settle(modules->files.quota, &job->share, false);
	else if (err == -EBADF)
		free(job);
	return err;
}

struct read_job {
	struct bounded_job job;
	uint64_t offset;
	uint32_t done;
	uint8_t bytes[MODULES_PAGE];
};

static void run_read(struct bounded_job *opaque)
{
	struct read_job *job = (struct read_job *)opaque;
	ssize_t n;

	do
		n = pread(job->job.fd, job->bytes, sizeof(job->bytes), (off_t)job->offset);
	while (n < 0 && errno == EINTR);
	job->done = n > 0 ? (uint32_t)n : 0;
}

uint32_t modules_read_page(struct modules *modules, uint32_t index, uint64_t offset,
			   uint8_t bytes[MODULES_PAGE])
{
	struct read_job *job = offset <= INT64_MAX && modules_has_file(modules, index)
				       ? bounded_job_new(sizeof(*job), run_read, NULL)
				       : NULL;
	uint32_t done;

	if (!job)
		return 0;
	job->offset = offset;
	if (modules_call(modules, index, &job->job) != 0)
		return 0;
	done = job->done;
	memcpy(bytes, job->bytes, done);
	free(job);
	return done;
}

void modules_release(struct modules *modules)
{
	module_files_release(&modules->files);
	for (uint32_t i = 0; i < modules->count; i++) {
		free(modules->list[i].path);
		free(modules->list[i].build_id);
	}
	free(modules->list);
	hash_index_release(&modules->index);
	*modules = (struct modules){0};
}
