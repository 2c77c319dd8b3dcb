/* SPDX-License-Identifier: MIT */
/* Descriptions of text that a program has moved: text of this process, here. */
#include "tests/unit/unit.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "cupti_trace/unwind/code_map.h"
#include "cupti_trace/unwind/moved_code.h"
#include "symbolize/text_pages.h"
#include "tests/unit/own_folder.h"

#define PAGE 4096u

enum {
	TEXT_PAGES = 6,
	TEXT_OFFSET = PAGE,
	TEXT_ADDRESS = 2 * PAGE,
	TEXT_BYTES = TEXT_PAGES * PAGE - 100
};
enum { DATA_ADDRESS = TEXT_ADDRESS + (TEXT_PAGES + 1) * PAGE, AREA_BYTES = DATA_ADDRESS + PAGE };
enum { DATA_OFFSET = TEXT_OFFSET + TEXT_PAGES * PAGE, FILE_BYTES = DATA_OFFSET + PAGE };

static uint8_t file_bytes[FILE_BYTES];
static char path[256];

static void make_file(void)
{
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_phoff = sizeof(header),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 2};
	const Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = PAGE, .p_memsz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = TEXT_OFFSET,
		 .p_vaddr = TEXT_ADDRESS,
		 .p_filesz = TEXT_BYTES,
		 .p_memsz = TEXT_BYTES},
	};
	FILE *file;

	for (size_t i = 0; i < FILE_BYTES; i++)
		file_bytes[i] = (uint8_t)(i * 31 + i / 251);
	memcpy(file_bytes, &header, sizeof(header));
	memcpy(file_bytes + sizeof(header), segments, sizeof(segments));
	snprintf(path, sizeof(path), "%s/made", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(file_bytes, 1, FILE_BYTES, file), FILE_BYTES);
	assert_int_equal(fclose(file), 0);
}

