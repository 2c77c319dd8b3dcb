/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolize/address_space.h"
#include "symbolize/cfi_rows.h"
#include "symbolize/code_bytes.h"
#include "symbolize/maps.h"
#include "symbolize/modules.h"
#include "symbolize/moved_text.h"
#include "symbolize/frame_naming.h"
#include "symbolize/symbolizer_cfi.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/sorted.h"

/* End of user addresses that are canonical on x86-64, with five page-table levels or four. */
#define USER_ADDRESS_END (UINT64_C(1) << 56)

#define SCAN_HINTS 4096u /* a power of two */

_Static_assert(sizeof(struct code_ref) == 16, "code_ref is compared as bytes");

struct symbolizer {
	struct bounded_caller *calls; /* runs calls that may block */
	struct modules modules;
	struct moved_text moved_text;
	struct cfi_rows cfi_rows;
	struct cfi_row generated_row; /* row of generated code; rows of files are cached */
	struct code_bytes code_bytes;
	struct scan_hint *scan_hints; /* NULL: none yet */
	struct naming naming;
	uint64_t time_ns; /* time of the code that is located; 0: now */
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
	s->modules.files.quota->shared_used = used;
	s->modules.files.quota->shared_most = most;
}

/* ---- address spaces ---- */

static struct map_entry entry_of(const struct code_mapping *mapping)
{
	return (struct map_entry){
		.start = mapping->start, .end = mapping->end, .file_offset = mapping->file_offset};
}

/* Inserts a mapping. `near`: a mapping of the file whose text it may be; NULL: the table tells. */
static int insert(struct symbolizer *s, const struct address_space *space, struct map_table **maps,
		  const struct code_mapping *mapping, const struct code_mapping *near)
{
	struct map_entry entry = entry_of(mapping), near_entry;
	int err;

	if (mapping->start >= mapping->end)
		return -EINVAL;
	if (jit_code_is_dump(mapping->path))
		jit_code_note_dump(&s->naming.jits, space->id, space->pid, mapping);
	err = modules_add(&s->modules, mapping, &entry.module);
	if (near) {
		near_entry = entry_of(near);
		if (modules_add(&s->modules, near, &near_entry.module) == 0)
			moved_text_set_near(&entry, &near_entry);
	} else {
		moved_text_expect(*maps, &entry);
	}
	if ((*maps)->capacity == 0)
		(*maps)->quota = bounded_caller_budget(s->calls);
	return err ? err : map_table_insert(maps, entry);
}

int symbolizer_map(struct symbolizer *s, struct address_space *space,
		   const struct code_mapping *mapping)
{
	if (!space->is_complete) {
		/* earlier mappings are unknown unless they can be read */
		int err = symbolizer_snapshot(s, space);

		if (err == -ENOMEM || err == -ENOSPC)
			return err;
		space->is_complete = true;
	}
	return insert(s, space, &space->maps, mapping, NULL);
}

/* Inserts all executable lines; keeps what fits if the table is full. Returns 0 or -ENOMEM. */
static int insert_lines(struct symbolizer *s, const struct address_space *space,
			struct map_table **maps, char *text)
{
	uint32_t count;
	struct maps_line *lines = moved_text_read_lines(text, &count);
	int err = lines ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < count; i++) {
		const struct maps_line *near;

		if (!lines[i].is_executable)
			continue;
		near = moved_text_near_line(lines, count, i);
		if (insert(s, space, maps, &lines[i].mapping, near ? &near->mapping : NULL) ==
		    -ENOMEM)
			err = -ENOMEM;
	}
	free(lines);
	return err;
}

