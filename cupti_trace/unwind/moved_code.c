/* SPDX-License-Identifier: MIT */
#include "cupti_trace/unwind/moved_code.h"

#include <elf.h>
#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/readable.h"
#include "symbolize/text_pages.h"
#include "symbolize/util/text.h"

#define SEGMENTS_MAX 64u

bool moved_code_is_memory(const struct gpu_event_code *code)
{
	static const char *const shared[] = {"/memfd:", "/dev/", "/SYSV", "/anon_hugepage"};

	if (code->inode == 0)
		return code->path[0] == '\0' || code->path[0] == '/' ||
		       starts_with(code->path, "[anon");
	return starts_with_any(code->path, shared, sizeof(shared) / sizeof(shared[0]));
}

/* Program headers of a file, as far as needed. */
struct segments {
	Elf64_Phdr list[SEGMENTS_MAX];
	uint32_t count;
	uint64_t bias; /* addresses in memory minus those in the file */
};

static bool read_segments(uint64_t head, uint64_t head_end, struct segments *s)
{
	Elf64_Ehdr header;
	bool has_head = false;

	s->count = 0;
	if (head_end <= head || head_end - head < sizeof(header) ||
	    !copy_mapped(head, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > SEGMENTS_MAX || header.e_phoff > head_end - head ||
	    header.e_phnum * sizeof(Elf64_Phdr) > head_end - head - header.e_phoff ||
	    !copy_mapped(head + header.e_phoff, s->list, header.e_phnum * sizeof(Elf64_Phdr)))
		return false;
	s->count = header.e_phnum;
	for (uint32_t i = 0; i < s->count && !has_head; i++) {
		const Elf64_Phdr *p = &s->list[i];

		if (p->p_type != PT_LOAD || p->p_offset >= TEXT_PAGE)
			continue;
		s->bias = head - (p->p_vaddr - p->p_offset);
		has_head = true;
	}
	return has_head;
}

#define PIECE_BYTES 512u /* on the stack of a thread of the program */

/*
 * Adds memory to a hash. Another thread may unmap it meanwhile. Returns false if it cannot be read.
 */
static bool add_memory(uint64_t *hash, uint64_t first, uint64_t end)
{
	uint8_t bytes[PIECE_BYTES];

	for (size_t size; first < end; first += size) {
		size = end - first < sizeof(bytes) ? end - first : sizeof(bytes);
		if (!copy_mapped(first, bytes, size))
			return false;
		*hash = text_pages_hash(*hash, bytes, size);
	}
	return true;
}

/* Returns the hash of the pages; 0: they cannot be read. */
static uint64_t hash_memory(uint64_t from, uint64_t to)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < text_pages_count(from, to); i++) {
		uint64_t first, end;

		text_pages_get(from, to, i, &first, &end);
		if (!add_memory(&hash, first, end))
			return 0;
	}
	return hash;
}

bool moved_code_find(const struct gpu_event_code *code, const struct gpu_event_code *file,
		     uint64_t head, uint64_t head_end, uint64_t pc, struct gpu_event_code *text)
{
	struct segments segments;

	if (guest_is_sandboxed() || !read_segments(head, head_end, &segments))
		return false;
	for (uint32_t i = 0; i < segments.count; i++) {
		const Elf64_Phdr *p = &segments.list[i];
		uint64_t begin = segments.bias + p->p_vaddr, end = begin + p->p_filesz;
		uint64_t from = begin & ~(TEXT_PAGE - 1);
		uint64_t to = (end + TEXT_PAGE - 1) & ~(TEXT_PAGE - 1);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || pc < begin || pc >= end)
			continue;
		*text = *file;
		text->start = from > code->start ? from : code->start;
		text->end = to < code->end ? to : code->end;
		text->file_offset = p->p_offset + (text->start - begin);
		text->text_hash = hash_memory(begin > code->start ? begin : code->start,
					      end < code->end ? end : code->end);
		return text->text_hash != 0;
	}
	return false;
}
