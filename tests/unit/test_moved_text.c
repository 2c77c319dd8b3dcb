/* SPDX-License-Identifier: MIT */
/* Text of a file that is in other memory: of this process, which maps a made file as loaders do. */
#include "tests/unit/unit.h"

#include <elf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "symbolize/moved_text.h"
#include "symbolize/symbolizer.h"
#include "symbolize/text_pages.h"
#include "tests/unit/own_folder.h"

#define GHOST 0x3fff0000 /* above the largest pid_max */
#define PAGE 4096u

/* The made file: headers, text that ends within a page, and data; each at another distance. */
enum {
	TEXT_PAGES = 24,
	TEXT_OFFSET = PAGE,
	TEXT_ADDRESS = 2 * PAGE,
	TEXT_BYTES = TEXT_PAGES * PAGE - 512,
	DATA_OFFSET = TEXT_OFFSET + TEXT_PAGES * PAGE,
	DATA_ADDRESS = TEXT_ADDRESS + (TEXT_PAGES + 1) * PAGE,
	FILE_BYTES = DATA_OFFSET + PAGE,
	AREA_BYTES = DATA_ADDRESS + 2 * PAGE,
	FILLED_PAGE = 20, /* this page and the next two are int3 */
};

struct loaded {
	char path[256];
	uint8_t bytes[FILE_BYTES];
	uint8_t *area, *text;
	struct symbolizer *symbolizer;
	struct address_space *space;
};

static void put_headers(uint8_t *bytes)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	const Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = PAGE, .p_memsz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = TEXT_OFFSET,
		 .p_vaddr = TEXT_ADDRESS,
		 .p_filesz = TEXT_BYTES,
		 .p_memsz = TEXT_BYTES},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = DATA_OFFSET,
		 .p_vaddr = DATA_ADDRESS,
		 .p_filesz = PAGE,
		 .p_memsz = PAGE},
	};

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), segments, sizeof(segments));
}

static void write_file(const struct loaded *l)
{
	FILE *file = fopen(l->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(l->bytes, 1, FILE_BYTES, file), FILE_BYTES);
	assert_int_equal(fclose(file), 0);
}

static void map_file(const struct loaded *l, int fd, uint64_t address, size_t size, int protection,
		     off_t offset)
{
	assert_ptr_equal(
		mmap(l->area + address, size, protection, MAP_PRIVATE | MAP_FIXED, fd, offset),
		l->area + address);
}

static struct loaded *load(void)
{
	struct loaded *l = calloc(1, sizeof(*l));
	uint32_t seed = 1;
	int fd;

	assert_non_null(l);
	snprintf(l->path, sizeof(l->path), "%s/made", folder);
	for (size_t i = 0; i < FILE_BYTES; i++) {
		seed = seed * 1664525 + 1013904223;
		l->bytes[i] = (uint8_t)(seed >> 24);
	}
	memset(l->bytes + TEXT_OFFSET + (size_t)FILLED_PAGE * PAGE, 0xcc, (size_t)3 * PAGE);
	put_headers(l->bytes);
	write_file(l);
	l->area = mmap(NULL, AREA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(l->area, MAP_FAILED);
	l->text = l->area + TEXT_ADDRESS;
	fd = open(l->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	map_file(l, fd, 0, PAGE, PROT_READ, 0);
	map_file(l, fd, TEXT_ADDRESS, (size_t)TEXT_PAGES * PAGE, PROT_READ | PROT_EXEC,
		 TEXT_OFFSET);
	map_file(l, fd, DATA_ADDRESS, PAGE, PROT_READ, DATA_OFFSET);
	close(fd);
	l->symbolizer = symbolizer_new();
	l->space = address_space_new(1, getpid(), false);
	assert_non_null(l->symbolizer);
	assert_non_null(l->space);
	return l;
}

static void unload(struct loaded *l)
{
	munmap(l->area, AREA_BYTES);
	address_space_free(l->space);
	symbolizer_free(l->symbolizer);
	unlink(l->path);
	free(l);
}

/* Maps other memory over pages of the text, with a copy of them; `fd` -1: of no file. */
static void move_pages(const struct loaded *l, uint32_t first, uint32_t count, int fd)
{
	uint8_t *at = l->text + (size_t)first * PAGE;
	size_t size = (size_t)count * PAGE;

	assert_ptr_equal(mmap(at, size, PROT_READ | PROT_WRITE,
			      MAP_FIXED | MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0),
			 at);
	memcpy(at, l->bytes + TEXT_OFFSET + (size_t)first * PAGE, size);
	assert_int_equal(mprotect(at, size, PROT_READ | PROT_EXEC), 0);
}

/* Changes a byte of moved text. */
static void change(const struct loaded *l, uint32_t page)
{
	uint8_t *at = l->text + (size_t)page * PAGE;

	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_WRITE), 0);
	at[7] ^= 1;
	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_EXEC), 0);
}

