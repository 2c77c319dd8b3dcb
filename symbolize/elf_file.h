/* SPDX-License-Identifier: MIT */
/*
 * Reads sections of an ELF image, in a file or in memory, without trusting its headers.
 *
 * libelf parses the headers. It uses pread(2), never mmap(2): the file belongs to someone else, and
 * truncating a mapped file kills its reader with SIGBUS. Sizes of sections are checked against the
 * file's size and against limits (table_quota.h) before allocating: a sparse file may claim any
 * size.
 */
#ifndef SYMBOLIZE_ELF_FILE_H
#define SYMBOLIZE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/table_quota.h"

struct elf_file {
	Elf *elf;
	int fd;            /* borrowed; -1: in memory */
	const char *image; /* borrowed; NULL: in a file */
	uint64_t size;     /* bytes in the file or image */
	uint16_t machine;  /* EM_* */
	uint16_t type;     /* ET_EXEC or ET_DYN */
	/* set after opening, or NULL: reads are taken from it; borrowed */
	struct quota_share *share;
};

/*
 * Opens a program, a library or their debug file in this machine's byte order. Returns 0, -ENOEXEC
 * for anything else, or -errno. The caller keeps the descriptor or image, which must outlive the
 * elf_file.
 */
int elf_file_open(struct elf_file *file, int fd);
int elf_file_open_memory(struct elf_file *file, const void *image, size_t size);
void elf_file_close(struct elf_file *file);

/*
 * Returns the image of this process's vDSO, which is that of all 64-bit processes of the kernel.
 * NULL: there is none, or this process has 32 bits.
 */
const void *elf_vdso(size_t *size);

/*
 * Reads a section into a malloc'd copy, followed by a NUL that the size in `header` does not
 * include. Returns NULL if its contents are not acceptable, or out of memory. The caller frees the
 * copy, with elf_file_free_section to return its bytes to the share.
 */
char *elf_file_read_section(const struct elf_file *file, const GElf_Shdr *header);
void elf_file_free_section(const struct elf_file *file, const GElf_Shdr *header, char *copy);

/*
 * Reads a section that zlib compressed, and decompresses it: `header` gets its true size. Such a
 * section is marked SHF_COMPRESSED (gABI, chapter 4), or named .zdebug_* in the old way, with
 * ELF_FILE_OLD_PACKED bytes of header. Returns NULL also for another compression.
 */
#define ELF_FILE_OLD_PACKED 12
char *elf_file_read_compressed(const struct elf_file *file, GElf_Shdr *header);

#define BUILD_ID_MAX 64 /* bytes */
#define BUILD_ID_TEXT (2 * BUILD_ID_MAX + 1)

/* Converts a build id of at most BUILD_ID_MAX bytes to hexadecimal. */
void build_id_text(const unsigned char *id, size_t size, char text[BUILD_ID_TEXT]);

/* Reads the file's build id from its GNU note; "" if there is none, or a longer one. */
void elf_file_build_id(const struct elf_file *file, char text[BUILD_ID_TEXT]);

/* Finds the first section with this type and (unless NULL) name. Returns NULL if there is none. */
Elf_Scn *elf_file_find_section(const struct elf_file *file, uint32_t type, const char *name,
			       GElf_Shdr *header);

/* Finds .eh_frame or .eh_frame_hdr, whose type depends on the linker. */
Elf_Scn *elf_file_find_unwind_section(const struct elf_file *file, const char *name,
				      GElf_Shdr *header);

/*
 * Returns the next section behind `section` (NULL: the first) that has a header and a name; NULL at
 * the end.
 */
Elf_Scn *elf_next_section(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name);

struct elf_segment {
	uint64_t offset, size, address;
	bool is_executable;
};

/* Loadable segments, which map offsets in the file to addresses. The caller frees the list. */
struct elf_segments {
	struct elf_segment *list;
	uint32_t count;
};

/* Reads the segments. Returns 0 or -ENOMEM. */
int elf_file_read_segments(const struct elf_file *file, struct elf_segments *segments);

/*
 * Converts a file offset to an address. Returns false if no segment contains it. Prefers executable
 * segments: a page at a segment's edge can be in the file once, but mapped twice.
 */
bool elf_segments_address(const struct elf_segments *segments, uint64_t offset, uint64_t *address);

#endif
