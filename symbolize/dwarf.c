/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/cfi_bytes.h"
#include "symbolize/elf_file.h"
#include "symbolize/line_files.h"
#include "symbolize/util/array.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/range_table.h"
#include "symbolize/util/text.h"

/*
 * maximum references to follow: from an inlined copy to the abstract function, its declaration, the
 * class
 */
#define MAX_REFERENCES 8

#define NO_SCOPE UINT32_MAX

/* A function, or an inlined copy of one. */
struct scope {
	Dwarf_Off entry;
	uint32_t outer;  /* scope of the caller; NO_SCOPE: not inlined */
	uint32_t depth;  /* 0: not inlined */
	bool has_source; /* `source` was looked up */
	struct source_place source;
};

struct unit {
	Dwarf_Off entry;
	bool was_read;
	struct scope *scopes;
	uint32_t scope_count, scope_capacity;
	struct range_table table; /* ids are positions in `scopes` */
};

enum { ABBREVIATIONS, ENTRIES, STRINGS, LINE_STRINGS, LINES, SECTIONS };

/* Names of these sections behind ".debug_", or ".zdebug_" if compressed in the old way. */
static const char *const section_names[SECTIONS] = {"abbrev", "info", "str", "line_str", "line"};

struct dwarf {
	int fd; /* file with the DWARF, while it is loaded; -1 */
	struct elf_file file;
	Dwarf *debug;
	Elf_Data *sections[SECTIONS]; /* NULL: the file has none */
	struct unit *units;
	uint32_t unit_count, unit_capacity;
	struct range_table table; /* ids are positions in `units` */
	enum dwarf_unread unread;
};

struct range_list {
	struct range *list;
	uint32_t count, capacity;
};

/* Cost of a range: itself, a copy for sorting, two pieces and a heap entry (range_table.h). */
#define RANGE_COST (4 * sizeof(struct range) + sizeof(void *))

static bool add_range(struct range_list *ranges, struct quota_share *share, uint64_t start,
		      uint64_t end, uint32_t id)
{
	/* Code dropped by the linker has lost its relocations and begins at 0. */
	if (start == 0 || start >= end)
		return true;
	if (ranges->count == DWARF_MAX_RANGES || !quota_share_take(share, RANGE_COST) ||
	    !array_make_room(&ranges->list, ranges->count, &ranges->capacity,
			     sizeof(*ranges->list)))
		return false;
	ranges->list[ranges->count++] =
		(struct range){.start = start, .end = end, .priority = id, .id = id};
	return true;
}

/* Builds a table of the ranges and frees them. */
static int build_table(struct range_list *ranges, struct quota_share *share,
		       struct range_table *table)
{
	int err = range_table_build(table, ranges->list, ranges->count);

	free(ranges->list);
	quota_share_return(share, ranges->count * RANGE_COST - table->count * sizeof(struct range));
	return err;
}

/* Adds the address ranges of an entry. Returns false if there are too many in all. */
static bool add_ranges(struct range_list *ranges, struct quota_share *share, Dwarf_Die *entry,
		       uint32_t id)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(entry, offset, &base, &start, &end)) > 0) {
		if (!add_range(ranges, share, start, end, id))
			return false;
	}
	return true;
}

/* ---- the entries of a unit ---- */

struct reading {
	struct unit *unit;
	struct quota_share *share;
	struct range_list ranges;
	Dwarf_Off last; /* last entry read */
};

static uint32_t add_scope(struct reading *reading, Dwarf_Off entry, uint32_t outer)
{
	struct unit *unit = reading->unit;

	if (unit->scope_count == NO_SCOPE ||
	    !quota_share_take(reading->share, sizeof(*unit->scopes)) ||
	    !array_make_room(&unit->scopes, unit->scope_count, &unit->scope_capacity,
			     sizeof(*unit->scopes)))
		return NO_SCOPE;
	unit->scopes[unit->scope_count] = (struct scope){
		.entry = entry,
		.outer = outer,
		.depth = outer == NO_SCOPE ? 0 : unit->scopes[outer].depth + 1,
	};
	return unit->scope_count++;
}

