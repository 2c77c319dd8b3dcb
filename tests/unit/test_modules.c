// SPDX-License-Identifier: MIT
/*
 * Modules and their files: one file under many paths, files that are out of reach, and files that
 * never come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/modules.h"
#include "symbolize/frame_naming.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/made_elf.h"
#include "tests/unit/own_folder.h"

#define GHOST 0x3fff0000 /* above the largest pid_max */
#define NOBODY 65534
#define STUCK_FILE "build/tests/workloads/stuck_file"

static const char *path_of(const char *file)
{
	static char path[2][256];
	static int which;

	which ^= 1;
	snprintf(path[which], sizeof(path[which]), "%s/%s", folder, file);
	return path[which];
}

/* Makes a library whose code is one function. */
static void make_library(const char *file, const char *function)
{
	Elf64_Sym symbols[2] = {{0}, made_function(1, 0, MADE_TEXT_SIZE)};
	char names[256] = "";
	const struct made_section sections[] = {
		{".symtab", SHT_SYMTAB, 3, sizeof(symbols), symbols, 0, sizeof(*symbols)},
		{".strtab", SHT_STRTAB, 0, strlen(function) + 2, names, 0, 0},
	};

	snprintf(names + 1, sizeof(names) - 1, "%s", function);
	make_elf(path_of(file), sections, 2);
}

static struct code_mapping mapping_of(const char *path, uint64_t start)
{
	struct code_mapping mapping = {
		.start = start,
		.end = start + MADE_TEXT_SIZE,
		.file_offset = MADE_TEXT,
		.path = path,
	};
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	mapping.inode = st.st_ino;
	mapping.dev_major = major(st.st_dev);
	mapping.dev_minor = minor(st.st_dev);
	return mapping;
}

/* ---- one file, many paths ---- */

struct fixture {
	struct bounded_caller *calls;
	struct modules modules;
};

static struct fixture *new_fixture(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	assert_non_null(f->calls);
	modules_init(&f->modules, f->calls);
	return f;
}

static void free_fixture(struct fixture *f)
{
	modules_release(&f->modules);
	bounded_caller_free(f->calls);
	free(f);
}

/* Adds a mapping, and opens it: its module. */
static uint32_t add(struct fixture *f, const char *file)
{
	struct code_mapping mapping = mapping_of(path_of(file), 0x10000);
	struct map_entry entry = {
		.start = mapping.start, .end = mapping.end, .file_offset = mapping.file_offset};

	assert_int_equal(modules_add(&f->modules, &mapping, &entry.module), 0);
	assert_int_equal(modules_pin(&f->modules, GHOST, &entry), entry.module);
	return entry.module;
}

static void one_file_is_loaded_once(void **state)
{
	struct fixture *f = new_fixture();
	struct module_file *file, *again;
	uint64_t left;
	uint32_t first, second, other;

	(void)state;
	make_library("one.so", "function");
	assert_int_equal(link(path_of("one.so"), path_of("two.so")), 0);
	assert_int_equal(mkdir(path_of("sub"), 0755), 0);
	assert_int_equal(link(path_of("one.so"), path_of("sub/one.so")), 0);
	make_library("other.so", "function");
	first = add(f, "one.so");
	second = add(f, "two.so");
	assert_int_not_equal(second, first); /* modules are distinguished by path, as before */
	assert_int_equal(f->modules.files.count, 1);
	assert_int_equal(f->modules.files.open, 1);
	add(f, "sub/one.so");
	assert_int_equal(f->modules.files.count, 1);
	other = add(f, "other.so");
	assert_int_equal(f->modules.files.count, 2);

	file = modules_load(&f->modules, first, TABLE_SYMS);
	assert_non_null(file->syms);
	left = f->modules.files.quota->resident_left;
	assert_true(left < TABLE_QUOTA_RESIDENT_BYTES);
	again = modules_load(&f->modules, second, TABLE_SYMS);
	assert_ptr_equal(again, file);
	assert_int_equal(f->modules.files.quota->resident_left, left);
	assert_int_equal(f->modules.files.open, 1);
	assert_ptr_not_equal(modules_load(&f->modules, other, TABLE_SYMS), file);
	assert_int_equal(f->modules.files.open, 0);
	free_fixture(f);
}

