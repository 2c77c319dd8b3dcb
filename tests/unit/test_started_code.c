/* SPDX-License-Identifier: MIT */
/* The folders of what commands start, by the command and the code that ran. */
#include "unit.h"
#include "profiler/shape/code_role.h"
#include "profiler/shape/started_code.h"

#define FILES_MAX 8

static char found[2048];

static bool note(void *context, const char *folder)
{
	size_t used = strlen(found);
	char one[256];

	(void)context;
	snprintf(one, sizeof(one), " %s ", folder);
	if (!strstr(found, one) && strncmp(found, one + 1, strlen(one + 1)) != 0)
		snprintf(found + used, sizeof(found) - used, "%s", one + 1);
	return true;
}

/* Makes a result in which code of these files ran; NULL ends the list. Files named ".py" are
 * Python. */
static struct result run_of(const char *command, const char *folder,
			    struct frame_info frames[FILES_MAX], const char *const *files)
{
	struct result r = {.totals = {.command = command, .folder = folder}, .frames = frames};

	memset(frames, 0, FILES_MAX * sizeof(*frames));
	for (; *files; files++) {
		struct frame_info *f = &frames[r.frame_count++];
		bool is_python = strstr(*files, ".py") || strstr(*files, "torchrun");

		f->class = is_python ? CLASS_PYTHON : CLASS_NATIVE;
		f->name = f->short_name = "f";
		*(is_python ? &f->file : &f->module) = *files;
	}
	return r;
}

#define STARTS(command, expected, ...)                                         \
	do {                                                                   \
		const char *const files[] = {__VA_ARGS__, NULL};               \
		struct frame_info frames[FILES_MAX];                           \
		struct result r = run_of(command, "/tmp/here", frames, files); \
                                                                               \
		found[0] = '\0';                                               \
		assert_true(started_code_visit(&r, note, NULL, NULL));         \
		assert_string_equal(found, expected);                          \
	} while (0)

static void scripts(void **state)
{
	(void)state;
	STARTS("python3 /home/u/proj/x.py --lr 1", "/home/u/proj ", "/home/u/proj/x.py",
	       "/home/u/proj/model.py");
	STARTS("python3 ../a/./x.py", "/tmp/a ", "../a/./x.py");
	STARTS("python3 -u -X dev /p/x.py /data/y.csv", "/p ", "/p/x.py");
	/* a folder with a __main__.py, and a zip file */
	STARTS("python3 /home/u/proj/", "/home/u/proj ", "/home/u/proj/__main__.py");
	STARTS("python3 /home/u/app.pyz", "/home/u/app.pyz ", "/home/u/app.pyz/__main__.py");
	/* a script that is run as a program */
	STARTS("/home/u/tools/x.py", "/home/u/tools ", "/home/u/tools/x.py");
	/* a shell script that ran nothing but its commands */
	STARTS("bash /home/u/proj/run.sh", "/home/u/proj ", "/home/u/proj/x.py");
	STARTS("python3 /x.py", "/ ", "/x.py");
	/* data is not started */
	STARTS("python3 x.py /data/y.py", "/tmp/here ", "x.py");
}

static void modules(void **state)
{
	(void)state;
	STARTS("python3 -m exp.train --lr 1", "/src/exp ", "/src/exp/train.py",
	       "/src/exp/model.py");
	STARTS("python3 -m exp", "/src/exp ", "/src/exp/__main__.py", "/src/exp/model.py");
	STARTS("python3 -m tool", "/src ", "/src/tool.py");
	STARTS("python3 -mtool", "/src ", "/src/tool.py");
	STARTS("python3 -m a.b.c", "/src/a ", "/src/a/b/c/__main__.py");
	/* a launcher that was searched for */
	STARTS("torchrun -m exp.train", "/usr/bin /src/exp ", "/usr/bin/torchrun",
	       "/src/exp/train.py");
	STARTS("accelerate launch --module exp.train", "/src/exp ", "/src/exp/train.py");
	/* a name that only ends so */
	STARTS("python3 -m tool", "", "/src/other_tool.py");
}

