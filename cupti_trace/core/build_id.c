// SPDX-License-Identifier: MIT
#include "cupti_trace/core/build_id.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cupti_trace/core/readable.h"

#define SEGMENTS_MAX 64u
#define NOTES_MAX 4096u /* limit of a segment of notes, bytes */
#define ID_MAX ((BUILD_ID_TEXT_BYTES - 1) / 2)

struct image {
	uint64_t start, size;
};

/* Copies bytes of the file. Returns false if they are not mapped. */
static bool copy(const struct image *image, uint64_t offset, void *out, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset && size > 0 &&
	       copy_own_memory(image->start + offset, out, size);
}

static uint64_t align(uint64_t size)
{
	return (size + 3) & ~UINT64_C(3);
}

/* Searches notes. */
static bool find_in(const uint8_t *notes, uint64_t size, char *text)
{
	Elf64_Nhdr note;

	for (uint64_t at = 0; size - at >= sizeof(note);) {
		uint64_t name, id;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		id = name + align(note.n_namesz);
		if (id > size || align(note.n_descsz) > size - id)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
		    note.n_descsz <= ID_MAX) {
			for (uint32_t i = 0; i < note.n_descsz; i++)
				snprintf(text + 2 * i, 3, "%02x", notes[id + i]);
			return true;
		}
		at = id + align(note.n_descsz);
	}
	return false;
}

void build_id_read(uint64_t start, uint64_t end, char text[BUILD_ID_TEXT_BYTES])
{
	const struct image image = {start, end > start ? end - start : 0};
	uint8_t notes[NOTES_MAX];
	Elf64_Phdr segment;
	Elf64_Ehdr header;

	text[0] = '\0';
	if (!copy(&image, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segment))
		return;
	for (uint32_t i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
		if (!copy(&image, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return;
		if (segment.p_type == PT_NOTE && segment.p_filesz <= sizeof(notes) &&
		    copy(&image, segment.p_offset, notes, segment.p_filesz) &&
		    find_in(notes, segment.p_filesz, text))
			return;
	}
}
