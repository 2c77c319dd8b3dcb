/* SPDX-License-Identifier: MIT */
/* Source text in a page: lines around samples, of source files alone, within limits. */
#include "made_result.h"
#include "own_folder.h"
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "profiler/shape/source_text.h"
#include "symbolize/util/text.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define ELLIPSIS "\xe2\x80\xa6"

static struct made_result m;
static struct source_list list;
static char paths[16][256];
static uint32_t path_count, kernel;

static uint32_t push(uint32_t outer, enum frame_class class, const char *name)
{
	uint32_t stack = made_push(&m, outer, name);

	m.frames[m.stacks[stack].frame].class = class;
	return stack;
}

static void begin(void)
{
	made_begin(&m);
	m.result.totals.folder = folder;
	kernel = push(RESULT_ROOT, CLASS_GPU_KERNEL, "[GPU_Kernel]k");
	path_count = 0;
}

/* Adds time at a line; `file` is the pointer that stands for the path. */
static void at_line(const char *file, uint32_t line, uint64_t ns)
{
	uint32_t stack = push(kernel, CLASS_GPU_CODE, "line");
	struct frame_info *frame = &m.frames[m.stacks[stack].frame];

	frame->file = file;
	frame->line = line;
	made_add(&m, push(stack, CLASS_STALL, "[selected]"), ROW_GPU, ns);
}

