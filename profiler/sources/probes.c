// SPDX-License-Identifier: MIT
#include "profiler/sources/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/elf_file.h"
#include "symbolize/hash_index.h"
#include "symbolize/safe_open.h"

#define MAX_FOUND 1024 /* functions of one file */
#define MAX_FILES 65536

struct file_id {
	dev_t device;
	ino_t inode;
	pid_t pid; /* 0: for all processes */
};

struct probes {
	enum bpf_source_probe kind;
	struct bpf_source *source;
	struct log *log;
	struct file_id *files; /* looked through already */
	uint32_t file_count, file_capacity;
	struct hash_index index;
	uint32_t probed;
};

struct found {
	uint64_t offsets[MAX_FOUND];
	uint64_t functions[MAX_FOUND];
	uint32_t count;
};

struct probes *probes_new(enum bpf_source_probe kind, struct bpf_source *source, struct log *log)
{
	struct probes *p = calloc(1, sizeof(*p));

	if (p) {
		p->kind = kind;
		p->source = source;
		p->log = log;
		elf_version(EV_CURRENT);
	}
	return p;
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	free(p->files);
	hash_index_release(&p->index);
	free(p);
}

static bool file_equal(const void *records, uint32_t position, const void *key)
{
	const struct file_id *a = (const struct file_id *)records + position, *b = key;

	return a->device == b->device && a->inode == b->inode && a->pid == b->pid;
}

static uint32_t hash_file(const struct file_id *id)
{
	uint64_t words[3] = {id->device, id->inode, (uint64_t)id->pid};

	return hash_bytes(words, sizeof(words));
}

/* There is room for it in the list. */
static bool add_file(struct probes *p, struct file_id id)
{
	if (hash_index_add(&p->index, hash_file(&id), p->file_count) != 0)
		return false;
	p->files[p->file_count++] = id;
	return true;
}

/* True the first time a file is seen, for this process or for all. */
static bool is_new_file(struct probes *p, const struct stat *st, pid_t pid)
{
	struct file_id id = {st->st_dev, st->st_ino, pid};

	if (hash_index_find(&p->index, hash_file(&id), file_equal, p->files, &id) !=
		    HASH_INDEX_NONE ||
	    p->file_count == MAX_FILES)
		return false;
	if (p->file_count == p->file_capacity) {
		uint32_t capacity = p->file_capacity ? p->file_capacity * 2 : 64;
		struct file_id *files = realloc(p->files, capacity * sizeof(*files));

		if (!files)
			return false;
		p->files = files;
		p->file_capacity = capacity;
	}
	return add_file(p, id);
}

void probes_forget_process(struct probes *p, pid_t pid)
{
	uint32_t kept = 0;

	bpf_source_remove_probes(p->source, pid);
	for (uint32_t i = 0; i < p->file_count; i++)
		if (p->files[i].pid != pid)
			p->files[kept++] = p->files[i];
	if (kept == p->file_count)
		return;
	p->file_count = 0;
	hash_index_release(&p->index);
	memset(&p->index, 0, sizeof(p->index));
	while (p->file_count < kept && add_file(p, p->files[p->file_count]))
		;
}

/* Virtual address -> offset in the file, through the loadable segments; UINT64_MAX: none. */
static uint64_t file_offset(const struct elf_file *file, uint64_t address)
{
	size_t n = 0;

	if (elf_getphdrnum(file->elf, &n) != 0 || n > ELF_FILE_MAX_SEGMENTS)
		return UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X))
			continue;
		if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return address - segment.p_vaddr + segment.p_offset;
	}
	return UINT64_MAX;
}

static void add_found(struct found *found, uint64_t offset, uint64_t function)
{
	for (uint32_t i = 0; i < found->count; i++)
		if (found->offsets[i] == offset)
			return; /* .symtab and .dynsym both have it, or an alias */
	if (found->count == MAX_FOUND || offset == UINT64_MAX)
		return;
	found->offsets[found->count] = offset;
	found->functions[found->count++] = function;
}

/* The number of the function with this symbol; 0: not one of those looked for. */
static uint64_t function_of(const struct probes *p, const char *symbol)
{
	switch (p->kind) {
	case PROBE_LAUNCH:
		return cuda_launch_function_of(symbol);
	case PROBE_CALL:
		return cuda_function_of(symbol);
	default:
		return strcmp(symbol, "cuptiSubscribe") == 0 ||
		       strcmp(symbol, "cuptiSubscribe_v2") == 0;
	}
}

static void search_table(const struct probes *p, const struct elf_file *file, uint32_t type,
			 struct found *found)
{
	GElf_Shdr header, names_header;
	Elf_Scn *section = elf_file_find_section(file, type, NULL, &header);
	Elf_Scn *names_section = section ? elf_getscn(file->elf, header.sh_link) : NULL;
	char *table = NULL, *names = NULL;