static bool is_in_unit(unsigned int form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
	       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
}

/* Returns whether DW_AT_sibling points forwards: backwards, libdw follows the attribute endlessly.
 */
static bool sibling_is_ahead(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	Dwarf_Die sibling;

	if (!dwarf_attr(entry, DW_AT_sibling, &attribute))
		return true;
	return is_in_unit(dwarf_whatform(&attribute)) && dwarf_formref_die(&attribute, &sibling) &&
	       dwarf_dieoffset(&sibling) > dwarf_dieoffset(entry);
}

/* Returns the scope of an entry's children: `outer`, or none if they are not part of its code. */
static uint32_t scope_inside(int tag, uint32_t outer)
{
	switch (tag) {
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return outer;
	default:
		return NO_SCOPE;
	}
}

static bool has_code(Dwarf_Die *entry)
{
	return dwarf_hasattr(entry, DW_AT_low_pc) || dwarf_hasattr(entry, DW_AT_ranges);
}

/* Adds the entry and sets `*scope` for its children. Returns false if the unit is malformed. */
static bool read_entry(struct reading *reading, Dwarf_Die *entry, uint32_t *scope)
{
	struct unit *unit = reading->unit;
	Dwarf_Off offset = dwarf_dieoffset(entry);
	int tag = dwarf_tag(entry);
	uint32_t added;

	/* also keeps the time linear: no entry is read twice */
	if (offset <= reading->last || !sibling_is_ahead(entry))
		return false;
	reading->last = offset;
	*scope = scope_inside(tag, *scope);
	if (tag == DW_TAG_inlined_subroutine) {
		if (*scope == NO_SCOPE || unit->scopes[*scope].depth + 1 >= DWARF_MAX_DEPTH)
			return true;
	} else if (tag != DW_TAG_subprogram || !has_code(entry)) {
		return true;
	}
	added = add_scope(reading, offset, *scope);
	if (added == NO_SCOPE)
		return false;
	*scope = added;
	return add_ranges(&reading->ranges, reading->share, entry, added);
}

/* Reads the children of `parent`. Returns false if the unit is malformed. */
static bool read_children(struct reading *reading, Dwarf_Die *parent, uint32_t outer,
			  uint32_t nesting)
{
	Dwarf_Die entry;
	int result = dwarf_child(parent, &entry);

	if (nesting == DWARF_MAX_NESTING)
		return result == 1;
	while (result == 0) {
		uint32_t scope = outer;

		if (!read_entry(reading, &entry, &scope))
			return false;
		if (!read_children(reading, &entry, scope, nesting + 1))
			return false;
		result = dwarf_siblingof(&entry, &entry);
	}
	return result == 1;
}

static void read_unit(struct dwarf *dwarf, struct unit *unit, struct quota_share *share)
{
	struct reading reading = {.unit = unit, .share = share, .last = unit->entry};
	Dwarf_Die entry;

	unit->was_read = true;
	if (!dwarf_offdie(dwarf->debug, unit->entry, &entry))
		return;
	(void)read_children(&reading, &entry, NO_SCOPE, 0);
	/* Inner scopes come later, so they have the higher priority. */
	if (build_table(&reading.ranges, share, &unit->table) != 0)
		unit->table = (struct range_table){0};
}

/* ---- names ---- */

static void note_unread(struct dwarf *dwarf, enum dwarf_unread kind)
{
	if (dwarf->unread == DWARF_UNREAD_NOTHING)
		dwarf->unread = kind;
}

/* Returns the string if it ends inside its section, which libdw does not check; NULL otherwise. */
static const char *string_inside(const Elf_Data *section, const void *at)
{
	uintptr_t start = section ? (uintptr_t)section->d_buf : 0, offset = (uintptr_t)at - start;

	if (!section || offset >= section->d_size || !memchr(at, '\0', section->d_size - offset))
		return NULL;
	return at;
}