/* A rewritten file with its old path and inode is another module: names are not mixed. */
static void a_changed_file_is_another(void **state)
{
	struct fixture *f = new_fixture();
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
	struct module_file *file;

	(void)state;
	make_library("changed.so", "before");
	assert_int_equal(utimensat(AT_FDCWD, path_of("changed.so"), times, 0), 0);
	link(path_of("changed.so"), path_of("changed2.so"));
	add(f, "changed.so");
	make_library("changed.so", "after"); /* rewritten in place */
	file = modules_load(&f->modules, add(f, "changed2.so"), TABLE_SYMS);
	assert_int_equal(f->modules.files.count, 2);
	assert_ptr_equal(file, &f->modules.files.list[1]);
	free_fixture(f);
}

/* Freed tables are loaded again, by path, if the file is still there and unchanged. */
static void freed_tables_are_reloaded(void **state)
{
	struct fixture *f = new_fixture();
	struct module_files *files = &f->modules.files;
	struct module_file *file;
	uint32_t module;

	(void)state;
	make_library("back.so", "function");
	module = add(f, "back.so");
	file = modules_load(&f->modules, module, TABLE_SYMS);
	assert_non_null(file->syms);
	module_file_free_names(files, file);
	assert_null(file->syms);
	assert_int_equal(files->quota->resident_left, TABLE_QUOTA_RESIDENT_BYTES);
	assert_non_null(modules_load(&f->modules, module, TABLE_SYMS)->syms);
	module_file_free_names(files, file);
	make_library("back.so", "other");
	assert_null(modules_load(&f->modules, module, TABLE_SYMS)->syms);
	free_fixture(f);
}

/* Names that are wanted together: file after file, and nothing is kept of them. */
static void wanted_names_free_tables(void **state)
{
	struct fixture *f = new_fixture();
	struct module_files *files = &f->modules.files;
	struct code_ref refs[4] = {{.offset = MADE_TEXT + 1},
				   {.offset = MADE_TEXT + 2},
				   {.offset = MADE_TEXT + 3},
				   {.offset = MADE_TEXT + 4}};
	struct naming n;

	(void)state;
	make_library("wanted1.so", "in_wanted1");
	make_library("wanted2.so", "in_wanted2");
	assert_int_equal(link(path_of("wanted1.so"), path_of("wanted3.so")), 0);
	refs[0].module = refs[3].module = add(f, "wanted1.so");
	refs[1].module = add(f, "wanted2.so");
	refs[2].module = add(f, "wanted3.so");
	assert_int_equal(naming_init(&n, &f->modules), 0);
	for (int i = 0; i < 4; i++)
		want_name(&n, refs[i]);
	want_name(&n, refs[0]); /* again */
	assert_int_equal(n.names.count, 0);
	name_wanted(&n, false);
	assert_int_equal(n.names.count, 2);
	assert_int_equal(files->count, 2);
	for (uint32_t i = 0; i < files->count; i++) {
		assert_null(files->list[i].syms);
		assert_int_equal(files->list[i].fd, -1);
	}
	assert_int_equal(files->quota->resident_left, TABLE_QUOTA_RESIDENT_BYTES);
	/* Names are there, and need no table any more. */
	for (int i = 0; i < 4; i++)
		assert_string_equal(name_place(&n, refs[i]),
				    refs[i].module == refs[1].module ? "in_wanted2" : "in_wanted1");
	assert_int_equal(n.names.count, 2);
	assert_null(files->list[0].syms);
	/* A place that was not requested is named, too. */
	refs[1].offset += 100;
	assert_string_equal(name_place(&n, refs[1]), "in_wanted2");
	assert_int_equal(n.names.count, 2);
	naming_release(&n);
	free_fixture(f);
}

/* The build id is one string for each file, and stays when its tables are freed. */
static void the_build_id_stays(void **state)
{
	static const struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {0x00, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32}};
	const struct made_section sections[] = {
		{".note.gnu.build-id", SHT_NOTE, 0, sizeof(note), &note, SHF_ALLOC, 0}};
	struct fixture *f = new_fixture();
	uint32_t module, other;
	const char *id;

	(void)state;
	make_elf(path_of("id.so"), sections, 1);
	make_library("no_id.so", "function");
	module = add(f, "id.so");
	other = add(f, "no_id.so");
	assert_null(modules_build_id(&f->modules, module)); /* the build id is not known yet */
	modules_load(&f->modules, module, TABLE_SYMS);
	modules_load(&f->modules, other, TABLE_SYMS);
	id = modules_build_id(&f->modules, module);
	assert_non_null(id);
	assert_string_equal(id, "00fedcba98765432");
	module_file_free_names(&f->modules.files, &f->modules.files.list[0]);
	modules_load(&f->modules, module, TABLE_SYMS);
	assert_ptr_equal(modules_build_id(&f->modules, module), id);
	assert_null(modules_build_id(&f->modules, other));
	assert_null(modules_build_id(&f->modules, MODULE_KERNEL));
	assert_null(modules_build_id(&f->modules, 12345));
	free_fixture(f);
}

