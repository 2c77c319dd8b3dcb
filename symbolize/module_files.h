/* SPDX-License-Identifier: MIT */
/*
 * The ELF files behind modules, and the tables that are read from them.
 *
 * A file is one however its path is spelled: hard links, bind mounts and other mount namespaces
 * give it several modules. What makes it the same are device, inode, size and time of change, as
 * its descriptor tells them. Its tables are loaded once and shared by its modules.
 *
 * Files belong to others: whatever opens, reads or closes one goes through a bounded_caller, and
 * what tables take comes from its budget (budget.h). Files whose tables could not be loaded in time
 * are counted there.
 */
#ifndef SYMBOLIZE_MODULE_FILES_H
#define SYMBOLIZE_MODULE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbolize/bounded_call.h"
#include "symbolize/budget.h"
#include "symbolize/dwarf.h"
#include "symbolize/elf_cfi.h"
#include "symbolize/elf_syms.h"
#include "symbolize/hash_index.h"

struct file_id {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
};

enum table_kind { TABLE_SYMS, TABLE_CFI, TABLE_DWARF, TABLE_KINDS };

/* What was read of a file: it is tried once; `bytes` of memory. */
struct file_table {
	bool was_tried;
	uint64_t bytes;
};

struct module_file {
	struct file_id id;
	int fd;                /* -1: it is not kept open */
	struct elf_syms *syms; /* NULL: not loaded, or there are none; the same for those below */
	const char **names;    /* what naming.c calls each symbol, or NULL so far; by its index */
	struct elf_cfi *cfi;
	struct dwarf *dwarf;
	struct file_table tables[TABLE_KINDS];
};

struct module_files {
	struct module_file *list;
	uint32_t count, capacity;
	struct hash_index index;
	uint32_t open;                /* that are kept open */
	struct bounded_caller *calls; /* borrowed */
	struct budget *budget;        /* of `calls` */
};

void module_files_init(struct module_files *files, struct bounded_caller *calls);
void module_files_release(struct module_files *files);

/*
 * Adds the ELF file that is open as `fd`, with this status, or finds it: its position in the list,
 * which stays; or -ENOMEM. Takes the descriptor, and keeps it open if not too many are.
 */
int64_t module_files_add(struct module_files *files, int fd, const struct stat *st);

/* Where a file lies, as it was mapped. */
struct file_place {
	uint64_t device;
	const char *path;
};

/* Whether a file of the same path that has this status is `file`, and has not changed. */
bool module_file_is(const struct module_file *file, const struct stat *st);

/*
 * Loads one kind of table, once: `file`'s syms and names, or cfi, or dwarf are set, or stay NULL.
 * `fd` is a descriptor of the file, which goes; negative: there is none but the one that is kept.
 * That one goes with the symbols, which are loaded last. Nothing is loaded from a device that has
 * blocked.
 */
void module_file_load(struct module_files *files, struct module_file *file, enum table_kind kind,
		      int fd, const struct file_place *place);

/* Frees syms, names and dwarf. They are loaded again if they are asked for. */
void module_file_free_names(struct module_files *files, struct module_file *file);

/* Frees all files' cfi. They are loaded again if they are asked for. */
void module_files_free_cfi(struct module_files *files);

/* Functions inlined at several addresses. */
struct inlined_names {
	char **names; /* malloc'd, for one address after the other, outermost first; may be NULL */
	uint32_t *counts;         /* how many each address has */
	uint32_t count, capacity; /* of names */
};

/*
 * Finds the functions inlined at `addresses`, as `file` counts them, without the functions that
 * they are inlined into: true and `*found`, which the caller releases. Addresses come best in
 * order.
 */
bool module_file_find_inlined(struct module_files *files, struct module_file *file,
			      const uint64_t *addresses, uint32_t count,
			      struct inlined_names *found);
void inlined_names_release(struct inlined_names *found);

#endif