static const char *string_of(struct dwarf *dwarf, Dwarf_Die *entry, unsigned int name)
{
	Dwarf_Attribute attribute;
	const void *at;

	if (!dwarf_attr(entry, name, &attribute))
		return NULL;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		note_unread(dwarf, DWARF_UNREAD_COMMON);
		return NULL; /* libdw would open the other file */
	case DW_FORM_string:
		return string_inside(dwarf->sections[ENTRIES], attribute.valp);
	case DW_FORM_line_strp:
		return string_inside(dwarf->sections[LINE_STRINGS], dwarf_formstring(&attribute));
	default:
		at = dwarf_formstring(&attribute);
		return at ? string_inside(dwarf->sections[STRINGS], at) : NULL;
	}
}

static bool follow(struct dwarf *dwarf, Dwarf_Die *entry, unsigned int name, Dwarf_Die *target)
{
	Dwarf_Attribute attribute;
	unsigned int form;

	if (!dwarf_attr(entry, name, &attribute))
		return false;
	form = dwarf_whatform(&attribute);
	if (is_in_unit(form) || form == DW_FORM_ref_addr)
		return dwarf_formref_die(&attribute, target) != NULL;
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8)
		note_unread(dwarf, DWARF_UNREAD_COMMON);
	return false;
}

/* Replaces the entry by its origin. Returns false if there is none. */
static bool go_to_origin(struct dwarf *dwarf, Dwarf_Die *entry)
{
	Dwarf_Die origin;

	if (!follow(dwarf, entry, DW_AT_abstract_origin, &origin) &&
	    !follow(dwarf, entry, DW_AT_specification, &origin))
		return false;
	*entry = origin;
	return true;
}

static const char *name_of(struct dwarf *dwarf, Dwarf_Off offset)
{
	const char *plain = NULL;
	Dwarf_Die entry;

	if (!dwarf_offdie(dwarf->debug, offset, &entry))
		return NULL;
	for (int i = 0; i < MAX_REFERENCES; i++) {
		const char *name = string_of(dwarf, &entry, DW_AT_linkage_name);

		if (!name)
			name = string_of(dwarf, &entry, DW_AT_MIPS_linkage_name);
		if (name && *name)
			return name;
		if (!plain)
			plain = string_of(dwarf, &entry, DW_AT_name);
		if (!go_to_origin(dwarf, &entry))
			break;
	}
	return plain && *plain ? plain : NULL;
}

static struct unit *find_unit(struct dwarf *dwarf, uint64_t address)
{
	uint32_t id = range_table_find(&dwarf->table, address);

	return id != RANGE_NONE ? &dwarf->units[id] : NULL;
}

size_t dwarf_find(struct dwarf *dwarf, struct quota_share *share, uint64_t address,
		  const char *names[DWARF_MAX_DEPTH])
{
	struct unit *unit = find_unit(dwarf, address);
	size_t count;
	uint32_t id;

	if (!unit)
		return 0;
	if (!unit->was_read)
		read_unit(dwarf, unit, share);
	id = range_table_find(&unit->table, address);
	if (id == RANGE_NONE)
		return 0;
	count = unit->scopes[id].depth + 1;
	for (size_t i = count; i-- > 0; id = unit->scopes[id].outer)
		names[i] = name_of(dwarf, unit->scopes[id].entry);
	return count;
}

/* ---- sources ---- */

static struct line_section section_of(const Elf_Data *data)
{
	return data ? (struct line_section){data->d_buf, data->d_size}
		    : (struct line_section){NULL, 0};
}

/* Reads an attribute that is a number, or an offset into another section. */
static bool number_of(Dwarf_Die *entry, unsigned int name, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(entry, name, &attribute) || dwarf_formudata(&attribute, &word) != 0)
		return false;
	*number = word;
	return true;
}

/* Finds the file in which an entry is declared. */
static void find_file(struct dwarf *dwarf, Dwarf_Die *entry, uint64_t file,
		      struct source_place *source)
{
	const struct line_sections sections = {section_of(dwarf->sections[LINES]),
					       section_of(dwarf->sections[STRINGS]),
					       section_of(dwarf->sections[LINE_STRINGS])};
	uint64_t table;
	Dwarf_Die unit;

