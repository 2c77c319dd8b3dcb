// SPDX-License-Identifier: MIT
#include "symbolize/module_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/array.h"

void module_files_init(struct module_files *files, struct bounded_caller *calls)
{
	*files = (struct module_files){.calls = calls};
	budget_open(&files->budget);
}

static bool has_id(const void *records, uint32_t position, const void *key)
{
	const struct module_file *list = records;

	return memcmp(&list[position].id, key, sizeof(struct file_id)) == 0;
}

/* ---- closing ---- */

/* close(2) can block as read(2) does: FUSE waits for an answer there, too. */
struct close_job {
	struct bounded_job job;
	int fds[MODULES_MAX_OPEN];
	uint32_t count;
};

static void close_all(struct bounded_job *opaque)
{
	struct close_job *job = (struct close_job *)opaque;

	while (job->count > 0)
		close(job->fds[--job->count]);
}

static void discard_close(struct bounded_job *opaque)
{
	free(opaque);
}

static struct close_job *new_close_job(void)
{
	struct close_job *job = malloc(sizeof(*job));

	if (job) {
		job->job = (struct bounded_job){.run = close_all, .discard = discard_close};
		job->count = 0;
	}
	return job;
}

/* What cannot be closed stays open: this process may hang when it ends, but not before. */
static void run_close_job(struct module_files *files, struct close_job *job)
{
	int err = -EBUSY;

	if (!files->closing_is_stuck)
		err = bounded_call(files->calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (err == -ETIMEDOUT)
		files->closing_is_stuck = true;
	else
		free(job);
}

void module_files_close(struct module_files *files, int fd)
{
	struct close_job *job = new_close_job();

	if (!job)
		return;
	job->fds[job->count++] = fd;
	run_close_job(files, job);
}

/* ---- the list ---- */

void module_files_release(struct module_files *files)
{
	struct close_job *job = files->open > 0 ? new_close_job() : NULL;

	for (uint32_t i = 0; i < files->count; i++) {
		struct module_file *file = &files->list[i];

		module_file_free_names(files, file);
		elf_cfi_free(file->cfi);
		if (job && file->fd >= 0)
			job->fds[job->count++] = file->fd;
	}
	if (job)
		run_close_job(files, job);
	free(files->list);
	hash_index_release(&files->index);
	*files = (struct module_files){0};
}

static int64_t append(struct module_files *files, const struct file_id *id, uint32_t hash)
{
	if (!array_make_room(&files->list, files->count, &files->capacity, sizeof(*files->list)) ||
	    hash_index_add(&files->index, hash, files->count) != 0)
		return -ENOMEM;
	files->list[files->count] = (struct module_file){.id = *id, .fd = -1};
	return files->count++;
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

	id.device = file->id.device; /* differs with the way on overlayfs */
	return memcmp(&file->id, &id, sizeof(id)) == 0;
}

int64_t module_files_add(struct module_files *files, int fd, const struct stat *st)
{
	struct file_id id = id_of(st);
	uint32_t hash = hash_bytes(&id, sizeof(id));
	uint32_t found = hash_index_find(&files->index, hash, has_id, files->list, &id);
	int64_t position = found != HASH_INDEX_NONE ? found : append(files, &id, hash);
	struct module_file *file = position >= 0 ? &files->list[position] : NULL;

	/* One whose symbols are loaded has no more use for it. */
	if (file && file->fd < 0 && !file->tables[TABLE_SYMS].was_tried &&
	    files->open < MODULES_MAX_OPEN) {
		file->fd = fd;
		files->open++;
	} else {
		module_files_close(files, fd);
	}
	return position;
}

/* The descriptor belongs to somebody else now. */
static void forget_fd(struct module_files *files, struct module_file *file, int fd)
{
	if (file->fd == fd) {
		file->fd = -1;
		files->open--;
	}
}

/* ---- loading ---- */

struct load_job {
	struct bounded_job job;
	enum table_kind kind;
	int fd;
	char *path;
	struct debug_file_search search;
	struct budget_share share;
	struct budget *budget; /* for the caller's thread alone */
	/* results: one of them, or none */
	struct elf_syms *syms;
	struct elf_cfi *cfi;
	struct dwarf *dwarf;
};

static void run_load(struct bounded_job *opaque)
{
	struct load_job *job = (struct load_job *)opaque;

	switch (job->kind) {
	case TABLE_SYMS:
		elf_syms_load(job->fd, &job->search, &job->share, &job->syms);
		break;
	case TABLE_CFI:
		elf_cfi_load(job->fd, &job->share, &job->cfi);
		break;
	default:
		dwarf_load(job->fd, &job->search, &job->share, &job->dwarf);
	}
}

static void free_tables(struct load_job *job)
{
	elf_syms_free(job->syms);
	elf_cfi_free(job->cfi);
	dwarf_free(job->dwarf);
	job->syms = NULL;
	job->cfi = NULL;
	job->dwarf = NULL;
}

static void free_job(struct load_job *job)
{
	free(job->path);
	free(job);
}

static void discard_load(struct bounded_job *opaque)
{
	struct load_job *job = (struct load_job *)opaque;

	free_tables(job);
	close(job->fd);
	free_job(job);
}

static bool has_table(const struct load_job *job)
{
	return job->syms || job->cfi || job->dwarf;
}

/* What it has taken stays taken: it may never be freed. */
static void abandon_load(struct bounded_job *opaque)
{
	struct load_job *job = (struct load_job *)opaque;

	budget_settle(job->budget, &job->share, true);
}

static struct load_job *new_load_job(struct module_files *files, enum table_kind kind, int fd,
				     const char *path)
{
	struct load_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct bounded_job){
		.run = run_load, .discard = discard_load, .abandon = abandon_load};
	job->kind = kind;
	job->fd = fd;
	job->budget = &files->budget;
	job->path = strdup(path);
	job->search.path = job->path;
	job->search.root = DEBUG_FILE_ROOT;
	if (!job->path) {
		free(job);
		return NULL;
	}
	return job;
}

