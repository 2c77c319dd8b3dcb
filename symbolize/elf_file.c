/* SPDX-License-Identifier: MIT */
#include "symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <zlib.h>

#include "symbolize/util/file_io.h"

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

/*
 * Checks a value that libelf trusts. If the header's 16-bit section count is 0, libelf allocates as
 * many descriptors as section 0 claims. Programs and libraries do not need that.
 */
static bool header_is_sane(const unsigned char *header, size_t size)
{
	static const unsigned int order = 1;
	const bool little = *(const unsigned char *)&order == 1;
	Elf64_Ehdr header64;
	Elf32_Ehdr header32;

	if (size < sizeof(header32) || memcmp(header, ELFMAG, SELFMAG) != 0 ||
	    header[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
		return false;
	if (header[EI_CLASS] == ELFCLASS32) {
		memcpy(&header32, header, sizeof(header32));
		return header32.e_shnum != 0 || header32.e_shoff == 0;
	}
	if (size < sizeof(header64))
		return false;
	memcpy(&header64, header, sizeof(header64));
	return header64.e_shnum != 0 || header64.e_shoff == 0;
}

/* Takes `bytes` from `*left`. Returns false if there are not enough. */
static bool spend(uint64_t *left, uint64_t bytes)
{
	if (bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

/* Returns whether libelf and libdw read an acceptable amount on their own: section names, notes. */
static bool tables_are_sane(const struct elf_file *file, size_t segments)
{
	uint64_t notes = ELF_FILE_MAX_NOTES;
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	GElf_Phdr segment;
	size_t names = 0;

	while ((scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &section) ||
		    (section.sh_type == SHT_NOTE && !spend(&notes, section.sh_size)))
			return false;
	}
	for (size_t i = 0; i < segments; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &segment) ||
		    (segment.p_type == PT_NOTE && !spend(&notes, segment.p_filesz)))
			return false;
	}
	if (elf_getshdrstrndx(file->elf, &names) != 0 || names == SHN_UNDEF)
		return true;
	return gelf_getshdr(elf_getscn(file->elf, names), &section) &&
	       section.sh_size <= ELF_FILE_MAX_SECTION_NAMES;
}

static int check(struct elf_file *file)
{
	size_t segments = 0;
	GElf_Ehdr header;

	if (!file->elf)
		return -ENOEXEC;
	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
	    elf_getphdrnum(file->elf, &segments) != 0 || segments > ELF_FILE_MAX_SEGMENTS ||
	    !tables_are_sane(file, segments)) {
		elf_file_close(file);
		return -ENOEXEC;
	}
	file->machine = header.e_machine;
	file->type = header.e_type;
	return 0;
}

int elf_file_open(struct elf_file *file, int fd)
{
	unsigned char header[sizeof(Elf64_Ehdr)];
	struct stat st;

	*file = (struct elf_file){.fd = fd};
	if (fstat(fd, &st) != 0)
		return -errno;
	file->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (file->size < sizeof(header) || read_exactly(fd, header, sizeof(header), 0) != 0 ||
	    !header_is_sane(header, sizeof(header)))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	return check(file);
}

int elf_file_open_memory(struct elf_file *file, const void *image, size_t size)
{
	*file = (struct elf_file){.fd = -1, .image = image, .size = size};
	if (!header_is_sane(image, size))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	/* libelf's prototype lacks const, but reading does not write */
	file->elf = elf_memory((char *)(uintptr_t)image, size);
	return check(file);
}

