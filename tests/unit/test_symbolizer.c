/* SPDX-License-Identifier: MIT */
/*
 * The whole library on real processes, and on made-up ones. No kernel gives out the pids of made-up
 * processes, so nothing can be read from /proc for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/util/bounded_call.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/own_folder.h"

#define GHOST 0x3fff0000 /* above the largest pid_max */
#define GHOST_ID 7

/* A test's address spaces: of this process, and of one that does not exist. */
static struct address_space *self, *ghost;

static struct symbolizer *begin(void)
{
	self = address_space_new(1, getpid(), false);
	ghost = address_space_new(GHOST_ID, GHOST, false);
	assert_true(self && ghost);
	return symbolizer_new();
}

static void end(struct symbolizer *s)
{
	address_space_free(self);
	address_space_free(ghost);
	symbolizer_free(s);
}

__attribute__((noinline)) static int local_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

/* Builds a library with one function of this name, which fills its .text of 16 bytes and more. */
static void build_library(const char *file, const char *function)
{
	shell("printf '\\t.text\\n\\t.globl %s\\n\\t.type %s,@function\\n%s:\\n\\t.fill "
	      "4096,1,0x90\\n"
	      "\\t.size %s,4096\\n\\t.section .note.GNU-stack,\"\",@progbits\\n' > l.S &&"
	      " ${CC:-cc} -shared -nostdlib -nostartfiles l.S -o '%s'",
	      function, function, function, function, file);
}

static uint64_t text_offset(const char *file)
{
	unsigned long offset = 0;
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "readelf -SW '%s/%s' | sed 's/^ *\\[ *[0-9]*\\]//' | awk '$1 == \".text\" {print "
		 "$4}'",
		 folder, file);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &offset), 1);
	pclose(pipe);
	return offset;
}

struct mapped {
	char path[256];
	struct code_mapping mapping;
};

static void describe(struct mapped *m, const char *file, uint64_t start, uint64_t size,
		     uint64_t offset)
{
	struct stat st;

	snprintf(m->path, sizeof(m->path), "%s/%s", folder, file);
	assert_int_equal(stat(m->path, &st), 0);
	m->mapping = (struct code_mapping){
		.start = start,
		.end = start + size,
		.file_offset = offset,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
		.path = m->path,
	};
}

static void map_library(struct symbolizer *s, struct address_space *space, const char *file,
			uint64_t start)
{
	struct mapped m;

	describe(&m, file, start, 4096, text_offset(file) & ~4095ull);
	assert_int_equal(symbolizer_map(s, space, &m.mapping), 0);
}

static const char *name_at(struct symbolizer *s, struct address_space *space, uint64_t address)
{
	return symbolizer_name(s, symbolizer_locate(s, space, address), false);
}

static void test_this_process(void **state)
{
	struct symbolizer *s = begin();
	const char *name;
	struct code_ref ref, again;

	(void)state;
	ref = symbolizer_locate(s, self, (uintptr_t)local_function + 1);
	assert_true(ref.module > MODULE_JIT);
	assert_int_equal(ref.process, 0);
	name = symbolizer_name(s, ref, false);
	assert_string_equal(name, "local_function");
	again = symbolizer_locate(s, self, (uintptr_t)local_function + 2);
	assert_ptr_equal(symbolizer_name(s, again, false), name);
	assert_non_null(strstr(symbolizer_module_path(s, ref.module), "symbolizer"));

	ref = symbolizer_locate(s, self, (uintptr_t)dlsym(RTLD_DEFAULT, "hsearch") + 4);
	assert_non_null(strstr(symbolizer_name(s, ref, false), "hsearch"));
	assert_non_null(strstr(symbolizer_module_path(s, ref.module), "libc"));

	assert_string_equal(name_at(s, self, 8), "[unknown]");
	assert_string_equal(name_at(s, self, UINT64_MAX), "[unknown]");
	ref = symbolizer_locate(s, self, 8);
	assert_int_equal(ref.module, MODULE_UNKNOWN);
	assert_int_equal(ref.offset, 0);
	end(s);
	symbolizer_free(NULL);
}