int symbolizer_snapshot(struct symbolizer *s, struct address_space *space)
{
	struct map_table *maps = map_table_new();
	char *text = NULL;
	size_t size;
	int err = -ENOMEM;

	if (maps)
		err = proc_file_read(s->calls, space->pid, "maps", PROC_FILE_MAX_MAPS, &text,
				     &size);
	if (!err)
		err = insert_lines(s, space, &maps, text);
	free(text);
	/* An ending process has no mappings any more; its last ones are still useful. */
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

void symbolizer_set_memory_opener(struct symbolizer *s, int (*open)(void *context, pid_t pid),
				  void *context)
{
	s->moved_text.open_memory = open;
	s->moved_text.memory_context = context;
}

/* ---- locating ---- */

static const struct map_entry *find_mapping(struct symbolizer *s, struct address_space *space,
					    uint64_t address)
{
	const struct map_entry *entry = map_table_find(space->maps, address);

	if (entry || address >= USER_ADDRESS_END || !address_space_may_snapshot(space))
		return entry;
	symbolizer_snapshot(s, space);
	/* after a failure, too: the next attempt has to wait */
	entry = map_table_find(space->maps, address);
	address_space_snapshot_done(space, entry != NULL);
	return entry;
}

/* Returns the entry at `address`, as one of a file if it is moved text of a file. */
static struct map_entry find_moved(struct symbolizer *s, struct address_space *space,
				   const struct map_entry *entry, uint64_t address)
{
	struct map_entry found, *state = map_table_edit(space->maps, entry);

	switch (moved_text_find(&s->moved_text, &s->modules, space->pid, entry, address, &found)) {
	case MOVED_TEXT_IS_OF_FILE:
		map_table_insert(&space->maps, found); /* without memory the text is found again */
		return found;
	case MOVED_TEXT_IS_ELSEWHERE: /* replacements of the mapping need no comparison */
		state->near_module = 0;
		return *state;
	default:
		state->near_tries++;
		return *state;
	}
}

/* Locates an address in an entry; generated code by its address alone (jit_code_locate). */
static struct code_ref place_in(const struct address_space *space, const struct map_entry *entry,
				uint32_t module, uint64_t address)
{
	struct code_ref ref = {.module = module};

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

/* Returns whether `entry`, of the space's table, is to be compared with a file. */
static bool may_be_moved(struct symbolizer *s, const struct address_space *space,
			 const struct map_entry *entry)
{
	if (!entry->near_module || entry->near_tries >= MOVED_TEXT_MAX_TRIES)
		return false;
	if (modules_is_code_in_memory(&s->modules, entry->module))
		return true;
	modules_pin(&s->modules, space->pid, entry);
	return !modules_has_file(&s->modules, entry->module);
}

static struct code_ref find_in_entry(struct symbolizer *s, struct address_space *space,
				     const struct map_entry *entry, uint64_t address)
{
	struct map_entry moved;

	if (may_be_moved(s, space, entry)) {
		moved = find_moved(s, space, entry, address);
		entry = &moved;
	}
	return place_in(space, entry, modules_pin(&s->modules, space->pid, entry), address);
}

static uint64_t time_of(const struct symbolizer *s)
{
	return s->time_ns ? s->time_ns : monotonic_ns();
}

static struct code_ref name_generated(struct symbolizer *s, const struct address_space *space,
				      struct code_ref ref)
{
	if (ref.module == MODULE_JIT)
		ref.offset = jit_code_locate(&s->naming.jits, space->id, space->pid, ref.offset,
					     time_of(s));
	return ref;
}

static struct code_ref locate_in_entry(struct symbolizer *s, struct address_space *space,
				       const struct map_entry *entry, uint64_t address)
{
	return name_generated(s, space, find_in_entry(s, space, entry, address));
}

void symbolizer_set_time(struct symbolizer *s, uint64_t time_ns)
{
	s->time_ns = time_ns;
}

struct code_ref symbolizer_locate(struct symbolizer *s, struct address_space *space,
				  uint64_t address)
{
	const struct map_entry *entry = find_mapping(s, space, address);

	return entry ? locate_in_entry(s, space, entry, address)
		     : (struct code_ref){.module = MODULE_UNKNOWN};
}

/*
 * Returns whether the file that was reported for `known` still has its text in `mapping`, which is
 * memory. Returns true if the process cannot be asked.
 */
static bool is_still_text(struct symbolizer *s, const struct address_space *space,
			  const struct code_mapping *mapping, const struct map_entry *known,
			  uint64_t address)
{
	struct map_entry entry = entry_of(mapping), found;
	struct map_entry *state = map_table_edit(space->maps, known);

	if (state->near_tries >= MOVED_TEXT_MAX_TRIES || state->near_is_confirmed)
		return state->near_is_confirmed;
	moved_text_set_near(&entry, known);
	switch (moved_text_find(&s->moved_text, &s->modules, space->pid, &entry, address, &found)) {
	case MOVED_TEXT_IS_OF_FILE:
		state->near_is_confirmed = 1;
		return true;
	case MOVED_TEXT_IS_UNKNOWN:
		state->near_is_confirmed = ++state->near_tries == MOVED_TEXT_MAX_TRIES;
		return true;
	default:
		state->near_tries = MOVED_TEXT_MAX_TRIES;
		return false;
	}
}

/*
 * Locates an address in memory without a file, as the process describes it. Reported mappings may
 * tell more: which file's text was there, or is around.
 */
static bool locate_moved(struct symbolizer *s, struct address_space *space,
			 const struct code_mapping *mapping, uint64_t address, struct code_ref *ref)
{
	bool has_reports = space->maps->count > 0 || !space->is_complete;
	const struct map_entry *known = has_reports ? find_mapping(s, space, address) : NULL;

	if (!known)
		return false;
	modules_pin(&s->modules, space->pid, known);
	if (!modules_has_file(&s->modules, known->module)) {
		*ref = find_in_entry(s, space, known, address);
		return ref->module >= MODULES_FIRST;
	}
	if (!is_still_text(s, space, mapping, known, address))
		return false;
	*ref = place_in(space, known, known->module, address);
	return true;
}

struct code_ref symbolizer_locate_in(struct symbolizer *s, struct address_space *space,
				     const struct code_mapping *mapping, uint64_t address)
{
	struct map_entry entry = entry_of(mapping);
	struct code_ref ref;

	if (modules_add(&s->modules, mapping, &entry.module) != 0)
		return (struct code_ref){.module = MODULE_UNKNOWN};
	if (modules_is_code_in_memory(&s->modules, entry.module) &&
	    locate_moved(s, space, mapping, address, &ref))
		return ref;
	return locate_in_entry(s, space, &entry, address);
}

/* Returns the byte before a return address: a call may be the last instruction of its function. */
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
	is_found =
		jit_code_find_row(&s->naming.jits, code.process, code.offset, time_of(s), row) == 0;
	s->cfi_rows.cost_left -= (uint32_t)smaller_of(s->cfi_rows.cost_left, row->cost);
	return is_found ? row : NULL;
}

bool symbolizer_has_text(struct symbolizer *s, const struct address_space *space,
			 const struct code_mapping *mapping, uint64_t hash)
{
	struct map_entry entry = entry_of(mapping);

	return modules_add(&s->modules, mapping, &entry.module) != 0 ||
	       moved_text_check(&s->moved_text, &s->modules, space->pid, &entry, hash) !=
		       MOVED_TEXT_IS_OTHER;
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
	const struct elf_cfi *cfi = cfi_rows_tables(&s->cfi_rows, &s->modules, code.module);

	return cfi ? elf_cfi_find_bounds(cfi, code.offset) : (struct cfi_bounds){.end = UINT64_MAX};
}

bool symbolizer_cfi_symbol(struct symbolizer *s, struct code_ref code, uint64_t *start)
{
	const struct elf_cfi *cfi = cfi_rows_tables(&s->cfi_rows, &s->modules, code.module);

	return cfi && elf_cfi_find_symbol(cfi, code.offset, start);
}

bool symbolizer_cfi_is_entry(struct symbolizer *s, struct code_ref code)
{
	const struct elf_cfi *cfi = cfi_rows_tables(&s->cfi_rows, &s->modules, code.module);

	return cfi && elf_cfi_is_entry(cfi, code.offset);
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

const char *const *symbolizer_sources(const struct symbolizer *s)
{
	return s->naming.sources;
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

void symbolizer_set_kernel_names(struct symbolizer *s, symbolizer_kernel_name find, void *context)
{
	s->naming.kernel_name = find;
	s->naming.kernel_context = context;
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

static const char *first_path(const struct modules *modules, const struct module_loss *loss)
{
	return loss->count ? modules_path(modules, loss->first) : NULL;
}

struct symbolizer_stats symbolizer_stats(const struct symbolizer *s)
{
	const struct modules *modules = &s->modules;

	return (struct symbolizer_stats){
		.mangled = demangler_count_slow(s->naming.demangler),
		.refused = modules->files.quota->refused,
		.refused_frames = s->naming.jits.refused_frames,
		.stuck = bounded_caller_count_stuck(s->calls),
		.unreadable = modules->unreadable.count,
		.unreadable_path = first_path(modules, &modules->unreadable),
		.absent = modules->absent.count,
		.absent_path = first_path(modules, &modules->absent),
		.unread = modules->unread.count,
		.unread_path = first_path(modules, &modules->unread),
		.unread_kind = modules->unread_kind,
	};
}
