// SPDX-License-Identifier: MIT
#include "symbolize/cubin.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/elf_file.h"
#include "symbolize/line_table_bounds.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define R_CUDA_64 2u /* relocation of an address of 8 bytes */
#define SECTIONS_MAX (1u << 16)
#define UNITS_MAX 1024u
#define PATHS_MAX (UINT64_C(1) << 25)    /* bytes of all paths in a line table */
#define NAMES_MAX (UINT64_C(1) << 26)    /* bytes of all symbol names, which may overlap */
#define FIRST_BASE UINT64_C(0x100000000) /* above all addresses that are not relocated */

struct symbol {
	const char *name;
	uint32_t section;
	uint64_t value, size;
};

struct unit {
	Dwarf_Lines *lines;
	size_t count;
};

struct cubin {
	Elf *elf;
	Dwarf *debug;
	void *lines;     /* copy of the line table, relocated: other sections may share its bytes */
	uint64_t *bases; /* address of each section; 0: none */
	size_t section_count;
	struct symbol *by_name, *by_place; /* functions */
	uint32_t symbol_count, symbol_capacity;
	struct unit units[UNITS_MAX];
	uint32_t unit_count;
};

/* ---- sections ---- */

static Elf_Scn *find_section(struct cubin *c, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *found;

	while ((section = elf_next_section(c->elf, section, header, &found)))
		if (strcmp(found, name) == 0)
			return section;
	return NULL;
}

/* Returns the contents of a section within the image; NULL: there are none. */
static Elf_Data *contents(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data =
		section && header->sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size == header->sh_size ? data : NULL;
}

/* ---- symbols ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = compare_numbers(x->section, y->section);

	return order ? order : compare_numbers(x->value, y->value);
}

/* Returns a symbol name; NULL: none, or too long for a kernel. */
static const char *symbol_name(const Elf_Data *names, uint32_t offset)
{
	const char *name = (const char *)names->d_buf + offset;
	size_t rest = offset < names->d_size ? names->d_size - offset : 0;

	return memchr(name, '\0', rest < CUBIN_MAX_NAME ? rest : CUBIN_MAX_NAME) ? name : NULL;
}

static bool add_symbol(struct cubin *c, const Elf64_Sym *symbol, const Elf_Data *names)
{
	struct symbol added = {
		.section = symbol->st_shndx, .value = symbol->st_value, .size = symbol->st_size};

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || added.section >= c->section_count)
		return true;
	added.name = symbol_name(names, symbol->st_name);
	if (!added.name)
		return true;
	if (!array_make_room(&c->by_name, c->symbol_count, &c->symbol_capacity,
			     sizeof(*c->by_name)))
		return false;
	c->by_name[c->symbol_count++] = added;
	return true;
}

static int read_symbols(struct cubin *c, const Elf_Data *symbols, const Elf_Data *names)
{
	size_t count = symbols->d_size / sizeof(Elf64_Sym);
	uint64_t bytes = 0; /* bytes of names, which sorting compares */
	Elf64_Sym symbol;

	if (count > CUBIN_MAX_SYMBOLS)
		return -ENOEXEC;
	for (size_t i = 0; i < count; i++) {
		uint32_t before = c->symbol_count;

		memcpy(&symbol, (const char *)symbols->d_buf + i * sizeof(symbol), sizeof(symbol));
		if (!add_symbol(c, &symbol, names))
			return -ENOMEM;
		if (c->symbol_count > before)
			bytes += strlen(c->by_name[before].name);
		if (bytes > NAMES_MAX)
			return -ENOEXEC;
	}
	c->by_place = calloc(c->symbol_count + 1u, sizeof(*c->by_place));
	if (!c->by_place)
		return -ENOMEM;
	if (c->symbol_count == 0)
		return 0;
	memcpy(c->by_place, c->by_name, c->symbol_count * sizeof(*c->by_place));
	qsort(c->by_name, c->symbol_count, sizeof(*c->by_name), compare_names);
	qsort(c->by_place, c->symbol_count, sizeof(*c->by_place), compare_places);
	return 0;
}

/* ---- relocations ---- */

/* Returns the address of a section, assigned behind all others at first use. */
static uint64_t base_of(struct cubin *c, uint32_t section, uint64_t *next)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf_getscn(c->elf, section);

	if (section >= c->section_count || !scn || !gelf_getshdr(scn, &header))
		return 0;
	if (!c->bases[section]) {
		c->bases[section] = *next;
		/* leaves a gap, so that no section ends where another begins */
		*next += (header.sh_size & ~UINT64_C(0xfff) & UINT32_MAX) + 0x2000;
	}
	return c->bases[section];
}