	if (!names_section || !gelf_getshdr(names_section, &names_header))
		return;
	table = elf_file_read_section(file, &header);
	names = elf_file_read_section(file, &names_header);
	if (!table || !names)
		goto out;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= header.sh_size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		uint64_t function;

		memcpy(&symbol, table + at, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= names_header.sh_size)
			continue;
		function = function_of(p, names + symbol.st_name);
		if (function)
			add_found(found, file_offset(file, symbol.st_value), function);
	}
out:
	free(table);
	free(names);
}

/*
 * A probe on an instruction that the kernel must single-step costs 35 times one that it emulates;
 * compilers begin these functions with "push %rbp", but that is not a law.
 */
static void note_cost(struct probes *p, int fd, const struct found *found, const char *path)
{
	for (uint32_t i = 0; i < found->count; i++) {
		unsigned char first = 0;

		if (pread(fd, &first, 1, (off_t)found->offsets[i]) != 1)
			continue;
		log_verbose(p->log, "probe on %s in %s at offset 0x%" PRIx64 ", first byte %02x%s",
			    cuda_function_name((uint16_t)found->functions[i]), path,
			    found->offsets[i], first,
			    first >= 0x50 && first <= 0x57 ? "" : ": not a push, slow");
	}
}

/* A process that has ended before its files were probed has nothing more to lose. */
static void tell_failure(const struct probes *p, const char *path, int err)
{
	static const char *const lost[] = {[PROBE_LAUNCH] = "launches will have no stack",
					   [PROBE_CALL] = "calls are not timed"};

	if (p->kind != PROBE_SUBSCRIBE && err != ESRCH && err != ENOENT)
		log_warn(p->log, "cannot probe %s: %s; its %s", path, strerror(err), lost[p->kind]);
}

/*
 * `only`: the process to probe, 0: all. What is searched is what is probed: whatever the target
 * maps or renames meanwhile, the descriptor is of this file.
 */
static int scan_open_file(struct probes *p, int fd, pid_t only, const char *shown_path)
{
	static struct found found;
	char attach_path[64];
	struct elf_file file;
	int err = elf_file_open(&file, fd);

	found.count = 0;
	if (err)
		return -ENOENT;
	if (gelf_getclass(file.elf) == ELFCLASS64) {
		search_table(p, &file, SHT_SYMTAB, &found);
		search_table(p, &file, SHT_DYNSYM, &found);
	}
	elf_file_close(&file);
	if (found.count == 0)
		return -ENOENT;
	if (p->kind == PROBE_LAUNCH)
		note_cost(p, fd, &found, shown_path);
	snprintf(attach_path, sizeof(attach_path), "/proc/self/fd/%d", fd);
	err = bpf_source_probe(p->source, p->kind, only, attach_path, found.offsets,
			       found.functions, found.count);
	if (err) {
		tell_failure(p, shown_path, -err);
		return err;
	}
	p->probed += found.count;
	return (int)found.count;
}

int probes_scan_file(struct probes *p, const char *path)
{
	struct stat st;
	int n = 0, fd = open_regular(path, SYMLINK_FOLLOW, &st);

	if (fd < 0)
		return fd;
	if (is_new_file(p, &st, 0))
		n = scan_open_file(p, fd, 0, path);
	close(fd);
	return n;
}

/*
 * One mapped file: by its mapping, which is right even if the path has been replaced since. Where
 * that is not permitted (it takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), by its path, if the
 * file there is the one that was mapped.
 */
static int scan_mapping(struct probes *p, pid_t pid, pid_t only, const char *range, uint64_t inode,
			const char *path)
{
	char name[4096 + 64];
	struct stat st;
	int n = 0, fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%s", (int)pid, range);
	fd = open_regular(name, SYMLINK_FOLLOW, &st);
	if (fd < 0) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
		fd = open_regular(name, SYMLINK_FOLLOW, &st);
		if (fd >= 0 && st.st_ino != inode) {
			close(fd);
			return 0;
		}
	}
	if (fd < 0)
		return 0;
	if (is_new_file(p, &st, only))
		n = scan_open_file(p, fd, only, path);
	close(fd);
	return n > 0 ? n : 0;
}

int probes_scan_process(struct probes *p, pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	pid_t only = p->kind == PROBE_CALL ? pid : 0;
	int probed = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (getline(&line, &capacity, maps) > 0) {
		char range[64], permissions[8];
		uint64_t inode = 0;
		int at = 0;

		if (sscanf(line, "%63s %7s %*s %*s %" SCNu64 " %n", range, permissions, &inode,
			   &at) < 3 ||
		    permissions[2] != 'x' || at == 0 || line[at] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (p->kind == PROBE_SUBSCRIBE && !strstr(line + at, "/libcupti"))
			continue;
		probed += scan_mapping(p, pid, only, range, inode, line + at);
	}
	free(line);
	fclose(maps);
	return probed;
}

uint32_t probes_count(const struct probes *p)
{
	return p->probed;
}
