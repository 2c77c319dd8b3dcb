/* SPDX-License-Identifier: MIT */
/* The names by which people know a process. */
#include "unit.h"
#include "profiler/base/process_names.h"

/* Returns the names of a command line, with commas between them. Arguments end with '|'. */
static const char *names_of(const char *comm, const char *exe, const char *arguments,
			    bool with_paths)
{
	static char text[512], line[256];
	struct process_names names;
	size_t size = strlen(arguments);

	memcpy(line, arguments, size + 1);
	for (char *c = line; *c; c++)
		*c = *c == '|' ? '\0' : *c;
	process_names_find(&names, comm, exe, line, size, with_paths);
	assert_in_range(names.count, 0, PROCESS_NAMES_MAX);
	text[0] = '\0';
	for (uint32_t i = 0; i < names.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? "," : "",
			 names.list[i]);
	return text;
}

static void scripts_and_modules(void **state)
{
	static const char *const cases[][2] = {
		{"python3|train.py|--lr|1|", "python3,train.py"},
		{"/usr/bin/python3|-u|exp/train.py|", "python3,train.py,exp/train.py"},
		{"python3.13t|-X|dev|-W|ignore|/a/train.py|", "python3.13t,train.py"},
		{"python3|-Xdev|-OO|x.py|", "python3,x.py"},
		{"python3|-m|torch.distributed.run|t.py|", "python3,torch.distributed.run"},
		{"python3|-um|pkg.serve|", "python3,pkg.serve"},
		{"python3|-mpkg|", "python3,pkg"},
		{"python3|-m|", "python3"},
		{"python3|-c|import x|x.py|", "python3"},
		{"python3|-|x.py|", "python3"},
		{"python3|", "python3"},
		{"python3|-W|", "python3"},
		{"python3|--check-hash-based-pycs|always|x.py|", "python3,x.py"},
		{"pythonista|x.py|", "pythonista"},
		{"perl5.36.0|-w|-Ilib/else|-Mstrict|s.pl|", "perl5.36.0,s.pl"},
		{"perl|-pe|s/a/b/|file|", "perl"},
		{"node|--require|./hook|app/server.js|", "node,server.js,app/server.js"},
		{"node|-e|code|x.js|", "node"},
		{"bash|-eu|-o|pipefail|run.sh|", "bash,run.sh"},
		{"bash|-c|x.sh|", "bash"},
		{"sh|-ec|x.sh|", "sh"},
		{"sh|+x|x.sh|", "sh,x.sh"},
		{"-bash|", "-bash"},
		{"java|-Xmx4g|-cp|a.jar:b.jar|com.x.Main|", "java,com.x.Main"},
		{"java|-jar|/opt/app.jar|", "java,app.jar"},
		{"php|-d|a=b|-f|x.php|", "php,x.php"},
		{"./app|train.py|", "app,./app"},
		{"build/app|", "app,build/app"},
		{"sudo|python3|x.py|", "sudo"},
		{"ld-linux-x86-64.so.2|./app|-v|", "ld-linux-x86-64.so.2,app,./app"},
		{"ld-linux-aarch64.so.1|--preload|a.so|--argv0|x|/a/app|",
		 "ld-linux-aarch64.so.1,app"},
		{"ld-musl-x86_64.so.1|--library-path=/a|--|/a/app|", "ld-musl-x86_64.so.1,app"},
		{"ld.so|--inhibit-cache|/usr/bin/python3|-m|pkg.serve|", "ld.so,python3,pkg.serve"},
		{"ld.so|/lib/ld.so|./app|", "ld.so,ld.so,app,./app"},
		{"ld.so|ld.so|a/ld.so|a/ld.so|a/app|", "ld.so,ld.so,ld.so,a/ld.so,ld.so,a/ld.so"},
		{"ld.so|--list|", "ld.so"},
		{"ld.so|--audit|", "ld.so"},
		{"ld.gold|a.o|", "ld.gold"},
		{"", ""},
		{"||", ""},
		{"python3||x.py|", "python3"},
		{"python3|x.py", "python3,x.py"}, /* the name was cut */
		{"python3|pkg/|", "python3,pkg/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *names = names_of("python3", "python3.13", cases[i][0], false);

		if (strcmp(names, cases[i][1]) != 0)
			fail_msg("'%s': %s, not %s", cases[i][0], names, cases[i][1]);
	}
}

/* A process is named after the program that it runs. */
static void the_best_name(void **state)
{
	static const char *const cases[][2] = {
		{"python3|-u|exp/train.py|", "train.py"},
		{"python3|-m|pkg.serve|", "pkg.serve"},
		{"python3|dist/app.pyz|", "app.pyz"},
		{"python3|src/app//|x|", "app"},
		{"python3|.|", ""},
		{"python3|../|", ""},
		{"python3|/|", ""},
		{"python3|-c|code|", ""},
		{"python3|.hidden|", ".hidden"},
		{"ld.so|./app|", "app"},
		{"ld.so|python3|x.py|", "x.py"},
		{"ld.so|python3|-c|code|", "python3"},
		{"ld.so|", ""},
		{"./app|x.py|", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_names names;
		char line[64], *got;

		snprintf(line, sizeof(line), "%s", cases[i][0]);
		for (char *c = line; *c; c++)
			*c = *c == '|' ? '\0' : *c;
		process_names_find(&names, "", "", line, strlen(cases[i][0]), false);
		got = strndup(names.program ? names.program : "", names.program_bytes);
		if (strcmp(got, cases[i][1]) != 0)
			fail_msg("'%s': '%s', not '%s'", cases[i][0], got, cases[i][1]);
		free(got);
	}
}

static void titles_are_whole(void **state)
{
	(void)state;
	assert_string_equal(names_of("ray::worker/3", "python3", "ray::worker/3|", false),
			    "3,ray::worker/3");
	assert_string_equal(
		names_of("nginx", "nginx", "nginx: master process /usr/sbin/nginx|", false),
		"nginx,nginx: master process /usr/sbin/nginx");
	assert_string_equal(names_of("python3", "python3.13", "/srv/model worker|", false),
			    "model worker,/srv/model worker");
	assert_string_equal(names_of("python3", "python3.13", "/srv/model|", false),
			    "model,/srv/model");
	assert_string_equal(names_of("/srv/model-with", "python3", "/srv/model-with-more|", false),
			    "model-with-more,/srv/model-with-more");
}

/* Folders of absolute paths are no names, whatever the program calls itself. */
static void absolute_paths_are_for_those_who_ask(void **state)
{
	(void)state;
	assert_string_equal(names_of("app", "", "/home/python/app|", false), "app");
	assert_string_equal(names_of("MainThread", "node", "/home/x/node|/home/x/s.js|", false),
			    "node,s.js");
	assert_string_equal(names_of("a-program-with-", "", "/opt/a-program-with-a-name|", false),
			    "a-program-with-a-name");
	assert_string_equal(names_of("python3", "", "/usr/bin/python3|/a/x.py|", true),
			    "python3,/usr/bin/python3,x.py,/a/x.py");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_and_modules),
		cmocka_unit_test(the_best_name),
		cmocka_unit_test(titles_are_whole),
		cmocka_unit_test(absolute_paths_are_for_those_who_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
