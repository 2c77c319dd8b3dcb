/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolizer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "symbolize/demangle.h"
#include "symbolize/dwarf.h"
#include "symbolize/elf_syms.h"
#include "symbolize/hash_index.h"
#include "symbolize/inline_names.h"
#include "symbolize/intern.h"
#include "symbolize/ksyms.h"
#include "symbolize/maps.h"
#include "symbolize/cfi_rows.h"
#include "symbolize/modules.h"
#include "symbolize/symbolizer_cfi.h"
#include "symbolize/perf_map.h"
#include "symbolize/processes.h"

/* Beyond it no user address is canonical on x86-64, with five page-table levels or four. */
#define USER_ADDRESS_END (UINT64_C(1) << 56)

_Static_assert(sizeof(struct code_ref) == 16, "code_ref is compared as bytes");

struct named_ref {
	struct code_ref ref;
	const char *name;
};

/* Code that one process made, by pid. */
struct jit {
	uint32_t pid;
	struct perf_map *map; /* NULL: there is none */
};

struct symbolizer {
	struct process_table processes;
	struct modules modules;
	struct cfi_rows cfi_rows;
	struct inline_names inlines;
	const char *chain[DWARF_MAX_DEPTH]; /* the last answer of symbolizer_names */
	struct intern names;
	struct symbolizer_stats stats;

	struct named_ref *refs; /* what has been named */
	uint32_t ref_count, ref_capacity;
	struct hash_index ref_index;

	struct jit *jits;
	uint32_t jit_count, jit_capacity;
	struct hash_index jit_index;

	/* Loaded when first needed; NULL also when that failed. */
	bool tried_ksyms, tried_vdso;
	struct ksyms *ksyms;
	struct elf_syms *vdso;
};

struct symbolizer *symbolizer_new(void)
{
	return calloc(1, sizeof(struct symbolizer));
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	process_table_release(&s->processes);
	modules_release(&s->modules);
	cfi_rows_release(&s->cfi_rows);
	inline_names_release(&s->inlines);
	intern_release(&s->names);
	free(s->refs);
	hash_index_release(&s->ref_index);
	for (uint32_t i = 0; i < s->jit_count; i++)
		perf_map_free(s->jits[i].map);
	free(s->jits);
	hash_index_release(&s->jit_index);
	ksyms_free(s->ksyms);
	elf_syms_free(s->vdso);
	free(s);
}

/* ---- address spaces ---- */

int symbolizer_fork(struct symbolizer *s, pid_t parent, pid_t child)
{
	struct process *from, *to;
	int err;

	if (parent == child)
		return 0; /* a new thread: perf reports those as forks too */
	/* An older process may have had the number, and its exit may have been lost. */
	process_table_remove(&s->processes, child);
	if (!process_table_find(&s->processes, parent))
		return 0; /* the child is read from /proc when an address of it comes */
	err = process_table_add(&s->processes, child, &to);
	if (err)
		return err;
	from = process_table_find(&s->processes, parent);
	map_table_drop(to->maps);
	to->maps = map_table_share(from->maps);
	return 0;
}

int symbolizer_exec(struct symbolizer *s, pid_t pid)
{
	struct process *process;

	process_table_remove(&s->processes, pid);
	return process_table_add(&s->processes, pid, &process);
}

static int insert(struct symbolizer *s, struct map_table **maps, const struct code_mapping *mapping)
{
	struct map_entry entry = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
	};
	int err;

	if (mapping->start >= mapping->end)
		return -EINVAL;
	err = modules_add(&s->modules, mapping, &entry.module);
	return err ? err : map_table_insert(maps, entry);
}

int symbolizer_map(struct symbolizer *s, pid_t pid, const struct code_mapping *mapping)
{
	struct process *process = process_table_find(&s->processes, pid);
	int err;

	if (!process) {
		/* What it mapped before this is not known, unless it can be read. */
		err = symbolizer_snapshot(s, pid);
		if (err == -ENOMEM || err == -ENOSPC)
			return err;
		err = process_table_add(&s->processes, pid, &process);
		if (err)
			return err;
	}
	return insert(s, &process->maps, mapping);
}

