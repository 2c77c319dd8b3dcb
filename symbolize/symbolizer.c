/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolize/address_space.h"
#include "symbolize/cfi_rows.h"
#include "symbolize/code_bytes.h"
#include "symbolize/maps.h"
#include "symbolize/modules.h"
#include "symbolize/naming.h"
#include "symbolize/symbolizer_cfi.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/proc_file.h"

/* From here on no user address is canonical on x86-64, with five page-table levels or four. */
#define USER_ADDRESS_END (UINT64_C(1) << 56)

#define SCAN_HINTS 4096u /* a power of two */

_Static_assert(sizeof(struct code_ref) == 16, "code_ref is compared as bytes");

struct symbolizer {
	struct bounded_caller *calls; /* for calls that may block */
	struct modules modules;
	struct cfi_rows cfi_rows;
	struct cfi_row generated_row; /* of generated code; rows of files are cached */
	struct code_bytes code_bytes;
	struct scan_hint *scan_hints; /* NULL: none yet */
	struct naming naming;
};

struct symbolizer *symbolizer_new(void)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	if (!s->calls) {
		free(s);
		return NULL;
	}
	modules_init(&s->modules, s->calls);
	if (naming_init(&s->naming, &s->modules) != 0) {
		symbolizer_free(s);
		return NULL;
	}
	return s;
}

static void release_unwinding(struct symbolizer *s)
{
	cfi_rows_release(&s->cfi_rows);
	code_bytes_release(&s->code_bytes);
	free(s->scan_hints);
	s->scan_hints = NULL;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	release_unwinding(s);
	naming_release(&s->naming);
	modules_release(&s->modules);
	bounded_caller_free(s->calls);
	free(s);
}

void symbolizer_share_memory(struct symbolizer *s, size_t *used, size_t most)
{
	s->modules.files.budget->shared_used = used;
	s->modules.files.budget->shared_most = most;
}

/* ---- address spaces ---- */

static int insert(struct symbolizer *s, const struct address_space *space, struct map_table **maps,
		  const struct code_mapping *mapping)
{
	struct map_entry entry = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
	};
	int err;

	if (mapping->start >= mapping->end)
		return -EINVAL;
	if (jit_code_is_dump(mapping->path))
		jit_code_note_dump(&s->naming.jits, space->id, space->pid, mapping);
	err = modules_add(&s->modules, mapping, &entry.module);
	if ((*maps)->capacity == 0)
		(*maps)->budget = bounded_caller_budget(s->calls);
	return err ? err : map_table_insert(maps, entry);
}

int symbolizer_map(struct symbolizer *s, struct address_space *space,
		   const struct code_mapping *mapping)
{
	if (!space->is_complete) {
		/* its earlier mappings are unknown unless they can be read */
		int err = symbolizer_snapshot(s, space);

		if (err == -ENOMEM || err == -ENOSPC)
			return err;
		space->is_complete = true;
	}
	return insert(s, space, &space->maps, mapping);
}

int symbolizer_snapshot(struct symbolizer *s, struct address_space *space)
{
	struct map_table *maps = map_table_new();
	struct code_mapping mapping;
	char *text = NULL, *rest;
	size_t size;
	int err = -ENOMEM;

	if (maps)
		err = proc_file_read(s->calls, space->pid, "maps", PROC_FILE_MAX_MAPS, &text,
				     &size);
	/* when the table is full, keep what fits */
	for (rest = text; !err && maps_next(&rest, &mapping);)
		err = insert(s, space, &maps, &mapping) == -ENOMEM ? -ENOMEM : 0;
	free(text);
	/* A process that is ending has no mappings any more; its last ones are still useful. */
	if (err == -ENOENT || (!err && maps->count == 0))
		err = -ESRCH;
	if (err) {
		map_table_drop(maps);
		return err;
	}
	map_table_drop(space->maps);
	space->maps = maps;
	space->is_complete = true;
	return 0;
}

/* ---- locating ---- */