	if (!dwarf_diecu(entry, &unit, NULL, NULL) || !number_of(&unit, DW_AT_stmt_list, &table) ||
	    !line_file_find(&sections, table, file, &source->folder, &source->name))
		return;
	source->compiled_in = string_of(dwarf, &unit, DW_AT_comp_dir);
}

/* Finds the source file of a function, perhaps told by its origin only. */
static void find_source(struct dwarf *dwarf, struct scope *scope)
{
	int left = MAX_REFERENCES;
	Dwarf_Die entry;
	uint64_t file;

	scope->has_source = true;
	if (!dwarf_offdie(dwarf->debug, scope->entry, &entry))
		return;
	while (!number_of(&entry, DW_AT_decl_file, &file))
		if (--left == 0 || !go_to_origin(dwarf, &entry))
			return;
	find_file(dwarf, &entry, file, &scope->source);
}

size_t dwarf_find_sources(struct dwarf *dwarf, uint64_t address,
			  struct source_place sources[DWARF_MAX_DEPTH])
{
	struct unit *unit = find_unit(dwarf, address);
	uint32_t id = unit && unit->was_read ? range_table_find(&unit->table, address) : RANGE_NONE;
	size_t count;

	if (id == RANGE_NONE)
		return 0;
	count = unit->scopes[id].depth + 1;
	for (size_t i = count; i-- > 0; id = unit->scopes[id].outer) {
		if (!unit->scopes[id].has_source)
			find_source(dwarf, &unit->scopes[id]);
		sources[i] = unit->scopes[id].source;
	}
	return count;
}

/* ---- loading ---- */

/* libdw's memory per unit, and per abbreviation (a form of entries) of a unit. */
#define UNIT_COST (1536 + sizeof(struct unit))
#define ABBREVIATION_COST 128
#define ABBREVIATION_MIN_BYTES 5 /* a code, a tag, a flag, two zeros */

/* Skips one abbreviation. Returns false if the unit has no more. */
static bool skip_abbreviation(struct bytes *b)
{
	uint64_t name, form;

	if (bytes_uleb(b) == 0)
		return false;
	bytes_uleb(b);
	bytes_u8(b);
	do {
		name = bytes_uleb(b);
		form = bytes_uleb(b);
		if (form == DW_FORM_implicit_const)
			bytes_sleb(b);
	} while (!b->bad && (name || form));
	return !b->bad;
}

/*
 * Takes the cost of a unit. libdw reads abbreviations on demand, separately for each unit, even if
 * units share them.
 */
static bool take_unit(const struct dwarf *dwarf, struct quota_share *share, Dwarf_CU *unit)
{
	const Elf_Data *abbreviations = dwarf->sections[ABBREVIATIONS];
	struct bytes b = {0};
	Dwarf_Off offset = 0;
	uint64_t count = 0;
	Dwarf_Die entry;

	if (!dwarf_cu_die(unit, &entry, NULL, &offset, NULL, NULL, NULL, NULL))
		return false;
	if (abbreviations && offset < abbreviations->d_size) {
		b.at = (const uint8_t *)abbreviations->d_buf + offset;
		b.end = b.at + (abbreviations->d_size - offset);
		while (skip_abbreviation(&b))
			count++;
	}
	return quota_share_take(share, UNIT_COST + count * ABBREVIATION_COST);
}

static int add_unit(struct dwarf *dwarf, Dwarf_Die *entry, struct range_list *ranges,
		    struct quota_share *share)
{
	if (!array_make_room(&dwarf->units, dwarf->unit_count, &dwarf->unit_capacity,
			     sizeof(*dwarf->units)))
		return -ENOMEM;
	dwarf->units[dwarf->unit_count] = (struct unit){.entry = dwarf_dieoffset(entry)};
	return add_ranges(ranges, share, entry, dwarf->unit_count++) ? 0 : -ENOSPC;
}

/*
 * Adds the units. A malformed unit ends the list, as does one too many; earlier units stay usable.
 */