/* Has done with a descriptor of the file: its own one is needed until the symbols are loaded. */
static void let_go(struct module_files *files, struct module_file *file, enum table_kind kind,
		   int fd)
{
	if (file->fd == fd && kind != TABLE_SYMS)
		return;
	forget_fd(files, file, fd);
	module_files_close(files, fd);
}

static void free_bytes(struct module_files *files, struct file_table *table)
{
	budget_free(&files->budget, table->bytes);
	table->bytes = 0;
}

/* Runs the job; false: it did not run, or it is gone, and with it the descriptor. */
static bool run_load_job(struct module_files *files, struct module_file *file, struct load_job *job)
{
	int fd = job->fd, err;

	budget_lend(&files->budget, &job->share, BUDGET_FILE_BYTES);
	err = bounded_call(files->calls, &job->job, BOUNDED_CALL_LOAD_MS);
	if (err == -ETIMEDOUT) {
		forget_fd(files, file, fd);
	} else if (err) {
		let_go(files, file, job->kind, fd);
		free_job(job);
	}
	return !err;
}

/* Loads a table: the job with its result, or NULL. Twice if debuginfod has something. */
static struct load_job *load(struct module_files *files, struct module_file *file,
			     enum table_kind kind, int fd, const char *path)
{
	struct load_job *job = new_load_job(files, kind, fd, path);
	struct file_table *table = &file->tables[kind];

	if (!job) {
		let_go(files, file, kind, fd);
		return NULL;
	}
	do {
		free_tables(job);
		free_bytes(files, table);
		if (!run_load_job(files, file, job))
			return NULL;
		table->bytes = budget_settle(&files->budget, &job->share, has_table(job));
	} while (debug_file_ask(&job->search));
	let_go(files, file, kind, fd);
	return job;
}

static void free_syms(struct module_files *files, struct module_file *file)
{
	elf_syms_free(file->syms);
	free(file->names);
	file->syms = NULL;
	file->names = NULL;
	free_bytes(files, &file->tables[TABLE_SYMS]);
}

