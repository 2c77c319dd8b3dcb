// SPDX-License-Identifier: MIT
#include "cupti_trace/loaded_python.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "cupti_trace/unwind.h"

static int match_segment(struct dl_phdr_info *info, size_t size, void *data)
{
	struct python_loop *loop = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || loop->parts[0].start < start ||
		    loop->parts[0].start >= start + p->p_memsz)
			continue;
		loop->module_start = start;
		loop->module_end = start + p->p_memsz;
		return 1;
	}
	return 0;
}

bool loaded_python_find_loop(uint64_t function, struct python_loop *loop)
{
	const ElfW(Sym) *symbol = NULL;
	struct cfi_table table;
	Dl_info info;

	memset(loop, 0, sizeof(*loop));
	if (!dladdr1((void *)(uintptr_t)function, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || symbol->st_size == 0)
		return false;
	loop->parts[0].start = function;
	loop->parts[0].end = function + symbol->st_size;
	loop->count = 1;
	if (dl_iterate_phdr(match_segment, loop) != 1 || loop->parts[0].end > loop->module_end)
		return false;
	if (unwind_find_table(function, &table))
		python_loop_find_parts(loop, &table, (const uint8_t *)(uintptr_t)function);
	return true;
}
