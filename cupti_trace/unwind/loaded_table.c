// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/loaded_table.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include "symbolize/cfi.h"

struct object {
	uint64_t start, end; /* range of the object's mapping, or of the segment with its tables */
	const uint8_t *index;
};

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
/* Looked up at run time, so that the library also loads with an older glibc: then NULL. */
static int (*find_by_loader)(void *address, struct dl_find_object *result);

/*
 * Segment that holds the program's index; empty: unknown. The kernel maps each segment of a program
 * by itself if it is linked for large pages. Then the loader returns the segment with the code
 * alone.
 */
static uint64_t program_tables, program_tables_end;

static void find_program_tables(void)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	uint64_t count = headers ? getauxval(AT_PHNUM) : 0, bias = 0, index = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)(uintptr_t)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			index = headers[i].p_vaddr;
	}
	for (uint64_t i = 0; i < count; i++) {
		const ElfW(Phdr) *p = &headers[i];

		if (p->p_type != PT_LOAD || index < p->p_vaddr || index - p->p_vaddr >= p->p_memsz)
			continue;
		program_tables = bias + p->p_vaddr;
		program_tables_end = program_tables + p->p_memsz;
	}
}

/*
 * Runs when this library is loaded. A walk must not call dlsym: another thread may hold the
 * loader's lock and wait for the walking thread.
 */
__attribute__((constructor)) static void prepare(void)
{
	find_program_tables();
	*(void **)&find_by_loader = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

static bool find_without_lock(uint64_t pc, struct object *object)
{
	struct dl_find_object found;
	uint64_t index;

	if (find_by_loader((void *)(uintptr_t)pc, &found) != 0 || !found.dlfo_eh_frame)
		return false;
	object->start = (uint64_t)(uintptr_t)found.dlfo_map_start;
	object->end = (uint64_t)(uintptr_t)found.dlfo_map_end;
	object->index = found.dlfo_eh_frame;
	index = (uint64_t)(uintptr_t)found.dlfo_eh_frame;
	if ((index < object->start || index >= object->end) && index >= program_tables &&
	    index < program_tables_end) {
		object->start = program_tables;
		object->end = program_tables_end;
	}
	return true;
}
#else
static void *find_by_loader;

static bool find_without_lock(uint64_t pc, struct object *object)
{
	(void)pc;
	(void)object;
	return false;
}
#endif

struct search {
	uint64_t pc;
	struct object *object;
};

static int match_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	const uint8_t *index = NULL;
	uint64_t end = 0;
	bool holds = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			index = (const uint8_t *)(uintptr_t)start;
		if (p->p_type != PT_LOAD)
			continue;
		if (start + p->p_memsz > end)
			end = start + p->p_memsz;
		holds |= s->pc >= start && s->pc < start + p->p_memsz;
	}
	if (!holds || !index)
		return 0;
	*s->object = (struct object){.start = info->dlpi_addr, .end = end, .index = index};
	return 1;
}

static bool find_object(uint64_t pc, struct object *object)
{
	struct search s = {.pc = pc, .object = object};

	return find_by_loader ? find_without_lock(pc, object)
			      : dl_iterate_phdr(match_object, &s) == 1;
}

/*
 * The tables of a loaded object lie in its mapping. The loader knows the index. The index points to
 * the frames by an encoded pointer, in practice pc-relative and 4 bytes. Both extend to the
 * mapping's end at most.
 */
bool loaded_table_find(uint64_t pc, struct cfi_table *table)
{
	const uint8_t pc_relative_s32 = 0x1b;
	struct object object;
	uint64_t index;
	int32_t offset;

	if (!find_object(pc, &object))
		return false;
	index = (uint64_t)(uintptr_t)object.index;
	if (index + 12 > object.end || object.index[0] != 1 || object.index[1] != pc_relative_s32)
		return false;
	memcpy(&offset, object.index + 4, sizeof(offset));
	memset(table, 0, sizeof(*table));
	table->index = object.index;
	table->index_address = index;
	table->index_size = object.end - index;
	table->frames_address = index + 4 + (uint64_t)(int64_t)offset;
	if (table->frames_address < object.start || table->frames_address >= object.end)
		return false;
	table->frames = (const uint8_t *)(uintptr_t)table->frames_address;
	table->frames_size = object.end - table->frames_address;
	return true;
}
