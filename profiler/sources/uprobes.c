// SPDX-License-Identifier: MIT
#include "profiler/sources/uprobes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include "profiler/base/cuda_functions.h"
#include "symbolize/elf_file.h"
#include "symbolize/mapped_file.h"
#include "symbolize/maps.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/proc_file.h"

#define MAX_FOUND 1024 /* limit of functions per file */
#define MAX_FILES 65536
#define FUSE_SUPER_MAGIC 0x65735546

struct file_id {
	uint64_t device, inode, pid; /* pid 0: all processes */
};

struct searched_file {
	struct file_id id;
	bool is_probed;
};

struct uprobes {
	enum bpf_source_probe kind;
	struct bpf_source *source;
	struct bounded_caller *calls;
	struct log *log;
	RECORD_SET(struct searched_file) files; /* files already searched */
	uint32_t probed;
	bool has_said_late;
};

/* Search of a file, and its results. */
struct search {
	struct bounded_job job;
	enum bpf_source_probe kind;
	uint64_t offsets[MAX_FOUND];
	uint64_t functions[MAX_FOUND];
	unsigned char first[MAX_FOUND]; /* first byte of each function */
	uint32_t count;
	bool is_served; /* on a FUSE file system */
};

struct uprobes *uprobes_new(enum bpf_source_probe kind, struct bpf_source *source,
			    struct bounded_caller *calls, struct log *log)
{
	struct uprobes *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct uprobes){.kind = kind, .source = source, .calls = calls, .log = log};
	return p;
}

void uprobes_free(struct uprobes *p)
{
	if (!p)
		return;
	record_set_release(&p->files.set);
	free(p);
}

/* Returns true the first time a file is seen, for this process or for all. */
static bool is_new_file(struct uprobes *p, const struct stat *st, pid_t pid)
{
	const struct searched_file file = {.id = {st->st_dev, st->st_ino, (uint64_t)pid}};

	return record_find(&p->files, &file.id) == RECORD_NONE && p->files.count < MAX_FILES &&
	       record_add(&p->files, &file.id, &file) != RECORD_NONE;
}

void uprobes_forget_process(struct uprobes *p, pid_t pid)
{
	uint32_t kept = 0;

	bpf_source_remove_probes(p->source, pid);
	for (uint32_t i = 0; i < p->files.count; i++)
		if (p->files.list[i].id.pid != (uint64_t)pid)
			p->files.list[kept++] = p->files.list[i];
	if (kept == p->files.count)
		return;
	p->files.count = kept;
	record_reindex(&p->files, struct file_id);
}

/*
 * Converts a virtual address into a file offset through the loadable segments. Returns UINT64_MAX
 * if no segment has it.
 */
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

static void add_found(struct search *search, uint64_t offset, uint64_t function)
{
	for (uint32_t i = 0; i < search->count; i++)
		if (search->offsets[i] == offset)
			return; /* in both .symtab and .dynsym, or an alias */
	if (search->count == MAX_FOUND || offset == UINT64_MAX)
		return;
	/* also pages the code in for the probe */
	if (read_exactly(search->job.fd, &search->first[search->count], 1, offset) != 0)
		return;
	search->offsets[search->count] = offset;
	search->functions[search->count++] = function;
}

/* Returns the number of the function with this symbol, or 0. */
static uint64_t function_of(enum bpf_source_probe kind, const char *symbol)
{
	switch (kind) {
	case PROBE_LAUNCH:
		return cuda_launch_function_of(symbol);
	case PROBE_CALL:
		return cuda_function_of(symbol);
	case PROBE_DRIVER:
		return strcmp(symbol, "cuInit") == 0 || strcmp(symbol, "cuGetExportTable") == 0 ||
		       strcmp(symbol, "cuGetProcAddress") == 0 ||
		       strcmp(symbol, "cuGetProcAddress_v2") == 0;
	default:
		return strcmp(symbol, "cuptiSubscribe") == 0 ||
		       strcmp(symbol, "cuptiSubscribe_v2") == 0;
	}
}

static void search_table(struct search *search, const struct elf_file *file, uint32_t type)
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
		function = function_of(search->kind, names + symbol.st_name);
		if (function)
			add_found(search, file_offset(file, symbol.st_value), function);
	}
out:
	elf_file_free_section(file, &header, table);
	elf_file_free_section(file, &names_header, names);
}

static void run_search(struct bounded_job *opaque)
{
	struct search *search = (struct search *)opaque;
	struct elf_file file;
	struct statfs fs;

	search->is_served = fstatfs(search->job.fd, &fs) == 0 && fs.f_type == FUSE_SUPER_MAGIC;
	if (elf_file_open(&file, search->job.fd) != 0)
		return;
	file.share = &search->job.share;
	if (gelf_getclass(file.elf) == ELFCLASS64) {
		search_table(search, &file, SHT_SYMTAB);
		search_table(search, &file, SHT_DYNSYM);
	}
	elf_file_close(&file);
}

/*
 * Logs probes, marking slow ones. A probe on an instruction that the kernel single-steps costs 35
 * times one that it emulates. Compilers usually begin these functions with "push %rbp", which is
 * emulated.
 */
