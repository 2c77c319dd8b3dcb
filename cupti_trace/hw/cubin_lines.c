// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/cubin_lines.h"

#include <elf.h>
#include <string.h>

/* A cubin in memory. Nothing but its size is trusted. */
struct cubin {
	const char *bytes;
	size_t size;
	Elf64_Ehdr header;
	const char *names; /* names of sections */
	size_t names_size;
};

static bool has(const struct cubin *c, uint64_t offset, uint64_t size)
{
	return offset <= c->size && size <= c->size - offset;
}

static Elf64_Shdr section(const struct cubin *c, uint32_t number)
{
	Elf64_Shdr header;

	memcpy(&header, c->bytes + c->header.e_shoff + number * sizeof(header), sizeof(header));
	return header;
}

static bool open_cubin(struct cubin *c, const char *bytes, size_t size)
{
	Elf64_Shdr names;

	*c = (struct cubin){.bytes = bytes, .size = size};
	if (!bytes || size < sizeof(c->header) || size > GPU_CUBIN_MAX_BYTES)
		return false;
	memcpy(&c->header, bytes, sizeof(c->header));
	if (memcmp(c->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    c->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    c->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    c->header.e_shentsize != sizeof(Elf64_Shdr) ||
	    !has(c, c->header.e_shoff, (uint64_t)c->header.e_shnum * sizeof(Elf64_Shdr)) ||
	    c->header.e_shstrndx >= c->header.e_shnum)
		return false;
	names = section(c, c->header.e_shstrndx);
	if (!has(c, names.sh_offset, names.sh_size))
		return false;
	c->names = bytes + names.sh_offset;
	c->names_size = names.sh_size;
	return true;
}

static bool is_named(const struct cubin *c, const Elf64_Shdr *header, const char *name)
{
	size_t length = strlen(name) + 1;

	return header->sh_name < c->names_size && length <= c->names_size - header->sh_name &&
	       memcmp(c->names + header->sh_name, name, length) == 0;
}

static bool is_wanted(const struct cubin *c, uint32_t number, const Elf64_Shdr *header)
{
	static const char *const wanted[] = {".debug_line", ".rela.debug_line", ".rel.debug_line",
					     ".debug_str",  ".debug_line_str",  ".symtab",
					     ".strtab"};

	if (header->sh_type == SHT_NOBITS || header->sh_size == 0 ||
	    !has(c, header->sh_offset, header->sh_size))
		return false;
	if (number == c->header.e_shstrndx)
		return true;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (is_named(c, header, wanted[i]))
			return true;
	return false;
}

size_t cubin_lines_size(const char *bytes, size_t size)
{
	struct cubin c;
	uint64_t sum;
	bool has_lines = false;

	if (!open_cubin(&c, bytes, size))
		return 0;
	sum = sizeof(c.header) + (uint64_t)c.header.e_shnum * sizeof(Elf64_Shdr);
	for (uint32_t i = 0; i < c.header.e_shnum; i++) {
		Elf64_Shdr header = section(&c, i);

		if (!is_wanted(&c, i, &header))
			continue;
		has_lines |= is_named(&c, &header, ".debug_line");
		sum += header.sh_size;
	}
	return has_lines ? (size_t)sum : 0;
}

static void send_range(const struct cubin *c, uint64_t from, uint64_t size, uint64_t crc,
		       struct sink *sink)
{
	for (uint64_t end = from + size; from < end;) {
		uint32_t n =
			end - from < GPU_CUBIN_PIECE ? (uint32_t)(end - from) : GPU_CUBIN_PIECE;

		sink_put(sink,
			 &(struct gpu_event){.type = GPU_EVENT_CUBIN,
					     .cubin = {.crc = crc,
						       .size = (uint32_t)c->size,
						       .offset = (uint32_t)from,
						       .count = n,
						       .bytes = (const uint8_t *)c->bytes + from}});
		from += n;
	}
}

void cubin_lines_send(const char *bytes, size_t size, uint64_t crc, struct sink *sink)
{
	struct cubin c;

	if (!open_cubin(&c, bytes, size))
		return;
	send_range(&c, 0, sizeof(c.header), crc, sink);
	send_range(&c, c.header.e_shoff, (uint64_t)c.header.e_shnum * sizeof(Elf64_Shdr), crc,
		   sink);
	for (uint32_t i = 0; i < c.header.e_shnum; i++) {
		Elf64_Shdr header = section(&c, i);

		if (is_wanted(&c, i, &header))
			send_range(&c, header.sh_offset, header.sh_size, crc, sink);
	}
}
