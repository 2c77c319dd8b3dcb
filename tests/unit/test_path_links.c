/* SPDX-License-Identifier: MIT */
/* Links on the way to the user's code, and whose code it is then. */
#include "unit.h"
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profiler/shape/code_role.h"
#include "profiler/shape/path_links.h"

#define FILES_MAX 8

static char *folder; /* folder of this test, without links */

/* Expands "%" in a path to the folder. */
static char *expand(const char *text)
{
	char *expanded = NULL;
	size_t size;
	FILE *out = open_memstream(&expanded, &size);

	assert_non_null(out);
	for (; *text; text++)
		if (*text == '%')
			fputs(folder, out);
		else
			fputc(*text, out);
	assert_int_equal(fclose(out), 0);
	return expanded;
}

static void make(const char *text)
{
	char *path = expand(text);
	FILE *file;

	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0755);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	free(path);
}

static void make_link(const char *to, const char *from)
{
	char *a = expand(to), *b = expand(from);

	assert_int_equal(symlink(a, b), 0);
	free(a);
	free(b);
}

static int open_folder(void **state)
{
	char made[] = "/tmp/test_path_links.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(made));
	folder = realpath(made, NULL);
	assert_non_null(folder);
	make("%/real/x.py");
	make("%/real/models/gpt.py");
	make("%/real/env/lib/python3.12/site-packages/torch/nn.py");
	make("%/real/build/app-1.2");
	make("%/other/y.py");
	make("%/bin/nothing");
	make_link("%/real", "%/link");
	make_link("%/other", "%/away");
	make_link("%/real/models", "%/deep");
	make_link("%/real/x.py", "%/bin/train");
	make_link("%/real/build/app-1.2", "%/bin/app");
	make_link("%/loop", "%/loop");
	return 0;
}

static int remove_folder(void **state)
{
	char *command = expand("rm -rf %");

	(void)state;
	assert_int_equal(system(command), 0);
	free(command);
	free(folder);
	return 0;
}

/*
 * Names the files as own or not, one letter each: "o" or "-". They ran by this command in that
 * working directory.
 */
static void expect_roles(const char *command, const char *here, const char *const *files,
			 const char *expected)
{
	struct frame_info frames[FILES_MAX] = {0};
	char *paths[FILES_MAX], got[FILES_MAX + 1] = "", label[CODE_ROLE_LABEL_BYTES];
	char *words = expand(command), *stands = expand(here), *search = expand("/usr/bin:%/bin");
	struct result r = {.totals = {.command = words, .folder = stands}, .frames = frames};
	struct code_roles *roles;
	char *links;

	for (uint32_t i = 0; files[i]; i++) {
		struct frame_info *f = &frames[r.frame_count++];
		bool is_python = !strstr(files[i], "/build/");

		paths[i] = expand(files[i]);
		f->class = is_python ? CLASS_PYTHON : CLASS_NATIVE;
		f->name = f->short_name = "f";
		*(is_python ? &f->file : &f->module) = paths[i];
	}
	r.totals.links = links = path_links_find(&r, search);
	roles = code_roles_of_result(&r);
	assert_non_null(roles);
	for (uint32_t i = 0; i < r.frame_count; i++)
		got[i] = code_role_of(roles, &frames[i], label) == ROLE_OWN ? 'o' : '-';
	if (strcmp(got, expected) != 0)
		fail_msg("%s: %s instead of %s by %s", words, got, expected,
			 links ? links : "no links");
	code_roles_free(roles);
	for (uint32_t i = 0; i < r.frame_count; i++)
		free(paths[i]);
	free(links);
	free(words);
	free(stands);
	free(search);
}

#define EXPECT_ROLES(command, here, expected, ...)               \
	do {                                                     \
		const char *const files[] = {__VA_ARGS__, NULL}; \
		expect_roles(command, here, files, expected);    \
	} while (0)

static void scripts_and_modules_by_different_ways(void **state)
{
	(void)state;
	EXPECT_ROLES("python3 %/link/x.py", "/var", "ooo", "%/link/x.py", "%/real/models/gpt.py",
		     "%/link/models/gpt.py");
	EXPECT_ROLES("python3 %/real/x.py", "/var", "ooo", "%/real/x.py", "%/link/models/gpt.py",
		     "%/real/models/gpt.py");
	/* an entry of sys.path that is a link, and the working directory without one */
	EXPECT_ROLES("python3 x.py", "%/real", "oo", "x.py", "%/link/models/gpt.py");
	EXPECT_ROLES("python3 -c 'import models.gpt'", "%/real", "o", "%/link/models/gpt.py");
	/* the script itself is a link, and the interpreter looks for modules where it leads to */
	EXPECT_ROLES("python3 %/bin/train", "/var", "oo", "%/bin/train", "%/real/models/gpt.py");
	EXPECT_ROLES("train --lr 1", "/var", "oo", "%/bin/train", "%/real/models/gpt.py");
	EXPECT_ROLES("python3 %/deep/../x.py", "/var", "oo", "%/deep/../x.py",
		     "%/real/models/gpt.py");
	EXPECT_ROLES("sh -c 'python3 %/link/x.py'", "/var", "oo", "%/real/x.py",
		     "%/link/models/gpt.py");
}

