/* SPDX-License-Identifier: MIT */
/* Obstacles that other users put in the path of an output file. Most tests need root. */
#include "symbolize/util/guarded_path.h"

#include "unit.h"
#include "own_folder.h"

#define OTHER 4247 /* made the files */
#define WE 4248    /* open them, where it is not root */

static int open_it(const char *path, uid_t uid, int flags)
{
	int fd;

	if (uid && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
		return -1;
	fd = guarded_open(path, flags, 0600);
	return fd < 0 ? -fd : 0;
}

/* Opens FOLDER/name in a child, as this user. Returns 0, or the errno. */
static int opened_as(uid_t uid, const char *name, int flags)
{
	char path[512];
	pid_t child;
	int status;

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : folder,
		 name[0] == '/' ? "" : "/", name);
	child = fork();
	if (child == 0)
		_exit(open_it(path, uid, flags));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int try_as(uid_t uid, const char *name)
{
	return opened_as(uid, name, O_WRONLY | O_CREAT | O_NONBLOCK);
}

static bool is_root(void)
{
	shell("rm -rf ./*; chmod 755 .");
	return geteuid() == 0;
}

static void names_of_others_in_shared_folders_are_refused(void **state)
{
	/* what no setting of the kernel covers, too: a folder that is theirs, or of a group alone
	 */
	static const char *const folders[] = {"-m 1777",         "-m 1777 -o 4247",
					      "-m 1777 -o 4248", "-m 1775 -g 4247",
					      "-m 1773 -o 4247", "-m 1733"};

	(void)state;
	if (!is_root())
		skip();
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		shell("rm -rf s; mkdir s; : >s/file; : >s/open; chmod 666 s/open; mkfifo -m 666 "
		      "s/fifo;"
		      "ln -s away s/dangling; ln -s file s/link; chown -h 4247:4247 s/*; : >mine;"
		      "chown 4248 mine; ln -s ../mine s/across; chown -h 4247 s/across;"
		      "install -d %s s",
		      folders[i]);
		for (uid_t uid = 0; uid <= WE; uid += WE) {
			static const char *const names[] = {"s/file",     "s/open",     "s/fifo",
							    "s/dangling", "s/link",     "s/across",
							    "s/./fifo",   "s/../s/fifo"};

			for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
				assert_int_equal(try_as(uid, names[j]), GUARDED_OTHERS);
		}
		shell("test ! -e s/away");
	}
}

