// SPDX-License-Identifier: MIT
#include "profiler/session/remote_memory.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define HEADERS_MAX 64u
#define DYNAMIC_MAX 512u
#define CHAIN_MAX 65536u
#define NAME_MAX_BYTES 64u

size_t remote_read_some(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec ours = {bytes, size}, theirs = {(void *)(uintptr_t)address, size};
	ssize_t n = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

bool remote_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	return remote_read_some(pid, address, bytes, size) == size;
}

static bool parse_mapping(char *line, struct remote_mapping *m)
{
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &m->start,
		   &m->end, permissions, &m->offset, &m->inode, &path) < 5 ||
	    m->start >= m->end)
		return false;
	m->is_writable = strlen(permissions) == 4 && permissions[1] == 'w';
	m->is_executable = strlen(permissions) == 4 && permissions[2] == 'x';
	m->path = path ? line + path : "";
	return true;
}

bool remote_mapping_next(char **text, struct remote_mapping *mapping)
{
	char *line;

	while ((line = strsep(text, "\n")))
		if (parse_mapping(line, mapping))
			return true;
	return false;
}

/* ---- what a library exports ---- */

struct exports {
	pid_t pid;
	uint64_t bias, symbols, strings, strings_size, hash;
};

/* The loader has made addresses of these; where it may not write to the table it has not. */
static uint64_t relocated(const struct exports *e, uint64_t value)
{
	return value < e->bias ? value + e->bias : value;
}

static void take_entry(struct exports *e, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		e->symbols = relocated(e, entry->d_un.d_ptr);
		break;
	case DT_STRTAB:
		e->strings = relocated(e, entry->d_un.d_ptr);
		break;
	case DT_STRSZ:
		e->strings_size = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		e->hash = relocated(e, entry->d_un.d_ptr);
		break;
	default:
		break;
	}
}

static bool read_dynamic(struct exports *e, uint64_t address, uint64_t size)
{
	Elf64_Dyn entry;

	for (uint64_t i = 0; i < DYNAMIC_MAX && (i + 1) * sizeof(entry) <= size; i++) {
		if (!remote_read(e->pid, address + i * sizeof(entry), &entry, sizeof(entry)))
			return false;
		if (entry.d_tag == DT_NULL)
			break;
		take_entry(e, &entry);
	}
	return e->symbols && e->strings && e->strings_size && e->hash;
}

static bool read_exports(struct exports *e, uint64_t base)
{
	uint64_t dynamic = 0, dynamic_size = 0;
	bool has_base = false;
	Elf64_Ehdr header;
	Elf64_Phdr p;

	if (!remote_read(e->pid, base, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof(p) || header.e_phnum > HEADERS_MAX)
		return false;
	for (uint64_t i = 0; i < header.e_phnum; i++) {
		if (!remote_read(e->pid, base + header.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && !has_base) {
			e->bias = base - p.p_vaddr;
			has_base = true;
		} else if (p.p_type == PT_DYNAMIC) {
			dynamic = p.p_vaddr;
			dynamic_size = p.p_memsz;
		}
	}
	return has_base && dynamic && read_dynamic(e, e->bias + dynamic, dynamic_size);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The function's address if the symbol at `index` is that one; else 0. */
static uint64_t match_symbol(const struct exports *e, uint64_t index, const char *name)
{
	char found[NAME_MAX_BYTES] = "";
	size_t size = strlen(name) + 1;
	Elf64_Sym symbol;

	if (!remote_read(e->pid, e->symbols + index * sizeof(symbol), &symbol, sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
	    size > sizeof(found) || symbol.st_name > e->strings_size ||
	    !remote_read(e->pid, e->strings + symbol.st_name, found, size))
		return 0;
	return memcmp(found, name, size) == 0 ? e->bias + symbol.st_value : 0;
}

uint64_t remote_function(pid_t pid, uint64_t base, const char *name)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} head;
	struct exports e = {.pid = pid};
	uint32_t hash = gnu_hash(name), index, entry;
	uint64_t buckets, chain;

	if (!read_exports(&e, base) || !remote_read(pid, e.hash, &head, sizeof(head)) ||
	    head.buckets == 0)
		return 0;
	buckets = e.hash + sizeof(head) + UINT64_C(8) * head.bloom;
	chain = buckets + UINT64_C(4) * head.buckets;
	if (!remote_read(pid, buckets + UINT64_C(4) * (hash % head.buckets), &index,
			 sizeof(index)) ||
	    index < head.first)
		return 0;
	for (uint32_t i = 0; i < CHAIN_MAX; i++, index++) {
		uint64_t address;

		if (!remote_read(pid, chain + UINT64_C(4) * (index - head.first), &entry,
				 sizeof(entry)))
			return 0;
		address = (entry | 1) == (hash | 1) ? match_symbol(&e, index, name) : 0;
		if (address || (entry & 1))
			return address;
	}
	return 0;
}