static struct code_ref locate(const struct loaded *l, uint32_t page)
{
	return symbolizer_locate(l->symbolizer, l->space,
				 (uint64_t)(uintptr_t)l->text + (size_t)page * PAGE + 5);
}

/* Returns whether the page is that of the file; else it must be generated code. */
static bool is_of_file(const struct loaded *l, uint32_t page)
{
	struct code_ref ref = locate(l, page);
	struct code_mapping file;

	if (ref.module == MODULE_JIT)
		return false;
	symbolizer_describe(l->symbolizer, ref.module, &file);
	assert_string_equal(file.path, l->path);
	assert_int_equal(ref.process, 0);
	assert_int_equal(ref.offset, TEXT_OFFSET + (size_t)page * PAGE + 5);
	return true;
}

/* ---- moved text ---- */

static void text_that_was_not_moved(void **state)
{
	struct loaded *l = load();

	(void)state;
	assert_true(is_of_file(l, 3));
	unload(l);
}

static void the_middle_of_a_text(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, 4, 8, -1);
	assert_true(is_of_file(l, 3));
	assert_true(is_of_file(l, 4));
	assert_true(is_of_file(l, 11));
	assert_true(is_of_file(l, 12));
	unload(l);
}

static void all_of_a_segment(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, 0, TEXT_PAGES, -1);
	assert_true(is_of_file(l, 0));
	assert_true(is_of_file(l, TEXT_PAGES - 1));
	unload(l);
}

static void pieces_of_several_kinds(void **state)
{
	struct loaded *l = load();

	(void)state;
	for (uint32_t i = 0; i < TEXT_PAGES; i++) {
		int fd = i % 3 == 1 ? memfd_create("", MFD_CLOEXEC) : -1;

		if (fd >= 0)
			assert_int_equal(ftruncate(fd, PAGE), 0);
		move_pages(l, i, 1, fd);
		if (fd >= 0)
			close(fd);
	}
	for (uint32_t i = 0; i < TEXT_PAGES; i++)
		assert_int_equal(is_of_file(l, i), i < FILLED_PAGE || i >= FILLED_PAGE + 3);
	unload(l);
}

/* Memory of the program's own lies behind the text, and is in one mapping with it. */
static void more_than_the_text(void **state)
{
	struct loaded *l = load();
	uint8_t *behind = l->text + (size_t)TEXT_PAGES * PAGE;

	(void)state;
	move_pages(l, 2, TEXT_PAGES - 2, -1);
	assert_ptr_equal(mmap(behind, PAGE, PROT_READ | PROT_EXEC,
			      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 behind);
	assert_true(is_of_file(l, TEXT_PAGES - 1));
	assert_false(is_of_file(l, TEXT_PAGES));
	assert_true(is_of_file(l, 2));
	unload(l);
}

static void the_file_is_deleted(void **state)
{
	struct loaded *l = load();

	(void)state;
	assert_true(is_of_file(l, 0)); /* the file is open from now on */
	move_pages(l, 4, 8, -1);
	assert_int_equal(unlink(l->path), 0);
	assert_int_equal(symbolizer_snapshot(l->symbolizer, l->space), 0);
	assert_true(is_of_file(l, 5));
	unload(l);
}

/* ---- other code in its place ---- */

static void one_byte_is_another(void **state)
{
	(void)state;
	for (uint32_t page = 4; page < 12; page++) {
		struct loaded *l = load();

		move_pages(l, 4, 8, -1);
		change(l, page);
		assert_false(is_of_file(l, 6));
		assert_true(is_of_file(l, 3));
		unload(l);
	}
}

/* Each mapping is compared by itself. */
static void other_code_behind_the_text(void **state)
{
	struct loaded *l = load();
	int fd = memfd_create("", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)8 * PAGE), 0);
	move_pages(l, 4, 4, -1);
	move_pages(l, 8, 8, fd);
	close(fd);
	for (uint32_t page = 8; page < 16; page++)
		change(l, page);
	assert_true(is_of_file(l, 5));
	assert_false(is_of_file(l, 9));
	unload(l);
}

