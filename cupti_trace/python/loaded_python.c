// SPDX-License-Identifier: MIT
#include "cupti_trace/python/loaded_python.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "cupti_trace/unwind/loaded_table.h"

struct search {
	uint64_t inside;
	struct python_loop *loop;
};

static int match_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	uint64_t low = UINT64_MAX, high = 0;
	bool is_inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		is_inside |= s->inside >= start && s->inside < end;
		if (!(p->p_flags & PF_X))
			continue;
		low = start < low ? start : low;
		high = end > high ? end : high;
	}
	if (!is_inside || low >= high)
		return 0;
	s->loop->module_start = low;
	s->loop->module_end = high;
	return 1;
}

bool loaded_python_find_loop(uint64_t inside, uint64_t function, struct python_loop *loop)
{
	struct search search = {inside, loop};
	const ElfW(Sym) *symbol = NULL;
	struct cfi_table table;
	Dl_info info;

	memset(loop, 0, sizeof(*loop));
	if (dl_iterate_phdr(match_module, &search) != 1)
		return false;
	if (!dladdr1((void *)(uintptr_t)function, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || symbol->st_size == 0 || function < loop->module_start ||
	    function >= loop->module_end || symbol->st_size > loop->module_end - function)
		return true;
	loop->parts[0].start = function;
	loop->parts[0].end = function + symbol->st_size;
	loop->count = 1;
	if (loaded_table_find(function, &table))
		python_loop_find_parts(loop, &table, (const uint8_t *)(uintptr_t)function);
	return true;
}
