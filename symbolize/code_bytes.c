// SPDX-License-Identifier: MIT
#include "symbolize/code_bytes.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/table_quota.h"

#define PAGES 2048u /* a power of two; 8 MiB, of which most are never written to */

struct code_page {
	uint64_t number; /* number of the page in the file + 1; 0: empty */
	uint32_t module;
	uint32_t size; /* less than a page at the end of the file; 0: not readable */
	uint8_t bytes[MODULES_PAGE];
};

void code_bytes_release(struct code_bytes *c)
{
	free(c->pages);
	*c = (struct code_bytes){0};
}

static const struct code_page *find_page(struct code_bytes *c, struct modules *modules,
					 uint32_t module, uint64_t number)
{
	uint64_t hash = (number ^ (uint64_t)module << 40) * 0x9e3779b97f4a7c15u;
	struct code_page *page;

	if (!c->pages)
		c->pages = calloc(PAGES, sizeof(*c->pages));
	if (!c->pages)
		return NULL;
	page = &c->pages[(hash >> 40) & (PAGES - 1)];
	if (page->number == number + 1 && page->module == module)
		return page;
	if (c->reads_left == 0 || c->reads >= CODE_BYTES_MAX_PAGES)
		return NULL;
	c->reads_left--;
	c->reads++;
	page->number = number + 1;
	page->module = module;
	page->size = modules_read_page(modules, module, number * MODULES_PAGE, page->bytes);
	return page;
}

bool code_bytes_read(struct code_bytes *c, struct modules *modules, uint32_t module,
		     uint64_t offset, uint8_t *to, size_t size)
{
	if (module < MODULES_FIRST)
		return false;
	while (size > 0) {
		uint64_t at = offset % MODULES_PAGE, part = MODULES_PAGE - at;
		const struct code_page *page = find_page(c, modules, module, offset / MODULES_PAGE);

		if (part > size)
			part = size;
		if (!page || at + part > page->size)
			return false;
		memcpy(to, page->bytes + at, part);
		to += part;
		offset += part;
		size -= part;
	}
	return true;
}