static void test_vdso_and_kernel(void **state)
{
	struct symbolizer *s = begin();
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	unsigned int found = 0;
	struct code_ref ref;

	(void)state;
	if (base) {
		for (uint64_t offset = 0; offset < 8192; offset++) {
			ref = symbolizer_locate(s, self, base + offset);
			if (ref.module != MODULE_VDSO)
				break;
			assert_int_equal(ref.offset, offset);
			found += strstr(symbolizer_name(s, ref, false), "clock_gettime") != NULL;
		}
		assert_true(found > 10);
	}
	ref = symbolizer_locate_kernel(s, 0xffffffff00000001);
	assert_int_equal(ref.module, MODULE_KERNEL);
	assert_int_equal(ref.offset, 0xffffffff00000001);
	ref.offset = 5;
	assert_string_equal(symbolizer_name(s, ref, false), "[kernel]");
	assert_string_equal(symbolizer_module_path(s, MODULE_KERNEL), "[kernel]");
	assert_string_equal(symbolizer_module_path(s, 12345), "[unknown]");
	ref.module = 12345;
	assert_string_equal(symbolizer_name(s, ref, false), "[unknown]");
	end(s);
}

/* A file that was opened by somebody with more privilege. */
static void test_given_kallsyms(void **state)
{
	static const char text[] = "ffffffff81000000 T given_function\n"
				   "ffffffff81000100 t next\n";
	struct symbolizer *s = symbolizer_new();
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct code_ref ref;

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	symbolizer_set_kallsyms(s, fd);
	ref = symbolizer_locate_kernel(s, 0xffffffff81000010);
	assert_string_equal(symbolizer_name(s, ref, false), "given_function");
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* the descriptor was taken over */
	symbolizer_free(s);

	s = symbolizer_new();
	fd = memfd_create("kallsyms", MFD_CLOEXEC);
	symbolizer_set_kallsyms(s, fd);
	symbolizer_set_kallsyms(s, -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	symbolizer_free(s);
}

/* Names some functions as the kernel would. `context`: the number of questions. */
static int name_kernel_function(void *context, uint64_t address, char *name, size_t size)
{
	++*(int *)context;
	if (address == 0xffffffff81000030)
		return -EPERM;
	return address == 0xffffffff81000010 ? snprintf(name, size, "asked_for") > 0 : 0;
}

static void the_kernel_is_asked_for_names_as_long_as_it_answers(void **state)
{
	static const char text[] = "ffffffff81000000 T from_file\n";
	struct symbolizer *s = symbolizer_new();
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), asked = 0;
	const uint64_t addresses[] = {0xffffffff81000010, 0xffffffff81000020, 0xffffffff81000030,
				      0xffffffff81000040};
	const char *const expected[] = {"asked_for", "[kernel]", "from_file", "from_file"};

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	symbolizer_set_kallsyms(s, fd);
	symbolizer_set_kernel_names(s, name_kernel_function, &asked);
	for (int i = 0; i < 4; i++)
		assert_string_equal(
			symbolizer_name(s, symbolizer_locate_kernel(s, addresses[i]), false),
			expected[i]);
	assert_int_equal(asked, 3);
	symbolizer_free(s);
}

static void test_fork_exec_exit(void **state)
{
	struct symbolizer *s = begin();
	struct address_space *parent = address_space_new(100, GHOST, false), *child, *other;
	uint64_t at = 0x10000 + 100;

	(void)state;
	build_library("a.so", "_ZN1a1fEv");
	build_library("b.so", "b_function");
	at = 0x10000 + (text_offset("a.so") & 4095) + 10;
	assert_string_equal(name_at(s, parent, at), "[unknown]");
	map_library(s, parent, "a.so", 0x10000);
	assert_string_equal(name_at(s, parent, at), "a::f");

	/* A fork inherits its parent's mappings, until one of them maps something else. */
	child = address_space_fork(parent, 101, GHOST + 1);
	assert_string_equal(name_at(s, child, at), "a::f");
	map_library(s, child, "b.so", 0x10000);
	assert_string_equal(name_at(s, child, at), "b_function");
	assert_string_equal(name_at(s, parent, at), "a::f");

	/* Equal code in both spaces has one code_ref. */
	map_library(s, child, "a.so", 0x70000);
	assert_memory_equal((&(struct code_ref[]){symbolizer_locate(s, parent, at)}),
			    (&(struct code_ref[]){symbolizer_locate(s, child, at + 0x60000)}),
			    sizeof(struct code_ref));

	/* Another program begins with nothing. */
	address_space_free(child);
	child = address_space_new(102, GHOST + 1, true);
	assert_string_equal(name_at(s, child, at), "[unknown]");
	map_library(s, child, "a.so", 0x20000);
	assert_string_equal(name_at(s, child, at + 0x10000), "a::f");

	address_space_free(parent);
	parent = address_space_new(103, GHOST, false);
	assert_string_equal(name_at(s, parent, at), "[unknown]");
	assert_string_equal(name_at(s, child, at + 0x10000), "a::f");

	/* The number is used again before its exit was seen. */
	other = address_space_fork(parent, 104, GHOST + 1);
	assert_string_equal(name_at(s, other, at + 0x10000), "[unknown]");
	map_library(s, other, "a.so", 0x20000);
	assert_string_equal(name_at(s, other, at + 0x10000), "a::f");
	address_space_free(parent);
	address_space_free(child);
	address_space_free(other);
	end(s);
}

