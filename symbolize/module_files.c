// SPDX-License-Identifier: MIT
#include "symbolize/module_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/util/array.h"

void module_files_init(struct module_files *files, struct bounded_caller *calls)
{
	*files = (struct module_files){.calls = calls, .quota = bounded_caller_budget(calls)};
}

/* ---- the list ---- */

void module_files_release(struct module_files *files)
{
	for (uint32_t i = 0; i < files->count; i++) {
		struct module_file *file = &files->list[i];

		module_file_free_names(files, file);
		elf_cfi_free(file->cfi);
		free(file->build_id);
		if (file->fd >= 0)
			bounded_close(files->calls, file->fd);
		if (file->debug_fd >= 0)
			bounded_close(files->calls, file->debug_fd);
	}
	record_set_release(&files->set);
	*files = (struct module_files){0};
}

static struct file_id id_of(const struct stat *st)
{
	return (struct file_id){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed_s = st->st_mtim.tv_sec,
		.changed_ns = st->st_mtim.tv_nsec,
	};
}

bool module_file_is(const struct module_file *file, const struct stat *st)
{
	struct file_id id = id_of(st);

	id.device = file->id.device; /* depends on the path on overlayfs */
	return memcmp(&file->id, &id, sizeof(id)) == 0;
}

int64_t module_files_add(struct module_files *files, int fd, const struct stat *st)
{
	const struct module_file new = {.id = id_of(st), .fd = -1, .debug_fd = -1};
	uint32_t at = record_get(files, &new.id, &new);
	int64_t position = at != RECORD_NONE ? (int64_t)at : -ENOMEM;
	struct module_file *file = position >= 0 ? &files->list[position] : NULL;

	/* a file with loaded symbols needs no descriptor */
	if (file && file->fd < 0 && !file->tables[TABLE_SYMS].was_tried &&
	    files->open < MODULES_MAX_OPEN) {
		file->fd = fd;
		files->open++;
	} else {
		bounded_close(files->calls, fd);
	}
	return position;
}

void module_files_add_debug(struct module_files *files, struct module_file *file, int debug_fd)
{
	if (file->debug_fd < 0 && files->open < MODULES_MAX_OPEN) {
		file->debug_fd = debug_fd;
		files->open++;
	} else {
		bounded_close(files->calls, debug_fd);
	}
}

/* Gives up a descriptor to a new owner. */
static void forget_fd(struct module_files *files, struct module_file *file, int fd)
{
	if (file->fd == fd) {
		file->fd = -1;
		files->open--;
	}
}

/* Leaves the debug file to a late job, which may be reading it. */
static void forget_debug_fd(struct module_files *files, struct module_file *file)
{
	if (file->debug_fd >= 0)
		files->open--;
	file->debug_fd = -1;
}

/* ---- loading ---- */

struct load_job {
	struct bounded_job job;
	enum table_kind kind;
	struct debug_file_search search;
	/* results: at most one is set */
	struct elf_syms *syms;
	struct elf_cfi *cfi;
	struct dwarf *dwarf;
	char path[];
};

static void run_load(struct bounded_job *opaque)
{
	struct load_job *job = (struct load_job *)opaque;

	switch (job->kind) {
	case TABLE_SYMS:
		elf_syms_load(job->job.fd, &job->search, &job->job.share, &job->syms);
		break;
	case TABLE_CFI:
		elf_cfi_load(job->job.fd, &job->job.share, &job->cfi);
		break;
	default:
		dwarf_load(job->job.fd, &job->search, &job->job.share, &job->dwarf);
	}
}

static void free_tables(struct bounded_job *opaque)
{
	struct load_job *job = (struct load_job *)opaque;

	elf_syms_free(job->syms);
	elf_cfi_free(job->cfi);
	dwarf_free(job->dwarf);
	job->syms = NULL;
	job->cfi = NULL;
	job->dwarf = NULL;
}

static struct load_job *new_load_job(const struct module_file *file, enum table_kind kind, int fd,
				     const struct file_place *place)
{
	size_t length = strlen(place->path);
	struct load_job *job = bounded_job_new(sizeof(*job) + length + 1, run_load, free_tables);

	if (!job)
		return NULL;
	job->job.fd = fd;
	job->job.place = place->device;
	job->kind = kind;
	memcpy(job->path, place->path, length);
	job->search = (struct debug_file_search){.path = job->path,
						 .root = DEBUG_FILE_ROOT,
						 .has_handed = file->debug_fd >= 0,
						 .handed = file->debug_fd};
	return job;
}

/* Releases a descriptor of the file. The file keeps its own until the symbols are loaded. */
static void release_fd(struct module_files *files, struct module_file *file, int fd, bool is_needed)
{
	if (file->fd == fd && is_needed)
		return;
	forget_fd(files, file, fd);
	bounded_close(files->calls, fd);
}

