/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/debug_file.h"
#include "symbolize/elf_file.h"
#include "symbolize/range_table.h"

/* From an inlined copy to the abstract function to its declaration to the class: two or three. */
#define MAX_REFERENCES 8

#define NO_SCOPE UINT32_MAX

/* A function, or an inlined copy of one. */
struct scope {
	Dwarf_Off entry;
	uint32_t outer; /* what it is inlined into; NO_SCOPE: a function of its own */
	uint32_t depth; /* 0 for a function of its own */
};

struct unit {
	Dwarf_Off entry;
	bool read;
	struct scope *scopes;
	uint32_t scope_count, scope_capacity;
	struct range_table table; /* ids are positions in `scopes` */
};

struct dwarf {
	int fd; /* of the file with the DWARF */
	struct elf_file file;
	Dwarf *debug;
	struct unit *units;
	uint32_t unit_count, unit_capacity;
	struct range_table table; /* ids are positions in `units` */
};

struct range_list {
	struct range *list;
	size_t count, capacity;
};

/* Twice as big, or NULL; `*capacity` counts elements. */
static void *grow(void *list, size_t *capacity, size_t element)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *bigger = realloc(list, wanted * element);

	if (bigger)
		*capacity = wanted;
	return bigger;
}

static bool add_range(struct range_list *ranges, uint64_t start, uint64_t end, uint32_t id)
{
	/* What the linker dropped has lost its relocations and begins at 0. */
	if (start == 0 || start >= end)
		return true;
	if (ranges->count == DWARF_MAX_RANGES)
		return false;
	if (ranges->count == ranges->capacity) {
		struct range *bigger = grow(ranges->list, &ranges->capacity, sizeof(*bigger));

		if (!bigger)
			return false;
		ranges->list = bigger;
	}
	ranges->list[ranges->count++] =
		(struct range){.start = start, .end = end, .priority = id, .id = id};
	return true;
}

/* The addresses of an entry; false when there are too many in all. */
static bool add_ranges(struct range_list *ranges, Dwarf_Die *entry, uint32_t id)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(entry, offset, &base, &start, &end)) > 0) {
		if (!add_range(ranges, start, end, id))
			return false;
	}
	return true;
}

/* ---- the entries of a unit ---- */

struct reading {
	struct unit *unit;
	struct range_list ranges;
	Dwarf_Off last; /* the entry read last */
};

static uint32_t add_scope(struct unit *unit, Dwarf_Off entry, uint32_t outer)
{
	if (unit->scope_count == unit->scope_capacity) {
		size_t capacity = unit->scope_capacity;
		struct scope *bigger = capacity < NO_SCOPE / 4
					       ? grow(unit->scopes, &capacity, sizeof(*bigger))
					       : NULL;

		if (!bigger)
			return NO_SCOPE;
		unit->scopes = bigger;
		unit->scope_capacity = (uint32_t)capacity;
	}
	unit->scopes[unit->scope_count] = (struct scope){
		.entry = entry,
		.outer = outer,
		.depth = outer == NO_SCOPE ? 0 : unit->scopes[outer].depth + 1,
	};
	return unit->scope_count++;
}

/* libdw follows DW_AT_sibling wherever it leads, without an end if that is backwards. */
static bool sibling_is_ahead(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	Dwarf_Die sibling;

	if (!dwarf_attr(entry, DW_AT_sibling, &attribute))
		return true;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return dwarf_formref_die(&attribute, &sibling) &&
		       dwarf_dieoffset(&sibling) > dwarf_dieoffset(entry);
	default:
		return false;
	}
}

/* Which scope an entry's children are in: `outer`, or none if they are no part of its code. */
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

/* Adds the entry; `*scope` becomes that of its children. False: something is broken, stop. */
static bool read_entry(struct reading *reading, Dwarf_Die *entry, uint32_t *scope)
{
	struct unit *unit = reading->unit;
	Dwarf_Off offset = dwarf_dieoffset(entry);
	int tag = dwarf_tag(entry);
	uint32_t added;

	/* Also what keeps the time linear: no entry is read twice. */
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
	added = add_scope(unit, offset, *scope);
	if (added == NO_SCOPE)
		return false;
	*scope = added;
	return add_ranges(&reading->ranges, entry, added);
}

/* Reads what is inside `parent`; false: something is broken, stop. */
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

static void read_unit(struct dwarf *dwarf, struct unit *unit)
{
	struct reading reading = {.unit = unit, .last = unit->entry};
	Dwarf_Die entry;

	unit->read = true;
	if (!dwarf_offdie(dwarf->debug, unit->entry, &entry))
		return;
	(void)read_children(&reading, &entry, NO_SCOPE, 0);
	/* Inner scopes come after outer ones, so they have the higher priority. */
	if (range_table_build(&unit->table, reading.ranges.list, reading.ranges.count) != 0)
		unit->table = (struct range_table){0};
	free(reading.ranges.list);
}

/* ---- names ---- */

static const char *string_of(Dwarf_Die *entry, unsigned int name)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(entry, name, &attribute))
		return NULL;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return NULL; /* libdw would open the other file */
	default:
		return dwarf_formstring(&attribute);
	}
}

static bool follow(Dwarf_Die *entry, unsigned int name, Dwarf_Die *target)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(entry, name, &attribute))
		return false;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref_addr:
		return dwarf_formref_die(&attribute, target) != NULL;
	default:
		return false;
	}
}