void symbolizer_exit(struct symbolizer *s, pid_t pid)
{
	process_table_remove(&s->processes, pid);
}

struct snapshot {
	struct symbolizer *s;
	struct map_table *maps;
};

static int visit_mapping(void *context, const struct code_mapping *mapping)
{
	struct snapshot *snapshot = context;
	int err = insert(snapshot->s, &snapshot->maps, mapping);

	/* Full: what fits is better than nothing. */
	return err == -ENOMEM ? err : 0;
}

int symbolizer_snapshot(struct symbolizer *s, pid_t pid)
{
	struct snapshot snapshot = {.s = s};
	struct process *process;
	char path[64];
	int err, fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	snapshot.maps = map_table_new();
	if (!snapshot.maps) {
		err = -ENOMEM;
		goto out;
	}
	err = maps_read(fd, visit_mapping, &snapshot);
	/* A process that is ending has no mappings any more; what it had is still of use. */
	if (!err && snapshot.maps->count == 0)
		err = -ESRCH;
	if (!err)
		err = process_table_add(&s->processes, pid, &process);
	if (err)
		goto out;
	map_table_drop(process->maps);
	process->maps = snapshot.maps;
	snapshot.maps = NULL;
out:
	map_table_drop(snapshot.maps);
	close(fd);
	return err;
}

/* ---- locating ---- */

static const struct map_entry *find_mapping(struct symbolizer *s, pid_t pid, uint64_t address)
{
	const struct map_entry *entry = NULL;
	struct process *process;

	process = process_table_find(&s->processes, pid);
	if (process) {
		entry = map_table_find(process->maps, address);
		if (entry || address >= USER_ADDRESS_END || !process_may_snapshot(process))
			return entry;
	}
	symbolizer_snapshot(s, pid);
	/* Also when that failed: the next attempt has to wait. */
	if (process_table_add(&s->processes, pid, &process) != 0)
		return NULL;
	entry = map_table_find(process->maps, address);
	process_snapshot_done(process, entry != NULL);
	return entry;
}

static struct code_ref locate_in_entry(struct symbolizer *s, pid_t pid,
				       const struct map_entry *entry, uint64_t address)
{
	struct code_ref ref = {.module = modules_pin(&s->modules, pid, entry)};

	if (ref.module == MODULE_JIT) {
		ref.process = (uint32_t)pid;
		ref.offset = address;
	} else if (ref.module == MODULE_VDSO) {
		ref.offset = address - entry->start;
	} else {
		ref.offset = address - entry->start + entry->file_offset;
	}
	return ref;
}

struct code_ref symbolizer_locate(struct symbolizer *s, pid_t pid, uint64_t address)
{
	const struct map_entry *entry = find_mapping(s, pid, address);

	return entry ? locate_in_entry(s, pid, entry, address)
		     : (struct code_ref){.module = MODULE_UNKNOWN};
}

struct code_ref symbolizer_locate_in(struct symbolizer *s, pid_t pid,
				     const struct code_mapping *mapping, uint64_t address)
{
	struct map_entry entry = {
		.start = mapping->start, .end = mapping->end, .file_offset = mapping->file_offset};

	if (modules_add(&s->modules, mapping, &entry.module) != 0)
		return (struct code_ref){.module = MODULE_UNKNOWN};
	return locate_in_entry(s, pid, &entry, address);
}

const struct cfi_row *symbolizer_cfi_row(struct symbolizer *s, struct code_ref code,
					 bool is_return_address)
{
	return cfi_rows_find(&s->cfi_rows, &s->modules, code, is_return_address);
}