static void test_return_addresses(void **state)
{
	struct symbolizer *s = begin();
	struct code_ref ref;
	uint64_t text;

	(void)state;
	shell("printf '\\t.text\\n\\t.type one,@function\\none:\\n\\t.fill 16,1,0x90\\n\\t.size "
	      "one,16\\n"
	      "\\t.type two,@function\\ntwo:\\n\\t.fill 16,1,0x90\\n\\t.size two,16\\n"
	      "\\t.section .note.GNU-stack,\"\",@progbits\\n' > r.S &&"
	      " ${CC:-cc} -shared -nostdlib -nostartfiles r.S -o r.so");
	text = text_offset("r.so");
	map_library(s, ghost, "r.so", 0x10000);
	ref = symbolizer_locate(s, ghost, 0x10000 + (text & 4095) + 16);
	assert_string_equal(symbolizer_name(s, ref, false), "two");
	assert_string_equal(symbolizer_name(s, ref, true), "one");
	ref.offset += 16;
	assert_string_equal(symbolizer_name(s, ref, true), "two");
	assert_string_equal(symbolizer_name(s, ref, false), "[r.so]");
	ref.offset = 0;
	assert_string_equal(symbolizer_name(s, ref, true), "[r.so]");
	end(s);
}

static void test_names_survive_deletion_and_replacement(void **state)
{
	struct symbolizer *s = begin();
	struct code_ref deleted, replaced;
	uint64_t at;

	(void)state;
	build_library("deleted.so", "was_deleted");
	build_library("replaced.so", "was_replaced");
	at = 0x10000 + (text_offset("deleted.so") & 4095) + 10;
	map_library(s, ghost, "deleted.so", 0x10000);
	map_library(s, ghost, "replaced.so", 0x20000);
	deleted = symbolizer_locate(s, ghost, at);
	replaced = symbolizer_locate(s, ghost, at + 0x10000);
	shell("rm deleted.so");
	build_library("other.so", "impostor");
	shell("mv other.so replaced.so");
	assert_string_equal(symbolizer_name(s, deleted, false), "was_deleted");
	assert_string_equal(symbolizer_name(s, replaced, false), "was_replaced");
	end(s);
}

static void test_a_replaced_file_gives_no_wrong_names(void **state)
{
	struct symbolizer *s = begin();
	struct code_ref ref;
	uint64_t at;

	(void)state;
	build_library("lib.so", "original");
	at = 0x10000 + (text_offset("lib.so") & 4095) + 10;
	map_library(s, ghost, "lib.so", 0x10000);
	build_library("other.so", "impostor");
	shell("mv other.so lib.so");
	ref = symbolizer_locate(s, ghost, at);
	assert_string_equal(symbolizer_name(s, ref, false), "[lib.so]");
	end(s);
}

/* Three functions without symbols, 64 bytes each: the first and the third are in .eh_frame. */
static void functions_without_a_symbol_are_told_apart(void **state)
{
	static const char source[] =
		"	.cfi_startproc\n	.fill 64,1,0x90\n	.cfi_endproc\n"
		"	.fill 64,1,0x90\n"
		"	.cfi_startproc\n	.fill 64,1,0x90\n	.cfi_endproc\n"
		"	.section .note.GNU-stack,\"\",@progbits\n";
	static const uint64_t bases[] = {0x7f0000000000, 0x10000};

	(void)state;
	shell("printf '%%s' '%s' >l.S && ${CC:-cc} -shared -nostdlib -nostartfiles "
	      "-Wl,-Ttext=0x23000 l.S -o bare.so && strip bare.so",
	      source);
	for (size_t i = 0; i < 2; i++) {
		struct symbolizer *s = begin();

		map_library(s, ghost, "bare.so", bases[i]);
		assert_string_equal(name_at(s, ghost, bases[i]), "[bare.so+0x23000]");
		assert_string_equal(name_at(s, ghost, bases[i] + 63), "[bare.so+0x23000]");
		assert_string_equal(name_at(s, ghost, bases[i] + 64), "[bare.so]");
		assert_string_equal(name_at(s, ghost, bases[i] + 127), "[bare.so]");
		assert_string_equal(name_at(s, ghost, bases[i] + 130), "[bare.so+0x23080]");
		/* one function has one name, by which callers compare */
		assert_ptr_equal(name_at(s, ghost, bases[i] + 129),
				 name_at(s, ghost, bases[i] + 191));
		end(s);
	}
}