/* Applies the relocations. Without `has_addends` the addends are in the relocated words. */
static void relocate(struct cubin *c, Elf_Data *lines, Elf64_Rela *list, size_t count,
		     bool has_addends, const Elf_Data *symbols)
{
	uint64_t next = FIRST_BASE;

	qsort(list, count, sizeof(*list), sorted_compare);
	for (size_t i = 0; i < count; i++) {
		uint64_t number = ELF64_R_SYM(list[i].r_info), value, base;
		Elf64_Sym symbol;

		if (ELF64_R_TYPE(list[i].r_info) != R_CUDA_64 ||
		    number >= symbols->d_size / sizeof(symbol) ||
		    list[i].r_offset > lines->d_size || lines->d_size - list[i].r_offset < 8)
			continue;
		memcpy(&symbol, (const char *)symbols->d_buf + number * sizeof(symbol),
		       sizeof(symbol));
		base = base_of(c, symbol.st_shndx, &next);
		if (!base)
			continue;
		memcpy(&value, (const char *)lines->d_buf + list[i].r_offset, sizeof(value));
		value = base + symbol.st_value + (has_addends ? (uint64_t)list[i].r_addend : value);
		memcpy((char *)lines->d_buf + list[i].r_offset, &value, sizeof(value));
	}
}

static int apply_relocations(struct cubin *c, Elf_Data *lines, const Elf_Data *symbols)
{
	GElf_Shdr header;
	Elf_Data *data = contents(find_section(c, ".rela.debug_line", &header), &header);
	bool has_addends = data != NULL;
	size_t size = has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), count;
	Elf64_Rela *list;

	if (!data)
		data = contents(find_section(c, ".rel.debug_line", &header), &header);
	if (!data)
		return 0;
	count = data->d_size / size;
	if (count == 0)
		return 0;
	if (count > CUBIN_MAX_SYMBOLS)
		return -ENOEXEC;
	list = calloc(count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		memcpy(&list[i], (const char *)data->d_buf + i * size, size);
	relocate(c, lines, list, count, has_addends, symbols);
	free(list);
	return 0;
}

/* ---- lines ---- */

static void read_lines(struct cubin *c)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CU *unit = NULL;
	struct unit *u;

	while (c->unit_count < UNITS_MAX) {
		u = &c->units[c->unit_count];
		if (dwarf_next_lines(c->debug, offset, &next, &unit, NULL, NULL, &u->lines,
				     &u->count) != 0)
			return;
		c->unit_count += u->count > 0;
		offset = next;
	}
}

/* Returns whether a section is not compressed. */
static bool is_plain(Elf_Scn *section)
{
	GElf_Shdr header;

	return !section || (gelf_getshdr(section, &header) && !(header.sh_flags & SHF_COMPRESSED));
}

/* Returns whether all texts are short: each use searches for the end of the text. */
static bool has_short_texts(const Elf_Data *texts)
{
	size_t at = 0;

	while (texts && at < texts->d_size) {
		const char *from = (const char *)texts->d_buf + at;
		size_t rest = texts->d_size - at;
		const char *end = memchr(from, '\0', rest < CUBIN_MAX_NAME ? rest : CUBIN_MAX_NAME);

		if (!end)
			return false;
		at += (size_t)(end - from) + 1;
	}
	return true;
}

/*
 * Hides all sections but the line table and its texts from libdw. With others, libdw could open
 * further files or decompress.
 */
static bool hide_the_rest(struct cubin *c)
{
	GElf_Shdr header;
	Elf_Scn *lines = find_section(c, ".debug_line", &header), *section = NULL;
	Elf_Scn *texts = find_section(c, ".debug_str", &header);
	Elf_Scn *names = find_section(c, ".shstrtab", &header);

	if (!is_plain(lines) || !is_plain(texts) || !has_short_texts(contents(texts, &header)))
		return false;
	while ((section = elf_nextscn(c->elf, section))) {
		if (section == lines || section == texts || section == names ||
		    !gelf_getshdr(section, &header))
			continue;
		header.sh_type = SHT_NOBITS;
		if (!gelf_update_shdr(section, &header))
			return false;
	}
	return true;
}

/* Copies the line table, for libdw to read. */
static int copy_lines(struct cubin *c, Elf_Scn *section, Elf_Data *lines)
{
	Elf_Data *read = elf_getdata(section, NULL);

	if (!read || read->d_size != lines->d_size)
		return -ENOEXEC;
	c->lines = malloc(lines->d_size + 1);
	if (!c->lines)
		return -ENOMEM;
	memcpy(c->lines, lines->d_buf, lines->d_size);
	lines->d_buf = c->lines;
	read->d_buf = c->lines;
	return line_table_is_bounded(c->lines, lines->d_size, PATHS_MAX) ? 0 : -ENOEXEC;
}

static bool is_cubin(Elf *elf)
{
	GElf_Ehdr header;

	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
	       gelf_getehdr(elf, &header) && header.e_machine == EM_CUDA &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB;
}