static const struct map_entry *find_mapping(struct symbolizer *s, struct address_space *space,
					    uint64_t address)
{
	const struct map_entry *entry = map_table_find(space->maps, address);

	if (entry || address >= USER_ADDRESS_END || !address_space_may_snapshot(space))
		return entry;
	symbolizer_snapshot(s, space);
	/* even after a failure: the next attempt has to wait */
	entry = map_table_find(space->maps, address);
	address_space_snapshot_done(space, entry != NULL);
	return entry;
}

/* Generated code is located by its address alone; see naming_locate_jit. */
static struct code_ref find_in_entry(struct symbolizer *s, const struct address_space *space,
				     const struct map_entry *entry, uint64_t address)
{
	struct code_ref ref = {.module = modules_pin(&s->modules, space->pid, entry)};

	if (ref.module == MODULE_JIT) {
		ref.process = space->id;
		ref.offset = address;
	} else if (ref.module == MODULE_VDSO) {
		ref.offset = address - entry->start;
	} else {
		ref.offset = address - entry->start + entry->file_offset;
	}
	return ref;
}

static struct code_ref locate_in_entry(struct symbolizer *s, const struct address_space *space,
				       const struct map_entry *entry, uint64_t address)
{
	struct code_ref ref = find_in_entry(s, space, entry, address);

	if (ref.module == MODULE_JIT)
		ref.offset = naming_locate_jit(&s->naming, space->id, space->pid, address);
	return ref;
}

void symbolizer_set_time(struct symbolizer *s, uint64_t time_ns)
{
	s->naming.time_ns = time_ns;
}

struct code_ref symbolizer_locate(struct symbolizer *s, struct address_space *space,
				  uint64_t address)
{
	const struct map_entry *entry = find_mapping(s, space, address);

	return entry ? locate_in_entry(s, space, entry, address)
		     : (struct code_ref){.module = MODULE_UNKNOWN};
}

struct code_ref symbolizer_locate_in(struct symbolizer *s, const struct address_space *space,
				     const struct code_mapping *mapping, uint64_t address)
{
	struct map_entry entry = {
		.start = mapping->start, .end = mapping->end, .file_offset = mapping->file_offset};

	if (modules_add(&s->modules, mapping, &entry.module) != 0)
		return (struct code_ref){.module = MODULE_UNKNOWN};
	return locate_in_entry(s, space, &entry, address);
}

/* The byte before a return address: a call may be the last instruction of its function. */
static struct code_ref byte_of(struct code_ref ref, bool is_return_address)
{
	if (is_return_address && ref.offset > 0)
		ref.offset--;
	return ref;
}

static const struct cfi_row *row_of_generated(struct symbolizer *s, struct code_ref code)
{
	struct cfi_row *row = &s->generated_row;
	bool is_found;

	if (s->cfi_rows.cost_left == 0)
		return NULL;
	is_found = naming_find_jit_row(&s->naming, code.process, code.offset, row) == 0;
	s->cfi_rows.cost_left -=
		s->cfi_rows.cost_left < row->cost ? s->cfi_rows.cost_left : row->cost;
	return is_found ? row : NULL;
}

const struct cfi_row *symbolizer_cfi_row(struct symbolizer *s, struct code_ref code,
					 bool is_return_address)
{
	if (code.module == MODULE_JIT)
		return row_of_generated(s, byte_of(code, is_return_address));
	return cfi_rows_find(&s->cfi_rows, &s->modules, code, is_return_address);
}

void symbolizer_allow_rows(struct symbolizer *s, uint32_t most)
{
	s->cfi_rows.cost_left = most;
}

bool symbolizer_has_rows(const struct symbolizer *s)
{
	return s->cfi_rows.cost_left > 0;
}

struct cfi_bounds symbolizer_cfi_bounds(struct symbolizer *s, struct code_ref code)
{
	return cfi_rows_find_bounds(&s->cfi_rows, &s->modules, code);
}

bool symbolizer_cfi_symbol(struct symbolizer *s, struct code_ref code, uint64_t *start)
{
	return cfi_rows_find_symbol(&s->cfi_rows, &s->modules, code, start);
}

bool symbolizer_cfi_is_entry(struct symbolizer *s, struct code_ref code)
{
	return cfi_rows_is_entry(&s->cfi_rows, &s->modules, code);
}