/* Starts a child that maps the library, for as long as the test needs. */
static pid_t child_with(const char *file, uint64_t *start)
{
	int pipes[2], fd;
	char path[256];
	void *memory;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		snprintf(path, sizeof(path), "%s/%s", folder, file);
		fd = open(path, O_RDONLY);
		memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			      (off_t)(text_offset(file) & ~4095ull));
		close(fd);
		if (write(pipes[1], &memory, sizeof(memory)) != sizeof(memory))
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(pipes[0], &memory, sizeof(memory)), sizeof(memory));
	assert_true(memory != MAP_FAILED);
	close(pipes[0]);
	close(pipes[1]);
	*start = (uintptr_t)memory;
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_a_living_process_with_a_deleted_file(void **state)
{
	struct symbolizer *s = begin();
	struct address_space *space;
	struct code_ref ref, after;
	uint64_t start, at;
	pid_t pid;

	(void)state;
	build_library("gone (x).so", "gone_function");
	at = (text_offset("gone (x).so") & 4095) + 10;
	pid = child_with("gone (x).so", &start);
	space = address_space_new(2, pid, false);
	shell("rm 'gone (x).so'");
	ref = symbolizer_locate(s, space, start + at); /* lazily from /proc, by map_files */
	assert_true(ref.module > MODULE_JIT);
	assert_null(strstr(symbolizer_module_path(s, ref.module), "deleted"));
	end_child(pid);
	/* A process is known until its end is reported. */
	after = symbolizer_locate(s, space, start + at);
	assert_memory_equal(&ref, &after, sizeof(ref));
	assert_int_equal(symbolizer_snapshot(s, space), -ESRCH);
	if (geteuid() == 0)
		assert_string_equal(symbolizer_name(s, ref, false), "gone_function");
	address_space_free(space);
	end(s);
}

static void test_new_mappings_are_found_without_reports(void **state)
{
	struct symbolizer *s = begin();
	const char *name = NULL;
	uint64_t at;
	void *handle, *function;
	char path[256];

	(void)state;
	build_library("late.so", "late_function");
	assert_int_equal(symbolizer_snapshot(s, self), 0);
	snprintf(path, sizeof(path), "%s/late.so", folder);
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	function = dlsym(handle, "late_function");
	at = (uintptr_t)function + 5;
	/* Within a bounded time: garbage came first, and increased the interval. */
	for (int i = 0; i < 100; i++)
		assert_string_equal(name_at(s, self, 0x1000 + (uint64_t)i), "[unknown]");
	for (int i = 0; i < 1000; i++) {
		name = name_at(s, self, at);
		if (strcmp(name, "late_function") == 0)
			break;
		usleep(5000);
	}
	assert_string_equal(name, "late_function");
	dlclose(handle);
	end(s);
}

static void test_hostile_paths(void **state)
{
	static const char *const names[] = {"fifo", "folder", "dangling", "/dev/tty", "/dev/zero"};
	struct symbolizer *s = begin();
	struct code_ref ref;

	(void)state;
	shell("mkfifo fifo && mkdir -p folder && ln -sf nowhere dangling");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct code_mapping mapping = {.start = 0x1000, .end = 0x2000, .inode = 1};
		char path[256];
		struct stat st;

		snprintf(path, sizeof(path), "%s%s%s", names[i][0] == '/' ? "" : folder,
			 names[i][0] == '/' ? "" : "/", names[i]);
		if (lstat(path, &st) == 0)
			mapping.inode = st.st_ino;
		mapping.path = path;
		assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
		ref = symbolizer_locate(s, ghost, 0x1800); /* must not hang */
		assert_int_equal(symbolizer_name(s, ref, false)[0], '[');
	}
	end(s);
}

