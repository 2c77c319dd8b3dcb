/* SPDX-License-Identifier: MIT */
/*
 * Keeps the modules that processes map as code: files, and others.
 *
 * A module is identified by device, inode and path as the kernel prints them for a mapping. If the
 * mapping has a build id, that counts, too. Its file is opened when code in it is first seen to
 * run, and stays open until its symbols are loaded. So naming still works after the file is deleted
 * or replaced (mapped_file.h). Several modules may have one file (module_files.h). At most
 * MODULES_MAX_OPEN files are kept open; others are reopened for naming, by path and with equal
 * checks.
 */
#ifndef SYMBOLIZE_MODULES_H
#define SYMBOLIZE_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/code_ref.h"
#include "symbolize/maps.h"
#include "symbolize/module_files.h"
#include "symbolize/util/hash_index.h"

/* First module of a file; those below are the fixed ones of code_ref.h. */
#define MODULES_FIRST 4

enum module_state {
	MODULE_NOT_OPENED, /* not opened, or all attempts failed so far */
	MODULE_HAS_FILE,   /* `file` */
	MODULE_NOT_ELF,    /* code without useful file offsets: a JIT's */
	MODULE_PSEUDO,     /* only a name: "[vsyscall]", "[uprobes]" and the like */
};

struct module {
	char *path;     /* path as mapped, without " (deleted)" */
	char *build_id; /* build id that identifies the file; NULL: the inode does */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	enum module_state state;
	uint8_t attempts;
	bool was_deleted; /* the kernel appended " (deleted)" to the path */
	bool was_denied;  /* an attempt to open it failed for lack of permission */
	bool is_missed;   /* names needed the file in vain; counted below */
	uint32_t file;    /* position in modules->files */
};

struct module_loss {
	uint64_t count; /* files */
	uint32_t first; /* module of the first file */
};

struct modules {
	struct module *list; /* the module with index i is list[i - MODULES_FIRST] */
	uint32_t count, capacity;
	uint64_t path_bytes;
	struct hash_index index;
	struct module_files files;
	struct module_loss unreadable; /* needed files that we may not read */
	struct module_loss absent;     /* needed files that are not there, or differ by now */
	struct module_loss unread;     /* files with DWARF that is not read */
	enum dwarf_unread unread_kind; /* kind of the first */
};

void modules_init(struct modules *modules, struct bounded_caller *calls);

/*
 * Finds or adds the module of a mapping: a fixed one (MODULE_JIT for anonymous memory, MODULE_VDSO)
 * or one of a file. Returns 0 and `*index`, -ENOSPC or -ENOMEM.
 */
int modules_add(struct modules *modules, const struct code_mapping *mapping, uint32_t *index);

/* Returns the build id of the module's file in hexadecimal; NULL: none, or not known yet. */
const char *modules_build_id(const struct modules *modules, uint32_t index);

/* Returns the module; NULL for a fixed or unknown index. Valid until the next modules_add. */
struct module *modules_get(const struct modules *modules, uint32_t index);

/* Returns the path of a module as mapped, or the name of a fixed one. */
const char *modules_path(const struct modules *modules, uint32_t index);

/*
 * Notes that code runs in `entry` of `pid`, alive or just ended: opens the file if necessary.
 * Returns the module of the code: MODULE_JIT if the file is not ELF.
 */
uint32_t modules_pin(struct modules *modules, pid_t pid, const struct map_entry *entry);

/* Returns the position of the module's file in modules->files, opened if necessary; -1: none. */
int64_t modules_find_file(struct modules *modules, uint32_t index);

/*
 * Loads a table of the module's file, once. Returns the file, with its syms, cfi or dwarf if it has
 * any; NULL: no file. Valid until a file is added. Load symbols last (module_file_load).
 */
struct module_file *modules_load(struct modules *modules, uint32_t index, enum table_kind kind);

/*
 * Reads a page of the module's file, which was pinned, at a multiple of MODULES_PAGE. Returns how
 * many of its bytes were read; 0: none.
 */
#define MODULES_PAGE 4096u
uint32_t modules_read_page(struct modules *modules, uint32_t index, uint64_t offset,
			   uint8_t bytes[MODULES_PAGE]);

/*
 * Runs a job that reads the module's file, which was pinned, and settles its share. Returns 0: the
 * caller frees the job. Otherwise returns -errno, and the job is gone.
 */
int modules_call(struct modules *modules, uint32_t index, struct bounded_job *job);

/*
 * Returns whether a mapping with this path is memory without a file, or with one that only serves
 * sharing. Code there was written at run time.
 */
bool modules_is_memory(const char *path, uint64_t inode);

/* Returns whether a module is such memory: MODULE_JIT, or a module with such a path. */
bool modules_is_code_in_memory(const struct modules *modules, uint32_t index);

/* Returns whether the module's file was pinned and is an ELF file. */
bool modules_has_file(const struct modules *modules, uint32_t index);

void modules_release(struct modules *modules);

/* Counts the file of a module whose DWARF was loaded, once, if some of its DWARF is not read. */
void modules_note_unread(struct modules *modules, uint32_t index, struct module_file *file);

#endif