static void log_probes(struct uprobes *p, const struct search *search, const char *path)
{
	for (uint32_t i = 0; i < search->count; i++)
		log_verbose(p->log, "probe on %s in %s at offset 0x%" PRIx64 ", first byte %02x%s",
			    cuda_function_name((uint16_t)search->functions[i]), path,
			    search->offsets[i], search->first[i],
			    search->first[i] >= 0x50 && search->first[i] <= 0x57
				    ? ""
				    : ": not a push, slow");
}

/*
 * Warns that a file could not be probed. A process that ended before its files were probed loses
 * nothing.
 */
static void warn_failure(struct uprobes *p, const char *path, int err)
{
	static const char *const lost[] = {[PROBE_LAUNCH] = "launches will have no stack",
					   [PROBE_CALL] = "calls are not timed"};
	bool is_late = err == ETIMEDOUT || err == EBUSY;

	if (p->kind >= PROBE_SUBSCRIBE || err == ESRCH || err == ENOENT ||
	    (is_late && p->has_said_late))
		return;
	p->has_said_late |= is_late;
	log_warn(p->log, "cannot probe %s: %s; its %s", path,
		 is_late ? "timed out (the kernel waits for the file, or for one of many processes "
			   "that map it)"
			 : strerror(err),
		 lost[p->kind]);
}

/*
 * Refuses a file on FUSE. The kernel reads the file while no process of the machine can fork: a
 * FUSE server that does not answer would block all of them.
 */
static int refuse_served(struct uprobes *p, const char *path)
{
	if (p->kind < PROBE_SUBSCRIBE)
		log_warn(p->log,
			 "%s is not probed: it lies on a FUSE file system, whose server the kernel "
			 "would wait for; copy it to another one",
			 path);
	return -EOPNOTSUPP;
}

/*
 * Probes the functions found. The descriptor guarantees that the file searched is the file probed,
 * whatever the target maps or renames meanwhile.
 */
static int attach(struct uprobes *p, struct search *search, pid_t only, const char *shown_path)
{
	char path[64];
	int err;

	if (search->count == 0)
		return -ENOENT;
	if (search->is_served)
		return refuse_served(p, shown_path);
	if (p->kind == PROBE_LAUNCH)
		log_probes(p, search, shown_path);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", search->job.fd);
	err = bpf_source_probe(p->source, p->kind, only, path, search->offsets, search->functions,
			       search->count);
	if (err) {
		warn_failure(p, shown_path, -err);
		return err;
	}
	p->probed += search->count;
	return (int)search->count;
}

/*
 * Searches an open file, probes its functions, and closes it. `only` is the process to probe; 0
 * stands for all.
 */
static int scan_open_file(struct uprobes *p, int fd, uint64_t device, pid_t only,
			  const char *shown_path)
{
	struct search *search = bounded_job_new(sizeof(*search), run_search, NULL);
	int n = -ENOMEM;

	if (search) {
		search->job.fd = fd;
		search->job.place = device;
		search->kind = p->kind;
		n = bounded_call(p->calls, &search->job, BOUNDED_CALL_LOAD_MS);
	}
	if (!n) {
		table_quota_settle(bounded_caller_budget(p->calls), &search->job.share, false);
		n = attach(p, search, only, shown_path);
		free(search);
	}
	if (n != -ETIMEDOUT)
		bounded_close(p->calls, fd);
	return n;
}

static int scan_file(struct uprobes *p, const struct mapped_file *mapped, pid_t only)
{
	struct opened_file file;

	mapped_file_open(p->calls, mapped, &file);
	if (file.fd < 0)
		return file.fd;
	if (file.is_elf && is_new_file(p, &file.st, only)) {
		struct searched_file *searched = &p->files.list[p->files.count - 1];
		int n = scan_open_file(p, file.fd, mapped->device, only, mapped->path);

		searched->is_probed = n > 0;
		return n;
	}
	bounded_close(p->calls, file.fd);
	return file.is_elf ? 0 : -ENOENT;
}

int uprobes_scan_file(struct uprobes *p, const char *path)
{
	return scan_file(p, &(struct mapped_file){.path = path}, 0);
}

bool uprobes_cover(const struct uprobes *p, const struct code_mapping *mapping)
{
	const struct file_id id = {makedev(mapping->dev_major, mapping->dev_minor), mapping->inode,
				   0};
	uint32_t at = record_find(&p->files, &id);

	return at != RECORD_NONE && p->files.list[at].is_probed;
}

int uprobes_scan_process(struct uprobes *p, pid_t pid)
{
	pid_t only = p->kind == PROBE_CALL ? pid : 0;
	struct code_mapping mapping;
	char *text, *rest;
	int probed = 0, n;
	size_t size;

	n = proc_file_read(p->calls, pid, "maps", PROC_FILE_MAX_MAPS, &text, &size);
	if (n)
		return n;
	rest = text;
	while (maps_next(&rest, &mapping)) {
		struct mapped_file mapped = mapped_file_of(pid, &mapping);

		if (mapped.inode == 0 || mapped.path[0] != '/' ||
		    (p->kind == PROBE_SUBSCRIBE && !strstr(mapped.path, "/libcupti")) ||
		    (p->kind == PROBE_DRIVER && !strstr(mapped.path, "/libcuda.so")))
			continue;
		n = scan_file(p, &mapped, only);
		probed += n > 0 ? n : 0;
	}
	free(text);
	return probed;
}

uint32_t uprobes_count(const struct uprobes *p)
{
	return p->probed;
}