static void links_elsewhere_stay_others(void **state)
{
	(void)state;
	EXPECT_ROLES("python3 %/link/x.py", "/var", "o--", "%/link/x.py", "%/other/y.py",
		     "%/away/y.py");
	/* code in an environment is not own code by another path either */
	EXPECT_ROLES("python3 %/real/x.py", "/var", "o--", "%/real/x.py",
		     "%/link/env/lib/python3.12/site-packages/torch/nn.py",
		     "%/real/env/lib/python3.12/site-packages/torch/nn.py");
	EXPECT_ROLES("python3 %/loop/x.py", "/var", "-", "%/real/x.py");
}

static void programs_under_other_names(void **state)
{
	(void)state;
	EXPECT_ROLES("%/bin/app 5", "/var", "o", "%/real/build/app-1.2");
	EXPECT_ROLES("app 5", "/var", "o", "%/real/build/app-1.2");
	EXPECT_ROLES("env A=1 app 5", "/var", "o", "%/real/build/app-1.2");
	EXPECT_ROLES("nothing 5", "/var", "-", "%/real/build/app-1.2");
}

/* Returns the list for a script by a link, with a folder of code that it does not name. */
static void only_what_the_command_names_is_kept(void **state)
{
	struct frame_info frames[2] = {{.class = CLASS_PYTHON}, {.class = CLASS_PYTHON}};
	char *words = expand("python3 %/link/x.py"), *expected = expand("%/link//%/real//");
	char *file = expand("%/link/models/gpt.py"), *away = expand("%/away/y.py"), *links;
	struct result r = {.totals.command = words, .frames = frames, .frame_count = 2};

	(void)state;
	frames[0].file = file;
	frames[1].file = away;
	links = path_links_find(&r, NULL);
	assert_string_equal(links, expected);
	free(links);
	r.totals.command = "true";
	assert_null(path_links_find(&r, NULL));
	r.totals.command = NULL;
	assert_null(path_links_find(&r, "::/"));
	free(expected);
	free(words);
	free(file);
	free(away);
}

#define FOLLOW(links, path, expected)                            \
	do {                                                     \
		char *followed = path_links_follow(links, path); \
		const char *wanted = expected;                   \
                                                                 \
		if (wanted)                                      \
			assert_string_equal(followed, wanted);   \
		else                                             \
			assert_null(followed);                   \
		free(followed);                                  \
	} while (0)

/* Lists come from captures, which may be anyone's. */
static void any_list_is_read(void **state)
{
	static const char list[] = "/a///b///a/c///d//";

	(void)state;
	FOLLOW(list, "/a/x", "/b/x");
	FOLLOW(list, "/a", "/b");
	FOLLOW(list, "/a/c/x", "/d/x");
	FOLLOW(list, "/ab", NULL);
	FOLLOW(NULL, "/a", NULL);
	FOLLOW("", "/a", NULL);
	FOLLOW("//", "/a", NULL);
	FOLLOW("////////", "/a", NULL);
	FOLLOW("/a//b//", "/a/x", NULL);
	FOLLOW("/a///b", "/a/x", NULL);
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		char text[64], path[32];
		uint64_t length = prng_below(&p, sizeof(text));

		for (uint64_t i = 0; i < length; i++)
			text[i] = "/ab/"[prng_below(&p, 4)];
		text[length] = '\0';
		snprintf(path, sizeof(path), "/%.*s", (int)prng_below(&p, 20), text);
		free(path_links_follow(text, path));
		(void)path_links_has_program(text, "a", path);
	}
}

/* A capture may hold any number of links, and each of its frames asks for them. */
static void long_lists_are_cut(void **state)
{
	char *list = calloc(1, 2 * PATH_LINKS_BYTES), *at = list, *to;

	(void)state;
	assert_non_null(list);
	for (uint32_t i = 0; i < PATH_LINKS_MAX + 1; i++)
		at += snprintf(at, 64, "/l%u///r%u//", i, i);
	assert_true(at < list + PATH_LINKS_BYTES);
	for (uint32_t i = PATH_LINKS_MAX - 1; i < PATH_LINKS_MAX + 1; i++) {
		char path[32], expected[32];

		snprintf(path, sizeof(path), "/l%u/x.py", i);
		snprintf(expected, sizeof(expected), "/r%u/x.py", i);
		to = path_links_follow(list, path);
		assert_true(i < PATH_LINKS_MAX ? to && strcmp(to, expected) == 0 : !to);
		free(to);
	}
	memset(list, 'a', 2 * PATH_LINKS_BYTES - 1);
	memcpy(list, "/l///r//", 8);
	memcpy(list + PATH_LINKS_BYTES, "///l/m///s//", 12);
	to = path_links_follow(list, "/l/m");
	assert_string_equal(to, "/r/m");
	assert_false(path_links_has_program(list, "m", "/s"));
	free(to);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_and_modules_by_different_ways),
		cmocka_unit_test(links_elsewhere_stay_others),
		cmocka_unit_test(programs_under_other_names),
		cmocka_unit_test(only_what_the_command_names_is_kept),
		cmocka_unit_test(any_list_is_read),
		cmocka_unit_test(long_lists_are_cut),
	};

	return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