static void own_names_are_used(void **state)
{
	(void)state;
	if (!is_root())
		skip();
	shell("mkdir -m 1777 s; : >s/file; mkfifo s/fifo; ln -s file s/link; ln -s fifo s/pipe;"
	      "ln -s new s/dangling; mkdir s/below; : >s/below/file; ln -s .. s/below/up;"
	      "chown -hR 4248 s/*");
	for (uid_t uid = 0; uid <= WE; uid += WE) {
		/* root's are no other's, whoever opens them */
		if (uid == 0)
			shell("chown -hR 0 s/*");
		else
			shell("chown -hR 4248 s/*");
		assert_int_equal(try_as(uid, "s/file"), 0);
		assert_int_equal(try_as(uid, "s/link"), 0);
		assert_int_equal(try_as(uid, "s/below/up/file"), 0);
		assert_int_equal(opened_as(uid, "s/fifo", O_RDWR), 0);
		assert_int_equal(opened_as(uid, "s/pipe", O_RDWR), 0);
		assert_int_equal(opened_as(uid, "s/file", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
		assert_int_equal(opened_as(uid, "s/absent", O_WRONLY), ENOENT);
		assert_int_equal(opened_as(uid, "s/link", O_WRONLY | O_NOFOLLOW), ELOOP);
		assert_int_equal(try_as(uid, "s/dangling"), 0);
		assert_int_equal(try_as(uid, "s/fresh"), 0);
		shell("rm s/new s/fresh");
	}
	shell("rm -f s/file; : >s/file; chmod 666 s/file"); /* root's, for a user */
	assert_int_equal(try_as(WE, "s/file"), 0);
}

static void second_names_are_refused(void **state)
{
	(void)state;
	if (!is_root())
		skip();
	shell("mkdir -m 1777 s; echo precious >mine; ln mine s/file; mkfifo fifo; ln fifo s/fifo;"
	      "mkdir plain; ln mine plain/file");
	assert_int_equal(opened_as(0, "s/file", O_WRONLY | O_CREAT | O_TRUNC), GUARDED_LINKED);
	assert_int_equal(opened_as(0, "s/fifo", O_RDWR), GUARDED_LINKED);
	shell("grep -q precious mine");
	assert_int_equal(opened_as(0, "plain/file", O_WRONLY | O_CREAT | O_TRUNC), 0);
	shell("test ! -s mine; echo precious >mine; mkdir home; ln mine home/file; : >home/own;"
	      "ln home/own home/twice; chown 4247 home home/own");
	assert_int_equal(opened_as(0, "home/file", O_WRONLY | O_CREAT | O_TRUNC), GUARDED_LINKED);
	shell("grep -q precious mine");
	assert_int_equal(opened_as(0, "home/twice", O_WRONLY | O_CREAT | O_TRUNC), 0);
}

static void links_of_others_lead_to_nothing_of_ours(void **state)
{
	(void)state;
	if (!is_root())
		skip();
	shell("mkdir home root; chmod 755 root; : >root/file; : >home/file; ln -s file home/own;"
	      "ln -s new home/dangling; ln -s ../root/file home/out; ln -s ../root/new home/made;"
	      "ln -s ../root home/way; chown -hR 4247 home; mkdir third; : >third/file;"
	      "chown -R 4249 third; ln -s ../third/file home/third; chown -h 4247 home/third");
	assert_int_equal(try_as(0, "home/file"), 0);
	assert_int_equal(try_as(0, "home/own"), 0);
	assert_int_equal(try_as(0, "home/dangling"), 0);
	assert_int_equal(try_as(0, "home/out"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/made"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/way/file"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/way/new"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/third"), GUARDED_OTHERS);
	shell("test ! -e root/new");
	shell("chown -R 4248 root"); /* another user of theirs */
	assert_int_equal(try_as(WE, "home/out"), GUARDED_OTHERS);
	assert_int_equal(try_as(WE, "home/way/new"), GUARDED_OTHERS);
	/* links that root made are the machine's */
	shell("chown -h 0 home/out home/way");
	assert_int_equal(try_as(WE, "home/out"), 0);
	assert_int_equal(try_as(WE, "home/way/new"), 0);
}

/* Nor to what a process has open; nobody is a user like others, where there is one. */
static void links_of_others_lead_to_no_descriptor(void **state)
{
	(void)state;
	if (!is_root())
		skip();
	shell("mkdir home; : >roots; ln -s /proc/1/fd/0 home/fd; ln -s /proc/1/root/etc/passwd "
	      "home/root;"
	      "ln -s ../roots home/nobodys; chown -hR 4247 home; chown -h 65534 home/nobodys");
	assert_int_equal(try_as(0, "home/fd"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/root"), GUARDED_OTHERS);
	assert_int_equal(try_as(0, "home/nobodys"),
			 guarded_is_unmapped(65534) ? 0 : GUARDED_OTHERS);
	assert_false(guarded_is_unmapped(OTHER));
}

static void descriptors_are_followed(void **state)
{
	char name[64];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const forms[] = {"/dev/fd/%d", "/proc/self/fd/%d",
						    "/proc/thread-self/fd/%d"};
		struct guarded_path g;
		int fd;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), forms[i], ends[1]);
#pragma GCC diagnostic pop
		assert_int_equal(guarded_find(&g, name, 0), 0);
		assert_true(g.is_handed && S_ISFIFO(g.st.st_mode));
		fd = guarded_open_found(&g, O_WRONLY);
		assert_true(fd >= 0);
		close(fd);
		guarded_release(&g);
	}
	assert_int_equal(try_as(0, "/dev/null"), 0);
	close(ends[0]);
	close(ends[1]);
}

static void paths_are_the_kernels(void **state)
{
	char cwd[512], name[NAME_MAX + 8], longest[2 * PATH_MAX];

	(void)state;
	shell("rm -rf ./*; mkdir -p a/b; : >a/file; ln -s loop loop; ln -s a/ to_a; ln -s / top;"
	      "ln -s a/file/ to_file; ln -s . dot");
	assert_int_equal(try_as(0, "a/b/../file"), 0);
	assert_int_equal(try_as(0, "a//.//file"), 0);
	assert_int_equal(try_as(0, "to_a/file"), 0);
	assert_int_equal(try_as(0, "dot/dot/a/file"), 0);
	assert_int_equal(try_as(0, "a/file/"), ENOTDIR);
	assert_int_equal(try_as(0, "to_file"), ENOTDIR);
	assert_int_equal(try_as(0, "a/file/x"), ENOTDIR);
	assert_int_equal(try_as(0, "no/file"), ENOENT);
	assert_int_equal(try_as(0, "a/new/"), EISDIR);
	assert_int_equal(try_as(0, "a"), EISDIR);
	assert_int_equal(try_as(0, "a/."), EISDIR);
	assert_int_equal(try_as(0, "a/.."), EISDIR);
	assert_int_equal(try_as(0, "top"), EISDIR);
	assert_int_equal(try_as(0, "/"), EISDIR);
	assert_int_equal(try_as(0, "loop"), ELOOP);
	memset(name, 'n', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(try_as(0, name), ENAMETOOLONG);
	memset(longest, '/', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(-guarded_open(longest, O_WRONLY, 0), ENAMETOOLONG);
	assert_int_equal(-guarded_open("", O_WRONLY, 0), ENOENT);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(folder), 0);
	assert_true(guarded_open("a/file", O_WRONLY, 0) >= 0);
	assert_int_equal(chdir(cwd), 0);
}

static void what_has_changed_meanwhile_is_not_opened(void **state)
{
	struct guarded_path g;
	char path[256];

	(void)state;
	shell("rm -rf ./*; echo old >file; echo other >other");
	snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(guarded_find(&g, path, 0), 0);
	shell("mv other file");
	assert_int_equal(guarded_open_found(&g, O_WRONLY), -ESTALE);
	shell("rm file; ln -s /dev/null file");
	assert_int_equal(guarded_open_found(&g, O_WRONLY), -ELOOP);
	guarded_release(&g);
	/* the folder is the one that was looked at */
	shell("mkdir a; echo first >a/file");
	snprintf(path, sizeof(path), "%s/a/file", folder);
	assert_int_equal(guarded_find(&g, path, 0), 0);
	shell("mv a b; mkdir a; echo second >a/file");
	assert_true(guarded_open_found(&g, O_WRONLY) >= 0);
	guarded_release(&g);
}

static void errors_are_explained(void **state)
{
	(void)state;
	assert_non_null(strstr(guarded_error(GUARDED_OTHERS), "another user"));
	assert_non_null(strstr(guarded_error(GUARDED_LINKED), "hard link"));
	assert_string_equal(guarded_error(ENOENT), strerror(ENOENT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_others_in_shared_folders_are_refused),
		cmocka_unit_test(own_names_are_used),
		cmocka_unit_test(second_names_are_refused),
		cmocka_unit_test(links_of_others_lead_to_nothing_of_ours),
		cmocka_unit_test(links_of_others_lead_to_no_descriptor),
		cmocka_unit_test(descriptors_are_followed),
		cmocka_unit_test(paths_are_the_kernels),
		cmocka_unit_test(what_has_changed_meanwhile_is_not_opened),
		cmocka_unit_test(errors_are_explained),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
