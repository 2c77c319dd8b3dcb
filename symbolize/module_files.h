/* SPDX-License-Identifier: MIT */
/*
 * The ELF files of modules, and the tables read from them.
 *
 * One file may have several modules, because of hard links, bind mounts and other mount namespaces.
 * A file is identified by device, inode, size and time of change, as reported by fstat(2). Its
 * tables are loaded once and shared by its modules.
 *
 * Files belong to others: they are opened, read and closed through a bounded_caller, and memory for
 * tables comes from its budget (table_quota.h), which also counts files whose tables could not be
 * loaded in time.
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

/* A table of a file, loaded at most once; takes `bytes` of memory. */
struct file_table {
	bool was_tried;
	uint64_t bytes;
};

struct module_file {
	struct file_id id;
	int fd;                /* -1: not kept open */
	int debug_fd;          /* its debug file in a process's root folder; -1: none */
	char *build_id;        /* known once syms were loaded; in hexadecimal; NULL: none */
	struct elf_syms *syms; /* NULL: not loaded, or none; the same for those below */
	const char *
		*names; /* bench_naming.c's name of each symbol, or NULL so far; by symbol index */
	struct elf_cfi *cfi;
	struct dwarf *dwarf;
	bool is_unread; /* its dwarf_unread was counted */
	struct file_table tables[TABLE_KINDS];
};

struct module_files {
	RECORD_SET(struct module_file);
	uint32_t open;                /* descriptors kept open */
	struct bounded_caller *calls; /* borrowed */
	struct table_quota *quota;    /* of `calls` */
};

void module_files_init(struct module_files *files, struct bounded_caller *calls);
void module_files_release(struct module_files *files);

/*
 * Finds or adds the ELF file open as `fd`, with this status. Returns its position in the list,
 * which is permanent; or -ENOMEM. Takes the descriptor, and keeps it open if there are not too
 * many.
 */
int64_t module_files_add(struct module_files *files, int fd, const struct stat *st);

/* Takes a descriptor of the file's debug file (process_debug.h), and keeps it if there is room. */
void module_files_add_debug(struct module_files *files, struct module_file *file, int debug_fd);

/* The path of a file, and its device as mapped. */
struct file_place {
	uint64_t device;
	const char *path;
};

/* Returns whether a file of the same path with this status is `file`, unchanged. */
bool module_file_is(const struct module_file *file, const struct stat *st);

/*
 * Loads one kind of table, once: sets `file`'s syms and names, or cfi, or dwarf; they stay NULL on
 * failure. `fd` is a descriptor of the file, and is closed; negative: only the one that is kept.
 * That one is closed with the symbols, which are loaded last. Nothing is loaded from a device that
 * has blocked.
 */
void module_file_load(struct module_files *files, struct module_file *file, enum table_kind kind,
		      int fd, const struct file_place *place);

/*
 * Runs a job that reads the file, of which it gets a descriptor; `fd`, and what is read from no
 * more: as above. Returns what bounded_call does, with the job; -EBADF: there is no descriptor, and
 * the caller keeps the job.
 */
int module_file_call(struct module_files *files, struct module_file *file, int fd, uint64_t device,
		     struct bounded_job *job);

/* Frees syms, names and dwarf, which can be loaded again. */
void module_file_free_names(struct module_files *files, struct module_file *file);

/* Frees all files' cfi, which can be loaded again. */
void module_files_free_cfi(struct module_files *files);

/* Functions inlined at several addresses. */
struct inlined_names {
	char **names;     /* malloc'd, one address after the other, outermost first; may be NULL */
	uint32_t *counts; /* the number of names of each address */
	uint32_t count, capacity; /* of names */
	/* the files that define them, and before those of an address that of the function that they
	 * are inlined into; absolute, or relative to where the program was compiled, which is
	 * before the first "/./" if it is known: "/home/me/proj/./src/x.c"; NULL: unknown. There
	 * are `count` and one for each address */
	const char **sources;
	uint32_t source_count, source_capacity;
	struct intern paths; /* owns them */
};

/*
 * Finds the functions inlined at `addresses` (of the file), preferably in order, without the
 * functions that they are inlined into. True and `*found`, which the caller releases.
 */
bool module_file_find_inlined(struct module_files *files, struct module_file *file,
			      const uint64_t *addresses, uint32_t count,
			      struct inlined_names *found);
void inlined_names_release(struct inlined_names *found);

#endif
