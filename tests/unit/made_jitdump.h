/* SPDX-License-Identifier: MIT */
/* Writes a jitdump, record by record. */
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

/* `flags` 1: times are the processor's. */
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

/* The code that follows is shorter than it says. */
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
