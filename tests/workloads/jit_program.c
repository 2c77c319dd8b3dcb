/* SPDX-License-Identifier: MIT */
/*
 * jit_program LAYOUT [CPU_MS=800]: no CUDA. Generates functions without frame pointers, which have
 * data in rbp and old return addresses in their frames, and writes a jitdump of them into the
 * working directory, with call-frame information (symbolize/jit_frames.h) in LAYOUT:
 *
 *   perf      .eh_frame, .eh_frame_hdr
 *   spec      .eh_frame_hdr, .eh_frame
 *   placed    the same with an absolute address, and one record for all functions
 *   none      without such information
 *   hostile   as perf, after records that are malformed, endless, too large or of no code
 *
 * Burns the CPU time in three parts, each with a stack of its own:
 *
 *   through_first   first > between > inner > leaf
 *   through_moved   the same where first was moved to
 *   through_second  second > between > inner > leaf, at first's old address, with another frame
 */
#include "burn.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROOM 4096
#define RECORD_UNWINDING 4

/* The function that generated code calls, its argument, and the values left in its frame. */
struct call {
	void (*function)(const void *argument);
	const void *argument;
	const void *old;
};

struct bytes {
	uint8_t at[512];
	uint32_t size;
};

static FILE *dump;
static const char *layout;

/* ---- bytes ---- */

static void put(struct bytes *b, const void *bytes, size_t size)
{
	if (size > sizeof(b->at) - b->size)
		abort();
	memcpy(b->at + b->size, bytes, size);
	b->size += (uint32_t)size;
}

#define PUT(b, ...) put(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_u32(struct bytes *b, uint32_t value)
{
	put(b, &value, sizeof(value));
}

static void put_uleb(struct bytes *b, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		PUT(b, (uint8_t)(value | 0x80));
	PUT(b, (uint8_t)value);
}

static void patch_u32(struct bytes *b, uint32_t at, uint32_t value)
{
	memcpy(b->at + at, &value, sizeof(value));
}

/* ---- functions ---- */

struct function {
	struct bytes code;
	struct bytes rows; /* the program of its call-frame information */
	uint64_t address;
	const char *name;
};

/* A function that keeps `frame` bytes and a struct call in rbp and rbx, and makes that call. */
static void make_caller(struct function *f, const char *name, uint32_t frame)
{
	*f = (struct function){.name = name};
	PUT(&f->code, 0x53);                                           /* push rbx */
	PUT(&f->rows, 0x41, 0x0e, 16, 0x83, 2);                        /* cfa 16, rbx saved */
	PUT(&f->code, 0x55);                                           /* push rbp */
	PUT(&f->rows, 0x41, 0x0e, 24, 0x86, 3);                        /* cfa 24, rbp saved */
	PUT(&f->code, 0x48, 0x81, 0xec);                               /* sub rsp, frame */
	put_u32(&f->code, frame);                                      /* */
	PUT(&f->rows, 0x47, 0x0e);                                     /* cfa 24 + frame */
	put_uleb(&f->rows, 24 + frame);                                /* */
	PUT(&f->code, 0x48, 0x89, 0xfb);                               /* mov rbx, rdi */
	PUT(&f->code, 0x48, 0x89, 0xfd);                               /* mov rbp, rdi */
	PUT(&f->code, 0x48, 0x8b, 0x43, 16);                           /* mov rax, [rbx+16] */
	PUT(&f->code, 0x48, 0x89, 0x44, 0x24, 0x10);                   /* mov [rsp+16], rax */
	PUT(&f->code, 0x48, 0x89, 0x44, 0x24, 0x40);                   /* mov [rsp+64], rax */
	PUT(&f->code, 0x48, 0x89, 0x84, 0x24, 0x80, 0, 0, 0);          /* mov [rsp+128], rax */
	PUT(&f->code, 0x48, 0x8b, 0x7b, 8);                            /* mov rdi, [rbx+8] */
	PUT(&f->code, 0xff, 0x13);                                     /* call [rbx] */
	PUT(&f->code, 0x48, 0x81, 0xc4);                               /* add rsp, frame */
	put_u32(&f->code, frame);                                      /* */
	PUT(&f->rows, (uint8_t)(0x40 | (f->code.size - 9)), 0x0e, 24); /* cfa 24 */
	PUT(&f->code, 0x5d, 0x5b, 0xc3);                               /* pop rbp; pop rbx; ret */
	PUT(&f->rows, 0x41, 0x0e, 16, 0xc6, 0x41, 0x0e, 8, 0xc3);      /* cfa 16, cfa 8 */
}

