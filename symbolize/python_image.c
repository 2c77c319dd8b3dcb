// SPDX-License-Identifier: MIT
#include "symbolize/python_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/elf_file.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/text.h"

#define LOOP_BYTES_MAX (4u << 20)

enum {
	SYMBOL_RUNTIME,
	SYMBOL_VERSION,
	SYMBOL_LOOP,
	SYMBOL_CODE,
	SYMBOL_TEXT,
	SYMBOL_TRAMPOLINE,
	SYMBOL_TRAMPOLINE_END,
	SYMBOLS
};
static const char *const names[SYMBOLS] = {"_PyRuntime",
					   "Py_Version",
					   "_PyEval_EvalFrameDefault",
					   "PyCode_Type",
					   "PyUnicode_Type",
					   "_Py_trampoline_func_start",
					   "_Py_trampoline_func_end"};

bool python_image_is_candidate(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "python") || starts_with(name, "libpython");
}

/*
 * Returns a release of the version in a file name, such as "libpython3.10d.so.1.0"; 0: there is
 * none.
 */
static uint32_t version_of_name(const char *path)
{
	const char *at = strstr(base_name(path), "python3.");
	unsigned long minor = at ? strtoul(at + strlen("python3."), NULL, 10) : 0;

	return minor > 0 && minor < 256 ? 0x030000f0u | (uint32_t)minor << 16 : 0;
}

/* ---- the file ---- */

struct reader {
	struct elf_file elf;
	int fd;
	struct elf_segments segments;
	GElf_Sym symbols[SYMBOLS]; /* st_value 0: absent */
};

/* Reads a table of symbols; keeps those of an earlier table. */
static void read_symbols(struct reader *r, GElf_Word type)
{
	GElf_Shdr header, strings_header;
	Elf_Scn *section = elf_file_find_section(&r->elf, type, NULL, &header), *strings;
	char *symbols = NULL, *text = NULL;
	uint64_t count;

	if (!section || header.sh_entsize != sizeof(Elf64_Sym))
		return;
	strings = elf_getscn(r->elf.elf, header.sh_link);
	if (!strings || !gelf_getshdr(strings, &strings_header))
		return;
	symbols = elf_file_read_section(&r->elf, &header);
	text = elf_file_read_section(&r->elf, &strings_header);
	count = symbols && text ? header.sh_size / sizeof(Elf64_Sym) : 0;
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_name >= strings_header.sh_size || symbol.st_shndx == SHN_UNDEF)
			continue;
		for (int k = 0; k < SYMBOLS; k++)
			if (!r->symbols[k].st_value && strcmp(text + symbol.st_name, names[k]) == 0)
				r->symbols[k] = symbol;
	}
	free(symbols);
	free(text);
}

/* Finds the symbols. Reads the large .symtab only if the file is, or may be, CPython. */
static int find_symbols(struct reader *r, const char *path)
{
	GElf_Shdr header;

	read_symbols(r, SHT_DYNSYM);
	/* _PyRuntime has a section of its own from 3.13 on, for readers like this one */
	if (!r->symbols[SYMBOL_RUNTIME].st_value &&
	    elf_file_find_section(&r->elf, SHT_PROGBITS, ".PyRuntime", &header))
		r->symbols[SYMBOL_RUNTIME] =
			(GElf_Sym){.st_value = header.sh_addr, .st_size = header.sh_size};
	if (r->symbols[SYMBOL_RUNTIME].st_value ? !r->symbols[SYMBOL_LOOP].st_value
						: python_image_is_candidate(path))
		read_symbols(r, SHT_SYMTAB);
	return r->symbols[SYMBOL_RUNTIME].st_value ? 0 : -ENOENT;
}

static void find_segments(struct reader *r, struct python_image *image)
{
	for (uint32_t i = 0; i < r->segments.count; i++) {
		const struct elf_segment *s = &r->segments.list[i];

		if (s->is_executable && s->size > 0 && image->segment_count < PYTHON_SEGMENTS)
			image->segments[image->segment_count++] =
				(struct python_segment){s->address, s->offset, s->size};
	}
}

/* Finds the segment with this many bytes in the file at `address`; NULL: there is none. */
static const struct elf_segment *find_segment(const struct reader *r, uint64_t address,
					      uint64_t size)
{
	for (uint32_t i = 0; i < r->segments.count; i++) {
		const struct elf_segment *s = &r->segments.list[i];

		if (address >= s->address && size <= s->size &&
		    address - s->address <= s->size - size)
			return s;
	}
	return NULL;
}

static int read_at(struct reader *r, uint64_t address, void *out, uint64_t size)
{
	const struct elf_segment *s = find_segment(r, address, size);

	return s ? read_exactly(r->fd, out, size, s->offset + (address - s->address)) : -ENOEXEC;
}

