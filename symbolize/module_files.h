/* SPDX-License-Identifier: MIT */
/*
 * Keeps the ELF files of modules, and the tables read from them.
 *
 * Hard links, bind mounts and mount namespaces can give one file several modules. A file is
 * identified by device, inode, size and time of change, as fstat(2) reports them. Its tables are
 * loaded once and shared by its modules.
 *
 * Files belong to others: they are opened, read and closed through a bounded_caller. Memory for
 * tables comes from its quota (table_quota.h), which also counts files that could not be loaded in
 * time.
 */
#ifndef SYMBOLIZE_MODULE_FILES_H
#define SYMBOLIZE_MODULE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbolize/dwarf.h"
#include "symbolize/elf_cfi.h"
#include "symbolize/elf_syms.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/table_quota.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/intern.h"

struct file_id {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
};

enum table_kind { TABLE_SYMS, TABLE_CFI, TABLE_DWARF, TABLE_KINDS };

/* Table of a file, loaded at most once; `bytes` of memory. */
struct file_table {
	bool was_tried;
	uint64_t bytes;
};

struct module_file {
	struct file_id id;
	int fd;         /* -1: not kept open */
	int debug_fd;   /* descriptor of the debug file in a process's root folder; -1: none */
	char *build_id; /* build id in hexadecimal, known once symbols were loaded; NULL: none */
	struct elf_syms *syms; /* NULL: not loaded, or none; also for cfi and dwarf */
	const char **names;    /* name of each symbol by its index; NULL: not named yet */
	struct elf_cfi *cfi;
	struct dwarf *dwarf;
	bool is_unread; /* dwarf_unread was counted */
	struct file_table tables[TABLE_KINDS];
};

struct module_files {
	RECORD_SET(struct module_file);
	uint32_t open;                /* descriptors kept open */
	struct bounded_caller *calls; /* borrowed */
	struct table_quota *quota;    /* quota of `calls` */
};

void module_files_init(struct module_files *files, struct bounded_caller *calls);
void module_files_release(struct module_files *files);

/*
 * Finds or adds the ELF file open as `fd`, with this status. Returns its position in the list,
 * which is permanent, or -ENOMEM. Takes the descriptor, and keeps it open if there are not too
 * many.
 */
int64_t module_files_add(struct module_files *files, int fd, const struct stat *st);

/* Takes a descriptor of the file's debug file (process_debug.h), and keeps it if there is room. */
void module_files_add_debug(struct module_files *files, struct module_file *file, int debug_fd);

/* Path of a file, and its device as mapped. */
struct file_place {
	uint64_t device;
	const char *path;
};

/* Returns whether a file of this path with this status is `file`, unchanged. */
bool module_file_is(const struct module_file *file, const struct stat *st);

/*
 * Loads one kind of table, once: sets `file`'s syms and names, or cfi, or dwarf, which stay NULL on
 * failure. `fd` is a descriptor of the file, which is closed; negative: only the kept one is used.
 * The kept one is closed with the symbols, which are loaded last. Nothing is loaded from a device
 * that has blocked.
 */
void module_file_load(struct module_files *files, struct module_file *file, enum table_kind kind,
		      int fd, const struct file_place *place);

/*
 * Runs a job that reads the file, and gets a descriptor of it. `fd` and blocked devices are as for
 * module_file_load. Returns the result of bounded_call with the job; -EBADF: there is no
 * descriptor, and the caller keeps the job.
 */
int module_file_call(struct module_files *files, struct module_file *file, int fd, uint64_t device,
		     struct bounded_job *job);

/* Frees syms, names and dwarf, which can be loaded again. */
void module_file_free_names(struct module_files *files, struct module_file *file);

/* Frees all files' cfi, which can be loaded again. */
void module_files_free_cfi(struct module_files *files);

/* Functions inlined at several addresses. */
struct inlined_names {
	char **names;             /* malloc'd, address by address, outermost first; may be NULL */
	uint32_t *counts;         /* number of names of each address */
	uint32_t count, capacity; /* number of names */
	/*
	 * files that define the functions; before those of an address, the file of the function
	 * around them. Absolute, or relative to the folder of the compilation, which comes before
	 * the first "/./" if known: "/home/me/proj/./src/x.c". NULL: unknown. There are `count`,
	 * and one for each address
	 */
	const char **sources;
	uint32_t source_count, source_capacity;
	struct intern paths; /* owner of `sources` */
};

/*
 * Finds the functions inlined at `addresses` (of the file), preferably in order, without the
 * functions around them. Returns true and `*found`, which the caller releases.
 */
bool module_file_find_inlined(struct module_files *files, struct module_file *file,
			      const uint64_t *addresses, uint32_t count,
			      struct inlined_names *found);
void inlined_names_release(struct inlined_names *found);

#endif