static void launchers(void **state)
{
	(void)state;
	STARTS("torchrun --nproc-per-node 8 /home/u/proj/train.py --lr 1", "/home/u/proj ",
	       "/home/u/proj/train.py");
	STARTS("accelerate launch --config_file /c/a.yaml ../proj/train.py", "/tmp/proj ",
	       "../proj/train.py");
	STARTS("python3 -m torch.distributed.run /p/train.py", "/v/site-packages/torch /p ",
	       "/v/site-packages/torch/distributed/run.py", "/p/train.py");
	STARTS("env A=1 numactl -N 0 /home/u/build/app 5", "/home/u/build ", "/home/u/build/app");
	STARTS("sh -c 'cd /x && python3 /p/train.py | tee log'", "/p ", "/p/train.py");
	STARTS("sh -c '/home/u/build/app 5; true'", "/home/u/build ", "/home/u/build/app");
}

static void programs(void **state)
{
	(void)state;
	STARTS("/home/u/build/app 5", "/home/u/build ", "/home/u/build/app",
	       "/usr/lib/libcuda.so.1");
	STARTS("../build/app", "/tmp/build ", "/tmp/build/app (deleted)");
	/* searched for, and by a link to its folder */
	STARTS("app 5", "/home/u/bin ", "/home/u/bin/app");
	STARTS("/home/u/build/app 5", "/data/u/build ", "/data/u/build/app");
	/* interpreters, and libraries that are arguments */
	STARTS("/home/u/py/bin/python3", "", "/home/u/py/bin/python3");
	STARTS("/a/app --plugin /v/libx.so", "/a ", "/a/app", "/v/libx.so");
	STARTS("", "", "/a/app");
}