/* In a run that is over, any file with the build id is accepted, and no file without it. */
static void a_file_is_known_by_its_build_id(void **state)
{
	static const struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[4];
	} note = {{4, 4, NT_GNU_BUILD_ID}, "GNU", {0xab, 0xcd, 0xef, 0x01}};
	const struct made_section sections[] = {
		{".note.gnu.build-id", SHT_NOTE, 0, sizeof(note), &note, SHF_ALLOC, 0}};
	struct fixture *f = new_fixture();
	struct code_mapping mapping;
	uint32_t module, again, other, none;

	(void)state;
	make_elf(path_of("known.so"), sections, 1);
	mapping = mapping_of(path_of("known.so"), 0x10000);
	mapping.inode += 1000; /* inode as on another machine */
	assert_int_equal(modules_add(&f->modules, &mapping, &none), 0);
	assert_int_equal(modules_find_file(&f->modules, none), -1);
	mapping.build_id = "abcdef01";
	assert_int_equal(modules_add(&f->modules, &mapping, &module), 0);
	assert_int_equal(modules_add(&f->modules, &mapping, &again), 0);
	assert_int_equal(module, again);
	assert_int_not_equal(module, none);
	assert_true(modules_find_file(&f->modules, module) >= 0);
	/* here the inode is equal, but the file has been rebuilt */
	mapping.inode -= 1000;
	mapping.build_id = "abcdef02";
	assert_int_equal(modules_add(&f->modules, &mapping, &other), 0);
	assert_int_not_equal(module, other);
	assert_int_equal(modules_find_file(&f->modules, other), -1);
	assert_int_equal(modules_find_file(&f->modules, other), -1);
	assert_int_equal(f->modules.absent.count, 2);
	assert_int_equal(f->modules.absent.first, none);
	assert_int_equal(f->modules.unreadable.count, 0);
	free_fixture(f);
}

/* ---- files out of reach ---- */

/* Runs the rest of a test as an ordinary user, in a separate process. */
static bool as_nobody(void (*test)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) != 0)
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		test();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define EXPECT(condition)                                                               \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

static void count_unreadable_files(void)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *ghost = address_space_new(1, GHOST, false);
	const char *const files[] = {"secret.so", "secret2.so", "open.so"};
	struct code_ref refs[3];

	EXPECT(s && ghost);
	for (int i = 0; i < 3; i++) {
		struct code_mapping mapping = {
			.start = 0x10000u * (unsigned int)(i + 1),
			.end = 0x10000u * (unsigned int)(i + 1) + MADE_TEXT_SIZE,
			.file_offset = MADE_TEXT,
			.path = path_of(files[i]),
		};
		struct stat st;

		EXPECT(stat(mapping.path, &st) == 0);
		mapping.inode = st.st_ino;
		EXPECT(symbolizer_map(s, ghost, &mapping) == 0);
		refs[i] = symbolizer_locate(s, ghost, mapping.start + 8);
	}
	EXPECT(symbolizer_stats(s).unreadable == 0); /* no names were requested */
	for (int i = 0; i < 3; i++) {
		symbolizer_name(s, refs[i], false);
		refs[i].offset += 4;
		symbolizer_name(s, refs[i], false);
	}
	EXPECT(strcmp(symbolizer_name(s, refs[0], false), "[secret.so]") == 0);
	EXPECT(strcmp(symbolizer_name(s, refs[2], false), "in_open") == 0);
	EXPECT(symbolizer_stats(s).unreadable == 2);
	EXPECT(strcmp(symbolizer_stats(s).unreadable_path, path_of("secret.so")) == 0);
	address_space_free(ghost);
	symbolizer_free(s);
}

static void unreadable_files_are_counted(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("SKIP: needs root to make files that others cannot read\n");
		skip();
	}
	make_library("secret.so", "in_secret");
	make_library("secret2.so", "in_secret");
	make_library("open.so", "in_open");
	assert_int_equal(chmod(path_of("secret.so"), 0), 0);
	assert_int_equal(chmod(path_of("secret2.so"), 0600), 0);
	assert_true(as_nobody(count_unreadable_files));
}

