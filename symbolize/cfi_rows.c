// SPDX-License-Identifier: MIT
#include "symbolize/cfi_rows.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/elf_file.h"
#include "symbolize/util/sorted.h"

#define CACHE_SIZE 16384u /* a power of two */

enum cached { CACHED_NOTHING, CACHED_ROW, CACHED_NO_ROW };

struct cfi_cached_row {
	uint64_t offset;
	uint32_t module;
	uint32_t state; /* enum cached */
	struct cfi_row row;
};

void cfi_rows_release(struct cfi_rows *rows)
{
	free(rows->cache);
	elf_cfi_free(rows->vdso);
	*rows = (struct cfi_rows){0};
}

/* Loads the vDSO's information once: all processes of a kernel have one vDSO. */
static const struct elf_cfi *vdso_cfi(struct cfi_rows *rows)
{
	size_t size;
	const void *image = rows->tried_vdso ? NULL : elf_vdso(&size);

	if (image)
		elf_cfi_load_memory(image, size, &rows->vdso);
	rows->tried_vdso = true;
	return rows->vdso;
}

const struct elf_cfi *cfi_rows_tables(struct cfi_rows *rows, struct modules *modules,
				      uint32_t module)
{
	const struct module_file *file;

	if (module == MODULE_VDSO)
		return vdso_cfi(rows);
	file = modules_load(modules, module, TABLE_CFI);
	return file ? file->cfi : NULL;
}

const struct cfi_row *cfi_rows_find(struct cfi_rows *rows, struct modules *modules,
				    struct code_ref code, bool is_return_address)
{
	uint64_t offset = code.offset - is_return_address;
	uint64_t hash = (offset ^ (uint64_t)code.module << 40) * 0x9e3779b97f4a7c15u;
	const struct elf_cfi *cfi;
	struct cfi_cached_row *slot;

	if (code.module == MODULE_UNKNOWN || code.module == MODULE_JIT)
		return NULL;
	if (!rows->cache)
		rows->cache = calloc(CACHE_SIZE, sizeof(*rows->cache));
	if (!rows->cache)
		return NULL;
	slot = &rows->cache[(hash >> 40) & (CACHE_SIZE - 1)];
	if (slot->state == CACHED_NOTHING || slot->offset != offset ||
	    slot->module != code.module) {
		if (rows->cost_left == 0)
			return NULL;
		cfi = cfi_rows_tables(rows, modules, code.module);
		slot->offset = offset;
		slot->module = code.module;
		slot->row.cost = 0;
		slot->state = cfi && elf_cfi_find_row(cfi, offset, &slot->row) == 0 ? CACHED_ROW
										    : CACHED_NO_ROW;
		rows->cost_left -= (uint32_t)smaller_of(rows->cost_left, slot->row.cost);
	}
	return slot->state == CACHED_ROW ? &slot->row : NULL;
}