static void test_odd_mappings(void **state)
{
	static const struct {
		const char *path;
		uint64_t inode;
		const char *name;
	} odd[] = {
		{"", 0, "[jit]"},
		{"//anon", 0, "[jit]"},
		{"[anon:evil]", 0, "[jit]"},
		{"[heap]", 0, "[jit]"},
		{"[stack]", 0, "[jit]"},
		{"[uprobes]", 0, "[uprobes]"},
		{"[vsyscall]", 0, "[vsyscall]"},
		{"/memfd:jit (deleted)", 5, "[jit]"},
		{"/dev/zero (deleted)", 5, "[jit]"},
		{"relative", 5, "[jit]"},
		{"/nowhere/lib\033[2J\nx.so", 5, "[lib?[2J?x.so]"},
		{"/nowhere/libfoo.so.1 (deleted)", 5, "[libfoo.so.1]"},
		{"/", 5, "[]"},
	};
	struct symbolizer *s = begin();
	struct code_mapping empty = {.start = 0x2000, .end = 0x2000, .path = ""};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct code_mapping mapping = {
			.start = 0x1000,
			.end = 0x2000,
			.inode = odd[i].inode,
			.path = odd[i].path,
		};

		assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
		assert_string_equal(name_at(s, ghost, 0x1000 + i), odd[i].name);
	}
	assert_int_equal(symbolizer_map(s, ghost, &empty), -EINVAL);
	end(s);
}

static void test_jit_code(void **state)
{
	struct symbolizer *s = begin();
	struct code_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = "//anon"};
	struct code_ref ref;
	struct mapped m;
	char path[64];
	FILE *file;

	(void)state;
	/* A file that is not ELF, like a Java or .NET image, is a module, too. */
	shell("head -c 8192 /dev/zero > image");
	describe(&m, "image", 0x5000, 0x1000, 0);
	assert_int_equal(symbolizer_map(s, ghost, &mapping), 0);
	assert_int_equal(symbolizer_map(s, ghost, &m.mapping), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", GHOST);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "1100 100 js:main app.js:1\n5000 80 in file\n");
	fclose(file);

	ref = symbolizer_locate(s, ghost, 0x1180);
	assert_int_equal(ref.module, MODULE_JIT);
	assert_int_equal(ref.process, GHOST_ID);
	assert_int_equal(ref.offset, 0x1180);
	assert_string_equal(symbolizer_name(s, ref, false), "js:main app.js:1");
	assert_string_equal(name_at(s, ghost, 0x1200), "[jit]");
	ref = symbolizer_locate(s, ghost, 0x1200);
	assert_string_equal(symbolizer_name(s, ref, true), "js:main app.js:1");
	assert_string_equal(name_at(s, ghost, 0x5010), "in file");
	unlink(path);
	end(s);
}

/* Naming places one by one or all at once gives equal names. */
static void test_names_wanted_together(void **state)
{
	struct symbolizer *one = begin(), *all = symbolizer_new();
	struct address_space *same = address_space_new(GHOST_ID, GHOST, false);
	struct code_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = "//anon"};
	uint64_t at[] = {0x10000, 0x20000, 0x1100, 0x1101, 0x1900, 0x90000};
	char path[64];
	FILE *file;

	(void)state;
	assert_non_null(same);
	build_library("w1.so", "_ZN1w3oneEv");
	build_library("w2.so", "w_two");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", GHOST);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "1100 100 js\n");
	fclose(file);
	at[0] += (text_offset("w1.so") & 4095) + 10;
	at[1] += (text_offset("w2.so") & 4095) + 10;
	map_library(one, ghost, "w1.so", 0x10000);
	map_library(one, ghost, "w2.so", 0x20000);
	map_library(all, same, "w1.so", 0x10000);
	map_library(all, same, "w2.so", 0x20000);
	assert_int_equal(symbolizer_map(one, ghost, &mapping), 0);
	assert_int_equal(symbolizer_map(all, same, &mapping), 0);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		symbolizer_want_name(all, symbolizer_locate(all, same, at[i]), i % 2);
	symbolizer_want_name(all, symbolizer_locate_kernel(all, 5), false);
	symbolizer_name_wanted(all, true);
	unlink(path); /* the map is not read again */
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct code_ref ref = symbolizer_locate(all, same, at[i]);
		const char *const *names;

		if (i < 2)
			assert_string_equal(symbolizer_name(all, ref, i % 2),
					    symbolizer_name(one, ref, i % 2));
		assert_int_equal(symbolizer_names(all, ref, i % 2, &names), 1);
		assert_ptr_equal(names[0], symbolizer_name(all, ref, i % 2));
	}
	assert_string_equal(name_at(all, same, at[0]), "w::one");
	assert_string_equal(name_at(all, same, 0x1100), "js");
	assert_string_equal(name_at(all, same, 0x1900), "[jit]");
	assert_string_equal(name_at(all, same, 0x90000), "[unknown]");
	address_space_free(same);
	symbolizer_free(all);
	end(one);
}