/* Maps the file as a loader does. */
static uint8_t *load(void)
{
	uint8_t *area = mmap(NULL, AREA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, fixed = MAP_PRIVATE | MAP_FIXED;

	make_file();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_true(fd >= 0);
	assert_ptr_equal(mmap(area, PAGE, PROT_READ, fixed, fd, 0), area);
	assert_ptr_not_equal(mmap(area + TEXT_ADDRESS, (size_t)TEXT_PAGES * PAGE,
				  PROT_READ | PROT_EXEC, fixed, fd, TEXT_OFFSET),
			     MAP_FAILED);
	assert_ptr_not_equal(mmap(area + DATA_ADDRESS, PAGE, PROT_READ, fixed, fd, DATA_OFFSET),
			     MAP_FAILED);
	close(fd);
	return area;
}

/* Puts memory in the place of `pages` of the text, and `more` behind it. */
static void move_text(uint8_t *area, uint32_t first, uint32_t pages, uint32_t more)
{
	uint8_t *at = area + TEXT_ADDRESS + (size_t)first * PAGE;
	size_t size = (size_t)pages * PAGE, all = size + (size_t)more * PAGE;

	assert_ptr_equal(mmap(at, all, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0),
			 at);
	memcpy(at, file_bytes + TEXT_OFFSET + (size_t)first * PAGE, size);
	assert_int_equal(mprotect(at, all, PROT_READ | PROT_EXEC), 0);
}

/* Hashes the file's pages in the part of the text from `first` on. */
static uint64_t hash_of_file(uint32_t first, uint64_t end)
{
	uint64_t from = TEXT_OFFSET + (uint64_t)first * PAGE, hash = 0;

	for (uint32_t i = 0; i < text_pages_count(from, end); i++) {
		uint64_t begin, stop;

		text_pages_get(from, end, i, &begin, &stop);
		hash = text_pages_hash(hash, file_bytes + begin, stop - begin);
	}
	return hash;
}

static struct code_map map;

static const struct code_map_entry *look(const uint8_t *pc)
{
	struct code_map_entry *entry = code_map_look(&map, (uint64_t)(uintptr_t)pc);

	assert_non_null(entry);
	entry = code_map_resolve(&map, entry, (uint64_t)(uintptr_t)pc);
	assert_non_null(entry);
	assert_true(entry->code.start <= (uint64_t)(uintptr_t)pc &&
		    (uint64_t)(uintptr_t)pc < entry->code.end);
	return entry;
}

static void finish(uint8_t *area)
{
	munmap(area, AREA_BYTES);
	free(map.entries);
	free(map.paths);
	memset(&map, 0, sizeof(map));
	code_map_close();
}

static void text_is_that_of_its_file(void **state)
{
	const struct code_map_entry *entry;
	uint8_t *area = load(), *text = area + TEXT_ADDRESS;

	(void)state;
	move_text(area, 1, 3, 0);
	entry = look(text + 5);
	assert_int_equal(entry->code.text_hash, 0);
	assert_string_equal(entry->code.path, path);
	entry = look(text + 2 * PAGE);
	assert_string_equal(entry->code.path, path);
	assert_true(entry->code.inode != 0);
	assert_int_equal(entry->code.start, (uintptr_t)text + PAGE);
	assert_int_equal(entry->code.end, (uintptr_t)text + 4 * PAGE);
	assert_int_equal(entry->code.file_offset, TEXT_OFFSET + PAGE);
	assert_int_equal(entry->code.text_hash, hash_of_file(1, TEXT_OFFSET + 4 * PAGE));
	assert_int_equal(entry->head, (uintptr_t)area);
	finish(area);
}

static void memory_behind_the_text_is_none(void **state)
{
	const struct code_map_entry *entry;
	uint8_t *area = load(), *text = area + TEXT_ADDRESS;

	(void)state;
	move_text(area, 0, TEXT_PAGES, 1);
	entry = look(text + TEXT_PAGES * PAGE + 9);
	assert_int_equal(entry->code.text_hash, 0);
	entry = look(text);
	assert_int_equal(entry->code.start, (uintptr_t)text);
	assert_int_equal(entry->code.end, (uintptr_t)text + TEXT_PAGES * PAGE);
	assert_int_equal(entry->code.text_hash, hash_of_file(0, TEXT_OFFSET + TEXT_BYTES));
	entry = look(text + TEXT_PAGES * PAGE + 9);
	assert_string_equal(entry->code.path, "");
	assert_int_equal(entry->code.text_hash, 0);
	assert_int_equal(entry->code.start, (uintptr_t)text + TEXT_PAGES * PAGE);
	finish(area);
}

/* The library does not check the moved text. The profiler finds that the file's pages have
 * another hash. */
static void other_code_has_another_hash(void **state)
{
	uint8_t *area = load(), *text = area + TEXT_ADDRESS;

	(void)state;
	move_text(area, 1, 3, 0);
	assert_int_equal(mprotect(text + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	text[PAGE + 3] ^= 1;
	assert_int_equal(mprotect(text + PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_not_equal(look(text + 2 * PAGE)->code.text_hash,
			     hash_of_file(1, TEXT_OFFSET + 4 * PAGE));
	finish(area);
}

/* Headers in one segment with the text move with it. */
static void headers_that_were_moved(void **state)
{
	struct gpu_event_code code = {.path = ""}, file = {.inode = 7, .path = "/file"}, text;
	uint8_t *memory =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Elf64_Phdr *segment = (Elf64_Phdr *)(memory + sizeof(Elf64_Ehdr));

	(void)state;
	make_file();
	memcpy(memory, file_bytes, 3 * PAGE);
	((Elf64_Ehdr *)memory)->e_phnum = 1;
	*segment = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_vaddr = 0x400000,
				.p_filesz = 3 * PAGE,
				.p_memsz = 3 * PAGE};
	code.start = (uintptr_t)memory;
	code.end = code.start + 3 * PAGE;
	assert_true(moved_code_find(&code, &file, code.start, code.end, code.start + 5000, &text));
	assert_int_equal(text.start, code.start);
	assert_int_equal(text.file_offset, 0);
	assert_int_equal(text.inode, 7);
	assert_false(moved_code_find(&code, &file, code.start, code.start + 100, code.start + 5000,
				     &text));
	segment->p_flags = PF_R;
	assert_false(moved_code_find(&code, &file, code.start, code.end, code.start + 5000, &text));
	munmap(memory, 3 * PAGE);
}

/* Any numbers in the headers: what is hashed lies in the memory that has the code. */
static void headers_may_say_anything(void **state)
{
	struct gpu_event_code code = {.path = ""}, file = {.inode = 7, .path = "/file"}, text;
	uint8_t *memory = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct prng p = {.state = 4711};

	(void)state;
	make_file();
	assert_int_equal(mprotect(memory + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	memcpy(memory + PAGE, file_bytes, 2 * PAGE);
	code.start = (uintptr_t)memory + PAGE;
	code.end = code.start + 2 * PAGE;
	for (int i = 0; i < 20000; i++) {
		Elf64_Ehdr *header = (Elf64_Ehdr *)(memory + PAGE);
		Elf64_Phdr *segments = (Elf64_Phdr *)(header + 1);

		header->e_phoff = prng_chance(&p, 5) ? prng_bits(&p, 64) : sizeof(*header);
		header->e_phnum = (uint16_t)prng_bits(&p, 7);
		for (int k = 0; k < 3; k++)
			segments[k] = (Elf64_Phdr){
				.p_type = PT_LOAD,
				.p_flags = (uint32_t)prng_bits(&p, 3),
				.p_offset = prng_bits(&p, 13),
				.p_vaddr = prng_bits(&p, prng_chance(&p, 50) ? 14 : 64),
				.p_filesz = prng_bits(&p, prng_chance(&p, 50) ? 14 : 64)};
		if (!moved_code_find(&code, &file, code.start, code.end,
				     code.start + prng_below(&p, 2 * PAGE), &text))
			continue;
		assert_true(text.start >= code.start && text.end <= code.end);
		assert_true(text.start < text.end);
	}
	munmap(memory, 4 * PAGE);
}

/* Takes its pages away and gives them back, until `*ends`. */
struct coming_and_going {
	uint8_t *memory;
	atomic_bool ends;
};

static void *come_and_go(void *context)
{
	struct coming_and_going *c = context;

	while (!atomic_load(&c->ends)) {
		mprotect(c->memory, AREA_BYTES, PROT_NONE);
		mprotect(c->memory, AREA_BYTES, PROT_READ);
	}
	return NULL;
}

static void memory_may_go_at_any_time(void **state)
{
	struct gpu_event_code code = {.path = ""}, file = {.inode = 7, .path = "/file"}, text;
	struct coming_and_going c = {.memory = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	uint64_t rounds = unit_rounds(50000), pc;
	pthread_t thread;

	(void)state;
	make_file();
	memcpy(c.memory, file_bytes, PAGE);
	memcpy(c.memory + TEXT_ADDRESS, file_bytes + TEXT_OFFSET, TEXT_BYTES);
	code.start = (uintptr_t)c.memory;
	code.end = code.start + AREA_BYTES;
	pc = code.start + TEXT_ADDRESS + 10;
	assert_true(moved_code_find(&code, &file, code.start, code.end, pc, &text));
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &c), 0);
	for (uint64_t i = 0; i < rounds; i++)
		if (moved_code_find(&code, &file, code.start, code.end, pc, &text))
			assert_int_equal(text.inode, 7);
	atomic_store(&c.ends, true);
	pthread_join(thread, NULL);
	munmap(c.memory, AREA_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_that_of_its_file),
		cmocka_unit_test(memory_behind_the_text_is_none),
		cmocka_unit_test(other_code_has_another_hash),
		cmocka_unit_test(headers_that_were_moved),
		cmocka_unit_test(headers_may_say_anything),
		cmocka_unit_test(memory_may_go_at_any_time),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