struct code_ref symbolizer_locate_kernel(struct symbolizer *s, uint64_t address)
{
	(void)s;
	return (struct code_ref){.module = MODULE_KERNEL, .offset = address};
}

/* ---- naming ---- */

/* The symbol as people wrote it, interned; NULL when out of memory. */
static const char *readable(struct symbolizer *s, const char *symbol)
{
	char *name = demangle(symbol, DEMANGLE_FUNCTION);
	const char *result = name ? intern_string(&s->names, name) : NULL;

	free(name);
	return result;
}

static const char *name_of_kernel(struct symbolizer *s, uint64_t address)
{
	const char *symbol;

	if (!s->tried_ksyms) {
		s->tried_ksyms = true;
		ksyms_load(&s->ksyms);
	}
	symbol = s->ksyms ? ksyms_find(s->ksyms, address) : NULL;
	return symbol ? readable(s, symbol) : NULL;
}

/* The vDSO is one image for all processes of a kernel (of 64 bits), so ours has the names. */
static void load_vdso(struct symbolizer *s)
{
	const void *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = image;

	s->tried_vdso = true;
	if (!image || header->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	elf_syms_load_memory(image, header->e_shoff + (size_t)header->e_shnum * header->e_shentsize,
			     &s->vdso);
}

static const char *name_of_vdso(struct symbolizer *s, uint64_t offset)
{
	struct elf_symbol symbol;

	if (!s->tried_vdso)
		load_vdso(s);
	if (!s->vdso || !elf_syms_find(s->vdso, offset, &symbol))
		return NULL;
	return readable(s, symbol.name);
}

static bool is_jit_of(const void *records, uint32_t position, const void *key)
{
	const struct jit *jits = records;

	return jits[position].pid == *(const uint32_t *)key;
}

/* The perf map of a process, loaded on first use; NULL when it has none. */
static const struct perf_map *map_of(struct symbolizer *s, uint32_t pid)
{
	uint32_t hash = hash_bytes(&pid, sizeof(pid));
	uint32_t found = hash_index_find(&s->jit_index, hash, is_jit_of, s->jits, &pid);
	struct jit jit = {.pid = pid};

	if (found != HASH_INDEX_NONE)
		return s->jits[found].map;
	if (s->jit_count == s->jit_capacity) {
		uint32_t capacity = s->jit_capacity ? s->jit_capacity * 2 : 16;
		struct jit *bigger = realloc(s->jits, capacity * sizeof(*bigger));

		if (!bigger)
			return NULL;
		s->jits = bigger;
		s->jit_capacity = capacity;
	}
	if (hash_index_add(&s->jit_index, hash, s->jit_count) != 0)
		return NULL;
	perf_map_load((pid_t)pid, &jit.map);
	s->jits[s->jit_count++] = jit;
	return jit.map;
}

static const char *name_of_jit(struct symbolizer *s, struct code_ref ref)
{
	const struct perf_map *map = map_of(s, ref.process);
	const char *name = map ? perf_map_find(map, ref.offset) : NULL;

	return name ? intern_string(&s->names, name) : NULL;
}

static const char *name_of_plt(struct symbolizer *s, const char *target)
{
	const char *result = NULL;
	char *name;

	/* Here, not after demangling, since versions ("@@V") are cut there. */
	if (strlen(target) > DEMANGLE_MAX_INPUT || asprintf(&name, "%s@plt", target) < 0)
		return readable(s, target);
	result = readable(s, name);
	free(name);
	return result;
}

static const char *name_of_file(struct symbolizer *s, struct code_ref ref)
{
	struct module *module = modules_get(&s->modules, ref.module);
	struct elf_symbol symbol;
	const char **name;

	if (!module)
		return NULL;
	modules_load(&s->modules, module);
	if (!module->syms || !elf_syms_find(module->syms, ref.offset, &symbol))
		return NULL;
	name = &module->names[symbol.index];
	if (!*name)
		*name = symbol.is_plt ? name_of_plt(s, symbol.name) : readable(s, symbol.name);
	return *name;
}

static const char *find_name(struct symbolizer *s, struct code_ref ref)
{
	switch (ref.module) {
	case MODULE_UNKNOWN:
		return NULL;
	case MODULE_KERNEL:
		return name_of_kernel(s, ref.offset);
	case MODULE_VDSO:
		return name_of_vdso(s, ref.offset);
	case MODULE_JIT:
		return name_of_jit(s, ref);
	default:
		return name_of_file(s, ref);
	}
}

const char *symbolizer_module_path(struct symbolizer *s, uint32_t module)
{
	static const char *const fixed[] = {"[unknown]", "[kernel]", "[vdso]", "[jit]"};
	const struct module *file = modules_get(&s->modules, module);

	if (file)
		return file->path;
	return module < MODULES_FIRST ? fixed[module] : fixed[MODULE_UNKNOWN];
}

/* "[libfoo.so]": what stands for the functions without a symbol. */
static const char *bracketed(struct symbolizer *s, uint32_t module)
{
	const char *path = symbolizer_module_path(s, module);
	const char *slash = strrchr(path, '/'), *name;
	char *text;

	if (path[0] == '[')
		return modules_get(&s->modules, module) ? intern_string(&s->names, path) : path;
	if (asprintf(&text, "[%s]", slash ? slash + 1 : path) < 0)
		return NULL;
	name = intern_string(&s->names, text);
	free(text);
	return name;
}

static bool is_ref(const void *records, uint32_t position, const void *key)
{
	const struct named_ref *refs = records;

	return memcmp(&refs[position].ref, key, sizeof(struct code_ref)) == 0;
}

/* Best effort: without memory the next question for it costs more, and counts again. */
static void remember(struct symbolizer *s, uint32_t hash, struct named_ref named)
{
	if (s->ref_count == s->ref_capacity) {
		uint32_t capacity = s->ref_capacity ? s->ref_capacity * 2 : 1024;
		struct named_ref *bigger;

		if (capacity > UINT32_MAX / 2)
			return;
		bigger = realloc(s->refs, capacity * sizeof(*bigger));
		if (!bigger)
			return;
		s->refs = bigger;
		s->ref_capacity = capacity;
	}
	if (hash_index_add(&s->ref_index, hash, s->ref_count) == 0)
		s->refs[s->ref_count++] = named;
}

const char *symbolizer_name(struct symbolizer *s, struct code_ref ref, bool is_return_address)
{
	const char *name;
	uint32_t hash, found;

	if (is_return_address && ref.offset > 0)
		ref.offset--;
	hash = hash_bytes(&ref, sizeof(ref));
	found = hash_index_find(&s->ref_index, hash, is_ref, s->refs, &ref);
	if (found != HASH_INDEX_NONE)
		return s->refs[found].name;

	s->stats.named++;
	name = find_name(s, ref);
	if (!name) {
		s->stats.unnamed++;
		name = bracketed(s, ref.module);
	}
	if (!name)
		return "[unknown]";
	remember(s, hash, (struct named_ref){.ref = ref, .name = name});
	return name;
}

uint32_t symbolizer_names(struct symbolizer *s, struct code_ref ref, bool is_return_address,
			  const char *const **names)
{
	const char *const *inlined = NULL;
	uint32_t count = 0;

	if (is_return_address && ref.offset > 0)
		ref.offset--;
	if (ref.module >= MODULES_FIRST)
		count = inline_names_find(&s->inlines, &s->modules, &s->names, ref, &inlined);
	s->chain[0] = symbolizer_name(s, ref, false);
	for (uint32_t i = 0; i < count; i++)
		s->chain[i + 1] = inlined[i];
	*names = s->chain;
	return count + 1;
}

struct symbolizer_stats symbolizer_stats(const struct symbolizer *s)
{
	return s->stats;
}
