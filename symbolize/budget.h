/* SPDX-License-Identifier: MIT */
/*
 * What the library may spend on one run: memory, reading, CPU time and waiting.
 *
 * All that it reads comes from the target: ELF files, debug files, perf maps, names. A hostile
 * target can make each of them as large, as many and as slow as it likes, so there is a limit to
 * each. Nothing past a limit is fatal: it costs names, and struct symbolizer_stats (symbolizer.h)
 * counts what was lost, in the field named below. The limits are far from what programs have that
 * mean no harm; the exceptions are said.
 *
 * Together they keep the library below some 350 MiB, whatever it reads.
 */
#ifndef SYMBOLIZE_BUDGET_H
#define SYMBOLIZE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- tables of files and of perf maps; past a limit they are not loaded: `refused` ---- */

/*
 * Of one kind (symbols, call frames, inlined functions, CUDA functions, CPython) and one file: what
 * is read of it, and what is built from that. Where a file's own symbols are too much its dynamic
 * symbols are loaded alone; debug builds of browsers, with 500 MB of names, are such. A symbol
 * costs some 150 bytes while its table is built.
 */
#define BUDGET_FILE_BYTES (UINT64_C(192) << 20)
/* All tables that are in memory at one time. */
#define BUDGET_RESIDENT_BYTES (UINT64_C(256) << 20)
/* All that is loaded in one run, also if it is freed again. */
#define BUDGET_RUN_BYTES (UINT64_C(2) << 30)

/* ---- ELF files: elf_file.h, dwarf.h, debug_file.h; past a limit: as if it were not there ---- */

#define ELF_FILE_MAX_SEGMENTS 4096u
#define ELF_FILE_MAX_NOTES (UINT64_C(4) << 20)          /* bytes of all notes */
#define ELF_FILE_MAX_SECTION_NAMES (UINT64_C(16) << 20) /* bytes */
#define DEBUGDATA_MEMORY (UINT64_C(32) << 20)           /* to unpack .gnu_debugdata */
#define DEBUG_FILE_MAX_CHECKED (INT64_C(1) << 30)       /* read through for a checksum */
#define DEBUGINFOD_TIMEOUT_MS 10000

#define DWARF_MAX_DEPTH 64 /* inlined functions at one address; the deepest kept has the rest */
#define DWARF_MAX_NESTING 256
#define DWARF_MAX_UNITS (1u << 20)
#define DWARF_MAX_RANGES (1u << 20) /* of one unit, and of all units' own */

/* ---- mapped files: modules.h; past a limit their code is MODULE_UNKNOWN: `unnamed` ---- */

#define MODULES_MAX 262144
#define MODULES_MAX_PATH_BYTES (UINT64_C(32) << 20) /* all paths */
#define MODULES_MAX_OPEN 512    /* kept open; more are opened again when names are put in */
#define MODULES_MAX_ATTEMPTS 16 /* to open one file */

/* ---- perf maps and kernel functions ---- */

#define PERF_MAP_MAX_BYTES (64u << 20)
#define PERF_MAP_MAX_LINES (1u << 20)
#define PERF_MAP_MAX_NAME 4096
#define KSYMS_MAX_BYTES (256u << 20) /* the kernel wrote it */
#define KSYMS_MAX_FUNCTION (1u << 20)

/* ---- names: past a limit a name is that of its file, "[libfoo.so]": `unnamed` ---- */

#define NAME_MAX_BYTES 65536                  /* longer ones are cut */
#define NAMES_MAX_BYTES (UINT64_C(64) << 20)  /* the text of all names */
#define NAMES_MAX_INLINED (UINT32_C(4) << 20) /* inlined functions at all places */

/* ---- demangle.h; past a limit the name stays mangled: `mangled` ---- */

#define DEMANGLE_MAX_INPUT 16384  /* bytes of a symbol */
#define DEMANGLE_MAX_OUTPUT 65536 /* bytes of a name: a short symbol can stand for gigabytes */
/* CPU time. A symbol of 30 bytes can keep a demangler busy for years; ordinary ones take 3 us. */
#define DEMANGLE_NAME_MS 50  /* for one name */
#define DEMANGLE_RUN_MS 2000 /* for all names of a run, those within their limit, too */

/* ---- calls that may block: bounded_call.h; past a limit they are refused: `stuck` ---- */

#define BOUNDED_CALL_MAX_ABANDONED 8 /* threads that never came back */
#define BOUNDED_CALL_RUN_MS 60000    /* waited for all calls of a run */
#define BOUNDED_CALL_OPEN_MS 2000    /* waited for a file that is opened, or one of /proc */
#define BOUNDED_CALL_LOAD_MS 10000   /* waited for a file's tables */

/* ---- how the bytes are counted ---- */

/*
 * What one loading may take, handed to the loader: it takes bytes before it allocates or reads
 * them, and returns those of memory that it frees again. If the loader is abandoned
 * (bounded_call.h) its share is closed: then it gets no more, while what it has taken stays taken.
 * Of all that this header describes it alone may be used by two threads at once.
 */
struct budget_share {
	_Atomic uint64_t left;    /* the highest bit: closed */
	_Atomic uint64_t total;   /* ever taken */
	_Atomic uint64_t refused; /* asked for in vain */
	uint64_t given;           /* `left` at first */
};

void budget_share_open(struct budget_share *share, uint64_t bytes);

/* Takes bytes. False: there are not so many left, nothing is taken. A share of NULL has no limit.
 */
bool budget_take(struct budget_share *share, uint64_t bytes);

/* Gives back what was taken. */
void budget_return(struct budget_share *share, uint64_t bytes);

/* Closes the share and tells how many bytes are taken (not returned). */
uint64_t budget_share_close(struct budget_share *share);

/* What a whole run may still take. */
struct budget {
	uint64_t resident_left;
	uint64_t run_left;
	uint64_t refused; /* loadings that went without something, or did not begin */
	uint64_t refused_bytes;
};

void budget_open(struct budget *budget);

/* Opens a share of at most `most` bytes. */
void budget_lend(const struct budget *budget, struct budget_share *share, uint64_t most);

/*
 * Settles a share: `keeps` says whether what it took stays in memory (a table that was loaded, a
 * loader that was abandoned). Returns how many bytes stay, for budget_free.
 */
uint64_t budget_settle(struct budget *budget, struct budget_share *share, bool keeps);

/* The bytes that budget_settle returned are free again. */
void budget_free(struct budget *budget, uint64_t bytes);

#endif