static int open_cubin(struct cubin *c, void *image, size_t size)
{
	Elf_Data *lines, *symbols, *names;
	GElf_Shdr header;
	Elf_Scn *section;
	int err;

	elf_version(EV_CURRENT);
	c->elf = elf_memory(image, size);
	if (!is_cubin(c->elf) || elf_getshdrnum(c->elf, &c->section_count) != 0 ||
	    c->section_count > SECTIONS_MAX)
		return -ENOEXEC;
	c->bases = calloc(c->section_count + 1, sizeof(*c->bases));
	if (!c->bases)
		return -ENOMEM;
	symbols = contents(find_section(c, ".symtab", &header), &header);
	names = contents(find_section(c, ".strtab", &header), &header);
	if (!symbols || !names)
		return -ENOEXEC;
	err = read_symbols(c, symbols, names);
	if (err)
		return err;
	section = find_section(c, ".debug_line", &header);
	lines = contents(section, &header);
	if (!lines || lines->d_size > CUBIN_MAX_LINE_TABLE)
		return -ENOEXEC;
	err = copy_lines(c, section, lines);
	if (!err)
		err = apply_relocations(c, lines, symbols);
	if (err)
		return err;
	if (!hide_the_rest(c))
		return -ENOEXEC;
	c->debug = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
	if (!c->debug)
		return -ENOEXEC;
	read_lines(c);
	return 0;
}

int cubin_open(struct cubin **cubin, void *image, size_t size)
{
	struct cubin *c = calloc(1, sizeof(*c));
	int err;

	*cubin = NULL;
	if (!c)
		return -ENOMEM;
	err = open_cubin(c, image, size);
	if (err)
		cubin_close(c);
	else
		*cubin = c;
	return err;
}

void cubin_close(struct cubin *c)
{
	if (!c)
		return;
	if (c->debug)
		dwarf_end(c->debug);
	elf_end(c->elf);
	free(c->lines);
	free(c->bases);
	free(c->by_name);
	free(c->by_place);
	free(c);
}

/* ---- places ---- */

static Dwarf_Addr address_of(const struct unit *u, size_t row)
{
	Dwarf_Addr address = 0;

	dwarf_lineaddr(dwarf_onesrcline(u->lines, row), &address);
	return address;
}

/* Returns the last row at or before the address; NULL: no function is there. */
static Dwarf_Line *row_at(const struct unit *u, uint64_t address)
{
	size_t from = 0, to = u->count;
	bool ends = true;
	Dwarf_Line *row;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (address_of(u, middle) <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0)
		return NULL;
	row = dwarf_onesrcline(u->lines, from - 1);
	return dwarf_lineendsequence(row, &ends) == 0 && !ends ? row : NULL;
}

/* Returns the text if it fits into `*room`, which it reduces; NULL otherwise. */
static const char *take_text(const char *text, size_t *room)
{
	size_t size = text ? strnlen(text, *room) : 0;

	if (!text || size == *room)
		return NULL;
	*room -= size;
	return text;
}

/* Adds the functions inlined there, outermost first. */
static void add_inlined(const struct cubin *c, const struct unit *u, Dwarf_Line *row, size_t *room,
			struct cubin_place *place)
{
	const char *names[CUBIN_MAX_DEPTH];
	uint32_t count = 0;

	for (; row && count < CUBIN_MAX_DEPTH; row = dwarf_linecontext(u->lines, row)) {
		const char *name = take_text(dwarf_linefunctionname(c->debug, row), room);

		if (!name)
			break;
		names[count++] = name;
	}
	while (count-- > 0)
		place->functions[place->function_count++] = names[count];
}

/*
 * Adds a function that is called, not inlined, and lies in its caller's section: its symbol is
 * "$CALLER$NAME".
 */
static void add_called(const struct cubin *c, const struct symbol *function, uint64_t offset,
		       size_t *room, struct cubin_place *place)
{
	const struct symbol next = {.section = function->section, .value = offset + 1};
	size_t from =
		sorted_find(&next, c->by_place, c->symbol_count, sizeof(next), compare_places);

	if (from > 0) {
		const struct symbol *s = &c->by_place[from - 1];
		const char *name = NULL;

		if (s->section == function->section && s->name[0] == '$' &&
		    offset - s->value < s->size)
			name = take_text(strrchr(s->name, '$') + 1, room);
		if (name)
			place->functions[place->function_count++] = name;
	}
}

bool cubin_find(const struct cubin *c, const char *function, uint64_t pc, struct cubin_place *place)
{
	const struct symbol key = {.name = function};
	const struct symbol *symbol = c->symbol_count ? bsearch(&key, c->by_name, c->symbol_count,
								sizeof(key), compare_names)
						      : NULL;
	size_t room = CUBIN_MAX_TEXT;

	*place = (struct cubin_place){.line = 0};
	if (!symbol || pc >= symbol->size)
		return false;
	add_called(c, symbol, symbol->value + pc, &room, place);
	for (uint32_t i = 0; i < c->unit_count; i++) {
		Dwarf_Line *row =
			row_at(&c->units[i], c->bases[symbol->section] + symbol->value + pc);
		int line = 0;

		if (!row)
			continue;
		place->file = take_text(dwarf_linesrc(row, NULL, NULL), &room);
		add_inlined(c, &c->units[i], row, &room, place);
		dwarf_lineno(row, &line);
		place->line = line > 0 ? (uint32_t)line : 0;
		return true;
	}
	return place->function_count > 0;
}