static void free_bytes(struct module_files *files, struct file_table *table)
{
	table_quota_free(files->quota, table->bytes);
	table->bytes = 0;
}

static int run_load_job(struct module_files *files, struct file_table *table, struct load_job *job)
{
	int err;

	free_tables(&job->job);
	free_bytes(files, table);
	err = bounded_call(files->calls, &job->job, BOUNDED_CALL_LOAD_MS);
	if (!err)
		table->bytes = table_quota_settle(files->quota, &job->job.share,
						  job->syms || job->cfi || job->dwarf);
	return err;
}

/* Loads a table, again if debuginfod has found a file. Returns the job with the result, or NULL. */
static struct load_job *load(struct module_files *files, struct module_file *file,
			     enum table_kind kind, int fd, const struct file_place *place)
{
	struct load_job *job = new_load_job(file, kind, fd, place);
	int err = job ? 0 : -ENOMEM;

	while (!err) {
		err = run_load_job(files, &file->tables[kind], job);
		if (err || !debug_file_ask(&job->search))
			break;
	}
	if (err == -ETIMEDOUT) {
		forget_fd(files, file, fd);
		forget_debug_fd(files, file);
	} else {
		release_fd(files, file, fd, err || kind != TABLE_SYMS);
	}
	return err ? NULL : job;
}

static void free_syms(struct module_files *files, struct module_file *file)
{
	elf_syms_free(file->syms);
	free(file->names);
	file->syms = NULL;
	file->names = NULL;
	free_bytes(files, &file->tables[TABLE_SYMS]);
}

/* Keeps the build id, also when symbols are freed. */
static void note_build_id(struct module_file *file)
{
	const char *text = elf_syms_build_id(file->syms);

	if (!file->build_id && text[0])
		file->build_id = strdup(text);
}

static void take_result(struct module_files *files, struct module_file *file, struct load_job *job)
{
	switch (job->kind) {
	case TABLE_SYMS:
		file->syms = job->syms;
		if (file->syms)
			note_build_id(file);
		if (file->syms)
			file->names = calloc(elf_syms_count(file->syms) + 1, sizeof(*file->names));
		if (!file->names)
			free_syms(files, file);
		break;
	case TABLE_CFI:
		file->cfi = job->cfi;
		break;
	default:
		file->dwarf = job->dwarf;
	}
}

void module_file_load(struct module_files *files, struct module_file *file, enum table_kind kind,
		      int fd, const struct file_place *place)
{
	struct load_job *job;

	if (fd >= 0 && (file->fd >= 0 || file->tables[kind].was_tried))
		bounded_close(files->calls, fd);
	if (file->tables[kind].was_tried)
		return;
	file->tables[kind].was_tried = true;
	if (file->fd >= 0)
		fd = file->fd;
	job = fd >= 0 ? load(files, file, kind, fd, place) : NULL;
	if (!job)
		return;
	take_result(files, file, job);
	free(job);
}

int module_file_call(struct module_files *files, struct module_file *file, int fd, uint64_t device,
		     struct bounded_job *job)
{
	int err;

	if (file->fd >= 0)
		fd = file->fd;
	if (fd < 0)
		return -EBADF;
	job->fd = fd;
	job->place = device;
	err = bounded_call(files->calls, job, BOUNDED_CALL_OPEN_MS);
	if (err == -ETIMEDOUT)
		forget_fd(files, file, fd);
	else if (fd != file->fd)
		bounded_close(files->calls, fd);
	return err;
}

void module_file_free_names(struct module_files *files, struct module_file *file)
{
	free_syms(files, file);
	dwarf_free(file->dwarf);
	file->dwarf = NULL;
	free_bytes(files, &file->tables[TABLE_DWARF]);
	file->tables[TABLE_SYMS].was_tried = false;
	file->tables[TABLE_DWARF].was_tried = false;
}

void module_files_free_cfi(struct module_files *files)
{
	for (uint32_t i = 0; i < files->count; i++) {
		struct module_file *file = &files->list[i];

		elf_cfi_free(file->cfi);
		file->cfi = NULL;
		free_bytes(files, &file->tables[TABLE_CFI]);
		file->tables[TABLE_CFI].was_tried = false;
	}
}

/* ---- inlined functions ---- */

/* A job that borrows the DWARF: libdw may be slow (dwarf.h). */
struct inline_job {
	struct bounded_job job;
	struct dwarf *dwarf;
	struct inlined_names found;
	uint64_t found_bytes;
	uint32_t count;
	uint64_t addresses[];
};

