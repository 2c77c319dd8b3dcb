/* SPDX-License-Identifier: MIT */
/* Writes a jitdump, record by record, and call-frame information for it. */
#ifndef TESTS_UNIT_MADE_JITDUMP_H
#define TESTS_UNIT_MADE_JITDUMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void made_jitdump_bytes(int fd, const void *bytes, size_t size)
{
	assert_int_equal(write(fd, bytes, size), size);
}

/* An .eh_frame or .eh_frame_hdr under construction. */
struct made_frames {
	uint8_t at[512];
	size_t size;
};

static inline void made_frames_put(struct made_frames *f, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(f->at) - f->size);
	memcpy(f->at + f->size, bytes, size);
	f->size += size;
}

static inline void made_frames_u32(struct made_frames *f, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	made_frames_put(f, &low, sizeof(low));
}

/* Begins with a CIE: pc-relative addresses of 4 bytes, CFA rsp + 8, the return address below. */
static inline void made_frames_begin(struct made_frames *f)
{
	f->size = 0;
	made_frames_u32(f, 20);
	made_frames_u32(f, 0);
	made_frames_put(f, "\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0", 16);
}

/*
 * Adds a function, all of which has its CFA at rsp + `cfa` (below 128). `section`: the address that
 * the bytes have.
 */
static inline void made_frames_function(struct made_frames *f, uint64_t section, uint64_t start,
					uint64_t size, uint8_t cfa)
{
	const uint8_t program[] = {0, 0x0e, cfa, 0};

	made_frames_u32(f, 16);
	made_frames_u32(f, f->size);
	made_frames_u32(f, start - (section + f->size));
	made_frames_u32(f, size);
	made_frames_put(f, program, sizeof(program));
}

/* Makes a header without a search table, and without an address if that is 0. */
static inline void made_frames_header(struct made_frames *f, uint64_t address)
{
	f->size = 0;
	made_frames_put(f, address ? "\x01\x0c\xff\xff" : "\x01\x1b\xff\xff", 4);
	if (address)
		made_frames_put(f, &address, sizeof(address));
	else
		made_frames_u32(f, 0);
}

/* Adds what `second` has. */
static inline void made_frames_join(struct made_frames *f, const struct made_frames *second)
{
	made_frames_put(f, second->at, second->size);
}

/* Writes the file's header. `flags` 1: times are the processor's ticks. */
static inline void made_jitdump_header(int fd, uint64_t flags)
{
	const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, 1234};
	const uint64_t more[] = {1, flags};

	made_jitdump_bytes(fd, words, sizeof(words));
	made_jitdump_bytes(fd, more, sizeof(more));
}

static inline void made_jitdump_other(int fd, uint32_t type, uint64_t time, uint32_t more)
{
	const uint32_t words[] = {type, 16 + more};
	char *zeros = calloc(1, more + 1);

	assert_non_null(zeros);
	made_jitdump_bytes(fd, words, sizeof(words));
	made_jitdump_bytes(fd, &time, sizeof(time));
	made_jitdump_bytes(fd, zeros, more);
	free(zeros);
}

/* Writes a record of code. The code that follows is shorter than the record says. */
static inline void made_jitdump_load(int fd, uint64_t time, uint64_t address, uint64_t size,
				     const char *name)
{
	const uint32_t words[] = {0, (uint32_t)(16 + 8 + 32 + strlen(name) + 1 + 5)};
	const uint32_t ids[] = {1234, 1235};
	const uint64_t numbers[] = {address, address, size, 1};

	made_jitdump_bytes(fd, words, sizeof(words));
	made_jitdump_bytes(fd, &time, sizeof(time));
	made_jitdump_bytes(fd, ids, sizeof(ids));
	made_jitdump_bytes(fd, numbers, sizeof(numbers));
	made_jitdump_bytes(fd, name, strlen(name) + 1);
	made_jitdump_bytes(fd, "\xc3\xc3\xc3\xc3\xc3", 5);
}

/* Writes a record of unwinding data that claims `claimed` bytes, with a header of `header_size`
 * bytes. */
static inline void made_jitdump_unwinding(int fd, uint64_t time, const void *bytes, size_t size,
					  uint64_t claimed, uint64_t header_size)
{
	const uint32_t words[] = {4, (uint32_t)(16 + 24 + size)};
	const uint64_t sizes[] = {claimed, header_size, 0};

	made_jitdump_bytes(fd, words, sizeof(words));
	made_jitdump_bytes(fd, &time, sizeof(time));
	made_jitdump_bytes(fd, sizes, sizeof(sizes));
	made_jitdump_bytes(fd, bytes, size);
}

/* Describes the code that comes next, of `size` bytes, as perf(1) lays it out. */
static inline void made_jitdump_frames(int fd, uint64_t time, uint64_t size, uint8_t cfa)
{
	struct made_frames section, header;

	made_frames_begin(&section);
	made_frames_function(&section, (size + 7) & ~UINT64_C(7), 0, size, cfa);
	made_frames_header(&header, 0);
	made_frames_join(&section, &header);
	made_jitdump_unwinding(fd, time, section.at, section.size, section.size, header.size);
}

static inline void made_jitdump_move(int fd, uint64_t time, uint64_t from, uint64_t to,
				     uint64_t size)
{
	const uint32_t words[] = {1, 64}, ids[] = {1234, 1235};
	const uint64_t numbers[] = {to, from, to, size, 1};

	made_jitdump_bytes(fd, words, sizeof(words));
	made_jitdump_bytes(fd, &time, sizeof(time));
	made_jitdump_bytes(fd, ids, sizeof(ids));
	made_jitdump_bytes(fd, numbers, sizeof(numbers));
}

#endif