static void pages_without_code_prove_nothing(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, FILLED_PAGE, 3, -1);
	assert_false(is_of_file(l, FILLED_PAGE + 1));
	unload(l);
}

static void code_between_segments(void **state)
{
	struct loaded *l = load();
	uint8_t *behind = l->text + (size_t)TEXT_PAGES * PAGE;

	(void)state;
	assert_ptr_equal(mmap(behind, PAGE, PROT_READ | PROT_EXEC,
			      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 behind);
	assert_false(is_of_file(l, TEXT_PAGES));
	unload(l);
}

static void memory_that_cannot_be_read(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, 4, 8, -1);
	assert_int_equal(mprotect(l->text + (size_t)4 * PAGE, (size_t)8 * PAGE, PROT_EXEC), 0);
	assert_false(is_of_file(l, 6));
	assert_true(is_of_file(l, 3));
	unload(l);
}

/* Code generated elsewhere costs nothing for long, and does not use up the comparisons. */
static void code_elsewhere_is_not_compared(void **state)
{
	struct loaded *l = load();
	uint8_t *behind = l->text + (size_t)TEXT_PAGES * PAGE;

	(void)state;
	for (uint32_t i = 0; i < MOVED_TEXT_MAX_MISSES + 1; i++) {
		if (i % 64 == 0)
			assert_ptr_equal(mmap(behind, PAGE, PROT_READ | PROT_EXEC,
					      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					 behind);
		assert_int_equal(symbolizer_snapshot(l->symbolizer, l->space), 0);
		assert_int_equal(locate(l, TEXT_PAGES).module, MODULE_JIT);
	}
	move_pages(l, 4, 8, -1);
	assert_int_equal(symbolizer_snapshot(l->symbolizer, l->space), 0);
	assert_true(is_of_file(l, 6));
	unload(l);
}

static uint32_t openings;

static int open_memory(void *context, pid_t pid)
{
	char path[64];

	(void)context;
	openings++;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Has process_vm_readv(2) fail as Yama does, for this process and its threads to come. */
static void forbid_tracing(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

static int locate_without_right(void)
{
	struct loaded *l = load();
	bool is_found;

	forbid_tracing();
	move_pages(l, 4, 8, -1);
	is_found = is_of_file(l, 6);
	symbolizer_set_memory_opener(l->symbolizer, open_memory, NULL);
	if (is_found || !is_of_file(l, 6) || openings != 1)
		return 1;
	change(l, 5);
	assert_int_equal(symbolizer_snapshot(l->symbolizer, l->space), 0);
	return is_of_file(l, 6) || openings != 2;
}

static void memory_that_is_opened_by_others(void **state)
{
	pid_t pid = fork();
	int status = -1;

	(void)state;
	if (pid == 0)
		_exit(locate_without_right());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Each comparison in vain costs time: one mapping has three, even if it is text by then. */
static void comparisons_have_a_limit(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, 4, 8, -1);
	change(l, 6);
	for (uint32_t i = 0; i < MOVED_TEXT_MAX_TRIES; i++)
		assert_false(is_of_file(l, 6));
	change(l, 6);
	assert_false(is_of_file(l, 6));
	assert_int_equal(symbolizer_snapshot(l->symbolizer, l->space), 0);
	assert_true(is_of_file(l, 6));
	unload(l);
}

/* ---- as it is reported ---- */

static void report(const struct loaded *l, struct address_space *space, uint32_t first,
		   uint32_t count, const char *path)
{
	struct code_mapping mapping = {.start = (uint64_t)(uintptr_t)l->text + (size_t)first * PAGE,
				       .end = (uint64_t)(uintptr_t)l->text +
					      (size_t)(first + count) * PAGE,
				       .path = path};
	struct stat st;

	if (strcmp(path, l->path) == 0) {
		assert_int_equal(stat(path, &st), 0);
		mapping.file_offset = TEXT_OFFSET + (size_t)first * PAGE;
		mapping.inode = st.st_ino;
		mapping.dev_major = major(st.st_dev);
		mapping.dev_minor = minor(st.st_dev);
	}
	assert_int_equal(symbolizer_map(l->symbolizer, space, &mapping), 0);
}

/* Makes a process that is reported from its start: /proc/PID/maps is not read. */
static void make_reported(struct loaded *l, pid_t pid)
{
	address_space_free(l->space);
	l->space = address_space_new(2, pid, true);
	assert_non_null(l->space);
	report(l, l->space, 0, TEXT_PAGES, l->path);
}

static void memory_replaces_text(void **state)
{
	struct loaded *l = load();
	struct address_space *parent;

	(void)state;
	make_reported(l, getpid());
	move_pages(l, 0, TEXT_PAGES, -1);
	report(l, l->space, 0, TEXT_PAGES, "//anon");
	report(l, l->space, 0, TEXT_PAGES, "//anon"); /* mprotect is reported, too */
	report(l, l->space, 4, 2, "[anon:text]");
	parent = l->space;
	l->space = address_space_fork(parent, 3, getpid());
	assert_true(is_of_file(l, 7));
	assert_true(is_of_file(l, 4));
	address_space_free(l->space);
	l->space = parent;
	assert_true(is_of_file(l, 7));
	unload(l);
}

static void other_code_replaces_text(void **state)
{
	struct loaded *l = load();

	(void)state;
	make_reported(l, getpid());
	move_pages(l, 4, 8, -1);
	change(l, 7);
	report(l, l->space, 4, 8, "//anon");
	assert_false(is_of_file(l, 7));
	assert_true(is_of_file(l, 3));
	assert_true(is_of_file(l, 12));
	unload(l);
}

/* The memory of an ended process cannot be compared. */
static void the_process_has_ended(void **state)
{
	struct loaded *l = load();

	(void)state;
	make_reported(l, GHOST);
	report(l, l->space, 4, 8, "//anon");
	for (int i = 0; i < 10; i++)
		assert_false(is_of_file(l, 7));
	assert_true(is_of_file(l, 3));
	unload(l);
}

/* Returns whether `page` is the file's, in memory as the process itself describes it. */
static bool is_of_file_in(const struct loaded *l, uint32_t page)
{
	uint64_t start = (uint64_t)(uintptr_t)l->text;
	const struct code_mapping mapping = {
		.start = start, .end = start + (size_t)TEXT_PAGES * PAGE, .path = ""};
	struct code_ref ref = symbolizer_locate_in(l->symbolizer, l->space, &mapping,
						   start + (size_t)page * PAGE + 5);

	if (ref.module == MODULE_JIT)
		return false;
	assert_int_equal(ref.offset, TEXT_OFFSET + (size_t)page * PAGE + 5);
	return true;
}

/* mremap is not reported: what was mapped before seems to be there still. */
static void the_process_describes_memory(void **state)
{
	struct loaded *l = load();

	(void)state;
	move_pages(l, 0, TEXT_PAGES, -1);
	assert_true(is_of_file_in(l, 7));
	make_reported(l, getpid());
	assert_true(is_of_file_in(l, 7));
	make_reported(l, getpid());
	change(l, 7);
	assert_false(is_of_file_in(l, 7));
	make_reported(l, GHOST);
	for (int i = 0; i < 10; i++)
		assert_true(is_of_file_in(l, 7));
	unload(l);
}

/* ---- as the process describes it, with a hash ---- */

static uint64_t hash_of_text(const struct loaded *l, uint32_t first, uint32_t count)
{
	uint64_t from = TEXT_OFFSET + (uint64_t)first * PAGE, to = from + (uint64_t)count * PAGE;
	uint64_t hash = 0;

	if (to > TEXT_OFFSET + TEXT_BYTES)
		to = TEXT_OFFSET + TEXT_BYTES;
	for (uint32_t i = 0; i < text_pages_count(from, to); i++) {
		uint64_t begin, end;

		text_pages_get(from, to, i, &begin, &end);
		hash = text_pages_hash(hash, l->bytes + begin, end - begin);
	}
	return hash;
}

static bool has_text(const struct loaded *l, uint32_t first, uint32_t count, uint64_t hash)
{
	struct code_mapping mapping = {.start = 0x10000 + (uint64_t)first * PAGE,
				       .end = 0x10000 + (uint64_t)(first + count) * PAGE,
				       .file_offset = TEXT_OFFSET + (uint64_t)first * PAGE,
				       .path = l->path};
	struct stat st;

	if (stat(l->path, &st) == 0)
		mapping.inode = st.st_ino;
	return symbolizer_has_text(l->symbolizer, l->space, &mapping, hash);
}

static void hashes_of_pages(void **state)
{
	struct loaded *l = load();

	(void)state;
	for (uint32_t first = 0; first < TEXT_PAGES; first += 5)
		for (uint32_t count = 1; first + count <= TEXT_PAGES; count++) {
			uint64_t hash = hash_of_text(l, first, count);
			bool proves = first < FILLED_PAGE || first + count > FILLED_PAGE + 3;

			assert_int_equal(has_text(l, first, count, hash), proves);
			assert_false(has_text(l, first, count, hash ^ 1));
		}
	unload(l);
}

/* Nobody can tell: the process is believed. */
static void hashes_of_files_that_are_gone(void **state)
{
	struct loaded *l = load();

	(void)state;
	assert_int_equal(unlink(l->path), 0);
	assert_true(has_text(l, 2, 3, 4711));
	unload(l);
}

/* ---- which file it may be ---- */

/* Returns where the mapping begins that is near line `at`; 0: none. */
static uint64_t near(const char *maps, uint32_t at)
{
	char *text = strdup(maps);
	const struct maps_line *found;
	struct maps_line *lines;
	uint32_t count;
	uint64_t start;

	assert_non_null(text);
	lines = moved_text_read_lines(text, &count);
	assert_non_null(lines);
	assert_true(at < count);
	found = moved_text_near_line(lines, count, at);
	start = found ? found->mapping.start : 0;
	free(lines);
	free(text);
	return start;
}

static void lines_beside_memory(void **state)
{
	(void)state;
	/* after a first part, and before a later one; mappings without text are skipped */
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 7 /bin/a\n"
			      "2000-3000 r-xp 00000000 00:00 0 \n",
			      1),
			 0x1000);
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 6 /lib/other\n"
			      "2000-3000 r-xp 00000000 00:00 0 \n"
			      "3000-4000 r--p 00002000 08:01 7 /bin/a\n",
			      1),
			 0x3000);
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 7 /bin/a\n"
			      "2000-3000 r-xp 00000000 00:00 0 [anon:text]\n"
			      "3000-4000 r--p 00000000 08:01 8 /lib/next\n",
			      1),
			 0x1000);
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 7 /bin/a\n"
			      "2000-3000 r-xp 00000000 00:01 9 /memfd: (deleted)\n"
			      "3000-4000 rw-p 00000000 00:00 0 [heap]\n"
			      "4000-5000 r-xp 00000000 00:0f 10 /anon_hugepage (deleted)\n"
			      "5000-6000 ---p 00001000 08:01 7 /bin/a\n",
			      3),
			 0x1000);
	/* a file in between two mappings of another one */
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 7 /bin/a\n"
			      "2000-3000 r-xp 00000000 00:30 9 /huge/text (deleted)\n"
			      "3000-4000 r-xp 00001000 00:30 9 /huge/text (deleted)\n"
			      "4000-5000 r--p 00003000 08:01 7 /bin/a\n",
			      2),
			 0x1000);
	assert_int_equal(near("1000-2000 r--p 00000000 08:01 7 /bin/a\n"
			      "2000-3000 r-xp 00001000 08:01 8 /lib/b\n"
			      "3000-4000 r--p 00000000 08:01 9 /lib/c\n",
			      1),
			 0);
	assert_int_equal(near("2000-3000 r-xp 00000000 00:00 0\n", 0), 0);
}