bool symbolizer_find_code(struct symbolizer *s, struct address_space *space, uint64_t address,
			  struct code_ref *code)
{
	const struct map_entry *entry = map_table_find(space->maps, address);

	if (entry)
		*code = find_in_entry(s, space, entry, address);
	return entry != NULL;
}

bool symbolizer_read_code(struct symbolizer *s, struct code_ref code, uint8_t *to, size_t size)
{
	return code_bytes_read(&s->code_bytes, &s->modules, code.module, code.offset, to, size);
}

void symbolizer_allow_code_reads(struct symbolizer *s, uint32_t most)
{
	s->code_bytes.reads_left = most;
}

struct scan_hint *symbolizer_scan_hint(struct symbolizer *s, struct code_ref callee)
{
	uint64_t hash = (callee.offset ^ (uint64_t)callee.module << 40) * 0x9e3779b97f4a7c15u;

	if (!s->scan_hints)
		s->scan_hints = calloc(SCAN_HINTS, sizeof(*s->scan_hints));
	return s->scan_hints ? &s->scan_hints[(hash >> 40) & (SCAN_HINTS - 1)] : NULL;
}

struct code_ref symbolizer_locate_kernel(struct symbolizer *s, uint64_t address)
{
	(void)s;
	return (struct code_ref){.module = MODULE_KERNEL, .offset = address};
}

/* ---- naming ---- */

const char *symbolizer_name(struct symbolizer *s, struct code_ref ref, bool is_return_address)
{
	return name_place(&s->naming, byte_of(ref, is_return_address));
}

uint32_t symbolizer_names(struct symbolizer *s, struct code_ref ref, bool is_return_address,
			  const char *const **names)
{
	return name_place_inlined(&s->naming, byte_of(ref, is_return_address), names);
}

void symbolizer_want_name(struct symbolizer *s, struct code_ref ref, bool is_return_address)
{
	want_name(&s->naming, byte_of(ref, is_return_address));
}

void symbolizer_name_wanted(struct symbolizer *s, bool with_inlined)
{
	release_unwinding(s);
	module_files_free_cfi(&s->modules.files);
	name_wanted(&s->naming, with_inlined);
}

void symbolizer_set_kallsyms(struct symbolizer *s, int fd)
{
	naming_set_kallsyms(&s->naming, fd);
}

struct bounded_caller *symbolizer_calls(struct symbolizer *s)
{
	return s->calls;
}

struct demangler *symbolizer_demangler(struct symbolizer *s)
{
	return s->naming.demangler;
}

const char *symbolizer_module_path(struct symbolizer *s, uint32_t module)
{
	return modules_path(&s->modules, module);
}

void symbolizer_describe(struct symbolizer *s, uint32_t index, struct code_mapping *mapping)
{
	const struct module *module = modules_get(&s->modules, index);

	*mapping = (struct code_mapping){.end = USER_ADDRESS_END, .path = ""};
	if (!module)
		return;
	mapping->dev_major = module->dev_major;
	mapping->dev_minor = module->dev_minor;
	mapping->inode = module->inode;
	mapping->path = module->path;
}

const char *symbolizer_build_id(struct symbolizer *s, uint32_t module)
{
	return modules_build_id(&s->modules, module);
}

struct symbolizer_stats symbolizer_stats(const struct symbolizer *s)
{
	const struct modules *modules = &s->modules;

	return (struct symbolizer_stats){
		.mangled = demangler_count_slow(s->naming.demangler),
		.refused = modules->files.budget->refused,
		.refused_frames = s->naming.jits.refused_frames,
		.stuck = bounded_caller_count_stuck(s->calls),
		.unreadable = modules->unreadable,
		.unreadable_path = modules->unreadable
					   ? modules_path(modules, modules->unreadable_first)
					   : NULL,
		.absent = modules->absent,
		.absent_path =
			modules->absent ? modules_path(modules, modules->absent_first) : NULL,
		.unread = modules->unread,
		.unread_path =
			modules->unread ? modules_path(modules, modules->unread_first) : NULL,
		.unread_kind = modules->unread_kind,
	};
}
