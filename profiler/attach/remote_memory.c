// SPDX-License-Identifier: MIT
#include "profiler/attach/remote_memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX 64u
#define DYNAMIC_MAX 512u
#define CHAIN_MAX 65536u
#define EXPORT_NAME_MAX 64u

int remote_memory_open(struct remote_memory *m, pid_t pid, struct bounded_caller *calls)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*m = (struct remote_memory){pid, open(path, O_RDONLY | O_CLOEXEC), calls};
	return m->fd < 0 ? -errno : 0;
}

void remote_memory_close(struct remote_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

bool remote_memory_is_stuck(const struct remote_memory *m)
{
	return bounded_is_stuck(m->calls, BOUNDED_PLACE_PROCESS | (uint32_t)m->pid);
}

struct read_job {
	struct bounded_job job;
	uint64_t address;
	size_t size, got;
	uint8_t bytes[];
};

static void run_read(struct bounded_job *opaque)
{
	struct read_job *job = (struct read_job *)opaque;
	ssize_t n = 1;

	while (n > 0 && job->got < job->size) {
		n = pread(job->job.fd, job->bytes + job->got, job->size - job->got,
			  (off_t)(job->address + job->got));
		job->got += n > 0 ? (size_t)n : 0;
	}
}

size_t remote_read_some(const struct remote_memory *m, uint64_t address, void *bytes, size_t size)
{
	struct read_job *job;
	size_t got;
	int fd, err;

	if (m->fd < 0 || address > INT64_MAX - size)
		return 0;
	job = bounded_job_new(sizeof(*job) + size, run_read, NULL);
	fd = job ? fcntl(m->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd < 0) {
		free(job);
		return 0;
	}
	job->job.fd = fd;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)m->pid;
	job->address = address;
	job->size = size;
	err = bounded_call(m->calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (err) {
		if (err != -ETIMEDOUT)
			close(fd);
		return 0;
	}
	got = job->got;
	memcpy(bytes, job->bytes, got);
	close(fd);
	free(job);
	return got;
}

bool remote_read(const struct remote_memory *m, uint64_t address, void *bytes, size_t size)
{
	return remote_read_some(m, address, bytes, size) == size;
}

/* ---- exported functions ---- */

struct exports {
	const struct remote_memory *memory;
	uint64_t bias, symbols, strings, strings_size, hash;
};

/* Relocates a pointer, unless the loader has: it cannot where the table is read-only. */
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
		if (!remote_read(e->memory, address + i * sizeof(entry), &entry, sizeof(entry)))
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

	if (!remote_read(e->memory, base, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof(p) || header.e_phnum > HEADERS_MAX)
		return false;
	for (uint64_t i = 0; i < header.e_phnum; i++) {
		if (!remote_read(e->memory, base + header.e_phoff + i * sizeof(p), &p, sizeof(p)))
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

/* Returns the function's address if the symbol at `index` has this name; else 0. */
static uint64_t match_symbol(const struct exports *e, uint64_t index, const char *name)
{
	char found[EXPORT_NAME_MAX] = "";
	size_t size = strlen(name) + 1;
	Elf64_Sym symbol;

	if (!remote_read(e->memory, e->symbols + index * sizeof(symbol), &symbol, sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
	    size > sizeof(found) || symbol.st_name > e->strings_size ||
	    !remote_read(e->memory, e->strings + symbol.st_name, found, size))
		return 0;
	return memcmp(found, name, size) == 0 ? e->bias + symbol.st_value : 0;
}

uint64_t remote_function(const struct remote_memory *memory, uint64_t base, const char *name)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} head;
	struct exports e = {.memory = memory};
	uint32_t hash = gnu_hash(name), index, entry;
	uint64_t buckets, chain;

	if (!read_exports(&e, base) || !remote_read(memory, e.hash, &head, sizeof(head)) ||
	    head.buckets == 0)
		return 0;
	buckets = e.hash + sizeof(head) + UINT64_C(8) * head.bloom;
	chain = buckets + UINT64_C(4) * head.buckets;
	if (!remote_read(memory, buckets + UINT64_C(4) * (hash % head.buckets), &index,
			 sizeof(index)) ||
	    index < head.first)
		return 0;
	for (uint32_t i = 0; i < CHAIN_MAX; i++, index++) {
		uint64_t address;

		if (!remote_read(memory, chain + UINT64_C(4) * (index - head.first), &entry,
				 sizeof(entry)))
			return 0;
		address = (entry | 1) == (hash | 1) ? match_symbol(&e, index, name) : 0;
		if (address || (entry & 1))
			return address;
	}
	return 0;
}