static int add_units(struct dwarf *dwarf, struct quota_share *share)
{
	struct range_list ranges = {0};
	Dwarf_CU *unit = NULL;
	Dwarf_Die entry;
	uint8_t type;
	int err = 0;

	/* Without the last argument, libdw does not look for .dwo files. */
	while (!err && dwarf->unit_count < DWARF_MAX_UNITS &&
	       dwarf_get_units(dwarf->debug, unit, &unit, NULL, &type, &entry, NULL) == 0 &&
	       take_unit(dwarf, share, unit)) {
		if (type == DW_UT_compile || type == DW_UT_partial)
			err = add_unit(dwarf, &entry, &ranges, share);
		else if (type == DW_UT_skeleton)
			note_unread(dwarf, DWARF_UNREAD_SPLIT);
	}
	if (err == -ENOMEM) {
		free(ranges.list);
		return err;
	}
	return build_table(&ranges, share, &dwarf->table);
}

/*
 * Indexes the units. Reserves room for the abbreviations of one unit meanwhile: libdw reads them
 * before their number is known.
 */
static int index_units(struct dwarf *dwarf, struct quota_share *share)
{
	const Elf_Data *abbreviations = dwarf->sections[ABBREVIATIONS];
	size_t size = abbreviations ? abbreviations->d_size : 0;
	uint64_t room = size / ABBREVIATION_MIN_BYTES * ABBREVIATION_COST;
	int err;

	if (!quota_share_take(share, room))
		return -ENOSPC;
	err = add_units(dwarf, share);
	quota_share_return(share, room);
	return err;
}

static bool is_debug_section(const char *name)
{
	return starts_with(name, ".debug_") || starts_with(name, ".zdebug_") ||
	       starts_with(name, ".gnu_debug") || starts_with(name, ".gnu.debuglto_");
}

/* Returns the unpacked size that a compressed section declares; 0 for others. */
static uint64_t unpacked_size(const struct elf_file *file, const char *name,
			      const GElf_Shdr *header)
{
	unsigned char start[sizeof(Elf64_Chdr)];
	Elf32_Chdr header32;
	Elf64_Chdr header64;
	uint64_t size;

	if (!(header->sh_flags & SHF_COMPRESSED) && name[1] != 'z')
		return 0;
	if (header->sh_size < sizeof(start) ||
	    read_exactly(file->fd, start, sizeof(start), header->sh_offset) != 0)
		return 0; /* libelf finds nothing to unpack there either */
	if (!(header->sh_flags & SHF_COMPRESSED)) {
		memcpy(&size, start + 4, sizeof(size)); /* after "ZLIB" */
		return be64toh(size);
	}
	if (gelf_getclass(file->elf) == ELFCLASS32) {
		memcpy(&header32, start, sizeof(header32));
		return header32.ch_size;
	}
	memcpy(&header64, start, sizeof(header64));
	return header64.ch_size;
}

/*
 * Takes the cost of libdw's reads. Returns 0, -ENOENT without .debug_info, -ENOEXEC if malformed,
 * or -ENOSPC.
 */
static int take_sections(const struct elf_file *file, struct quota_share *share)
{
	bool found = false;
	Elf_Scn *section = NULL;
	uint64_t bytes = 0;
	size_t names = 0;

	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return -ENOENT;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *name;
		GElf_Shdr header;
		uint64_t unpacked;

		if (!gelf_getshdr(section, &header))
			return -ENOEXEC;
		name = elf_strptr(file->elf, names, header.sh_name);
		if (header.sh_type == SHT_NOBITS || !name || !is_debug_section(name))
			continue;
		if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
			found = true;
		if (header.sh_size > file->size || header.sh_offset > file->size - header.sh_size)
			return -ENOEXEC;
		unpacked = unpacked_size(file, name, &header);
		bytes += header.sh_size;
		bytes = unpacked > UINT64_MAX / 2 - bytes ? UINT64_MAX / 2 : bytes + unpacked;
	}
	if (!found)
		return -ENOENT;
	return quota_share_take(share, bytes) ? 0 : -ENOSPC;
}

/* Opens the file with the DWARF, `fd` or the separate one, as dwarf->fd and dwarf->file. */
static int open_file(struct dwarf *dwarf, int fd, struct debug_file_search *search,
		     struct quota_share *share)
{
	int err;