/* Returns the address of the function's code in the process, from the first executable mapping
 * of its exe. */
static uint64_t code_of(pid_t pid, unsigned long offset)
{
	unsigned long start, end, at;
	char path[64], line[4096], mode[8];
	uint64_t found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	EXPECT(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, mode, &at) == 4 &&
		    mode[2] == 'x' && strstr(line, "vanishing") && offset >= at &&
		    offset - at < end - start)
			found = start + (offset - at);
	fclose(maps);
	return found;
}

static unsigned long function_offset(const char *function)
{
	unsigned long address = 0;
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command), "nm '%s/vanishing' | awk '$3 == \"%s\" {print $1}'",
		 folder, function);
	pipe = popen(command, "r");
	EXPECT(pipe && fscanf(pipe, "%lx", &address) == 1);
	pclose(pipe);
	return address; /* code of a small -no-pie program: offset and address differ by its base */
}

static void name_deleted_executable(void)
{
	unsigned long offset = function_offset("in_vanishing") - 0x400000;
	struct symbolizer *s = symbolizer_new();
	struct address_space *space;
	struct code_ref ref;
	uint64_t address;
	int ready[2];
	char byte;
	pid_t pid;

	EXPECT(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], STDOUT_FILENO);
		execl(path_of("vanishing"), "vanishing", NULL);
		_exit(1);
	}
	EXPECT(read(ready[0], &byte, 1) == 1);
	EXPECT(unlink(path_of("vanishing")) == 0);
	address = code_of(pid, offset);
	EXPECT(address != 0);
	space = address_space_new(1, pid, false);
	EXPECT(space);
	ref = symbolizer_locate(s, space, address);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT(strcmp(symbolizer_name(s, ref, false), "in_vanishing") == 0);
	address_space_free(space);
	symbolizer_free(s);
}

static void deleted_executables_have_names(void **state)
{
	char command[1024];

	(void)state;
	snprintf(command, sizeof(command),
		 "cd '%s' && chmod 777 . && printf '#include <unistd.h>\\n"
		 "void in_vanishing(void) { write(1, \"x\", 1); for (;;) pause(); }\\n"
		 "int main(void) { in_vanishing(); }\\n' > v.c && "
		 "${CC:-cc} -no-pie -o vanishing v.c 2>/dev/null",
		 folder);
	assert_int_equal(system(command), 0);
	if (geteuid() != 0)
		name_deleted_executable();
	else
		assert_true(as_nobody(name_deleted_executable));
}

/* ---- files that never come ---- */

struct stuck {
	pid_t server;
	char mount[256];
};

/* Skips the test where that is not possible. */
static struct stuck *serve(const char *file, const char *mode, const char *offset)
{
	struct stuck *stuck = calloc(1, sizeof(*stuck));
	char line[256] = "";
	int out[2];
	FILE *answer;

	assert_non_null(stuck);
	if (access(STUCK_FILE, X_OK) != 0) {
		print_message("SKIP: %s is not built (make workloads)\n", STUCK_FILE);
		free(stuck);
		skip();
	}
	snprintf(stuck->mount, sizeof(stuck->mount), "%s/mount", folder);
	mkdir(stuck->mount, 0755);
	assert_int_equal(pipe(out), 0);
	stuck->server = fork();
	if (stuck->server == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(STUCK_FILE, "stuck_file", stuck->mount, path_of(file), mode, offset, NULL);
		_exit(1);
	}
	close(out[1]);
	answer = fdopen(out[0], "r");
	assert_non_null(answer);
	assert_non_null(fgets(line, sizeof(line), answer));
	fclose(answer);
	if (strcmp(line, "ready\n") != 0) {
		print_message("%s", line);
		waitpid(stuck->server, NULL, 0);
		free(stuck);
		skip();
	}
	return stuck;
}

/* Ends the server, so that all waiting requests get an error. Frees `stuck`. */
static void end_serving(struct stuck *stuck)
{
	kill(stuck->server, SIGTERM);
	waitpid(stuck->server, NULL, 0);
	free(stuck);
}

