/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include "profiler/report/unnamed_code.h"

static struct capture captured;

static const char *report(const struct made_result *m)
{
	struct log log = {LOG_NORMAL};

	capture_begin(&captured);
	unnamed_code_report(&log, &m->result);
	capture_end(&captured);
	return captured.text;
}

/* Samples of a process, in code of a file and in what it calls: generated code, or none (NULL). */
static void add(struct made_result *m, uint32_t process, const char *module, const char *generated,
		uint64_t samples)
{
	struct place place = place_unknown();
	struct row row = {.kind = ROW_CPU, .count = samples, .ns = samples * 1000};

	place.part[PLACE_PROCESS] = process;
	row.stack = RESULT_ROOT;
	if (module) {
		row.stack = made_push(m, row.stack, "call");
		m->frames[m->result.frame_count - 1].module = module;
	}
	if (generated) {
		row.stack = made_push(m, row.stack, generated);
		m->frames[m->result.frame_count - 1].class = CLASS_JIT;
	}
	row.stack = made_push(m, row.stack, "memcpy");
	made_add_at(m, &row, place);
}

static void each_runtime_has_its_advice(void **state)
{
	static const struct {
		const char *module, *expected;
	} runtimes[] = {
		{"/usr/bin/node", "of Node without names: run it with --perf-basic-prof\n"},
		{"/usr/bin/nodejs", "of Node without names: run it with --perf-basic-prof\n"},
		{"/usr/lib/x86_64-linux-gnu/libnode.so.108", "of Node without"},
		{"/usr/lib/jvm/java-17/lib/server/libjvm.so",
		 "of Java without names: run it with -XX:+UnlockDiagnosticVMOptions "
		 "-XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer\n"},
		{"/usr/share/dotnet/shared/8/libcoreclr.so", "of .NET without names: set DOTNET_"},
		{"/opt/julia/lib/julia/libjulia-internal.so.1.10", "of Julia without names: set "},
		{"/usr/bin/luajit-2.1.0-beta3", "of LuaJIT without"},
		{"/usr/lib/erlang/bin/beam.smp", "of Erlang without"},
		{"/usr/bin/php8.2", "of PHP without"},
		{"/usr/bin/nodeup", "code without names; docs/"},
		{"/home/me/app", "code without names; docs/"},
		{NULL, "code without names; docs/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		struct made_result m;
		const char *text;

		made_begin(&m);
		add(&m, 1, runtimes[i].module, "[jit]", 62);
		add(&m, 1, runtimes[i].module, NULL, 38);
		text = report(&m);
		assert_int_equal(strncmp(text,
					 "profile: 62 % of the CPU samples are in generated code ",
					 54),
				 0);
		if (!strstr(text, runtimes[i].expected))
			fail_msg("'%s' is not in '%s'", runtimes[i].expected, text);
		made_end(&m);
	}
}

static void small_shares_and_names_are_not_mentioned(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	assert_string_equal(report(&m), "");
	add(&m, 1, "/usr/bin/node", "[jit]", 5); /* all of them, but few */
	assert_string_equal(report(&m), "");
	made_end(&m);
	made_begin(&m);
	add(&m, 1, "/usr/bin/node", NULL, 50);
	add(&m, 1, "/usr/bin/node", "fib app.js:1", 46);
	assert_string_equal(report(&m), "");
	add(&m, 1, "/usr/bin/node", "[jit]", 4);
	assert_string_equal(report(&m), "");
	add(&m, 1, "/usr/bin/node", "[jit]", 2);
	assert_int_equal(strncmp(report(&m), "profile: 6 %", 12), 0);
	made_end(&m);
}

/* Stacks of generated code may end in it: then other stacks of the process tell. */
static void the_process_tells_the_runtime(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	add(&m, 1, NULL, "[jit]", 50);
	add(&m, 1, "/jvm/libjvm.so", NULL, 1);
	add(&m, 2, "/usr/bin/node", "[jit]", 40);
	add(&m, 3, "/usr/bin/node", NULL, 9);
	assert_non_null(
		strstr(report(&m), "50 % of the CPU samples are in generated code of Java"));
	/* together those of one runtime are more */
	add(&m, 4, "/usr/bin/node", "[jit]", 20);
	assert_non_null(
		strstr(report(&m), "50 % of the CPU samples are in generated code of Node"));
	made_end(&m);
	/* without processes, what there is most of */
	made_begin(&m);
	add(&m, PLACE_UNKNOWN, NULL, "[jit]", 50);
	add(&m, PLACE_UNKNOWN, "/usr/bin/php", NULL, 1);
	add(&m, PLACE_UNKNOWN, "/usr/bin/node", NULL, 2);
	assert_non_null(
		strstr(report(&m), "94 % of the CPU samples are in generated code of Node"));
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime_has_its_advice),
		cmocka_unit_test(small_shares_and_names_are_not_mentioned),
		cmocka_unit_test(the_process_tells_the_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
