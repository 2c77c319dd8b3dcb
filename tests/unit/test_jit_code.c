/* SPDX-License-Identifier: MIT */
/* Generated code of real processes that have ended when names are looked up. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include "unit.h"
#include "symbolize/jit_code.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_cfi.h"
#include "symbolize/unwind.h"
#include "tests/unit/made_jitdump.h"
#include "tests/unit/own_folder.h"

#define CODE 0x7e0000000000

/* A process that the test starts, and what the profiler knows of it. */
struct program {
	pid_t pid;
	struct address_space *space;
};

static void end(struct program *p)
{
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
}

/*
 * Starts a child that prepares itself (false: it cannot, and the test is skipped), and lives until
 * it is ended.
 */
static void start(struct program *p, uint32_t id, bool (*prepare)(void))
{
	char answer = 0;
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	p->pid = fork();
	if (p->pid == 0) {
		answer = prepare() ? 'y' : 'n';
		if (write(ready[1], &answer, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &answer, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (answer != 'y') {
		end(p);
		SKIP("the child cannot be prepared here");
	}
	p->space = address_space_new(id, p->pid, true);
	assert_non_null(p->space);
}

static void map_code(struct symbolizer *s, struct program *p)
{
	const struct code_mapping mapping = {
		.start = CODE, .end = CODE + 0x10000, .path = "//anon"};

	assert_int_equal(symbolizer_map(s, p->space, &mapping), 0);
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(1);
	close(fd);
}

static bool has_own_tmp(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool writes_in_its_own_tmp(void)
{
	char path[64];

	if (!has_own_tmp())
		return false;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_map(path, "7e0000000000 100 in its own folder\n");
	return true;
}

/* The map is written at the process's end, as Java does. */
static void a_map_is_found_when_its_process_has_ended(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref ref, other;
	struct program p, q;

	(void)state;
	start(&p, 1, writes_in_its_own_tmp);
	start(&q, 2, has_own_tmp);
	map_code(s, &p);
	map_code(s, &q);
	ref = symbolizer_locate(s, p.space, CODE + 0x10);
	other = symbolizer_locate(s, q.space, CODE + 0x10);
	end(&p);
	end(&q);
	address_space_free(p.space);
	address_space_free(q.space);
	assert_string_equal(symbolizer_name(s, ref, false), "in its own folder");
	assert_string_equal(symbolizer_name(s, other, false), "[jit]");
	symbolizer_free(s);
}

/* Runs as the first process of a pid namespace, which has another pid here. */
static int is_first(void *argument)
{
	const int *ready = argument;

	if (!has_own_tmp() || getpid() != 1)
		return 1;
	write_map("/tmp/perf-1.map", "7e0000000000 100 in a container\n");
	if (write(*ready, "y", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static void a_map_has_the_pid_inside_a_container(void **state)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	struct symbolizer *s = symbolizer_new();
	struct program p = {0};
	struct code_ref ref;
	char answer = 'n';
	int ready[2];

	(void)state;
	assert_int_equal(pipe(ready), 0);
	p.pid = clone(is_first, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, &ready[1]);
	close(ready[1]);
	if (p.pid < 0 || read(ready[0], &answer, 1) != 1) {
		close(ready[0]);
		symbolizer_free(s);
		SKIP("no new process ID namespace here");
	}
	close(ready[0]);
	p.space = address_space_new(3, p.pid, true);
	map_code(s, &p);
	ref = symbolizer_locate(s, p.space, CODE + 0x10);
	end(&p);
	address_space_free(p.space);
	assert_string_equal(symbolizer_name(s, ref, false), "in a container");
	symbolizer_free(s);
}

/* ---- jitdumps ---- */

static bool does_nothing(void)
{
	return true;
}

static void dump_path(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", folder, name);
}

/* Maps the file into the process, as the specification demands. */
static void map_dump(struct symbolizer *s, struct program *p, const char *path, int fd)
{
	struct code_mapping mapping = {.start = 0x10000, .end = 0x11000, .path = path};
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	mapping.dev_major = major(st.st_dev);
	mapping.dev_minor = minor(st.st_dev);
	mapping.inode = st.st_ino;
	assert_int_equal(symbolizer_map(s, p->space, &mapping), 0);
}

static struct code_ref locate_at(struct symbolizer *s, struct program *p, uint64_t address,
				 uint64_t time)
{
	symbolizer_set_time(s, time);
	return symbolizer_locate(s, p->space, address);
}

static void replaced_code_has_the_name_of_its_time(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref refs[6], word;
	struct program p;
	char path[256];
	int fd;

	(void)state;
	dump_path(path, "jit-4711.dump");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	made_jitdump_header(fd, 0);
	made_jitdump_load(fd, 1000, CODE, 0x100, "before");
	made_jitdump_load(fd, 2000, CODE, 0x80, "after");
	start(&p, 4, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	assert_int_equal(unlink(path), 0);
	refs[0] = locate_at(s, &p, CODE + 0x10, 1500);
	refs[1] = locate_at(s, &p, CODE + 0x10, 2500);
	refs[2] = locate_at(s, &p, CODE + 0x10, 2600);
	refs[3] = locate_at(s, &p, CODE + 0x80, 2600); /* end of the code "after" */
	refs[4] = locate_at(s, &p, CODE + 0x2000, 2600);
	refs[5] = locate_at(s, &p, CODE + 0x4000, 2600);
	assert_memory_equal(&refs[1], &refs[2], sizeof(refs[1])); /* one place of a stack */
	/* words of a stack that may be addresses are many: what was there when does not count */
	assert_true(symbolizer_find_code(s, p.space, CODE + 0x10, &word));
	assert_int_equal(word.module, MODULE_JIT);
	assert_int_equal(word.offset, CODE + 0x10);
	assert_int_not_equal(refs[2].offset, CODE + 0x10);
	made_jitdump_load(fd, 2700, CODE + 0x2000, 0x100, "written late");
	close(fd);
	end(&p);
	address_space_free(p.space);
	for (int i = 0; i < 6; i++)
		symbolizer_want_name(s, refs[i], i == 3);
	symbolizer_name_wanted(s, false);
	assert_string_equal(symbolizer_name(s, refs[0], false), "before");
	assert_string_equal(symbolizer_name(s, refs[1], false), "after");
	assert_string_equal(symbolizer_name(s, refs[3], true), "after");
	assert_string_equal(symbolizer_name(s, refs[3], false), "before");
	assert_string_equal(symbolizer_name(s, refs[4], false), "written late");
	assert_string_equal(symbolizer_name(s, refs[5], false), "[jit]");
	symbolizer_free(s);
}

/* ---- stacks through such code ---- */

#define STACK 0x7ffe00000000

/* A thread's registers and stack. */
struct thread {
	struct unwind_input input;
	uint64_t words[64];
	struct unwind_frame frames[16];
	size_t count;
	enum unwind_end end;
};

static void run_at(struct thread *t, uint64_t pc)
{
	memset(t, 0, sizeof(*t));
	t->input.registers.value[CFI_PC] = pc;
	t->input.registers.value[CFI_RSP] = STACK;
	t->input.registers.value[CFI_RBP] = 5;
	t->input.registers.known = (1u << CFI_REGISTERS) - 1;
	/* old return addresses, which a search would take */
	for (uint32_t i = 0; i < 64; i++)
		t->words[i] = CODE + 0x900;
}

static void unwind_at(struct symbolizer *s, struct program *p, struct thread *t, uint64_t time)
{
	t->input.stack = t->words;
	t->input.stack_size = sizeof(t->words);
	symbolizer_set_time(s, time);
	t->count = symbolizer_unwind(s, p->space, &t->input, t->frames, 16, &t->end);
}

static const char *name_of_frame(struct symbolizer *s, const struct thread *t, size_t i)
{
	assert_true(i < t->count);
	return symbolizer_name(s, t->frames[i].code, t->frames[i].is_return_address);
}

static int make_dump(char path[256], const char *name)
{
	int fd;

	dump_path(path, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	made_jitdump_header(fd, 0);
	return fd;
}

/* Stacks are unwound by the compiler's tables, at each time by those of the code there at that
 * time. */
static void stacks_lead_through_generated_code(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct program p;
	struct thread t;
	char path[256];
	int fd = make_dump(path, "jit-4713.dump");

	(void)state;
	made_jitdump_frames(fd, 1000, 0x100, 24);
	made_jitdump_load(fd, 1000, CODE, 0x100, "inner");
	made_jitdump_frames(fd, 1000, 0x100, 40);
	made_jitdump_load(fd, 1000, CODE + 0x200, 0x100, "outer");
	made_jitdump_frames(fd, 2000, 0x100, 56);
	made_jitdump_load(fd, 2000, CODE, 0x100, "later");
	made_jitdump_load(fd, 2000, CODE + 0x900, 0x100, "old");
	start(&p, 6, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	run_at(&t, CODE + 0x10);
	t.words[2] = CODE + 0x300;     /* end of "outer", after its call */
	t.words[3 + 4] = CODE + 0x250; /* itself */
	t.words[8 + 4] = 0;
	unwind_at(s, &p, &t, 1500);
	assert_int_equal(t.end, UNWIND_WHOLE);
	assert_int_equal(t.count, 3);
	assert_string_equal(name_of_frame(s, &t, 0), "inner");
	assert_string_equal(name_of_frame(s, &t, 1), "outer");
	assert_string_equal(name_of_frame(s, &t, 2), "outer");
	/* code at that address later */
	t.words[6] = CODE + 0x250;
	t.words[7 + 4] = 0;
	unwind_at(s, &p, &t, 2500);
	assert_int_equal(t.end, UNWIND_WHOLE);
	assert_int_equal(t.count, 2);
	assert_string_equal(name_of_frame(s, &t, 0), "later");
	assert_string_equal(name_of_frame(s, &t, 1), "outer");
	/* another process has nothing of it */
	address_space_free(p.space);
	p.space = address_space_new(60, p.pid, true);
	map_code(s, &p);
	unwind_at(s, &p, &t, 2500);
	assert_int_not_equal(t.end, UNWIND_WHOLE);
	assert_int_equal(symbolizer_stats(s).refused_frames, 0);
	close(fd);
	end(&p);
	address_space_free(p.space);
	symbolizer_free(s);
}

/* Written late, the file describes what was there before: then frame pointers lead on. */
static void rows_that_lead_nowhere_do_not_count(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct program p;
	struct thread t;
	char path[256];
	int fd = make_dump(path, "jit-4714.dump");

	(void)state;
	made_jitdump_frames(fd, 1000, 0x100, 24);
	made_jitdump_load(fd, 1000, CODE, 0x100, "before");
	made_jitdump_unwinding(fd, 1000, "", 0, UINT64_MAX, 0);
	start(&p, 7, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		run_at(&t, CODE + 0x10);
		t.words[2] = UINT64_C(3) << shift;
		t.words[8] = STACK + 8 * 16;
		t.words[9] = CODE + 0x400;
		t.words[16] = t.words[17] = 0;
		t.input.registers.value[CFI_RBP] = STACK + 8 * 8;
		unwind_at(s, &p, &t, 1500);
		assert_int_equal(t.end, UNWIND_WHOLE);
		assert_int_equal(t.count, 2);
		assert_int_equal(t.frames[1].address, CODE + 0x400);
	}
	assert_int_equal(symbolizer_stats(s).refused_frames, 1);
	close(fd);
	end(&p);
	address_space_free(p.space);
	symbolizer_free(s);
}

static void only_the_users_own_files_are_read(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref ref;
	struct program p;
	char path[256];
	int fd;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	dump_path(path, "jit-4712.dump");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	made_jitdump_header(fd, 0);
	made_jitdump_load(fd, 1000, CODE, 0x100, "somebody else's");
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	start(&p, 5, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	ref = locate_at(s, &p, CODE + 0x10, 1500);
	assert_string_equal(symbolizer_name(s, ref, false), "[jit]");
	close(fd);
	end(&p);
	address_space_free(p.space);
	symbolizer_free(s);
}

static void dumps_are_known_by_their_names(void **state)
{
	static const char *const no[] = {"",
					 "/jit-.dump",
					 "/tmp/jit-1.dumps",
					 "/tmp/jit-x.dump",
					 "/tmp/jit-1.so",
					 "/tmp/xjit-1.dump",
					 "/jit-1.dump/x"};

	(void)state;
	assert_true(jit_code_is_dump("/home/me/.debug/jit/x/jit-123.dump"));
	assert_true(jit_code_is_dump("jit-1.dump"));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(jit_code_is_dump(no[i]));
}

/* Thousands of processes: their folders are one, and few descriptors are kept. */
static void many_processes_share_a_folder(void **state)
{
	struct symbolizer *s = symbolizer_new();
	int before = dup(STDIN_FILENO), after;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct program p = {.pid = getpid(),
				    .space = address_space_new(100 + i, getpid(), true)};

		map_code(s, &p);
		symbolizer_locate(s, p.space, CODE + 0x10);
		address_space_free(p.space);
	}
	after = dup(STDIN_FILENO);
	assert_in_range(after, before, before + 4);
	close(before);
	close(after);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_is_found_when_its_process_has_ended),
		cmocka_unit_test(a_map_has_the_pid_inside_a_container),
		cmocka_unit_test(replaced_code_has_the_name_of_its_time),
		cmocka_unit_test(stacks_lead_through_generated_code),
		cmocka_unit_test(rows_that_lead_nowhere_do_not_count),
		cmocka_unit_test(only_the_users_own_files_are_read),
		cmocka_unit_test(dumps_are_known_by_their_names),
		cmocka_unit_test(many_processes_share_a_folder),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