/* Returns the mapping of a file as the server shows it, without asking the server. */
static struct code_mapping stuck_mapping(char path[512], const struct stuck *stuck,
					 const char *file, uint64_t start)
{
	snprintf(path, 512, "%s/%s", stuck->mount, file);
	return (struct code_mapping){
		.start = start,
		.end = start + MADE_TEXT_SIZE,
		.file_offset = MADE_TEXT,
		.dev_minor = 999,
		.inode = 2,
		.path = path,
	};
}

static void a_served_file_has_names(void **state)
{
	struct address_space *ghost;
	struct code_mapping mapping;
	struct symbolizer *s;
	struct stuck *stuck;
	char path[512];

	(void)state;
	make_library("served.so", "in_served");
	stuck = serve("served.so", "none", "0");
	s = symbolizer_new();
	ghost = address_space_new(1, GHOST, false);
	assert_true(s && ghost);
	mapping = stuck_mapping(path, stuck, "served.so", 0x10000);
	assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
	assert_string_equal(symbolizer_name(s, symbolizer_locate(s, ghost, 0x10008), false),
			    "in_served");
	assert_int_equal(symbolizer_stats(s).stuck, 0);
	address_space_free(ghost);
	symbolizer_free(s);
	end_serving(stuck);
}

/*
 * Checks that the caller continues wherever the server blocks, has names of other files, and
 * queries the server once.
 */
static void check_stuck(const char *mode, const char *offset, const char *name)
{
	struct address_space *ghost;
	struct symbolizer *s;
	struct code_ref refs[3];
	struct stuck *stuck;
	char path[512];

	make_library("served.so", "in_served");
	make_library("fine.so", "in_fine");
	stuck = serve("served.so", mode, offset);
	s = symbolizer_new();
	ghost = address_space_new(1, GHOST, false);
	assert_true(s && ghost);
	for (uint64_t i = 0; i < 2; i++) {
		struct code_mapping mapping =
			stuck_mapping(path, stuck, "served.so", 0x10000 * (i + 1));

		if (i == 1)
			snprintf(path, sizeof(path), "%s/./served.so", stuck->mount);
		assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
		refs[i] = symbolizer_locate(s, ghost, mapping.start + 8);
	}
	{
		struct code_mapping mapping = mapping_of(path_of("fine.so"), 0x90000);

		assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
		refs[2] = symbolizer_locate(s, ghost, 0x90008);
	}
	for (int i = 0; i < 2; i++)
		assert_string_equal(symbolizer_name(s, refs[i], false), name);
	assert_string_equal(symbolizer_name(s, refs[2], false), "in_fine");
	assert_int_equal(symbolizer_stats(s).stuck, 1);
	address_space_free(ghost);
	symbolizer_free(s);
	end_serving(stuck);
}

static void a_lookup_that_blocks(void **state)
{
	(void)state;
	check_stuck("lookup", "0", "[served.so]");
}

static void a_read_that_blocks(void **state)
{
	(void)state;
	check_stuck("read", "0", "[served.so]");
}

/* A file opens as ELF, but its tables block. */
static void tables_that_block(void **state)
{
	(void)state;
	check_stuck("read-from", "4096", "[served.so]");
}

/* Names were read, and the descriptor cannot be closed. */
static void a_close_that_blocks(void **state)
{
	(void)state;
	if (getenv("UNDER_VALGRIND")) {
		print_message("SKIP: valgrind lets no other thread run while one is in close(2)\n");
		skip();
	}
	check_stuck("flush", "0", "in_served");
}

static int open_folder(void **state)
{
	return make_folder(state) == 0 && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int close_folder(void **state)
{
	umount2(path_of("mount"), MNT_DETACH); /* left by a failed test */
	return remove_folder(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_loaded_once),
		cmocka_unit_test(a_changed_file_is_another),
		cmocka_unit_test(freed_tables_are_reloaded),
		cmocka_unit_test(wanted_names_free_tables),
		cmocka_unit_test(the_build_id_stays),
		cmocka_unit_test(a_file_is_known_by_its_build_id),
		cmocka_unit_test(unreadable_files_are_counted),
		cmocka_unit_test(deleted_executables_have_names),
		cmocka_unit_test(a_served_file_has_names),
		cmocka_unit_test(a_lookup_that_blocks),
		cmocka_unit_test(a_read_that_blocks),
		cmocka_unit_test(tables_that_block),
		cmocka_unit_test(a_close_that_blocks),
	};

	return cmocka_run_group_tests(tests, open_folder, close_folder);
}
