/* SPDX-License-Identifier: MIT */
/*
 * Limits what the library may use in one run: memory, reading, CPU time and waiting.
 *
 * Its input comes from the target: ELF files, debug files, perf maps, names. A hostile target can
 * make each of them as large, many and slow as it likes. Exceeding a limit is never fatal: names
 * are lost, and struct symbolizer_stats (symbolizer.h) counts the losses in the field named below.
 * Ordinary programs stay far below the limits, with the exceptions noted.
 *
 * Together the limits keep the library below about 440 MiB: 256 for tables, 64 for mappings, 64 for
 * names, 8 for places of inlined functions, 24 for mapped files. Tables and mappings may share
 * theirs with the caller's data (symbolizer_share_memory). Code locations to be named come on top,
 * 64 bytes each.
 */
#ifndef SYMBOLIZE_UTIL_TABLE_QUOTA_H
#define SYMBOLIZE_UTIL_TABLE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- tables of files and of perf maps; past a limit they are not loaded: `refused` ---- */

/*
 * Bytes read and tables built for one file and one kind (symbols, call frames, inlined functions,
 * CUDA functions, CPython). If a file's own symbols are too large, only its dynamic symbols are
 * loaded. That happens with debug builds of browsers, which have 500 MB of names. A symbol costs
 * about 150 bytes while its table is built.
 */
#define TABLE_QUOTA_FILE_BYTES (UINT64_C(192) << 20)
/* All tables in memory at one time. */
#define TABLE_QUOTA_RESIDENT_BYTES (UINT64_C(256) << 20)
/* Bytes loaded in one run, also if freed again. */
#define TABLE_QUOTA_RUN_BYTES (UINT64_C(2) << 30)

/* ---- ELF files: elf_file.h, dwarf.h, debug_file.h; past a limit: as if it were not there ---- */

#define ELF_FILE_MAX_SEGMENTS 4096u
#define ELF_FILE_MAX_NOTES (UINT64_C(4) << 20)          /* bytes of all notes */
#define ELF_FILE_MAX_SECTION_NAMES (UINT64_C(16) << 20) /* bytes */
#define DEBUGDATA_MEMORY (UINT64_C(32) << 20)           /* unpacking .gnu_debugdata */
#define DEBUG_FILE_MAX_CHECKED (INT64_C(1) << 30)       /* a file read for its checksum */
#define DEBUG_FILE_MAX_EARLY (INT64_C(64) << 20) /* a checksum computed while the command runs */
#define DEBUGINFOD_RUN_MS 30000                  /* all queries of a run */

#define DWARF_MAX_DEPTH 64 /* inlined at one address; the deepest has the rest */
#define DWARF_MAX_NESTING 256
#define DWARF_MAX_UNITS (1u << 20)
#define DWARF_MAX_RANGES (1u << 20) /* per unit, and for all units together */

/* ---- mappings of all processes together: maps.h; past the limit: -ENOSPC ---- */

#define MAPS_MAX_BYTES (UINT64_C(64) << 20)

/* ---- mapped files: modules.h; past a limit their code is MODULE_UNKNOWN ---- */

#define MODULES_MAX 65536
#define MODULES_MAX_PATH_BYTES (UINT64_C(16) << 20) /* all paths */
#define MODULES_MAX_OPEN 512    /* files kept open; others are reopened when names need them */
#define MODULES_MAX_ATTEMPTS 16 /* attempts to open one file */

/* ---- perf maps, jitdumps and kernel functions ---- */

#define JIT_MAX_FOLDERS 64 /* folders of perf maps, kept open; maps in others are not found */
#define JIT_MAX_DUMPS 256  /* files kept open; others are not found */
#define JITDUMP_MAX_CODES (1u << 20)
#define JITDUMP_MAX_PAGES 4096 /* pages of one function; the rest of it has no name */
#define JITDUMP_MAX_STEPS 4096 /* codes at one page, newest first, that a lookup visits */
#define JITDUMP_MAX_BYTES (UINT64_C(4) << 30) /* bytes of the file, most of which are skipped */
/* call-frame information in jitdumps (jit_frames.h); past a limit unused: `refused_frames` */
#define JIT_FRAMES_MAX_RECORD (1u << 20) /* one record */
#define JIT_FRAMES_MAX_BYTES (64u << 20) /* one file */
#define PERF_MAP_MAX_BYTES (64u << 20)
#define PERF_MAP_MAX_LINES (1u << 20)
#define PERF_MAP_MAX_NAME 4096
#define KSYMS_MAX_BYTES (256u << 20) /* trusted: written by the kernel */
#define KSYMS_MAX_FUNCTION (1u << 20)