/* A function that counts down from its argument, and has a small number in rbp. */
static void make_leaf(struct function *f)
{
	*f = (struct function){.name = "leaf"};
	PUT(&f->code, 0x55);                         /* push rbp */
	PUT(&f->rows, 0x41, 0x0e, 16, 0x86, 2);      /* cfa 16, rbp saved */
	PUT(&f->code, 0x48, 0xc7, 0xc5, 1, 0, 0, 0); /* mov rbp, 1 */
	PUT(&f->code, 0x48, 0xff, 0xcf, 0x75, 0xfb); /* dec rdi; jnz */
	PUT(&f->code, 0x5d, 0xc3);                   /* pop rbp; ret */
	PUT(&f->rows, 0x4d, 0x0e, 8, 0xc6);          /* cfa 8 */
}

/* ---- call-frame information ---- */

static void end_entry(struct bytes *b, uint32_t start)
{
	while ((b->size - start) % 8)
		PUT(b, 0); /* nop */
	patch_u32(b, start, b->size - start - 4);
}

static void put_common(struct bytes *b)
{
	uint32_t start = b->size;

	put_u32(b, 0);
	put_u32(b, 0);                                /* a CIE */
	PUT(b, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b); /* pc-relative, 4 bytes */
	PUT(b, 0x0c, 7, 8, 0x90, 1);                  /* cfa rsp + 8, return address below */
	end_entry(b, start);
}

/* `section`: the address of the section that `b` is. */
static void put_function(struct bytes *b, const struct function *f, uint64_t section)
{
	uint32_t start = b->size;

	put_u32(b, 0);
	put_u32(b, b->size); /* back to the CIE */
	put_u32(b, (uint32_t)(f->address - (section + b->size)));
	put_u32(b, f->code.size);
	PUT(b, 0);
	put(b, f->rows.at, f->rows.size);
	end_entry(b, start);
}

/* ---- the jitdump ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_head(uint32_t type, size_t more)
{
	const uint32_t head[] = {type, (uint32_t)(16 + more)};
	const uint64_t time = now_ns();

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&time, sizeof(time), 1, dump);
}

static void write_unwinding(const struct bytes *first, const struct bytes *second,
			    uint64_t header_size)
{
	const uint64_t sizes[] = {first->size + second->size, header_size, 0};

	write_head(RECORD_UNWINDING, sizeof(sizes) + sizes[0]);
	fwrite(sizes, sizeof(sizes), 1, dump);
	fwrite(first->at, first->size, 1, dump);
	fwrite(second->at, second->size, 1, dump);
}

static uint64_t behind(const struct function *f)
{
	return f->address + (f->code.size + 7) / 8 * 8;
}

/* The search table of one function is left out, as it is not needed. */
static void put_header(struct bytes *b)
{
	PUT(b, 1, 0x1b, 0xff, 0xff);
	put_u32(b, 0);
}

static void write_one(const struct function *f)
{
	bool is_header_first = strcmp(layout, "spec") == 0;
	struct bytes header = {.size = 0}, section = {.size = 0};

	put_header(&header);
	put_common(&section);
	put_function(&section, f, behind(f) + (is_header_first ? header.size : 0));
	write_unwinding(is_header_first ? &header : &section, is_header_first ? &section : &header,
			header.size);
}

/* Describes several functions in a section at an address of its own, which its header tells. */
static void write_all(const struct function *const *functions, uint32_t count)
{
	const uint64_t address = functions[0]->address + 0x100000;
	struct bytes header = {.size = 0}, section = {.size = 0};

	PUT(&header, 1, 0x0c, 0xff, 0xff);
	put(&header, &address, sizeof(address));
	put_common(&section);
	for (uint32_t i = 0; i < count; i++)
		put_function(&section, functions[i], address);
	write_unwinding(&header, &section, header.size);
}

static void write_load(const struct function *f)
{
	const uint64_t numbers[] = {f->address, f->address, f->code.size, 0};
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};

	write_head(0, sizeof(ids) + sizeof(numbers) + strlen(f->name) + 1 + f->code.size);
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(numbers, sizeof(numbers), 1, dump);
	fwrite(f->name, strlen(f->name) + 1, 1, dump);
	fwrite(f->code.at, f->code.size, 1, dump);
}

static void write_move(const struct function *f, uint64_t from)
{
	const uint64_t numbers[] = {f->address, from, f->address, f->code.size, 0};
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};

	write_head(1, sizeof(ids) + sizeof(numbers));
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(numbers, sizeof(numbers), 1, dump);
}

