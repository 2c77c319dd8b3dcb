/* SPDX-License-Identifier: MIT */
#include "symbolize/line_files.h"

#include <dwarf.h>
#include <string.h>

#include "symbolize/cfi_bytes.h"

#define LENGTH_IS_64_BIT UINT32_C(0xffffffff)

/* Header of a table, from its folders on. */
struct header {
	const struct line_sections *sections;
	struct bytes rest;
	bool is_64_bit;
	uint16_t version;
};

static uint64_t get_offset(struct bytes *b, bool is_64_bit)
{
	return is_64_bit ? bytes_u64(b) : bytes_u32(b);
}

static const char *get_text(struct bytes *b)
{
	const char *text = (const char *)b->at;

	bytes_skip_string(b);
	return b->bad ? NULL : text;
}

/* Returns the text at an offset of a section; NULL if it does not end inside. */
static const char *text_at(const struct line_section *section, uint64_t offset)
{
	const char *text = section->data;

	if (!text || offset >= section->size ||
	    !memchr(text + offset, '\0', section->size - offset))
		return NULL;
	return text + offset;
}

static bool read_header(const struct line_sections *sections, uint64_t offset, struct header *h)
{
	struct bytes all = {.at = sections->lines.data}, unit;
	uint64_t length;
	uint8_t opcodes;

	if (!all.at || offset >= sections->lines.size)
		return false;
	all.end = all.at + sections->lines.size;
	all.at += offset;
	*h = (struct header){.sections = sections};
	length = bytes_u32(&all);
	h->is_64_bit = length == LENGTH_IS_64_BIT;
	if (h->is_64_bit)
		length = bytes_u64(&all);
	unit = bytes_take(&all, length);
	h->version = bytes_u16(&unit);
	if (h->version >= 5)
		bytes_u16(&unit); /* sizes of addresses and segments */
	length = get_offset(&unit, h->is_64_bit);
	h->rest = bytes_take(&unit, length);
	/*
	 * minimum instruction length, operations per instruction (from 4 on), is_stmt, line base
	 * and range
	 */
	bytes_take(&h->rest, h->version >= 4 ? 5 : 4);
	opcodes = bytes_u8(&h->rest);
	bytes_take(&h->rest, opcodes > 0 ? opcodes - 1u : 0);
	return !all.bad && !unit.bad && !h->rest.bad && h->version >= 2 && h->version <= 5;
}

/* ---- DWARF 2 to 4: lists that an empty name ends; numbers begin with 1 ---- */

static bool find_before_5(struct header *h, uint64_t number, const char **folder, const char **name)
{
	struct bytes folders = h->rest;
	uint64_t in_folder = 0;
	const char *text;

	while ((text = get_text(&h->rest)) && *text)
		;
	for (uint64_t i = 1; (text = get_text(&h->rest)) && *text; i++) {
		in_folder = bytes_uleb(&h->rest);
		bytes_uleb(&h->rest); /* time and size */
		bytes_uleb(&h->rest);
		if (i == number)
			break;
	}
	if (h->rest.bad || !text || !*text || number == 0)
		return false;
	*name = text;
	*folder = NULL;
	for (uint64_t i = 0; i < in_folder; i++) {
		*folder = get_text(&folders);
		if (!*folder || !**folder)
			return false;
	}
	return true;
}

/* ---- DWARF 5: each list says what its entries have; numbers begin with 0 ---- */

struct entries {
	struct bytes formats, list;
	uint64_t count;
	uint8_t format_count;
};

/* An entry. Its path is resolved only when needed: many entries may refer to one long text. */
struct entry {
	const struct line_section *section; /* has the path; NULL: `path` is it, or NULL */
	const char *path;
	uint64_t offset, folder;
};

static uint64_t get_number(struct bytes *b, uint64_t form)
{
	switch (form) {
	case DW_FORM_udata:
		return bytes_uleb(b);
	case DW_FORM_data1:
		return bytes_u8(b);
	case DW_FORM_data2:
		return bytes_u16(b);
	case DW_FORM_data4:
		return bytes_u32(b);
	case DW_FORM_data8:
		return bytes_u64(b);
	case DW_FORM_data16:
		bytes_take(b, 16);
		return 0;
	case DW_FORM_block:
		bytes_take(b, bytes_uleb(b));
		return 0;
	default:
		b->bad = true;
		return 0;
	}
}

static void get_entry(const struct header *h, const struct entries *entries, struct bytes *b,
		      struct entry *entry)
{
	struct bytes formats = entries->formats;

	*entry = (struct entry){.path = NULL};
	for (uint8_t i = 0; i < entries->format_count && !b->bad; i++) {
		uint64_t content = bytes_uleb(&formats), form = bytes_uleb(&formats), number = 0;
		struct entry text = {.path = NULL};

		if (form == DW_FORM_string)
			text.path = get_text(b);
		else if (form == DW_FORM_line_strp)
			text.section = &h->sections->line_strings;
		else if (form == DW_FORM_strp)
			text.section = &h->sections->strings;
		else
			number = get_number(b, form);
		if (text.section)
			text.offset = get_offset(b, h->is_64_bit);
		if (content == DW_LNCT_path) {
			text.folder = entry->folder;
			*entry = text;
		} else if (content == DW_LNCT_directory_index) {
			entry->folder = number;
		}
	}
}

static const char *path_of(const struct entry *entry)
{
	return entry->section ? text_at(entry->section, entry->offset) : entry->path;
}

/* Reads the format of a list. Refuses entries without content, which would have no end. */
static bool begin_entries(struct bytes *b, struct entries *entries)
{
	entries->format_count = bytes_u8(b);
	entries->formats = *b;
	for (uint8_t i = 0; i < entries->format_count; i++) {
		bytes_uleb(b);
		bytes_uleb(b);
	}
	entries->count = bytes_uleb(b);
	entries->list = *b;
	return !b->bad && (entries->format_count > 0 || entries->count == 0);
}

/* Reads the entry of this number, or all if there are fewer. `*b` moves behind them. */
static bool go_to(const struct header *h, const struct entries *entries, uint64_t number,
		  struct bytes *b, struct entry *entry)
{
	*entry = (struct entry){.path = NULL};
	for (uint64_t i = 0; i < entries->count && i <= number && !b->bad; i++)
		get_entry(h, entries, b, entry);
	return number < entries->count && !b->bad;
}

static bool find_in_5(struct header *h, uint64_t number, const char **folder, const char **name)
{
	struct entries folders, files;
	struct entry file, of_file;

	if (!begin_entries(&h->rest, &folders))
		return false;
	(void)go_to(h, &folders, UINT64_MAX, &h->rest, &of_file);
	if (h->rest.bad || !begin_entries(&h->rest, &files) ||
	    !go_to(h, &files, number, &h->rest, &file))
		return false;
	*name = path_of(&file);
	*folder =
		go_to(h, &folders, file.folder, &folders.list, &of_file) ? path_of(&of_file) : NULL;
	return *name;
}

bool line_file_find(const struct line_sections *sections, uint64_t offset, uint64_t number,
		    const char **folder, const char **name)
{
	struct header h;

	if (!read_header(sections, offset, &h))
		return false;
	return h.version >= 5 ? find_in_5(&h, number, folder, name)
			      : find_before_5(&h, number, folder, name);
}