static void take_result(struct module_files *files, struct module_file *file, struct load_job *job)
{
	switch (job->kind) {
	case TABLE_SYMS:
		file->syms = job->syms;
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
		      int fd, const char *path)
{
	struct load_job *job;

	if (fd >= 0 && (file->fd >= 0 || file->tables[kind].was_tried))
		module_files_close(files, fd);
	if (file->tables[kind].was_tried)
		return;
	file->tables[kind].was_tried = true;
	if (file->fd >= 0)
		fd = file->fd;
	job = fd >= 0 ? load(files, file, kind, fd, path) : NULL;
	if (!job)
		return;
	take_result(files, file, job);
	free_job(job);
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

/* Has the DWARF while it runs: libdw may take its time (dwarf.h). */
struct inline_job {
	struct bounded_job job;
	struct dwarf *dwarf;
	uint64_t *addresses;
	uint32_t count;
	struct inlined_names found;
	uint64_t found_bytes;
	struct budget_share share;
	struct budget *budget; /* for the caller's thread alone */
};

void inlined_names_release(struct inlined_names *found)
{
	for (uint32_t i = 0; i < found->count; i++)
		free(found->names[i]);
	free(found->names);
	free(found->counts);
	*found = (struct inlined_names){0};
}

/* Adds a copy; false when memory is out. What is too long is cut. */
static bool add_name(struct inline_job *job, const char *name)
{
	struct inlined_names *found = &job->found;
	size_t length = name ? strnlen(name, NAME_MAX_BYTES) : 0;
	char *copy;

	if (!budget_take(&job->share, length + sizeof(*found->names)))
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

static void run_inline(struct bounded_job *opaque)
{
	struct inline_job *job = (struct inline_job *)opaque;
	const char *names[DWARF_MAX_DEPTH];

	for (uint32_t i = 0; i < job->count; i++) {
		size_t count = dwarf_find(job->dwarf, &job->share, job->addresses[i], names);

		for (size_t k = 1; k < count; k++) {
			if (!add_name(job, names[k]))
				return;
			job->found.counts[i]++;
		}
	}
}

static void free_inline_job(struct inline_job *job)
{
	inlined_names_release(&job->found);
	free(job->addresses);
	free(job);
}

static void discard_inline(struct bounded_job *opaque)
{
	struct inline_job *job = (struct inline_job *)opaque;

	dwarf_free(job->dwarf);
	free_inline_job(job);
}

static void abandon_inline(struct bounded_job *opaque)
{
	struct inline_job *job = (struct inline_job *)opaque;

	budget_settle(job->budget, &job->share, true);
}

static struct inline_job *new_inline_job(struct module_files *files, struct module_file *file,
					 const uint64_t *addresses, uint32_t count)
{
	struct inline_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct bounded_job){
		.run = run_inline, .discard = discard_inline, .abandon = abandon_inline};
	job->dwarf = file->dwarf;
	job->budget = &files->budget;
	job->count = count;
	job->addresses = calloc(count + 1u, sizeof(*addresses));
	job->found.counts = calloc(count + 1u, sizeof(*job->found.counts));
	if (!job->addresses || !job->found.counts) {
		free_inline_job(job);
		return NULL;
	}
	memcpy(job->addresses, addresses, count * sizeof(*addresses));
	return job;
}

bool module_file_find_inlined(struct module_files *files, struct module_file *file,
			      const uint64_t *addresses, uint32_t count,
			      struct inlined_names *found)
{
	struct inline_job *job = file->dwarf ? new_inline_job(files, file, addresses, count) : NULL;
	int err;

	if (!job)
		return false;
	budget_lend(&files->budget, &job->share, BUDGET_FILE_BYTES);
	err = bounded_call(files->calls, &job->job, BOUNDED_CALL_LOAD_MS);
	if (err == -ETIMEDOUT) {
		file->dwarf = NULL; /* is the job's now; its bytes stay taken */
		file->tables[TABLE_DWARF].bytes = 0;
		return false;
	}
	if (!err) {
		file->tables[TABLE_DWARF].bytes +=
			budget_settle(&files->budget, &job->share, true) - job->found_bytes;
		budget_free(&files->budget, job->found_bytes);
		*found = job->found;
		job->found = (struct inlined_names){0};
	}
	free_inline_job(job);
	return !err;
}