	dwarf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (dwarf->fd < 0)
		return -errno;
	err = elf_file_open(&dwarf->file, dwarf->fd);
	if (err)
		return err;
	err = take_sections(&dwarf->file, share);
	if (err != -ENOENT || !search)
		return err;
	fd = debug_file_open(&dwarf->file, search);
	if (fd < 0)
		return -ENOENT;
	elf_file_close(&dwarf->file);
	close(dwarf->fd);
	dwarf->fd = fd;
	err = elf_file_open(&dwarf->file, fd);
	return err ? err : take_sections(&dwarf->file, share);
}

/*
 * Finds libdw's data of the sections. Returns 0, or -ENOEXEC if a section occurs twice, perhaps
 * compressed once: then it is unclear which one libdw takes.
 */
static int find_sections(struct dwarf *dwarf)
{
	Elf_Scn *section = NULL, *found[SECTIONS] = {NULL};
	const char *name;
	GElf_Shdr header;

	while ((section = elf_next_section(dwarf->file.elf, section, &header, &name))) {
		const char *kind = starts_with(name, ".debug_")    ? name + strlen(".debug_")
				   : starts_with(name, ".zdebug_") ? name + strlen(".zdebug_")
								   : "";

		for (int i = 0; i < SECTIONS; i++) {
			if (header.sh_type == SHT_NOBITS || strcmp(kind, section_names[i]) != 0)
				continue;
			if (found[i])
				return -ENOEXEC;
			found[i] = section;
		}
	}
	for (int i = 0; i < SECTIONS; i++)
		dwarf->sections[i] = found[i] ? elf_getdata(found[i], NULL) : NULL;
	return 0;
}

/*
 * Returns whether a section is still compressed: libdw decompresses all that it can when it begins.
 */
static bool is_still_packed(const struct dwarf *dwarf)
{
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	GElf_Chdr how;

	while ((section = elf_next_section(dwarf->file.elf, section, &header, &name)))
		if (header.sh_flags & SHF_COMPRESSED && is_debug_section(name) &&
		    gelf_getchdr(section, &how) && how.ch_type != ELFCOMPRESS_ZLIB)
			return true;
	return false;
}

/* Makes libdw read the sections. Afterwards nothing may touch the file. */
static int read_sections(struct dwarf *dwarf)
{
	dwarf->debug = dwarf_begin_elf(dwarf->file.elf, DWARF_C_READ, NULL);
	if (is_still_packed(dwarf))
		note_unread(dwarf, DWARF_UNREAD_COMPRESSED);
	if (!dwarf->debug || elf_cntl(dwarf->file.elf, ELF_C_FDDONE) != 0)
		return -ENOEXEC;
	close(dwarf->fd);
	dwarf->fd = -1;
	return find_sections(dwarf);
}

int dwarf_load(int fd, struct debug_file_search *search, struct quota_share *share,
	       struct dwarf **result)
{
	struct dwarf *dwarf = calloc(1, sizeof(*dwarf));
	int err;

	if (!dwarf)
		return -ENOMEM;
	dwarf->fd = -1;
	err = open_file(dwarf, fd, search, share);
	if (!err)
		err = read_sections(dwarf);
	if (!err)
		err = index_units(dwarf, share);
	if (err && dwarf->unread == DWARF_UNREAD_NOTHING) {
		dwarf_free(dwarf);
		return err;
	}
	*result = dwarf;
	return 0;
}

enum dwarf_unread dwarf_unread(const struct dwarf *dwarf)
{
	return dwarf->unread;
}

void dwarf_free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (uint32_t i = 0; i < dwarf->unit_count; i++) {
		free(dwarf->units[i].scopes);
		range_table_release(&dwarf->units[i].table);
	}
	free(dwarf->units);
	range_table_release(&dwarf->table);
	dwarf_end(dwarf->debug);
	elf_file_close(&dwarf->file);
	if (dwarf->fd >= 0)
		close(dwarf->fd);
	free(dwarf);
}
