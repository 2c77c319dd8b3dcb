/* SPDX-License-Identifier: MIT */
/*
 * The files (and other things) that processes map as code.
 *
 * A module is a device, an inode and a path. Its file is opened when code in it is first seen to
 * run, and kept open until its symbols are loaded, so that names survive the deletion and the
 * replacement of the file. What is opened must be the regular file with the mapping's inode: a file
 * that took its place gives no names rather than wrong ones. Device numbers are not compared, since
 * btrfs and overlayfs report others in stat(2) than in /proc/PID/maps.
 *
 * At most MODULES_MAX_OPEN files are kept open; the others are opened again, by path and with the
 * same check, when names are asked for.
 */
#ifndef SYMBOLIZE_MODULES_H
#define SYMBOLIZE_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/dwarf.h"
#include "symbolize/elf_cfi.h"
#include "symbolize/elf_syms.h"
#include "symbolize/hash_index.h"
#include "symbolize/maps.h"
#include "symbolize/symbolizer.h"

#define MODULES_MAX 262144
#define MODULES_MAX_OPEN 512

/* Modules below this are the fixed ones of symbolizer.h. */
#define MODULES_FIRST 4

enum module_state {
	MODULE_NOT_OPENED, /* or opening failed so far */
	MODULE_OPEN,       /* `fd` holds the file */
	MODULE_NOT_KEPT,   /* it is the right ELF file, but too many are open */
	MODULE_NOT_ELF,    /* its code has no file offsets worth keeping: a JIT's */
	MODULE_LOADED,     /* `syms`, or NULL if they could not be loaded */
	MODULE_PSEUDO,     /* "[vsyscall]", "[uprobes]" and the like: its name is all there is */
};

struct module {
	char *path; /* as it was mapped, without " (deleted)" */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	enum module_state state;
	uint8_t attempts;
	bool was_deleted; /* the kernel printed " (deleted)" after the path */
	int fd;
	struct elf_syms *syms;
	struct elf_cfi *cfi; /* NULL: not loaded, or there is none */
	bool tried_cfi;
	struct dwarf *dwarf; /* the same */
	bool tried_dwarf;
	const char **names; /* what symbolizer.c calls each symbol, or NULL so far; by its index */
};

struct modules {
	struct module *list; /* the module with index i is list[i - MODULES_FIRST] */
	uint32_t count, capacity;
	uint32_t open;
	struct hash_index index;
};

/*
 * The index of the module that is mapped: a fixed one (MODULE_JIT for anonymous memory,
 * MODULE_VDSO) or one of a file, added if it is new: 0 and `*index`, -ENOSPC or -ENOMEM.
 */
int modules_add(struct modules *modules, const struct code_mapping *mapping, uint32_t *index);

/* The module, or NULL for a fixed or unknown index; valid until the next modules_add. */
struct module *modules_get(const struct modules *modules, uint32_t index);

/*
 * Called when code is seen to run in `entry` of the living (or just ended) `pid`: opens the file if
 * need be. Returns the module that the code belongs to: MODULE_JIT if the file is not ELF.
 */
uint32_t modules_pin(struct modules *modules, pid_t pid, const struct map_entry *entry);

/* Loads the symbols, once: module->syms and module->names, or neither. */
void modules_load(struct modules *modules, struct module *module);

/* Loads the call-frame information, once: module->cfi, or nothing. */
void modules_load_cfi(struct modules *modules, struct module *module);

/*
 * Loads the index of inlined functions, once: module->dwarf, or nothing. Before modules_load, which
 * lets go of the file, it works for files that were deleted meanwhile.
 */
void modules_load_dwarf(struct modules *modules, struct module *module);

void modules_release(struct modules *modules);

#endif
