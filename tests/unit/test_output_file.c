/* SPDX-License-Identifier: MIT */
/* The output file before and after the run. Other users' files and mounts need root. */
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include "unit.h"
#include "profiler/formats/output_file.h"

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

/* Removes everything in the folder; returns the number of entries. */
static int empty_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (unlinkat(dirfd(folder), entry->d_name, 0) != 0) {
			char below[512];

			snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
			empty_folder(below);
			rmdir(below);
		}
	}
	if (folder)
		closedir(folder);
	return count;
}

static int end(void **state)
{
	struct bench *b = *state;

	empty_folder(b->folder);
	rmdir(b->folder);
	free(b);
	return 0;
}

static int count_files(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
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
	return output_end(o, stream, 0);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void a_new_file_appears_when_it_is_complete(void **state)
{
	struct bench *b = *state;
	mode_t mask = umask(026);
	struct output o;
	struct stat st;
	FILE *stream;

	assert_int_equal(output_open(&o, b->path), 0);
	assert_false(o.is_stdout);
	assert_int_equal(access(b->path, F_OK), -1);
	stream = output_begin(&o);
	assert_non_null(stream);
	fputs("a 1\n", stream);
	fflush(stream);
	assert_int_equal(access(b->path, F_OK), -1);
	assert_int_equal(output_end(&o, stream, 0), 0);
	umask(mask);
	assert_file(b->path, "a 1\n");
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(count_files(b->folder), 1);
}

static void an_old_file_is_replaced_when_the_new_one_is_whole(void **state)
{
	struct bench *b = *state;
	struct output o;
	struct stat st;
	FILE *stream;
	ino_t old;

	write_file(b->path, "a long old text\n");
	assert_int_equal(chmod(b->path, 0604), 0);
	old = inode_of(b->path);
	assert_int_equal(output_open(&o, b->path), 0);
	stream = output_begin(&o);
	assert_non_null(stream);
	fputs("new\n", stream);
	fflush(stream);
	assert_file(b->path, "a long old text\n");
	assert_int_equal(output_end(&o, stream, 0), 0);
	assert_file(b->path, "new\n");
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	assert_true(st.st_ino != old);
	assert_int_equal(count_files(b->folder), 1);
}

/* Killed at any moment before the end: the old file is complete, and nothing else is left. */
static void a_profiler_that_is_killed_leaves_the_old_file(void **state)
{
	struct bench *b = *state;

	write_file(b->path, "old\n");
	for (int step = 0; step < 3; step++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct output o;
			FILE *stream;

			if (output_open(&o, b->path) != 0)
				_exit(1);
			if (step > 0) {
				stream = output_begin(&o);
				fputs("half", stream);
				if (step > 1)
					fflush(stream);
			}
			kill(getpid(), SIGKILL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_file(b->path, "old\n");
		assert_int_equal(count_files(b->folder), 1);
	}
}

/* Another run with this output was quicker. The later run's output stays. */
static void a_file_that_came_meanwhile_is_replaced(void **state)
{
	struct bench *b = *state;
	struct output first, second;

	assert_int_equal(output_open(&first, b->path), 0);
	assert_int_equal(output_open(&second, b->path), 0);
	assert_int_equal(write_output(&first, "first\n"), 0);
	assert_file(b->path, "first\n");
	assert_int_equal(write_output(&second, "second\n"), 0);
	assert_file(b->path, "second\n");
	assert_int_equal(count_files(b->folder), 1);
}

static void cancelling_leaves_no_trace(void **state)
{
	struct bench *b = *state;
	struct output o;

	assert_int_equal(output_open(&o, b->path), 0);
	output_cancel(&o);
	assert_int_equal(count_files(b->folder), 0);
	output_cancel(&o); /* again is harmless */

	write_file(b->path, "old\n");
	assert_int_equal(output_open(&o, b->path), 0);
	output_cancel(&o);
	assert_file(b->path, "old\n");
	assert_int_equal(count_files(b->folder), 1);
}

static void links_are_followed_and_stay(void **state)
{
	struct bench *b = *state;
	char other[128], real[160], link_path[160];
	struct output o;
	struct stat st;

	snprintf(other, sizeof(other), "%s/other", b->folder);
	snprintf(real, sizeof(real), "%s/real", other);
	snprintf(link_path, sizeof(link_path), "%s/middle", b->folder);
	assert_int_equal(mkdir(other, 0755), 0);
	assert_int_equal(symlink("middle", b->path), 0);
	assert_int_equal(symlink("other/real", link_path), 0);
	for (int round = 0; round < 2; round++) { /* first to where nothing is yet */
		assert_int_equal(output_open(&o, b->path), 0);
		assert_int_equal(count_files(other), round);
		assert_int_equal(write_output(&o, round ? "2\n" : "1\n"), 0);
		assert_file(real, round ? "2\n" : "1\n");
		assert_int_equal(count_files(other), 1);
		assert_int_equal(lstat(b->path, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
	}
	/* absolute, and to nowhere */
	unlink(b->path);
	assert_int_equal(symlink("/no/such/folder/file", b->path), 0);
	assert_int_equal(output_open(&o, b->path), -ENOENT);
	unlink(b->path);
	unlink(real);
	assert_int_equal(symlink(real, b->path), 0);
	assert_int_equal(output_open(&o, b->path), 0);
	assert_int_equal(write_output(&o, "3\n"), 0);
	assert_file(real, "3\n");
	/* a circle of links */
	unlink(b->path);
	assert_int_equal(symlink("out", b->path), 0);
	assert_int_equal(output_open(&o, b->path), -ELOOP);
	/* a path through a linked folder */
	unlink(b->path);
	assert_int_equal(symlink("other", b->path), 0);
	snprintf(link_path, sizeof(link_path), "%s/real", b->path);
	assert_int_equal(output_open(&o, link_path), 0);
	assert_int_equal(write_output(&o, "4\n"), 0);
	assert_file(real, "4\n");
}

static void unwritable_outputs_fail_at_once(void **state)
{
	struct bench *b = *state;
	struct output o;
	char path[512];

	assert_int_equal(output_open(&o, b->folder), -EISDIR);
	assert_true(o.fd < 0 && o.folder < 0);
	snprintf(path, sizeof(path), "%s/no/such", b->folder);
	assert_int_equal(output_open(&o, path), -ENOENT);
	assert_int_equal(output_open(&o, ""), -ENOENT);
	snprintf(path, sizeof(path), "%s/new/", b->folder);
	assert_int_equal(output_open(&o, path), -EISDIR);
	snprintf(path, sizeof(path), "%s/%0300d", b->folder, 1);
	assert_int_equal(output_open(&o, path), -ENAMETOOLONG);
	write_file(b->path, "");
	snprintf(path, sizeof(path), "%s/below", b->path);
	assert_int_equal(output_open(&o, path), -ENOTDIR);
	assert_int_equal(count_files(b->folder), 1);
}

/* Runs in namespaces of the child: a disk that is too small, until another process frees room. */
static int make_room(const char *folder, bool replaces)
{
	char path[96], other[96], big[10000];
	struct output o;
	FILE *stream;
	int fd;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", folder, "tmpfs", 0, "size=16k") != 0)
		return -1;
	memset(big, 'x', sizeof(big));
	snprintf(path, sizeof(path), "%s/out", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	write_file(path, "old");
	if (!replaces && mount(path, path, "none", MS_BIND, NULL) != 0)
		return -1;
	fd = open(other, O_WRONLY | O_CREAT, 0600);
	if (write(fd, big, 8192) != 8192 || output_open(&o, path) != 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		stream = output_begin(&o);
		if (!stream)
			return 2;
		fwrite(big, 1, sizeof(big), stream);
		if (output_end(&o, stream, 0) != -ENOSPC)
			return 3;
	}
	if (ftruncate(fd, 0) != 0)
		return 4;
	stream = output_begin(&o);
	if (!stream || fwrite(big, 1, sizeof(big), stream) != sizeof(big) ||
	    output_end(&o, stream, 0) != 0 || o.fd >= 0 || o.folder >= 0)
		return 5;
	fd = open(path, O_RDONLY);
	return read(fd, big, sizeof(big)) == sizeof(big) && big[0] == 'x' &&
			       big[sizeof(big) - 1] == 'x' && read(fd, big, 1) == 0
		       ? 0
		       : 6;
}

static void what_found_no_room_is_written_again(void **state)
{
	struct bench *b = *state;

	for (int replaces = 0; replaces < 2; replaces++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(make_room(b->folder, replaces) & 0xff);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 255)
			SKIP("mounting a small file system is not permitted here");
		assert_int_equal(status, 0);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct output o;
	FILE *stream;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		SKIP("no /dev/full here");
	assert_int_equal(output_open(&o, "/dev/full"), 0);
	assert_int_equal(write_output(&o, "x"), -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);

	/* found while writing, not at the end: the reason is not forgotten */
	assert_int_equal(output_open(&o, "/dev/full"), 0);
	stream = output_begin(&o);
	for (int i = 0; i < 10000; i++)
		fputs("more than the stream holds\n", stream);
	assert_int_equal(output_end(&o, stream, 0), -ENOSPC);
}

/* The old file stays when the new one does not fit. */
static void a_failed_write_leaves_the_old_file(void **state)
{
	struct bench *b = *state;
	pid_t child;
	int status;

	write_file(b->path, "old\n");
	child = fork();
	if (child == 0) {
		const struct rlimit small = {65536, 65536};
		struct output o;
		FILE *stream;
		int err;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &small);
		if (output_open(&o, b->path) != 0)
			_exit(1);
		stream = output_begin(&o);
		for (int i = 0; i < 100000; i++)
			fputs("more than is allowed\n", stream);
		err = output_end(&o, stream, 0);
		_exit(err == -EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_file(b->path, "old\n");
	assert_int_equal(count_files(b->folder), 1);
}

/* Redirects stdout to `fd`, until end_stdout(). */
static int saved_stdout;

static void begin_stdout(int fd)
{
	fflush(stdout);
	saved_stdout = dup(STDOUT_FILENO);
	assert_true(saved_stdout >= 0);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
}

static void end_stdout(void)
{
	assert_true(dup2(saved_stdout, STDOUT_FILENO) >= 0);
	close(saved_stdout);
}

static void every_path_to_stdout_is_stdout(void **state)
{
	struct bench *b = *state;
	const char *const paths[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", b->path};
	int file = open(b->path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	bool is_stdout[5];
	int results[5];

	assert_true(file >= 0);
	begin_stdout(file);
	for (int i = 0; i < 5; i++) {
		struct output o;

		results[i] = output_open(&o, paths[i]);
		is_stdout[i] = o.is_stdout;
		if (results[i] == 0)
			results[i] = write_output(&o, "line\n");
	}
	end_stdout();
	close(file);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(results[i], 0);
		assert_true(is_stdout[i]);
	}
	/* nothing was replaced or truncated: it is the shell's file */
	assert_file(b->path, "line\nline\nline\nline\nline\n");
	assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD), 0);
}

static void a_stdout_that_cannot_be_written_is_an_error(void **state)
{
	static const char *const how[] = {"/dev/null", "/"};
	static const int flags[] = {O_RDONLY, O_PATH};
	int results[2];
	struct output o;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd = open(how[i], flags[i]);

		begin_stdout(fd);
		results[i] = output_open(&o, "-");
		end_stdout();
		close(fd);
	}
	assert_int_equal(results[0], -EBADF);
	assert_int_equal(results[1], -EBADF);
}

/* /dev/null may be stdout, too: all output is discarded without conflict. */
static void dev_null_is_no_stdout(void **state)
{
	int fd = open("/dev/null", O_WRONLY);
	struct output o;
	bool is_stdout;
	int err;

	(void)state;
	begin_stdout(fd);
	err = output_open(&o, "/dev/null");
	is_stdout = o.is_stdout;
	end_stdout();
	close(fd);
	assert_int_equal(err, 0);
	assert_false(is_stdout);
	output_cancel(&o);
	assert_int_equal(access("/dev/null", F_OK), 0);
}

static void a_lost_reader_is_distinguished(void **state)
{
	struct output o;
	int ends[2], err;
	FILE *stream;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (int lines = 1; lines < 100000; lines *= 99) {
		assert_int_equal(pipe(ends), 0);
		begin_stdout(ends[1]);
		err = output_open(&o, "-");
		end_stdout();
		assert_int_equal(err, 0);
		close(ends[1]);
		close(ends[0]);
		stream = output_begin(&o);
		for (int i = 0; i < lines; i++)
			fputs("a;b;c 1\n", stream);
		assert_int_equal(output_end(&o, stream, 0), -EPIPE);
	}
	signal(SIGPIPE, SIG_DFL);
}

static void a_fifo_is_written_to_directly(void **state)
{
	struct bench *b = *state;
	struct output o;
	char text[16] = "";
	struct stat st;
	int reader;

	assert_int_equal(mkfifo(b->path, 0600), 0);
	reader = open(b->path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(output_open(&o, b->path), 0);
	assert_int_equal(write_output(&o, "x 1\n"), 0);
	assert_int_equal(read(reader, text, sizeof(text) - 1), 4);
	assert_string_equal(text, "x 1\n");
	close(reader);
	assert_int_equal(lstat(b->path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

/* ---- in a child, as another user or with other mounts: 0 if all went well ---- */

static int in_child(const struct bench *b, int (*act)(const struct bench *))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(act(b));
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int write_to(const char *path, const char *text)
{
	struct output o;
	FILE *stream;
	int err = output_open(&o, path);

	if (err)
		return -err;
	stream = output_begin(&o);
	if (!stream)
		return errno;
	fputs(text, stream);
	return -output_end(&o, stream, 0);
}

#define USER 12345

static int write_as_user(const struct bench *b)
{
	if (setresgid(USER, USER, USER) != 0 || setresuid(USER, USER, USER) != 0)
		return 100;
	return write_to(b->path, "theirs\n");
}

static void a_folder_that_is_closed_has_its_file_written_in_place(void **state)
{
	struct bench *b = *state;
	ino_t inode;

	if (geteuid() != 0)
		SKIP("needs root");
	write_file(b->path, "a long old text\n");
	inode = inode_of(b->path);
	assert_int_equal(chmod(b->folder, 0755), 0);
	assert_int_equal(in_child(b, write_as_user), EACCES);
	assert_file(b->path, "a long old text\n");
	assert_int_equal(chown(b->path, USER, USER), 0);
	assert_int_equal(in_child(b, write_as_user), 0);
	assert_file(b->path, "theirs\n");
	assert_int_equal(inode_of(b->path), inode);
	unlink(b->path);
	assert_int_equal(in_child(b, write_as_user), EACCES); /* nothing to write in place */
	assert_int_equal(count_files(b->folder), 0);
}

static void another_users_file_is_left_alone(void **state)
{
	struct bench *b = *state;
	struct stat st;
	ino_t inode;

	if (geteuid() != 0)
		SKIP("needs root");
	/* the folder is the user's, the file root's, and open to all */
	write_file(b->path, "old\n");
	inode = inode_of(b->path);
	assert_int_equal(chmod(b->path, 0666), 0);
	assert_int_equal(chown(b->folder, USER, USER), 0);
	assert_int_equal(in_child(b, write_as_user), 0);
	assert_file(b->path, "theirs\n");
	assert_int_equal(inode_of(b->path), inode);
	/* root may replace it, and keeps the owner */
	assert_int_equal(chown(b->path, USER, USER + 1), 0);
	assert_int_equal(write_to(b->path, "roots\n"), 0);
	assert_file(b->path, "roots\n");
	assert_int_equal(stat(b->path, &st), 0);
	assert_true(st.st_ino != inode);
	assert_int_equal(st.st_uid, USER);
	assert_int_equal(st.st_gid, USER + 1);
	assert_int_equal(st.st_mode & 07777, 0666);
}

static int own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0
		       ? 0
		       : 101;
}

static int write_mounted(const struct bench *b)
{
	char other[128];

	snprintf(other, sizeof(other), "%s/other", b->folder);
	if (own_mounts() != 0 || mount(other, b->path, "none", MS_BIND, "") != 0)
		return 101;
	return write_to(b->path, "new\n");
}

static void a_file_mounted_by_itself_is_written_in_place(void **state)
{
	struct bench *b = *state;
	char other[128];
	int result;

	snprintf(other, sizeof(other), "%s/other", b->folder);
	write_file(other, "a long old text\n");
	write_file(b->path, "below the mount\n");
	result = geteuid() == 0 ? in_child(b, write_mounted) : 101;
	if (result == 101)
		SKIP("needs root, and mount namespaces");
	assert_int_equal(result, 0);
	assert_file(other, "new\n");
	assert_file(b->path, "below the mount\n");
	assert_int_equal(count_files(b->folder), 2);
}

/* Writes without /proc. Then the file has a name while it is written, because it cannot get one
 * later. */
static int write_without_proc(const struct bench *b)
{
	char folder[64];
	struct output o;
	FILE *stream;

	if (own_mounts() != 0 || mount("none", "/proc", "tmpfs", 0, "") != 0)
		return 101;
	if (output_open(&o, b->path) != 0)
		return 1;
	snprintf(folder, sizeof(folder), "%s", b->folder);
	if (count_files(folder) != 1) /* no output yet: the run may be killed */
		return 2;
	stream = output_begin(&o);
	if (!stream)
		return 3;
	fputs("new\n", stream);
	fflush(stream);
	if (output_end(&o, stream, 0) != 0)
		return 4;
	return count_files(folder) == 1 ? 0 : 5;
}

static void a_file_system_without_unnamed_files(void **state)
{
	struct bench *b = *state;
	struct stat st;
	int result;

	write_file(b->path, "old\n");
	assert_int_equal(chmod(b->path, 0604), 0);
	result = geteuid() == 0 ? in_child(b, write_without_proc) : 101;
	if (result == 101)
		SKIP("needs root, and mount namespaces");
	assert_int_equal(result, 0);
	assert_file(b->path, "new\n");
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_appears_when_it_is_complete),
		TEST(an_old_file_is_replaced_when_the_new_one_is_whole),
		TEST(a_profiler_that_is_killed_leaves_the_old_file),
		TEST(a_file_that_came_meanwhile_is_replaced),
		TEST(cancelling_leaves_no_trace),
		TEST(links_are_followed_and_stay),
		TEST(unwritable_outputs_fail_at_once),
		TEST(a_full_disk_is_an_error),
		TEST(what_found_no_room_is_written_again),
		TEST(a_failed_write_leaves_the_old_file),
		TEST(every_path_to_stdout_is_stdout),
		TEST(a_stdout_that_cannot_be_written_is_an_error),
		TEST(dev_null_is_no_stdout),
		TEST(a_lost_reader_is_distinguished),
		TEST(a_fifo_is_written_to_directly),
		TEST(a_folder_that_is_closed_has_its_file_written_in_place),
		TEST(another_users_file_is_left_alone),
		TEST(a_file_mounted_by_itself_is_written_in_place),
		TEST(a_file_system_without_unnamed_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