static unsigned int open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

enum { FILES = 600 };

static void name_in_many(struct symbolizer *s, uint64_t text)
{
	static struct code_ref refs[FILES];
	unsigned int before = open_files();

	for (unsigned int i = 0; i < FILES; i++) {
		struct mapped m;
		char file[32];

		snprintf(file, sizeof(file), "many%u.so", i);
		describe(&m, file, 0x10000 + i * 0x2000ull, 0x1000, text & ~4095ull);
		assert_int_equal(symbolizer_map(s, ghost, &m.mapping), 0);
		refs[i] = symbolizer_locate(s, ghost, m.mapping.start + (text & 4095) + 3);
	}
	assert_true(open_files() <= before + 512);
	for (unsigned int i = 0; i < FILES; i++)
		assert_string_equal(symbolizer_name(s, refs[i], false), "in_many");
}

/* On a busy machine, a file of an earlier test may be closed in the meantime: the test tries
 * again. */
static void test_many_files(void **state)
{
	unsigned int before, after;

	(void)state;
	build_library("many.so", "in_many");
	shell("for i in $(seq 0 %d); do cp many.so many$i.so; done", FILES - 1);
	do {
		struct symbolizer *s = begin();

		before = open_files();
		name_in_many(s, text_offset("many.so"));
		after = open_files();
		end(s);
	} while (after < before);
	assert_int_equal(after, before);
}

/* A pipe in place of the kernel's list: its line comes once somebody has used the time. */
struct slow_list {
	int out;
	_Atomic bool was_used;
};

static void use_time(void *list)
{
	((struct slow_list *)list)->was_used = true;
}

static void *write_list(void *list)
{
	struct slow_list *slow = list;

	for (int i = 0; i < 6000 && !slow->was_used; i++)
		usleep(10000);
	dprintf(slow->out, "ffffffff81000000 T first_function\n");
	close(slow->out);
	return NULL;
}

static void the_time_of_reading_kallsyms_can_be_used(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct slow_list slow = {0};
	struct code_ref ref;
	pthread_t writer;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	slow.out = ends[1];
	symbolizer_set_kallsyms(s, ends[0]);
	bounded_caller_do_meanwhile(symbolizer_calls(s), use_time, &slow);
	assert_int_equal(pthread_create(&writer, NULL, write_list, &slow), 0);
	ref = symbolizer_locate_kernel(s, 0xffffffff81000010);
	assert_string_equal(symbolizer_name(s, ref, false), "first_function");
	pthread_join(writer, NULL);
	assert_true(slow.was_used);
	assert_int_equal(fcntl(ends[0], F_GETFD), -1);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_process),
		cmocka_unit_test(test_vdso_and_kernel),
		cmocka_unit_test(test_given_kallsyms),
		cmocka_unit_test(the_kernel_is_asked_for_names_as_long_as_it_answers),
		cmocka_unit_test(the_time_of_reading_kallsyms_can_be_used),
		cmocka_unit_test(test_fork_exec_exit),
		cmocka_unit_test(test_return_addresses),
		cmocka_unit_test(test_names_survive_deletion_and_replacement),
		cmocka_unit_test(test_a_replaced_file_gives_no_wrong_names),
		cmocka_unit_test(functions_without_a_symbol_are_told_apart),
		cmocka_unit_test(test_a_living_process_with_a_deleted_file),
		cmocka_unit_test(test_new_mappings_are_found_without_reports),
		cmocka_unit_test(test_hostile_paths),
		cmocka_unit_test(test_odd_mappings),
		cmocka_unit_test(test_jit_code),
		cmocka_unit_test(test_names_wanted_together),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