/* Returns "FOLDER/name". */
static const char *in_folder(const char *name)
{
	char *path = paths[path_count++];

	assert_true(path_count <= COUNT(paths));
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void read_all(void)
{
	static const struct source_limits limits = {4096, 6000, 4, 40};

	assert_int_equal(source_text_read(&m.result, &limits, &list), 0);
}

static void end(void)
{
	source_text_release(&list);
	assert_int_equal(list.count, 0);
	made_end(&m);
}

/* Returns the state of a file with time at line 1. */
static enum source_state state_of(const char *path)
{
	enum source_state state;

	begin();
	at_line(path, 1, 1);
	read_all();
	assert_int_equal(list.count, 1);
	state = list.files[0].state;
	if (state != SOURCE_READ) {
		assert_null(list.files[0].text);
		assert_int_equal(list.files[0].part_count, 0);
	}
	end();
	return state;
}

static void write_lines(const char *name, int count)
{
	char text[4096] = "";
	size_t used = 0;

	for (int i = 1; i <= count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "line %d\n", i);
	write_text(name, text);
}

static void lines_around_samples_are_read(void **state)
{
	const char *path;

	(void)state;
	write_lines("a.cu", 200);
	begin();
	path = in_folder("a.cu");
	at_line(path, 150, 5);
	at_line(path, 5, 3);
	at_line(path, 30, 3); /* lines overlap with earlier ones */
	read_all();
	assert_int_equal(list.count, 1);
	assert_int_equal(list.files[0].state, SOURCE_READ);
	assert_int_equal(list.files[0].ns, 11);
	assert_false(list.files[0].has_changed);
	assert_int_equal(list.files[0].part_count, 2);
	assert_int_equal(list.files[0].parts[0].first, 1);
	assert_int_equal(list.files[0].parts[0].count, 50);
	assert_int_equal(list.files[0].parts[1].first, 130);
	assert_int_equal(list.files[0].parts[1].count, 41);
	assert_true(starts_with(list.files[0].text, "line 1\nline 2\n"));
	assert_non_null(memmem(list.files[0].text, list.files[0].size, "line 50\nline 130\n", 17));
	assert_memory_equal(list.files[0].text + list.files[0].size - 9, "line 170\n", 9);
	end();
}

static void only_lines_with_samples_count(void **state)
{
	const char *path;
	uint32_t stack;

	(void)state;
	write_lines("a.cu", 3);
	begin();
	path = in_folder("a.cu");
	/* a line without a reason below it, a Python function, and a line without a file */
	stack = push(kernel, CLASS_GPU_CODE, "a.cu:1");
	m.frames[m.stacks[stack].frame].file = path;
	m.frames[m.stacks[stack].frame].line = 1;
	made_add(&m, stack, ROW_GPU, 1);
	stack = push(RESULT_ROOT, CLASS_PYTHON, "f (a.cu:1)");
	m.frames[m.stacks[stack].frame].file = path;
	m.frames[m.stacks[stack].frame].line = 1;
	made_add(&m, stack, ROW_CPU, 1);
	at_line(NULL, 1, 1);
	at_line(path, 0, 1);
	made_add(&m, push(kernel, CLASS_STALL, "[selected]"), ROW_GPU, 1);
	made_add(&m, push(RESULT_ROOT, CLASS_STALL, "[selected]"), ROW_GPU, 1);
	read_all();
	assert_int_equal(list.count, 0);
	end();
}

static void the_file_with_most_time_is_first(void **state)
{
	const char *first, *second;

	(void)state;
	write_lines("a.cu", 3);
	write_lines("b.cuh", 3);
	begin();
	first = in_folder("b.cuh");
	second = in_folder("a.cu");
	at_line(second, 1, 5);
	at_line(first, 2, 3);
	at_line(first, 1, 3);
	read_all();
	assert_int_equal(list.count, 2);
	assert_ptr_equal(list.files[0].path, first);
	assert_ptr_equal(list.files[1].path, second);
	end();
}

static void a_file_that_has_changed_is_marked(void **state)
{
	const char *path;

	(void)state;
	write_lines("a.cu", 10);
	begin();
	path = in_folder("a.cu");
	at_line(path, 8, 1);
	at_line(path, 11, 1);
	at_line(path, 500, 1);
	at_line(path, UINT32_MAX, 1);
	read_all();
	assert_true(list.files[0].has_changed);
	assert_int_equal(list.files[0].part_count, 1);
	assert_int_equal(list.files[0].parts[0].count, 10);
	end();
	/* written when the run was over; and before */
	for (int is_after = 0; is_after < 2; is_after++) {
		begin();
		at_line(in_folder("a.cu"), 10, 1);
		m.result.totals.start_unix_ns = UINT64_C(1000000000000000000);
		m.result.totals.elapsed_ns = is_after ? 1000000000 : UINT64_C(1) << 62;
		read_all();
		assert_int_equal(list.files[0].has_changed, is_after);
		end();
	}
	/* all of it is beyond the end */
	begin();
	at_line(in_folder("a.cu"), 100, 1);
	read_all();
	assert_int_equal(list.files[0].state, SOURCE_READ);
	assert_true(list.files[0].has_changed);
	assert_int_equal(list.files[0].part_count, 0);
	end();
}

static void relative_names_are_below_the_working_directory(void **state)
{
	(void)state;
	shell("mkdir -p sub && echo 'x' > sub/r.cu");
	assert_int_equal(state_of("sub/r.cu"), SOURCE_READ);
	assert_int_equal(state_of("./sub/../sub/r.cu"), SOURCE_READ);
	begin();
	m.result.totals.folder = NULL;
	at_line("sub/r.cu", 1, 1);
	read_all();
	assert_int_equal(list.files[0].state, SOURCE_NOT_FOUND);
	end();
}

static void only_names_of_source_are_read(void **state)
{
	static const char *const refused[] = {"shadow", "id_rsa", "a.txt", "a.inc",
					      ".cu",    ".h.py",  "a.",    "a.cu.",
					      "a.CSV",  "a.cu~",  "cu/f",  "a.pem"};
	static const char *const read[] = {"a.cu",        "a.CUH", "a.b.py",
					   "t.triton.py", "k.hpp", "k.F90"};

	(void)state;
	shell("mkdir cu");
	for (size_t i = 0; i < COUNT(refused); i++) {
		path_count = 0;
		write_text(refused[i], "text\n");
		assert_int_equal(state_of(in_folder(refused[i])), SOURCE_REFUSED);
	}
	for (size_t i = 0; i < COUNT(read); i++) {
		path_count = 0;
		write_text(read[i], "text\n");
		assert_int_equal(state_of(in_folder(read[i])), SOURCE_READ);
	}
	assert_int_equal(state_of("/etc/passwd"), SOURCE_REFUSED);
}

/* A link has the name of what it leads to. */
static void links_lead_to_source_alone(void **state)
{
	(void)state;
	path_count = 0;
	shell("echo key > secret && echo x > real.cu && ln -s secret l1.cu && ln -s real.cu l2.cu "
	      "&&"
	      "ln -s l2.cu l3.cu && ln -s nowhere.cu l4.cu && ln -s l5.cu l5.cu && ln -s . here");
	assert_int_equal(state_of(in_folder("l1.cu")), SOURCE_REFUSED);
	assert_int_equal(state_of(in_folder("l3.cu")), SOURCE_READ);
	assert_int_equal(state_of(in_folder("l4.cu")), SOURCE_NOT_FOUND);
	assert_int_equal(state_of(in_folder("l5.cu")), SOURCE_NOT_FOUND);
	assert_int_equal(state_of(in_folder("here/here/real.cu")), SOURCE_READ);
}

/* None is opened: to open a FIFO would wait for its writer. */
static void only_regular_files_are_opened(void **state)
{
	(void)state;
	path_count = 0;
	shell("mkfifo pipe.cu && mkdir folder.cu && ln -s /dev/zero zero.cu");
	assert_int_equal(state_of(in_folder("pipe.cu")), SOURCE_REFUSED);
	assert_int_equal(state_of(in_folder("folder.cu")), SOURCE_REFUSED);
	assert_int_equal(state_of(in_folder("zero.cu")), SOURCE_REFUSED);
	if (geteuid() == 0) {
		shell("mknod -m 666 null.cu c 1 3");
		assert_int_equal(state_of(in_folder("null.cu")), SOURCE_REFUSED);
	}
}

static void special_places_are_refused(void **state)
{
	char path[512];
	int fd;

	(void)state;
	path_count = 0;
	write_text("own.cu", "x\n");
	/* whatever is behind it */
	snprintf(path, sizeof(path), "/proc/self/root%s/own.cu", folder);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(state_of(path), SOURCE_REFUSED);
	assert_int_equal(state_of("/sys/kernel/x.cu"), SOURCE_REFUSED);
	assert_int_equal(state_of("/dev/x.cu"), SOURCE_REFUSED);
	/* through a link of ours */
	if (access("/dev/shm", W_OK) == 0) {
		snprintf(path, sizeof(path), "/dev/shm/profile_unit_%d.cu", (int)getpid());
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		assert_true(fd >= 0);
		close(fd);
		shell("ln -s %s shm.cu", path);
		assert_int_equal(state_of(in_folder("shm.cu")), SOURCE_REFUSED);
		unlink(path);
	}
	/* file systems are known wherever they are */
	fd = open("/proc/self/status", O_PATH);
	assert_true(fd >= 0 && source_file_is_special(fd));
	close(fd);
	fd = open(in_folder("own.cu"), O_PATH);
	assert_true(fd >= 0 && !source_file_is_special(fd));
	close(fd);
}

static void root_reads_only_what_all_may(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	path_count = 0;
	write_text("private.cu", "secret\n");
	shell("chmod 755 . && chmod 600 private.cu");
	assert_int_equal(state_of(in_folder("private.cu")), SOURCE_NOT_FOUND);
	shell("chmod 644 private.cu");
	assert_int_equal(state_of(in_folder("private.cu")), SOURCE_READ);
	/* folders count, root's own, too, and however the path leads through them */
	shell("mkdir -p home/deep && cp private.cu home && chmod 700 home");
	shell("ln -s home/private.cu link.cu && ln -s ../private.cu home/out.cu && ln -s home way");
	assert_int_equal(state_of(in_folder("home/private.cu")), SOURCE_NOT_FOUND);
	path_count = 0;
	for (int owner = 0; owner <= 4249; owner += 4249) {
		static const char *const ways[] = {
			"home/private.cu",    "link.cu",
			"home/../private.cu", "home/deep/../../private.cu",
			"home/out.cu",        "way/private.cu"};

		shell("chown %d home", owner);
		for (int mode = 0700; mode <= 0755; mode += 011) {
			shell("chmod %o home", (unsigned int)mode);
			for (size_t i = 0; i < COUNT(ways); i++) {
				path_count = 0;
				assert_int_equal(state_of(in_folder(ways[i])),
						 mode % 010 & 1 ? SOURCE_READ : SOURCE_NOT_FOUND);
			}
		}
	}
	/* a user whom only an ACL, or only the group's rights keep out, is one of all */
	shell("chmod 604 private.cu");
	assert_int_equal(state_of(in_folder("private.cu")), SOURCE_NOT_FOUND);
	shell("chmod 644 private.cu");
	if (system("command -v setfacl >/dev/null") == 0) {
		shell("cp private.cu acl.cu && setfacl -m u:4250:- acl.cu");
		assert_int_equal(state_of(in_folder("acl.cu")), SOURCE_NOT_FOUND);
	}
	/* for another user, the kernel decides */
	shell("chmod 640 private.cu && cp private.cu theirs.cu && chmod 400 theirs.cu &&"
	      "chown 4249 theirs.cu");
	child = fork();
	if (child == 0) {
		if (setgid(4249) != 0 || setuid(4249) != 0)
			_exit(9);
		_exit(state_of(in_folder("private.cu")) == SOURCE_NOT_FOUND &&
				      state_of(in_folder("theirs.cu")) == SOURCE_READ
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void what_is_no_text_is_refused(void **state)
{
	static const char *const texts[] = {"a\\0b\\n", "caf\\351\\n", "\\300\\200\\n",
					    "\\355\\240\\200\\n", "ok\\n\\342\\202"};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		path_count = 0;
		shell("printf '%s' > b.cu", texts[i]);
		assert_int_equal(state_of(in_folder("b.cu")), SOURCE_NOT_TEXT);
	}
	shell("printf 'caf\\303\\251' > b.cu");
	assert_int_equal(state_of(in_folder("b.cu")), SOURCE_READ);
	shell(": > b.cu");
	assert_int_equal(state_of(in_folder("b.cu")), SOURCE_READ);
}

static void lines_are_clean_and_cut(void **state)
{
	(void)state;
	shell("printf '\\tif (x)\\ty;\\r\\na\\033[31mb\\n\\342\\200\\256rtl\\302\\205\\n"
	      "123456789 123456789 123456789 12345678\\303\\251xyz\\n</script>\\342\\200\\250' > "
	      "c.cu");
	begin();
	at_line(in_folder("c.cu"), 2, 1);
	read_all();
	assert_int_equal(list.files[0].parts[0].count, 5);
	assert_string_equal((list.files[0].text[list.files[0].size] = '\0', list.files[0].text),
			    "\tif (x)\ty;\na?[31mb\n?rtl?\n"
			    "123456789 123456789 123456789 1234567" ELLIPSIS "\n"
			    "</script>\xe2\x80\xa8\n");
	end();
}

static void sizes_are_bounded(void **state)
{
	const char *path[6];

	(void)state;
	shell("head -c 4096 /dev/zero | tr '\\0' '\\n' > full.cu && (cat full.cu; echo) > over.cu");
	path_count = 0;
	assert_int_equal(state_of(in_folder("full.cu")), SOURCE_READ);
	path_count = 0;
	assert_int_equal(state_of(in_folder("over.cu")), SOURCE_TOO_LARGE);
	/* all files together: each of these has 2460 bytes to show, and others find room still */
	shell("for i in 1 2 3; do yes 1234567890123456789012345678901234567890 | head -60 > $i.cu; "
	      "done;"
	      "for i in 4 5; do echo x > $i.cu; done");
	begin();
	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.cu", i + 1);
		path[i] = in_folder(name);
		at_line(path[i], 30, 100 - (uint64_t)i);
		at_line(path[i], 1, 1);
		at_line(path[i], 60, 1);
	}
	read_all();
	assert_int_equal(list.count, 5);
	assert_int_equal(list.files[0].state, SOURCE_READ);
	assert_int_equal(list.files[0].size, 60 * 41);
	assert_int_equal(list.files[1].state, SOURCE_READ);
	assert_int_equal(list.files[2].state, SOURCE_LEFT_OUT);
	assert_null(list.files[2].text);
	assert_int_equal(list.files[3].state, SOURCE_READ);
	/* beyond the number of files */
	assert_int_equal(list.files[4].state, SOURCE_LEFT_OUT);
	end();
}

/* Bounds that nobody has chosen are those of the header, which are larger. */
static void the_usual_bounds(void **state)
{
	(void)state;
	shell("head -c 5000 /dev/zero | tr '\\0' x > long.cu");
	begin();
	at_line(in_folder("long.cu"), 1, 1);
	assert_int_equal(source_text_read(&m.result, NULL, &list), 0);
	assert_int_equal(list.files[0].state, SOURCE_READ);
	assert_int_equal(list.files[0].size, SOURCE_TEXT_LINE + 1);
	end();
}

static void long_names_are_not_found(void **state)
{
	char *path = malloc(3 * PATH_MAX);

	(void)state;
	assert_non_null(path);
	memset(path, 'a', 3 * PATH_MAX);
	path[0] = '/';
	snprintf(path + 2 * PATH_MAX, 8, ".cu");
	assert_int_equal(state_of(path), SOURCE_NOT_FOUND);
	assert_int_equal(state_of(path + 1), SOURCE_NOT_FOUND);
	assert_int_equal(state_of(""), SOURCE_REFUSED);
	free(path);
}

/* Root reads nothing in a private one. */
static int make_public_folder(void **state)
{
	return make_folder(state) == 0 ? chmod(folder, 0755) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_around_samples_are_read),
		cmocka_unit_test(only_lines_with_samples_count),
		cmocka_unit_test(the_file_with_most_time_is_first),
		cmocka_unit_test(a_file_that_has_changed_is_marked),
		cmocka_unit_test(relative_names_are_below_the_working_directory),
		cmocka_unit_test(only_names_of_source_are_read),
		cmocka_unit_test(links_lead_to_source_alone),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(special_places_are_refused),
		cmocka_unit_test(root_reads_only_what_all_may),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(lines_are_clean_and_cut),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(the_usual_bounds),
		cmocka_unit_test(long_names_are_not_found),
	};

	return cmocka_run_group_tests(tests, make_public_folder, remove_folder);
}
