/* SPDX-License-Identifier: MIT */
/* Source lines of device code, of a cubin that nvcc made, and of what only looks like one. */
#include "unit.h"
#include <dwarf.h>
#include <elf.h>
#include <zlib.h>
#include "symbolize/cubin.h"

#define CUBIN "build/tests/cubins/lines.cubin"
#define SOURCE "tests/cubins/lines.cu"
#define PC_MAX 0x4000u

/* Reads a file into allocated memory. Returns NULL if there is none. */
static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *bytes = calloc(1, 1 << 20);

	assert_non_null(bytes);
	if (!file) {
		free(bytes);
		return NULL;
	}
	*size = fread(bytes, 1, (1 << 20) - 1, file);
	fclose(file);
	return bytes;
}

static char *read_cubin(size_t *size)
{
	char *bytes = read_file(CUBIN, size);

	if (!bytes) {
		print_message("SKIP: no nvcc made " CUBIN "\n");
		skip();
	}
	return bytes;
}

/* Returns the number of the source line with this text. */
static uint32_t line_of(const char *text)
{
	size_t size;
	char *source = read_file(SOURCE, &size), *at;
	uint32_t line = 1;

	assert_non_null(source);
	at = strstr(source, text);
	assert_non_null(at);
	for (const char *c = source; c < at; c++)
		line += *c == '\n';
	free(source);
	return line;
}

/* Counts a function's instructions at a line, inside the inlined functions "a;b". */
static uint32_t count(const struct cubin *cubin, const char *function, const char *inlined,
		      uint32_t line)
{
	uint32_t found = 0;

	for (uint32_t pc = 0; pc < PC_MAX; pc += 16) {
		struct cubin_place place;
		char functions[256] = "";
		int used = 0;

		if (!cubin_find(cubin, function, pc, &place))
			continue;
		for (uint32_t i = 0; i < place.function_count && used < 150; i++)
			used += snprintf(functions + used, 100, "%.90s;", place.functions[i]);
		if (place.line == line && strcmp(functions, inlined) == 0) {
			assert_non_null(strstr(place.file, "/lines.cu"));
			found++;
		}
	}
	return found;
}

static void lines_and_inlined_functions_are_known(void **state)
{
	size_t size;
	char *bytes = read_cubin(&size);
	struct cubin *cubin;
	struct cubin_place place;

	(void)state;
	assert_int_equal(cubin_open(&cubin, bytes, size), 0);
	assert_true(count(cubin, "_Z4tinyy", "", line_of("// line of tiny")) > 0);
	assert_true(count(cubin, "_Z4tinyy", "_Z7inlinedPKjj;", line_of("// line of inlined")) > 0);
	/* outermost first */
	assert_true(count(cubin, "_Z4tinyy", "_Z7inlinedPKjj;_Z9innermostPKjj;",
			  line_of("// line of innermost")) > 0);
	assert_true(count(cubin, "_Z4tinyy", "_Z6calledj;", line_of("// line of called")) > 0);
	/* each function begins at 0, and has none of another's */
	assert_true(count(cubin, "_Z5otherPj", "", line_of("// line of other")) > 0);
	assert_int_equal(count(cubin, "_Z5otherPj", "", line_of("// line of tiny")), 0);
	assert_int_equal(count(cubin, "_Z4tinyy", "", line_of("// line of other")), 0);
	assert_false(cubin_find(cubin, "_Z5nosuchv", 0, &place));
	assert_false(cubin_find(cubin, "_Z4tinyy", UINT32_MAX, &place));
	assert_false(cubin_find(cubin, "_Z4tinyy", UINT64_MAX, &place));
	cubin_close(cubin);
	free(bytes);
}

static void whatever_is_broken_is_survived(void **state)
{
	size_t size;
	char *bytes = read_cubin(&size), *broken = malloc(size);
	uint32_t opened = 0;

	(void)state;
	assert_non_null(broken);
	for (uint64_t round = 0; round < 3000; round++) {
		struct prng p = prng_round(round);
		size_t length = prng_chance(&p, 20) ? prng_below(&p, size) : size;
		struct cubin *cubin;

		memcpy(broken, bytes, size);
		for (uint64_t i = prng_below(&p, 30); i > 0; i--)
			broken[prng_below(&p, size)] = (char)prng_bits(&p, 8);
		if (cubin_open(&cubin, broken, length) != 0)
			continue;
		opened++;
		for (uint32_t pc = 0; pc < 0x800; pc += 48) {
			struct cubin_place place;

			if (cubin_find(cubin, "_Z4tinyy", pc, &place))
				assert_true(place.function_count <= CUBIN_MAX_DEPTH + 1);
		}
		cubin_close(cubin);
	}
	assert_true(opened > 0);
	free(broken);
	free(bytes);
}