/* ---- hostile files ---- */

static uint64_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> (*seed >> 58);
}

/* Any numbers in the headers: no address is read that is not the text's, and all of it ends. */
static void headers_may_say_anything(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct loaded *l = load();
		Elf64_Phdr segments[3];

		memcpy(segments, l->bytes + sizeof(Elf64_Ehdr), sizeof(segments));
		for (int i = 0; i < 3; i++) {
			segments[i].p_flags = draw(&seed) % 8;
			if (draw(&seed) % 2)
				segments[i].p_offset = draw(&seed);
			if (draw(&seed) % 2)
				segments[i].p_vaddr = draw(&seed);
			if (draw(&seed) % 2)
				segments[i].p_filesz = draw(&seed);
		}
		memcpy(l->bytes + sizeof(Elf64_Ehdr), segments, sizeof(segments));
		write_file(l);
		move_pages(l, 0, TEXT_PAGES, -1);
		locate(l, round % TEXT_PAGES);
		unload(l);
	}
}

/* Each that a mapping may show says where all others are: 4,000 of them took 30 ms. */
static void many_segments_at_one_place(void **state)
{
	(void)state;
	for (uint32_t before = 10; before <= 40; before += 30) {
		struct loaded *l = load();
		Elf64_Ehdr *header = (Elf64_Ehdr *)l->bytes;
		Elf64_Phdr *segments = (Elf64_Phdr *)(l->bytes + sizeof(*header));

		memmove(segments + before, segments, 3 * sizeof(*segments));
		for (uint32_t i = 0; i < before; i++)
			segments[i] = (Elf64_Phdr){.p_type = PT_LOAD,
						   .p_flags = PF_R,
						   .p_vaddr = UINT64_C(1) << 40,
						   .p_filesz = FILE_BYTES,
						   .p_memsz = FILE_BYTES};
		header->e_phnum = (uint16_t)(before + 3);
		write_file(l);
		move_pages(l, 0, TEXT_PAGES, -1);
		assert_int_equal(is_of_file(l, 6), before < 16);
		unload(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_was_not_moved),
		cmocka_unit_test(the_middle_of_a_text),
		cmocka_unit_test(all_of_a_segment),
		cmocka_unit_test(pieces_of_several_kinds),
		cmocka_unit_test(more_than_the_text),
		cmocka_unit_test(the_file_is_deleted),
		cmocka_unit_test(one_byte_is_another),
		cmocka_unit_test(other_code_behind_the_text),
		cmocka_unit_test(pages_without_code_prove_nothing),
		cmocka_unit_test(code_between_segments),
		cmocka_unit_test(memory_that_cannot_be_read),
		cmocka_unit_test(memory_that_is_opened_by_others),
		cmocka_unit_test(code_elsewhere_is_not_compared),
		cmocka_unit_test(comparisons_have_a_limit),
		cmocka_unit_test(memory_replaces_text),
		cmocka_unit_test(other_code_replaces_text),
		cmocka_unit_test(the_process_has_ended),
		cmocka_unit_test(the_process_describes_memory),
		cmocka_unit_test(hashes_of_pages),
		cmocka_unit_test(hashes_of_files_that_are_gone),
		cmocka_unit_test(lines_beside_memory),
		cmocka_unit_test(headers_may_say_anything),
		cmocka_unit_test(many_segments_at_one_place),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
