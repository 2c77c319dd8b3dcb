/* SPDX-License-Identifier: MIT */
/*
 * Checks of ELF files and their sections: a small library, made byte by byte, with one broken value
 * at a time. Read from a file and from memory.
 */
#include "unit.h"
#include "symbolize/elf_file.h"
#include "tests/unit/made_elf.h"
#include "tests/unit/own_folder.h"

static char path[256];
static unsigned char image[1 << 20];
static size_t size;

/* Makes a library with one section, in `path` and in `image`. */
static void make_image(const struct made_section *section)
{
	int fd;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/library.so", folder);
	make_elf(path, section, 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	memset(image, 0, sizeof(image));
	got = read(fd, image, sizeof(image));
	assert_true(got > 0 && got < (ssize_t)sizeof(image));
	close(fd);
	size = (size_t)got;
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *)(void *)image;
}

/* Opens the image in memory and as a file, which must give one result. Returns it. */
static int opened(void)
{
	unsigned char *copy = malloc(size); /* a read outside is seen */
	struct elf_file file;
	int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC), from_file, from_memory;

	assert_true(fd >= 0 && copy);
	memcpy(copy, image, size);
	assert_int_equal(write(fd, image, size), size);
	from_file = elf_file_open(&file, fd);
	if (from_file == 0)
		elf_file_close(&file);
	close(fd);
	from_memory = elf_file_open_memory(&file, copy, size);
	if (from_memory == 0)
		elf_file_close(&file);
	free(copy);
	assert_int_equal(from_file, from_memory);
	return from_file;
}

static const struct made_section text = {
	.name = ".words", .type = SHT_PROGBITS, .size = 6, .data = "words"};

static void only_this_machine_s_files(void **state)
{
	(void)state;
	make_image(&text);
	assert_int_equal(opened(), 0);
	header()->e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(opened(), -ENOEXEC);
	/* a right one of the other order, without sections and segments */
	*header() = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2MSB,
			    EV_CURRENT},
		.e_type = ET_DYN << 8,
		.e_machine = EM_X86_64 << 8,
		.e_version = EV_CURRENT << 24,
		.e_ehsize = sizeof(Elf64_Ehdr) << 8,
	};
	assert_int_equal(opened(), -ENOEXEC);
	make_image(&text);
	header()->e_ident[EI_MAG0] = 0;
	assert_int_equal(opened(), -ENOEXEC);
	make_image(&text);
	header()->e_type = ET_CORE;
	assert_int_equal(opened(), -ENOEXEC);
	header()->e_type = ET_REL;
	assert_int_equal(opened(), -ENOEXEC);
	header()->e_type = ET_EXEC;
	assert_int_equal(opened(), 0);
	size = sizeof(Elf64_Ehdr) - 1;
	assert_int_equal(opened(), -ENOEXEC);
}

/* If a header counts 0 sections, libelf takes the count from section 0, which may be any number. */
static void sections_that_the_header_does_not_count(void **state)
{
	(void)state;
	make_image(&text);
	((Elf64_Shdr *)(void *)(image + header()->e_shoff))->sh_size = header()->e_shnum;
	header()->e_shnum = 0;
	assert_int_equal(opened(), -ENOEXEC);
	header()->e_shoff = 0;
	header()->e_shstrndx = 0;
	assert_int_equal(opened(), 0);
}

static void segments_are_limited(void **state)
{
	(void)state;
	make_image(&text);
	size = (size + 7) / 8 * 8;
	header()->e_phoff = size;
	header()->e_phnum = ELF_FILE_MAX_SEGMENTS;
	size += (ELF_FILE_MAX_SEGMENTS + 1) * sizeof(Elf64_Phdr); /* all zeros: unused ones */
	assert_true(size <= sizeof(image));
	assert_int_equal(opened(), 0);
	header()->e_phnum++;
	assert_int_equal(opened(), -ENOEXEC);
}

static void notes_are_limited(void **state)
{
	struct made_section notes = {.name = ".note", .type = SHT_NOTE};

	(void)state;
	notes.size = 1024;
	make_image(&notes);
	assert_int_equal(opened(), 0);
	((Elf64_Shdr *)(void *)(image + header()->e_shoff))[2].sh_size = ELF_FILE_MAX_NOTES + 1;
	assert_int_equal(opened(), -ENOEXEC);
}

/* Returns the contents of the section with this header, or NULL. */
static char *contents(const GElf_Shdr *section)
{
	unsigned char *copy = malloc(size);
	struct elf_file file;
	char *read;

	assert_non_null(copy);
	memcpy(copy, image, size);
	assert_int_equal(elf_file_open_memory(&file, copy, size), 0);
	read = elf_file_read_section(&file, section);
	elf_file_close(&file);
	free(copy);
	return read;
}

static void sections_lie_in_the_file(void **state)
{
	GElf_Shdr section;
	char *read;

	(void)state;
	make_image(&text);
	section = (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_offset = size - 4, .sh_size = 4};
	read = contents(&section);
	assert_non_null(read);
	assert_memory_equal(read, image + size - 4, 4);
	assert_int_equal(read[4], 0);
	free(read);
	section.sh_size = 5;
	assert_null(contents(&section));
	section.sh_offset = UINT64_MAX - 2; /* the sum is small again */
	assert_null(contents(&section));
	section = (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_size = size + 1};
	assert_null(contents(&section));
	section.sh_size = 0;
	assert_null(contents(&section));
	section = (GElf_Shdr){.sh_type = SHT_NOBITS, .sh_size = 4};
	assert_null(contents(&section));
	section = (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_size = 4, .sh_flags = SHF_COMPRESSED};
	assert_null(contents(&section));
}

static void addresses_of_file_offsets(void **state)
{
	struct elf_segment list[] = {
		{.offset = 0x1000, .size = 0x100, .address = 0x401000},
		/* one part of the file, mapped twice: code runs in the second mapping */
		{.offset = 0x1080, .size = 0x80, .address = 0x502080, .is_executable = true},
		{.offset = 0x10c0, .size = 0x10, .address = 0x6030c0},
	};
	const struct elf_segments segments = {.list = list, .count = 3};
	uint64_t address;

	(void)state;
	assert_false(elf_segments_address(&segments, 0xfff, &address));
	assert_true(elf_segments_address(&segments, 0x1000, &address));
	assert_int_equal(address, 0x401000);
	assert_true(elf_segments_address(&segments, 0x107f, &address));
	assert_int_equal(address, 0x40107f);
	assert_true(elf_segments_address(&segments, 0x1080, &address));
	assert_int_equal(address, 0x502080);
	assert_true(elf_segments_address(&segments, 0x10c1, &address));
	assert_int_equal(address, 0x5020c1);
	assert_true(elf_segments_address(&segments, 0x10ff, &address));
	assert_false(elf_segments_address(&segments, 0x1100, &address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_this_machine_s_files),
		cmocka_unit_test(sections_that_the_header_does_not_count),
		cmocka_unit_test(segments_are_limited),
		cmocka_unit_test(notes_are_limited),
		cmocka_unit_test(sections_lie_in_the_file),
		cmocka_unit_test(addresses_of_file_offsets),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
