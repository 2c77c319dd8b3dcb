/* SPDX-License-Identifier: MIT */
/* Build ids in this process's memory: of real files, and of memory that is no such file. */
#include "unit.h"
#include <elf.h>
#include "cupti_trace/core/build_id.h"
#include "cupti_trace/unwind/code_map.h"

#define SIZE 16384u

/* The build id of the test's own file is the one that readelf prints, if readelf is installed. */
static void our_own(void **state)
{
	struct code_map map = {.entries = NULL};
	char text[BUILD_ID_TEXT_BYTES], expected[BUILD_ID_TEXT_BYTES] = "";
	struct code_map_entry *entry;
	FILE *out;

	(void)state;
	if (getenv("UNDER_VALGRIND"))
		return; /* under valgrind, /proc/PID/exe is valgrind */
	entry = code_map_look(&map, (uint64_t)(uintptr_t)our_own);
	assert_non_null(entry);
	build_id_read(entry->head, entry->head_end, text);
	out = popen("readelf -n /proc/$PPID/exe 2>/dev/null | sed -n 's/.*Build ID: //p'", "re");
	assert_non_null(out);
	if (fscanf(out, "%128s", expected) == 1) /* otherwise readelf or the id is missing */
		assert_string_equal(text, expected);
	pclose(out);
	free(map.entries);
	free(map.paths);
}

struct made {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Nhdr other;
	char other_name[8], other_id[4];
	Elf64_Nhdr note;
	char name[4];
	unsigned char id[3], padding;
};

static void make(struct made *m)
{
	*m = (struct made){.header = {.e_phoff = offsetof(struct made, segments),
				      .e_phentsize = sizeof(Elf64_Phdr),
				      .e_phnum = 2},
			   .segments = {{.p_type = PT_LOAD},
					{.p_type = PT_NOTE,
					 .p_offset = offsetof(struct made, other),
					 .p_filesz = sizeof(*m) - offsetof(struct made, other)}},
			   .other = {7, 3, 1},
			   .other_name = "Others",
			   .note = {4, 3, NT_GNU_BUILD_ID},
			   .name = "GNU",
			   .id = {0, 0xfe, 0x10}};
	memcpy(m->header.e_ident, ELFMAG, SELFMAG);
	m->header.e_ident[EI_CLASS] = ELFCLASS64;
}

/* Maps two readable pages between unreadable ones. */
static uint8_t *map_pages(void)
{
	uint8_t *pages = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 8192, PROT_READ | PROT_WRITE), 0);
	return pages;
}

static void notes_are_looked_through(void **state)
{
	uint8_t *pages = map_pages();
	struct made *m = (struct made *)(void *)(pages + 4096);
	char text[BUILD_ID_TEXT_BYTES];

	(void)state;
	make(m);
	build_id_read((uintptr_t)m, (uintptr_t)m + 4096, text);
	assert_string_equal(text, "00fe10");
	m->note.n_type = 1;
	build_id_read((uintptr_t)m, (uintptr_t)m + 4096, text);
	assert_string_equal(text, "");
	build_id_read(0, 0, text);
	assert_string_equal(text, "");
	munmap(pages, SIZE);
}

/* Whatever is there, nothing outside is read: it would crash. */
static void no_memory_is_too_odd(void **state)
{
	uint64_t rounds = unit_rounds(20000), found = 0;
	uint8_t *pages = map_pages();

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		uint8_t *at = pages + 12288 - sizeof(struct made) - prng_below(&p, 64) / 8 * 8;
		char text[BUILD_ID_TEXT_BYTES];

		make((struct made *)(void *)at);
		for (uint64_t n = prng_below(&p, 5); n > 0; n--)
			at[prng_below(&p, sizeof(struct made))] = (uint8_t)prng_bits(&p, 8);
		/* an end that is too far is the kernel's to know */
		build_id_read((uintptr_t)at, (uintptr_t)pages + SIZE - prng_below(&p, 8192), text);
		found += text[0] != '\0';
	}
	assert_true(found > 0 && found < rounds);
	munmap(pages, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own),
		cmocka_unit_test(notes_are_looked_through),
		cmocka_unit_test(no_memory_is_too_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
