/* SPDX-License-Identifier: MIT */
/* The output file before and after the run. Tests of other users' files need root. */
#include "unit.h"
#include "profiler/output/output_file.h"

static const struct identity ourselves;

struct bench {
	char folder[64];
	char path[96];
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	if (!mkdtemp(b->folder))
		return -1;
	snprintf(b->path, sizeof(b->path), "%s/out", b->folder);
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	unlink(b->path);
	rmdir(b->folder);
	free(b);
	return 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_file(const char *path, const char *expected)
{
	char text[200] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, expected);
}

static int write_output(struct output *o, const char *text)
{
	FILE *stream = output_begin(o);

	assert_non_null(stream);
	fputs(text, stream);
	return output_end(o, stream);
}

static void a_new_file(void **state)
{
	struct bench *b = *state;
	struct output o;

	assert_int_equal(output_open(&o, b->path, &ourselves), 0);
	assert_true(o.created);
	assert_int_equal(write_output(&o, "a 1\n"), 0);
	assert_file(b->path, "a 1\n");
}

static void an_old_file_stays_until_it_is_replaced(void **state)
{
	struct bench *b = *state;
	struct output o;

	write_file(b->path, "a long old text\n");
	assert_int_equal(output_open(&o, b->path, &ourselves), 0);
	assert_file(b->path, "a long old text\n");
	assert_int_equal(write_output(&o, "new\n"), 0);
	assert_file(b->path, "new\n");
}

static void cancelling_leaves_no_trace(void **state)
{
	struct bench *b = *state;
	struct output o;

	assert_int_equal(output_open(&o, b->path, &ourselves), 0);
	assert_int_equal(access(b->path, F_OK), 0);
	output_cancel(&o);
	assert_int_equal(access(b->path, F_OK), -1);
	output_cancel(&o); /* again is harmless */

	write_file(b->path, "old\n");
	assert_int_equal(output_open(&o, b->path, &ourselves), 0);
	output_cancel(&o);
	assert_file(b->path, "old\n");
}

static void what_cannot_be_written_shows_at_once(void **state)
{
	struct bench *b = *state;
	struct output o;
	char path[128];

	assert_int_equal(output_open(&o, b->folder, &ourselves), -EISDIR);
	assert_true(o.fd < 0);
	snprintf(path, sizeof(path), "%s/no/such", b->folder);
	assert_int_equal(output_open(&o, path, &ourselves), -ENOENT);
	assert_int_equal(output_open(&o, "", &ourselves), -ENOENT);
	assert_int_equal(access(b->folder, F_OK), 0);
}

static void a_full_disk_is_an_error(void **state)
{
	struct output o;
	FILE *stream;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		SKIP("no /dev/full here");
	assert_int_equal(output_open(&o, "/dev/full", &ourselves), 0);
	assert_int_equal(write_output(&o, "x"), -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);

	/* found while writing, not at the end */
	assert_int_equal(output_open(&o, "/dev/full", &ourselves), 0);
	stream = output_begin(&o);
	for (int i = 0; i < 10000; i++)
		fputs("more than the stream holds\n", stream);
	assert_true(output_end(&o, stream) < 0);
}

static void a_dash_is_stdout(void **state)
{
	struct output o;
	struct stat ours, theirs;

	(void)state;
	assert_int_equal(output_open(&o, "-", &ourselves), 0);
	assert_true(o.fd > 2);
	assert_int_equal(fstat(o.fd, &theirs), 0);
	assert_int_equal(fstat(STDOUT_FILENO, &ours), 0);
	assert_int_equal(theirs.st_ino, ours.st_ino);
	output_cancel(&o);
	assert_int_equal(fstat(STDOUT_FILENO, &ours), 0);
}

static void a_device_is_not_removed(void **state)
{
	struct output o;

	(void)state;
	assert_int_equal(output_open(&o, "/dev/null", &ourselves), 0);
	assert_false(o.created);
	output_cancel(&o);
	assert_int_equal(access("/dev/null", F_OK), 0);
}

/* Under sudo the file is the user's, also in a folder where only root may write. */
static void the_file_belongs_to_the_user(void **state)
{
	struct bench *b = *state;
	struct identity user = {.other = true, .uid = 12345, .gid = 23456};
	struct output o;
	struct stat st;

	if (geteuid() != 0)
		SKIP("needs root");
	for (int round = 0; round < 2; round++) {
		if (round == 1)
			assert_int_equal(chown(b->folder, user.uid, user.gid), 0);
		assert_int_equal(output_open(&o, b->path, &user), 0);
		assert_int_equal(write_output(&o, "x\n"), 0);
		assert_int_equal(stat(b->path, &st), 0);
		assert_int_equal(st.st_uid, user.uid);
		assert_int_equal(st.st_gid, user.gid);
		unlink(b->path);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file),
		TEST(an_old_file_stays_until_it_is_replaced),
		TEST(cancelling_leaves_no_trace),
		TEST(what_cannot_be_written_shows_at_once),
		TEST(a_full_disk_is_an_error),
		TEST(a_dash_is_stdout),
		TEST(a_device_is_not_removed),
		TEST(the_file_belongs_to_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