static FILE *open_dump(void)
{
	const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	const uint64_t more[] = {now_ns(), 0};
	char name[64];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	dump = fopen(name, "w+");
	if (!dump || fwrite(head, sizeof(head), 1, dump) != 1 ||
	    fwrite(more, sizeof(more), 1, dump) != 1 || fflush(dump) != 0)
		return NULL;
	/* by this mapping profilers find it */
	if (mmap(NULL, ROOM, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return NULL;
	return dump;
}

/* ---- what is malformed ---- */

/* A record of `size` bytes that says it has `data` bytes, of which `header_size` are the header. */
static void write_bad(const void *bytes, size_t size, uint64_t data, uint64_t header_size)
{
	const uint64_t sizes[] = {data, header_size, data};

	write_head(RECORD_UNWINDING, sizeof(sizes) + size);
	fwrite(sizes, sizeof(sizes), 1, dump);
	fwrite(bytes, size, 1, dump);
}

/* Writes records that no code can be left by: eight of them. */
static void write_bad_records(const struct function *f)
{
	static uint8_t large[2 << 20];
	struct bytes section = {.size = 0};

	write_head(RECORD_UNWINDING, 0);
	put_common(&section);
	put_function(&section, f, behind(f) + 0x1000); /* other code's */
	write_bad(section.at, section.size, section.size, 0);
	write_load(&(struct function){
		.code = {.size = 16}, .address = f->address + 0x800, .name = ""});
	write_bad(section.at, section.size - 20, section.size - 20, 0); /* cut */
	write_bad(section.at, section.size, UINT64_MAX, 8);
	write_bad(section.at, section.size, section.size, UINT64_MAX);
	write_bad(large, sizeof(large), sizeof(large), 0);
	memset(large, 0xff, sizeof(large));
	write_bad(large, 4096, 4096, 16);
	write_bad(large, 65536, 65536, 0);
}

/* ---- running ---- */

static const void *old_return;

NOINLINE static void note_return(void)
{
	old_return = __builtin_return_address(0);
}

/* Its return address is what generated functions leave in their frames. */
NOINLINE static void never_a_caller(void)
{
	note_return();
	__asm__ volatile("");
}

static void install(struct function *f, uint8_t *at)
{
	f->address = (uintptr_t)at;
	memcpy(at, f->code.at, f->code.size);
}

static void describe(const struct function *const *functions, uint32_t count)
{
	if (strcmp(layout, "placed") == 0)
		write_all(functions, count);
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(layout, "hostile") == 0)
			write_bad_records(functions[i]);
		if (strcmp(layout, "none") != 0 && strcmp(layout, "placed") != 0)
			write_one(functions[i]);
		write_load(functions[i]);
	}
	fflush(dump);
}

static void run(uint64_t address, const void *argument)
{
	((void (*)(const void *))(uintptr_t)address)(argument);
}

static struct function first, second, inner, leaf;
static struct call to_between, to_leaf;

NOINLINE static void between(const void *argument)
{
	run(inner.address, argument);
	__asm__ volatile("");
}

#define THROUGH(name)                                                    \
	NOINLINE static void name(const struct function *f, uint64_t ns) \
	{                                                                \
		uint64_t end = burn_clock() + ns;                        \
		while (burn_clock() < end)                               \
			run(f->address, &to_between);                    \
		__asm__ volatile("");                                    \
	}
THROUGH(through_first)
THROUGH(through_moved)
THROUGH(through_second)

static void set_up(uint8_t *code)
{
	make_caller(&first, "first", 0x108);
	make_caller(&second, "second", 0x208);
	make_caller(&inner, "inner", 0x88);
	make_leaf(&leaf);
	install(&first, code);
	install(&inner, code + 0x201);
	install(&leaf, code + 0x303);
	to_leaf = (struct call){(void (*)(const void *))(uintptr_t)leaf.address,
				(const void *)1000000, old_return};
	to_between = (struct call){between, &to_leaf, old_return};
}

int main(int argc, char **argv)
{
	uint64_t third = (argc > 2 ? strtoul(argv[2], NULL, 10) : 800) * 1000000 / 3;
	uint8_t *code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct function *const all[] = {&first, &inner, &leaf}, *one = &first;

	layout = argc > 1 ? argv[1] : "perf";
	if (code == MAP_FAILED || !open_dump())
		return 1;
	never_a_caller();
	set_up(code);
	describe(all, 3);
	through_first(&first, third);

	install(&first, code + 0x605);
	if (strcmp(layout, "placed") == 0)
		describe(&one, 1);
	else
		write_move(&first, (uintptr_t)code);
	fflush(dump);
	through_moved(&first, third);

	install(&second, code);
	one = &second;
	describe(&one, 1);
	through_second(&second, third);
	return fclose(dump) != 0;
}
