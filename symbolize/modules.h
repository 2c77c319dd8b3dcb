/* SPDX-License-Identifier: MIT */
/*
 * What processes map as code: files, and other things.
 *
 * A module is a device, an inode and a path as the kernel prints them for a mapping. Its file is
 * opened when code in it is first seen to run, and kept open until its symbols are loaded, so that
 * names survive the deletion and the replacement of the file (mapped_file.h). Several modules may
 * have one file (module_files.h). At most MODULES_MAX_OPEN files are kept open; the others are
 * opened again, by path and with the same check, when names are asked for.
 */
#ifndef SYMBOLIZE_MODULES_H
#define SYMBOLIZE_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/hash_index.h"
#include "symbolize/maps.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

/* Modules below this are the fixed ones of symbolizer.h. */
#define MODULES_FIRST 4

enum module_state {
	MODULE_NOT_OPENED, /* or opening failed so far */
	MODULE_HAS_FILE,   /* `file` */
	MODULE_NOT_ELF,    /* its code has no file offsets worth keeping: a JIT's */
	MODULE_PSEUDO,     /* "[vsyscall]", "[uprobes]" and the like: its name is all there is */
};

struct module {
	char *path; /* as it was mapped, without " (deleted)" */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	enum module_state state;
	uint8_t attempts;
	bool was_deleted; /* the kernel printed " (deleted)" after the path */
	bool was_denied;  /* an attempt to open it failed for lack of permission */
	bool is_missed;   /* it was needed for names, and counted as unreadable */
	uint32_t file;    /* position in modules->files */
};

struct modules {
	struct module *list; /* the module with index i is list[i - MODULES_FIRST] */
	uint32_t count, capacity;
	uint64_t path_bytes;
	struct hash_index index;
	struct module_files files;
	uint64_t unreadable;       /* files that were needed and that we may not read */
	uint32_t unreadable_first; /* the index of the first one's module */
};

void modules_init(struct modules *modules, struct bounded_caller *calls);

/*
 * The index of the module that is mapped: a fixed one (MODULE_JIT for anonymous memory,
 * MODULE_VDSO) or one of a file, added if it is new: 0 and `*index`, -ENOSPC or -ENOMEM.
 */
int modules_add(struct modules *modules, const struct code_mapping *mapping, uint32_t *index);

/* The module, or NULL for a fixed or unknown index; valid until the next modules_add. */
struct module *modules_get(const struct modules *modules, uint32_t index);

/* The path of a module as it was mapped, or what a fixed one is called. */
const char *modules_path(const struct modules *modules, uint32_t index);

/*
 * Called when code is seen to run in `entry` of the living (or just ended) `pid`: opens the file if
 * need be. Returns the module that the code belongs to: MODULE_JIT if the file is not ELF.
 */
uint32_t modules_pin(struct modules *modules, pid_t pid, const struct map_entry *entry);

/* The position of the module's file in modules->files, opened if need be; -1: it has none. */
int64_t modules_find_file(struct modules *modules, uint32_t index);

/*
 * Loads a table of the module's file, once: the file, with its syms, cfi or dwarf if it has any;
 * NULL if there is no file. Valid until a file is added. Symbols last (module_file_load).
 */
struct module_file *modules_load(struct modules *modules, uint32_t index, enum table_kind kind);

void modules_release(struct modules *modules);

#endif