static const char *name_of(struct dwarf *dwarf, Dwarf_Off offset)
{
	const char *plain = NULL;
	Dwarf_Die entry, target;

	if (!dwarf_offdie(dwarf->debug, offset, &entry))
		return NULL;
	for (int i = 0; i < MAX_REFERENCES; i++) {
		const char *name = string_of(&entry, DW_AT_linkage_name);

		if (!name)
			name = string_of(&entry, DW_AT_MIPS_linkage_name);
		if (name && *name)
			return name;
		if (!plain)
			plain = string_of(&entry, DW_AT_name);
		if (!follow(&entry, DW_AT_abstract_origin, &target) &&
		    !follow(&entry, DW_AT_specification, &target))
			break;
		entry = target;
	}
	return plain && *plain ? plain : NULL;
}

size_t dwarf_find(struct dwarf *dwarf, uint64_t address, const char *names[DWARF_MAX_DEPTH])
{
	uint32_t id = range_table_find(&dwarf->table, address);
	struct unit *unit;
	size_t count;

	if (id == RANGE_NONE)
		return 0;
	unit = &dwarf->units[id];
	if (!unit->read)
		read_unit(dwarf, unit);
	id = range_table_find(&unit->table, address);
	if (id == RANGE_NONE)
		return 0;
	count = unit->scopes[id].depth + 1;
	for (size_t i = count; i-- > 0; id = unit->scopes[id].outer)
		names[i] = name_of(dwarf, unit->scopes[id].entry);
	return count;
}

/* ---- loading ---- */

static int add_unit(struct dwarf *dwarf, Dwarf_Die *entry, struct range_list *ranges)
{
	if (dwarf->unit_count == dwarf->unit_capacity) {
		size_t capacity = dwarf->unit_capacity;
		struct unit *bigger = grow(dwarf->units, &capacity, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		dwarf->units = bigger;
		dwarf->unit_capacity = (uint32_t)capacity;
	}
	dwarf->units[dwarf->unit_count] = (struct unit){.entry = dwarf_dieoffset(entry)};
	return add_ranges(ranges, entry, dwarf->unit_count++) ? 0 : -ENOMEM;
}

/* A unit that is broken ends the list: those before it are of use. */
static int index_units(struct dwarf *dwarf)
{
	struct range_list ranges = {0};
	Dwarf_CU *unit = NULL;
	Dwarf_Die entry;
	uint8_t type;
	int err = 0;

	/* Without the last argument, which would make libdw look for .dwo files. */
	while (!err && dwarf->unit_count < DWARF_MAX_UNITS &&
	       dwarf_get_units(dwarf->debug, unit, &unit, NULL, &type, &entry, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_partial)
			err = add_unit(dwarf, &entry, &ranges);
	}
	if (ranges.count == DWARF_MAX_RANGES)
		err = 0; /* the rest stays without names */
	if (!err)
		err = range_table_build(&dwarf->table, ranges.list, ranges.count);
	free(ranges.list);
	return err;
}

/* 0, -ENOENT without .debug_info, -ENOEXEC where libdw would read too much. */
static int check_sections(const struct elf_file *file)
{
	bool found = false;
	Elf_Scn *section = NULL;
	size_t names = 0;

	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return -ENOENT;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			return -ENOEXEC;
		name = elf_strptr(file->elf, names, header.sh_name);
		if (header.sh_type == SHT_NOBITS || !name)
			continue;
		if (strcmp(name, ".debug_info") == 0)
			found = true;
		if (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0 &&
		    strncmp(name, ".gnu_debug", 10) != 0)
			continue;
		if (header.sh_size > ELF_FILE_MAX_SECTION || header.sh_size > file->size ||
		    header.sh_offset > file->size - header.sh_size)
			return -ENOEXEC;
	}
	return found ? 0 : -ENOENT;
}

/* Opens the file with the DWARF, `fd` or the separate one, as dwarf->fd and dwarf->file. */
static int open_file(struct dwarf *dwarf, int fd, const char *path, const char *debug_root)
{
	int err;

	dwarf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (dwarf->fd < 0)
		return -errno;
	err = elf_file_open(&dwarf->file, dwarf->fd);
	if (err)
		return err;
	err = check_sections(&dwarf->file);
	if (err != -ENOENT || !debug_root)
		return err;
	fd = debug_file_open(&dwarf->file, path, debug_root);
	if (fd < 0)
		return -ENOENT;
	elf_file_close(&dwarf->file);
	close(dwarf->fd);
	dwarf->fd = fd;
	err = elf_file_open(&dwarf->file, fd);
	return err ? err : check_sections(&dwarf->file);
}

int dwarf_load(int fd, const char *path, const char *debug_root, struct dwarf **result)
{
	struct dwarf *dwarf = calloc(1, sizeof(*dwarf));
	int err;

	if (!dwarf)
		return -ENOMEM;
	dwarf->fd = -1;
	err = open_file(dwarf, fd, path, debug_root);
	if (!err) {
		dwarf->debug = dwarf_begin_elf(dwarf->file.elf, DWARF_C_READ, NULL);
		err = dwarf->debug ? index_units(dwarf) : -ENOEXEC;
	}
	if (err) {
		dwarf_free(dwarf);
		return err;
	}
	*result = dwarf;
	return 0;
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