static void roles_follow(void **state)
{
	static const struct {
		const char *command, *file;
		bool is_own;
	} cases[] = {
		{"python3 /home/u/proj/x.py", "/home/u/proj/x.py", true},
		{"python3 /usr/src/app/x.py", "/usr/src/app/x.py", true},
		{"python3 /opt/app/x.py", "/opt/app/x.py", true},
		{"python3 /home/u/.cache/run/x.py", "/home/u/.cache/run/x.py", true},
		{"python3 /dev/shm/x.py", "/dev/shm/x.py", true},
		{"python3 -m torch.distributed.run", "/v/site-packages/torch/distributed/run.py",
		 false},
		{"python3 -m http.server", "/usr/lib/python3.11/http/server.py", false},
		{"/usr/local/bin/torchrun x.py", "/usr/local/bin/torchrun", false},
		{"/home/u/.venv/bin/torchrun x.py", "/home/u/.venv/bin/torchrun", false},
		{"/home/u/miniconda3/envs/e/bin/torchrun x.py",
		 "/home/u/miniconda3/envs/e/bin/torchrun", false},
		{"/usr/bin/ffmpeg", "/usr/bin/ffmpeg", false},
		{"/home/u/bin/solver", "/home/u/bin/solver", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const files[] = {cases[i].file, NULL};
		struct frame_info frames[FILES_MAX];
		struct result r = run_of(cases[i].command, "/tmp/here", frames, files);
		struct code_roles *roles = code_roles_of_result(&r);
		char label[CODE_ROLE_LABEL_BYTES];
		bool is_own;

		assert_non_null(roles);
		is_own = code_role_of(roles, &frames[0], label) == ROLE_OWN;
		if (is_own != cases[i].is_own)
			fail_msg("%s: %s", cases[i].command, cases[i].file);
		code_roles_free(roles);
	}
}

static bool note_program(void *context, const char *module)
{
	(void)context;
	return note(NULL, module);
}

/* A program outside of its sources' folder, next to a library of these sources. */
static void programs_have_sources(void **state)
{
	struct frame_info frames[] = {
		{.class = CLASS_NATIVE,
		 .module = "/usr/local/bin/app",
		 .source = "/p/src/main.cpp"},
		{.class = CLASS_NATIVE,
		 .module = "/usr/local/bin/app",
		 .source = "/usr/include/x.h"},
		{.class = CLASS_NATIVE, .module = "/usr/local/bin/app", .source = "rel.c"},
		{.class = CLASS_NATIVE, .module = "/usr/local/bin/app"},
		{.class = CLASS_NATIVE,
		 .module = "/usr/local/lib/libapp.so",
		 .source = "/p/src/l.cpp"},
		{.class = CLASS_NATIVE,
		 .module = "/usr/local/lib/libapp.so",
		 .source = "/q/other.cpp"},
	};
	struct result r = {.totals = {.command = "env A=1 app 5", .folder = "/var"},
			   .frames = frames,
			   .frame_count = 6};
	const enum code_role expected[] = {ROLE_OWN,     ROLE_PLUMBING, ROLE_OWN,
					   ROLE_PACKAGE, ROLE_OWN,      ROLE_PACKAGE};
	struct code_roles *roles = code_roles_of_result(&r);
	char label[CODE_ROLE_LABEL_BYTES];

	(void)state;
	assert_non_null(roles);
	for (uint32_t i = 0; i < r.frame_count; i++) {
		frames[i].name = frames[i].short_name = "f";
		if (code_role_of(roles, &frames[i], label) != expected[i])
			fail_msg("%u: %s", i, label);
	}
	code_roles_free(roles);
	found[0] = '\0';
	assert_true(started_code_visit(&r, note, note_program, NULL));
	assert_string_equal(found, "/usr/local/bin /usr/local/bin/app /p/src ");
	/* compiled in a folder that has them, and in one that has not */
	frames[0].source = "/p/./src/main.cpp";
	frames[4].source = "/p/./lib/l.cpp";
	frames[2].source = "/build/./../p2/src/x.c";
	found[0] = '\0';
	assert_true(started_code_visit(&r, note, NULL, NULL));
	assert_string_equal(found, "/usr/local/bin /p /p2/src ");
	roles = code_roles_of_result(&r);
	assert_int_equal(code_role_of(roles, &frames[4], label), ROLE_OWN);
	code_roles_free(roles);
	frames[0].source = "/./src/main.cpp"; /* "/" is not the user's */
	frames[2].source = NULL;
	found[0] = '\0';
	assert_true(started_code_visit(&r, note, NULL, NULL));
	assert_string_equal(found, "/usr/local/bin /src ");
	/* an interpreter, and a program that was not started, are none */
	r.totals.command = "python3 x.py";
	roles = code_roles_of_result(&r);
	assert_int_equal(code_role_of(roles, &frames[0], label), ROLE_PACKAGE);
	code_roles_free(roles);
}

/* Commands come from captures, which may be anyone's. */
static void any_command_is_taken(void **state)
{
	char *long_one = malloc(100001);
	const char *const files[] = {"/p/x.py", NULL};
	struct frame_info frames[FILES_MAX];
	struct result r;

	(void)state;
	assert_non_null(long_one);
	for (int i = 0; i < 100000; i++)
		long_one[i] = "a /-m"[i % 5];
	long_one[100000] = '\0';
	for (size_t length = 100000; length > 0; length = length * 3 / 4) {
		long_one[length] = '\0';
		r = run_of(long_one, NULL, frames, files);
		found[0] = '\0';
		assert_true(started_code_visit(&r, note, NULL, NULL));
	}
	free(long_one);
}

static void odd_commands(void **state)
{
	(void)state;
	STARTS("'", "", "/p/x.py");
	STARTS("-m -m -m", "", "/p/x.py");
	STARTS("python3 -m .", "", "/p/x.py");
	STARTS("python3 /", "/ ", "/p/x.py");
	STARTS("python3 ../", "/tmp ", "/tmp/__main__.py");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts),
		cmocka_unit_test(modules),
		cmocka_unit_test(launchers),
		cmocka_unit_test(programs),
		cmocka_unit_test(programs_have_sources),
		cmocka_unit_test(roles_follow),
		cmocka_unit_test(any_command_is_taken),
		cmocka_unit_test(odd_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