static void other_files_are_none(void **state)
{
	char text[] = "\177ELF", self[64] = {0};
	size_t size;
	char *bytes = read_file("/proc/self/exe", &size);
	struct cubin *cubin;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(cubin_open(&cubin, text, sizeof(text)), -ENOEXEC);
	assert_null(cubin);
	assert_int_equal(cubin_open(&cubin, self, sizeof(self)), -ENOEXEC);
	assert_int_equal(cubin_open(&cubin, bytes, size), -ENOEXEC);
	cubin_close(NULL);
	free(bytes);
}

/* ---- cubins that no compiler writes ---- */

#define MADE_SECTIONS 8u

/* A growing sequence of bytes. */
struct bytes {
	char *at;
	size_t size;
};

static void put(struct bytes *b, const void *data, size_t size)
{
	b->at = realloc(b->at, b->size + size);
	assert_non_null(b->at);
	memcpy(b->at + b->size, data, size);
	b->size += size;
}

static void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

struct made {
	struct bytes image, names;
	Elf64_Shdr headers[MADE_SECTIONS];
	uint16_t count;
};

static void add_section(struct made *m, const char *name, uint64_t flags, const void *data,
			size_t size)
{
	const char padding[8] = {0};

	if (m->count == 0) {
		put(&m->image, &(Elf64_Ehdr){.e_version = 0}, sizeof(Elf64_Ehdr));
		put_text(&m->names, "");
		m->count = 1;
	}
	put(&m->image, padding, -m->image.size % 8);
	m->headers[m->count++] = (Elf64_Shdr){.sh_name = (uint32_t)m->names.size,
					      .sh_type = SHT_PROGBITS,
					      .sh_flags = flags,
					      .sh_offset = m->image.size,
					      .sh_size = size};
	put_text(&m->names, name);
	put(&m->image, data, size);
}

/* Adds a symbol table with this many functions. Each name starts a byte later in the string
 * table. */
static void add_functions(struct made *m, const char *names, size_t size, uint32_t count)
{
	Elf64_Sym *symbols = calloc(count, sizeof(*symbols));

	assert_non_null(symbols);
	for (uint32_t i = 0; i < count; i++)
		symbols[i] = (Elf64_Sym){.st_name = i,
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_size = 0x1000};
	add_section(m, ".symtab", 0, symbols, count * sizeof(*symbols));
	add_section(m, ".strtab", 0, names, size);
	free(symbols);
}

static void make_image(struct made *m)
{
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = 190,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr)};

	add_section(m, ".shstrtab", 0, "", 0);
	m->headers[m->count - 1].sh_type = SHT_STRTAB;
	m->headers[m->count - 1].sh_size = m->names.size;
	put(&m->image, m->names.at, m->names.size);
	put(&m->image, "\0\0\0\0\0\0\0", -m->image.size % 8);
	header.e_shoff = m->image.size;
	header.e_shnum = m->count;
	header.e_shstrndx = (uint16_t)(m->count - 1);
	put(&m->image, m->headers, m->count * sizeof(m->headers[0]));
	memcpy(m->image.at, &header, sizeof(header));
}

/* Opens the made image; returns the result. */
static int open_made(struct made *m)
{
	struct cubin *cubin;
	int result;

	make_image(m);
	result = cubin_open(&cubin, m->image.at, m->image.size);
	cubin_close(cubin);
	free(m->image.at);
	free(m->names.at);
	return result;
}

/* Makes a unit of the line table, from its header after the length, and its program. */
static struct bytes made_unit(uint16_t version, const struct bytes *header,
			      const struct bytes *program)
{
	static const char parameters[] = {1, 1, -5, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1};
	static const char parameters_4[] = {1, 1, 1, -5, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1};
	bool is_old = version < 4;
	uint32_t fixed = is_old ? sizeof(parameters) : sizeof(parameters_4);
	uint32_t header_size = (uint32_t)header->size + fixed;
	uint32_t length = header_size + (uint32_t)program->size + 2 + (version == 5 ? 2 : 0) + 4;
	struct bytes unit = {0};

	put(&unit, &length, 4);
	put(&unit, &version, 2);
	if (version == 5)
		put(&unit, "\10", 2); /* sizes of an address and a segment */
	put(&unit, &header_size, 4);
	put(&unit, is_old ? parameters : parameters_4, fixed);
	put(&unit, header->at, header->size);
	put(&unit, program->at, program->size);
	return unit;
}

static int open_lines(const struct bytes *lines)
{
	struct made made = {0};

	add_functions(&made, "f", 2, 1);
	add_section(&made, ".debug_line", 0, lines->at, lines->size);
	return open_made(&made);
}

/* Opens a table with a folder name of this length, and with files in the header and in the
 * program. */