static int read_version(struct reader *r, const char *path, struct python_image *image)
{
	char runtime[PYTHON_RUNTIME_BYTES];
	size_t size = sizeof(runtime);
	uint64_t version;
	int err = 0;

	/* unneeded before 3.13, and perhaps in .bss */
	if (read_at(r, image->runtime, runtime, sizeof(runtime)) != 0)
		size = 0;
	if (r->symbols[SYMBOL_VERSION].st_value) {
		err = read_at(r, r->symbols[SYMBOL_VERSION].st_value, &version, sizeof(version));
	} else {
		version = python_offsets_version(runtime, size);
		if (!version)
			version = version_of_name(path);
	}
	if (err)
		return err;
	image->hex = (uint32_t)version;
	return python_offsets_read(image->hex, runtime, size, &image->offsets);
}

/* ---- the loop ---- */

static char *read_section(struct reader *r, const char *name, GElf_Shdr *header)
{
	return elf_file_find_unwind_section(&r->elf, name, header)
		       ? elf_file_read_section(&r->elf, header)
		       : NULL;
}

/* Reads call-frame information temporarily. The caller frees `frames` and `index`. */
static bool read_frames(struct reader *r, struct cfi_table *table, char **frames, char **index)
{
	GElf_Shdr header, index_header;

	*frames = read_section(r, ".eh_frame", &header);
	*index = read_section(r, ".eh_frame_hdr", &index_header);
	if (!*frames)
		return false;
	*table = (struct cfi_table){.frames = (const uint8_t *)*frames,
				    .frames_size = header.sh_size,
				    .frames_address = header.sh_addr};
	if (*index) {
		table->index = (const uint8_t *)*index;
		table->index_size = index_header.sh_size;
		table->index_address = index_header.sh_addr;
	}
	return true;
}

static void find_loop(struct reader *r, struct python_image *image)
{
	const GElf_Sym *symbol = &r->symbols[SYMBOL_LOOP];
	struct python_loop *loop = &image->loop;
	struct cfi_table table;
	const struct elf_segment *segment;
	char *frames = NULL, *index = NULL;
	uint8_t *code;

	if (symbol->st_size == 0 || symbol->st_size > LOOP_BYTES_MAX)
		return;
	segment = find_segment(r, symbol->st_value, symbol->st_size);
	if (!segment)
		return;
	loop->parts[0].start = symbol->st_value;
	loop->parts[0].end = symbol->st_value + symbol->st_size;
	loop->count = 1;
	loop->module_start = segment->address;
	loop->module_end = segment->address + segment->size;
	code = malloc(symbol->st_size);
	if (!code)
		return;
	if (read_at(r, symbol->st_value, code, symbol->st_size) == 0 &&
	    read_frames(r, &table, &frames, &index))
		python_loop_find_parts(loop, &table, code);
	free(index);
	free(frames);
	free(code);
}

/* Reads the code that trampolines are copies of. */
static void find_trampoline(struct reader *r, struct python_image *image)
{
	uint64_t start = r->symbols[SYMBOL_TRAMPOLINE].st_value;
	uint64_t size = r->symbols[SYMBOL_TRAMPOLINE_END].st_value - start;
	uint8_t code[PYTHON_TRAMPOLINE_BYTES];

	if (start && size <= sizeof(code) && read_at(r, start, code, size) == 0)
		image->trampoline = python_trampoline_read(code, size);
}

int python_image_read(int fd, const char *path, struct quota_share *share,
		      struct python_image *image)
{
	struct reader r = {.fd = fd};
	int err = elf_file_open(&r.elf, fd);

	memset(image, 0, sizeof(*image));
	if (err)
		return err;
	r.elf.share = share;
	err = elf_file_read_segments(&r.elf, &r.segments);
	if (!err)
		err = find_symbols(&r, path);
	if (!err) {
		image->runtime = r.symbols[SYMBOL_RUNTIME].st_value;
		image->runtime_bytes = r.symbols[SYMBOL_RUNTIME].st_size;
		image->code_type = r.symbols[SYMBOL_CODE].st_value;
		image->text_type = r.symbols[SYMBOL_TEXT].st_value;
		err = read_version(&r, path, image);
	}
	if (!err) {
		find_segments(&r, image);
		find_loop(&r, image);
		find_trampoline(&r, image);
		if (image->segment_count == 0 ||
		    (image->loop.count == 0 && !python_offsets_have_anchors(&image->offsets)))
			err = -ENOEXEC;
	}
	free(r.segments.list);
	elf_file_close(&r.elf);
	return err;
}

uint64_t python_image_address(const struct python_image *image, uint64_t file_offset)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct python_segment *s = &image->segments[i];

		if (file_offset >= s->offset && file_offset - s->offset < s->size)
			return file_offset - s->offset + s->address;
	}
	return 0;
}

bool python_image_in_loop(const struct python_image *image, uint64_t file_offset)
{
	/* by the byte before: a call may be the last of a segment */
	uint64_t address = file_offset ? python_image_address(image, file_offset - 1) : 0;

	return address && python_loop_holds(&image->loop, address + 1);
}