void inlined_names_release(struct inlined_names *found)
{
	for (uint32_t i = 0; i < found->count; i++)
		free(found->names[i]);
	free(found->names);
	free(found->counts);
	free(found->sources);
	intern_release(&found->paths);
	*found = (struct inlined_names){0};
}

/* Adds a copy, cut if too long. Returns false when out of memory. */
static bool add_name(struct inline_job *job, const char *name)
{
	struct inlined_names *found = &job->found;
	size_t length = name ? strnlen(name, NAME_MAX_BYTES) : 0;
	char *copy;

	if (!quota_share_take(&job->job.share, length + sizeof(*found->names)))
		return false;
	job->found_bytes += length + sizeof(*found->names);
	if (!array_make_room(&found->names, found->count, &found->capacity, sizeof(*found->names)))
		return false;
	copy = name ? strndup(name, length) : NULL;
	if (name && !copy)
		return false;
	found->names[found->count++] = copy;
	return true;
}

/* Returns a malloc'd path, "/build/./src/x.c"; NULL: unknown, or out of memory. */
static char *source_text(const struct source_place *s)
{
	bool has_folder = s->name && s->name[0] != '/' && s->folder;
	bool has_first = s->name && s->name[0] != '/' && s->compiled_in &&
			 !(has_folder && s->folder[0] == '/');
	char *text = NULL;

	if (!s->name || strnlen(s->name, PATH_MAX) == PATH_MAX ||
	    (has_folder && strnlen(s->folder, PATH_MAX) == PATH_MAX) ||
	    (has_first && strnlen(s->compiled_in, PATH_MAX) == PATH_MAX) ||
	    asprintf(&text, "%s%s%s%s%s", has_first ? s->compiled_in : "", has_first ? "/./" : "",
		     has_folder ? s->folder : "", has_folder ? "/" : "", s->name) < 0)
		return NULL;
	return text;
}

/* Adds the path of a source, each distinct one once. Returns false when out of memory. */
static bool add_source(struct inline_job *job, const struct source_place *source)
{
	struct inlined_names *found = &job->found;
	char *text = source_text(source);
	uint64_t before = found->paths.bytes, taken;
	const char *kept = text ? intern_string(&found->paths, text) : NULL;
	bool has_failed = text && !kept;

	free(text);
	taken = found->paths.bytes - before + sizeof(*found->sources);
	if (has_failed || !quota_share_take(&job->job.share, taken))
		return false;
	job->found_bytes += taken;
	if (!array_make_room(&found->sources, found->source_count, &found->source_capacity,
			     sizeof(*found->sources)))
		return false;
	found->sources[found->source_count++] = kept;
	return true;
}

static void run_inline(struct bounded_job *opaque)
{
	struct inline_job *job = (struct inline_job *)opaque;
	const char *names[DWARF_MAX_DEPTH];
	struct source_place sources[DWARF_MAX_DEPTH];

	job->found.counts = calloc(job->count + 1u, sizeof(*job->found.counts));
	for (uint32_t i = 0; job->found.counts && i < job->count && !job->job.is_late; i++) {
		size_t count = dwarf_find(job->dwarf, &job->job.share, job->addresses[i], names);

		sources[0] = (struct source_place){NULL, NULL, NULL};
		if (count)
			dwarf_find_sources(job->dwarf, job->addresses[i], sources);
		if (!add_source(job, &sources[0]))
			return;
		for (size_t k = 1; k < count; k++) {
			if (!add_name(job, names[k]) || !add_source(job, &sources[k]))
				return;
			job->found.counts[i]++;
		}
	}
}

static void discard_inline(struct bounded_job *opaque)
{
	struct inline_job *job = (struct inline_job *)opaque;

	inlined_names_release(&job->found);
	dwarf_free(job->dwarf);
}

bool module_file_find_inlined(struct module_files *files, struct module_file *file,
			      const uint64_t *addresses, uint32_t count,
			      struct inlined_names *found)
{
	size_t size = count * sizeof(*addresses);
	struct file_table *table = &file->tables[TABLE_DWARF];
	struct inline_job *job;
	int err;

	job = file->dwarf ? bounded_job_new(sizeof(*job) + size, run_inline, discard_inline) : NULL;
	if (!job)
		return false;
	job->dwarf = file->dwarf;
	job->count = count;
	memcpy(job->addresses, addresses, size);
	err = bounded_call(files->calls, &job->job, BOUNDED_CALL_LOAD_MS);
	if (err == -ETIMEDOUT) {
		file->dwarf = NULL; /* the job owns the DWARF now; its bytes stay taken */
		table->bytes = 0;
	}
	if (err)
		return false;
	table->bytes += table_quota_settle(files->quota, &job->job.share, true) - job->found_bytes;
	table_quota_free(files->quota, job->found_bytes);
	*found = job->found;
	free(job);
	return found->counts != NULL;
}