const void *elf_vdso(size_t *size)
{
	const void *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = image;

	if (!image || header->e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	*size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	return image;
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	file->elf = NULL;
}

/* Returns whether the section has uncompressed contents inside the file. */
static bool has_contents(const struct elf_file *file, const GElf_Shdr *header)
{
	return header->sh_type != SHT_NOBITS && header->sh_type != SHT_NULL &&
	       !(header->sh_flags & SHF_COMPRESSED) && header->sh_size > 0 &&
	       header->sh_size <= file->size && header->sh_offset <= file->size - header->sh_size;
}

char *elf_file_read_section(const struct elf_file *file, const GElf_Shdr *header)
{
	char *copy;

	if (!has_contents(file, header) || !quota_share_take(file->share, header->sh_size))
		return NULL;
	copy = malloc(header->sh_size + 1);
	if (!copy)
		goto out_return;
	copy[header->sh_size] = '\0';
	if (file->image)
		memcpy(copy, file->image + header->sh_offset, header->sh_size);
	else if (read_exactly(file->fd, copy, header->sh_size, header->sh_offset) != 0)
		goto out_free;
	return copy;
out_free:
	free(copy);
out_return:
	quota_share_return(file->share, header->sh_size);
	return NULL;
}

/* Decompresses the data behind the header of a section. Its size has been taken. */
static char *unpack(const char *packed, size_t size, uint64_t unpacked_size)
{
	char *copy = malloc(unpacked_size + 1);
	uLongf length = unpacked_size;

	if (copy && uncompress((Bytef *)copy, &length, (const Bytef *)packed, size) == Z_OK &&
	    length == unpacked_size) {
		copy[length] = '\0';
		return copy;
	}
	free(copy);
	return NULL;
}

/*
 * Returns the offset of the compressed data, and its decompressed size; 0 if compressed in another
 * way. The old form, in sections named .zdebug_*, is "ZLIB" and the size in big-endian order.
 */
static size_t read_packed_header(const struct elf_file *file, const GElf_Shdr *header,
				 const char *packed, uint64_t *unpacked_size)
{
	Elf64_Chdr how;
	uint64_t size;

	if (!(header->sh_flags & SHF_COMPRESSED)) {
		if (header->sh_size <= ELF_FILE_OLD_PACKED || memcmp(packed, "ZLIB", 4) != 0)
			return 0;
		memcpy(&size, packed + 4, sizeof(size));
		*unpacked_size = be64toh(size);
		return ELF_FILE_OLD_PACKED;
	}
	if (header->sh_size <= sizeof(how) || gelf_getclass(file->elf) != ELFCLASS64)
		return 0;
	memcpy(&how, packed, sizeof(how));
	*unpacked_size = how.ch_size;
	return how.ch_type == ELFCOMPRESS_ZLIB ? sizeof(how) : 0;
}

char *elf_file_read_compressed(const struct elf_file *file, GElf_Shdr *header)
{
	GElf_Shdr raw = *header;
	uint64_t size = 0;
	char *packed, *copy = NULL;
	size_t start;

	raw.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	packed = elf_file_read_section(file, &raw);
	if (!packed)
		return NULL;
	start = read_packed_header(file, header, packed, &size);
	if (start && size > 0 && size < UINT64_MAX && quota_share_take(file->share, size)) {
		copy = unpack(packed + start, raw.sh_size - start, size);
		if (!copy)
			quota_share_return(file->share, size);
	}
	elf_file_free_section(file, &raw, packed);
	if (copy)
		header->sh_size = size;
	return copy;
}

void elf_file_free_section(const struct elf_file *file, const GElf_Shdr *header, char *copy)
{
	if (copy)
		quota_share_return(file->share, header->sh_size);
	free(copy);
}

Elf_Scn *elf_next_section(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name)
{
	size_t names = 0;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		*name = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name)
						      : NULL;
		if (*name)
			return section;
	}
	return NULL;
}

Elf_Scn *elf_file_find_section(const struct elf_file *file, uint32_t type, const char *name,
			       GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *found;

	if (!name) {
		while ((section = elf_nextscn(file->elf, section)))
			if (gelf_getshdr(section, header) && header->sh_type == type)
				return section;
		return NULL;
	}
	while ((section = elf_next_section(file->elf, section, header, &found)))
		if (header->sh_type == type && strcmp(found, name) == 0)
			return section;
	return NULL;
}

Elf_Scn *elf_file_find_unwind_section(const struct elf_file *file, const char *name,
				      GElf_Shdr *header)
{
	Elf_Scn *section = elf_file_find_section(file, SHT_PROGBITS, name, header);

	return section ? section : elf_file_find_section(file, SHT_X86_64_UNWIND, name, header);
}

int elf_file_read_segments(const struct elf_file *file, struct elf_segments *segments)
{
	size_t count = 0;

	*segments = (struct elf_segments){0};
	if (elf_getphdrnum(file->elf, &count) != 0 || count == 0)
		return 0;
	segments->list = calloc(count, sizeof(*segments->list));
	if (!segments->list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		segments->list[segments->count++] = (struct elf_segment){
			.offset = header.p_offset,
			.size = header.p_filesz,
			.address = header.p_vaddr,
			.is_executable = (header.p_flags & PF_X) != 0,
		};
	}
	return 0;
}

bool elf_segments_address(const struct elf_segments *segments, uint64_t offset, uint64_t *address)
{
	const struct elf_segment *found = NULL;

	for (uint32_t i = 0; i < segments->count; i++) {
		const struct elf_segment *s = &segments->list[i];

		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		if (!found || (s->is_executable && !found->is_executable))
			found = s;
	}
	if (!found)
		return false;
	*address = found->address + (offset - found->offset);
	return true;
}

void build_id_text(const unsigned char *id, size_t size, char text[BUILD_ID_TEXT])
{
	text[0] = '\0';
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void elf_file_build_id(const struct elf_file *file, char text[BUILD_ID_TEXT])
{
	const void *id = NULL;
	ssize_t size = dwelf_elf_gnu_build_id(file->elf, &id);

	build_id_text(id, size > 0 && size <= BUILD_ID_MAX ? (size_t)size : 0, text);
}