static int open_folder(size_t length, uint32_t files, uint32_t defined)
{
	char *folder = calloc(1, length + 1);
	struct bytes header = {0}, program = {0}, unit;
	int result;

	assert_non_null(folder);
	memset(folder, 'd', length);
	put_text(&header, folder);
	put_text(&header, "");
	for (uint32_t i = 0; i < files; i++)
		put(&header, "f\0\1\0\0", 5);
	put_text(&header, "");
	for (uint32_t i = 0; i < defined; i++)
		put(&program, "\0\6\3f\0\1\0\0", 8);
	put(&program, "\1\0\1\1", 4);
	unit = made_unit(2, &header, &program);
	result = open_lines(&unit);
	free(folder);
	free(header.at);
	free(program.at);
	free(unit.at);
	return result;
}

static void files_in_folders_with_long_names_take_no_memory(void **state)
{
	(void)state;
	assert_int_equal(open_folder(100, 1000, 0), 0);
	assert_int_equal(open_folder(100, 0, 1000), 0);
	assert_int_equal(open_folder(100000, 20, 20), 0);
	assert_int_equal(open_folder(100000, 2000, 0), -ENOEXEC);
	assert_int_equal(open_folder(100000, 0, 2000), -ENOEXEC);
}

static void compressed_sections_are_not_expanded(void **state)
{
	struct made made = {0};
	char zeros[10000] = {0}, packed[1000];
	Elf64_Chdr header = {
		.ch_type = ELFCOMPRESS_ZLIB, .ch_size = sizeof(zeros), .ch_addralign = 1};
	struct bytes section = {0}, none = {0}, unit;
	uLongf size = sizeof(packed);

	(void)state;
	assert_int_equal(compress((Bytef *)packed, &size, (Bytef *)zeros, sizeof(zeros)), Z_OK);
	put(&section, &header, sizeof(header));
	put(&section, packed, size);
	put(&none, "\0\0", 2);
	unit = made_unit(2, &none, &none);
	add_functions(&made, "f", 2, 1);
	add_section(&made, ".debug_line", 0, unit.at, unit.size);
	add_section(&made, ".debug_str", SHF_COMPRESSED, section.at, section.size);
	assert_int_equal(open_made(&made), -ENOEXEC);
	free(section.at);
	free(none.at);
	free(unit.at);
}

/* The table's folder 0 is that of the unit whose lines these are. */
static void other_sections_are_not_read(void **state)
{
	static const char abbreviations[] =
		"\1\21\0\20\6\33\10\0\0";                        /* DW_AT_stmt_list, _comp_dir */
	static const char begin[] = "\3\0\0\0\0\0\10\1\0\0\0\0"; /* version 3 */
	char folder[1000];
	uint32_t size;
	struct made made = {0};
	struct bytes header = {0}, program = {0}, info = {0}, unit;
	struct cubin_place place;
	struct cubin *cubin;

	(void)state;
	memset(folder, 'd', sizeof(folder));
	folder[0] = '/';
	folder[sizeof(folder) - 1] = '\0';
	size = sizeof(begin) - 1 + sizeof(folder);
	put(&info, &size, sizeof(size));
	put(&info, begin, sizeof(begin) - 1);
	put(&info, folder, sizeof(folder));
	put(&header, "\0f\0\0\0\0\0", 7);
	put(&program, "\1\2\20\0\1\1", 6);
	unit = made_unit(2, &header, &program);
	add_functions(&made, "f", 2, 1);
	add_section(&made, ".debug_line", 0, unit.at, unit.size);
	add_section(&made, ".debug_info", 0, info.at, info.size);
	add_section(&made, ".debug_abbrev", 0, abbreviations, sizeof(abbreviations));
	make_image(&made);
	assert_int_equal(cubin_open(&cubin, made.image.at, made.image.size), 0);
	assert_true(cubin_find(cubin, "f", 0, &place));
	assert_string_equal(place.file, "f");
	cubin_close(cubin);
	free(made.image.at);
	free(made.names.at);
	free(header.at);
	free(program.at);
	free(info.at);
	free(unit.at);
}

static void names_that_share_their_bytes_take_no_time(void **state)
{
	const size_t size = 60000;
	struct made made = {0};
	char *names = calloc(1, size + 1);
	struct bytes none = {0}, unit;

	(void)state;
	assert_non_null(names);
	memset(names, 'a', size);
	put(&none, "\0\0", 2);
	unit = made_unit(2, &none, &none);
	add_functions(&made, names, size + 1, 10000);
	add_section(&made, ".debug_line", 0, unit.at, unit.size);
	assert_int_equal(open_made(&made), -ENOEXEC);
	free(names);
	free(none.at);
	free(unit.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_inlined_functions_are_known),
		cmocka_unit_test(whatever_is_broken_is_survived),
		cmocka_unit_test(other_files_are_none),
		cmocka_unit_test(files_in_folders_with_long_names_take_no_memory),
		cmocka_unit_test(compressed_sections_are_not_expanded),
		cmocka_unit_test(other_sections_are_not_read),
		cmocka_unit_test(names_that_share_their_bytes_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