/* ---- text that programs have moved: moved_text.h; past the limit it is [jit] ---- */

#define MOVED_TEXT_MAX_MISSES 4096u  /* failed comparisons, of some 50 us each */
#define MOVED_TEXT_MAX_CHECKS 16384u /* checked claims of processes; others are believed */

/* ---- names: past a limit a name is that of its file, "[libfoo.so]" ---- */

#define NAME_MAX_BYTES 65536                  /* longer ones are cut */
#define NAMES_MAX_TEXT (UINT64_C(64) << 20)   /* all names, with the data beside each */
#define NAMES_MAX_INLINED (UINT32_C(1) << 20) /* inlined functions at all places */

/* ---- demangle.h; past a limit the name stays mangled: `mangled` ---- */

#define DEMANGLE_MAX_INPUT 16384  /* bytes of a symbol */
#define DEMANGLE_MAX_OUTPUT 65536 /* bytes of a name: a short symbol can stand for gigabytes */
/* CPU time. A symbol of 30 bytes can keep a demangler busy for years; ordinary ones take 3 us. */
#define DEMANGLE_NAME_MS 50  /* one name */
#define DEMANGLE_RUN_MS 2000 /* all names of a run */

/* ---- pages of code that are read to tell calls from other code (code_bytes.h); past the limit:
 * stacks are cut at code without call-frame information ---- */

#define CODE_BYTES_MAX_PAGES (1u << 18) /* reads in one run, also again after eviction: 1 GiB */

/* ---- calls that may block: bounded_call.h; past a limit they are refused: `stuck` ---- */

#define BOUNDED_CALL_MAX_ABANDONED 8 /* threads that never returned */
#define BOUNDED_CALL_RUN_MS 60000    /* all calls of a run */
#define BOUNDED_CALL_OPEN_MS 2000    /* opening a file, or reading one of /proc */
#define BOUNDED_CALL_LOAD_MS 10000   /* loading a file's tables */

/* ---- counting bytes ---- */

/*
 * The share of one load. The loader takes bytes before it allocates or reads them, and returns the
 * bytes of memory that it frees. If the loader is abandoned (bounded_call.h), its share is closed:
 * it gets no more, and its bytes stay taken. Two threads may use only this structure at once.
 */
struct quota_share {
	_Atomic uint64_t left;    /* bytes; the highest bit: closed */
	_Atomic uint64_t total;   /* bytes ever taken */
	_Atomic bool was_refused; /* a request was refused */
	uint64_t given;           /* initial `left` */
};

void quota_share_open(struct quota_share *share, uint64_t bytes);

/*
 * Takes bytes. Returns false, and takes none, if there are not enough. A NULL share has no limit.
 */
bool quota_share_take(struct quota_share *share, uint64_t bytes);

/* Returns bytes that were taken. */
void quota_share_return(struct quota_share *share, uint64_t bytes);

/* Closes the share. Returns how many bytes stay taken. */
uint64_t quota_share_close(struct quota_share *share);

/*
 * The remaining quota of a run. Tables may share their memory with the caller's data: then
 * `*shared_used` counts the bytes of both, at most `shared_most`.
 */
struct table_quota {
	uint64_t resident_left;
	uint64_t run_left;
	uint64_t maps_left;
	size_t *shared_used; /* NULL: not shared */
	size_t shared_most;
	uint64_t refused; /* loads that were refused, or incomplete */
};

void table_quota_open(struct table_quota *quota);

/* Opens a share of at most `most` bytes. */
void table_quota_lend(const struct table_quota *quota, struct quota_share *share, uint64_t most);

/*
 * Settles a share. `keeps`: its bytes stay in memory (a loaded table, an abandoned loader). Returns
 * how many bytes stay, for table_quota_free.
 */
uint64_t table_quota_settle(struct table_quota *quota, struct quota_share *share, bool keeps);

/* Frees the bytes that table_quota_settle returned. */
void table_quota_free(struct table_quota *quota, uint64_t bytes);

/* Takes bytes for mappings of processes. Returns false, and takes none, if there are not enough. */
bool table_quota_take_maps(struct table_quota *quota, uint64_t bytes);
void table_quota_free_maps(struct table_quota *quota, uint64_t bytes);

#endif
