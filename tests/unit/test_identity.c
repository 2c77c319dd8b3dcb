/* SPDX-License-Identifier: MIT */
/* Who we become. Becoming somebody else is tried in a child, and needs root. */
#include <grp.h>
#include <pwd.h>
#include "unit.h"
#include "profiler/run/identity.h"

static void sudo(const char *uid, const char *gid)
{
	if (uid)
		setenv("SUDO_UID", uid, 1);
	else
		unsetenv("SUDO_UID");
	if (gid)
		setenv("SUDO_GID", gid, 1);
	else
		unsetenv("SUDO_GID");
}

static int leave_sudo(void **state)
{
	(void)state;
	sudo(NULL, NULL);
	return 0;
}

static void assert_ourselves(const struct identity *id)
{
	assert_false(id->other);
	assert_int_equal(id->uid, geteuid());
	assert_int_equal(id->gid, getegid());
}

static void without_sudo_the_user_is_ours(void **state)
{
	struct identity id;

	(void)state;
	sudo(NULL, NULL);
	assert_int_equal(identity_find(&id, false), 0);
	assert_ourselves(&id);
	assert_int_equal(identity_find(&id, true), 0);
	assert_ourselves(&id);
	/* settings for root are ignored for others */
	if (geteuid() != 0) {
		sudo("0", "0");
		assert_int_equal(identity_find(&id, false), 0);
		assert_ourselves(&id);
	}
}

static void junk_is_refused(void **state)
{
	static const char *const junk[] = {
		"",
		" ",
		"x",
		"1000x",
		"-1",
		"+1",
		" 1",
		"1 ",
		"0x10",
		"1.0",
		"4294967295",
		"4294967296",
		"99999999999999999999999",
		"1,2",
		"\n",
	};
	struct identity id;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		sudo(junk[i], "1000");
		assert_int_equal(identity_find(&id, false), -EINVAL);
		sudo("1000", junk[i]);
		assert_int_equal(identity_find(&id, false), -EINVAL);
		/* --as-root does not ask */
		assert_int_equal(identity_find(&id, true), 0);
		assert_ourselves(&id);
	}
	sudo("1000", NULL);
	assert_int_equal(identity_find(&id, false), -EINVAL);
}

static void sudo_names_the_user(void **state)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct identity id;
	char number[16];

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	sudo("4294967294", "4294967294");
	assert_int_equal(identity_find(&id, false), 0);
	assert_int_equal(id.uid, 4294967294);
	sudo("4000000001", "4000000002"); /* has no passwd entry */
	assert_int_equal(identity_find(&id, false), 0);
	assert_true(id.other);
	assert_int_equal(id.uid, 4000000001);
	assert_int_equal(id.gid, 4000000002);
	assert_string_equal(id.account.name, "");
	assert_string_equal(id.shown, "user 4000000001");
	assert_false(id.keeps_root);
	assert_int_equal(identity_find(&id, true), 0); /* --as-root */
	assert_ourselves(&id);
	assert_true(id.keeps_root);
	sudo("0", "0"); /* root called sudo */
	assert_int_equal(identity_find(&id, false), 0);
	assert_ourselves(&id);
	if (!nobody)
		return;
	snprintf(number, sizeof(number), "%u", nobody->pw_uid);
	sudo(number, number);
	assert_int_equal(identity_find(&id, false), 0);
	assert_string_equal(id.account.name, "nobody");
	assert_string_equal(id.shown, "nobody");
}

/* Runs in a child. Returns 0 if it became the user entirely, and cannot become root again. */
static int become_and_look(const struct identity *id, const char *home)
{
	gid_t groups[64];
	uid_t r, e, s;
	int n;

	if (identity_become(id) != 0)
		return 1;
	if (getresuid(&r, &e, &s) != 0 || r != id->uid || e != id->uid || s != id->uid)
		return 2;
	if (getresgid(&r, &e, &s) != 0 || r != id->gid || e != id->gid || s != id->gid)
		return 3;
	n = getgroups(64, groups);
	for (int i = 0; i < n; i++)
		if (groups[i] == 0)
			return 4;
	if (setuid(0) == 0 || setgid(0) == 0)
		return 5;
	return strcmp(getenv("HOME"), home) == 0 ? 0 : 6;
}

static int in_child(const struct identity *id, const char *home)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(become_and_look(id, home));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void becoming_the_user_is_for_good(void **state)
{
	struct identity id = {
		.other = true,
		.uid = 4000000001,
		.gid = 4000000002,
		.account.home = "/home/them",
		.root.name = "root",
	};
	const struct passwd *root = getpwuid(0);
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

	(void)state;
	if (geteuid() != 0 || !root) {
		free(home);
		SKIP("needs root");
	}
	snprintf(id.root.home, sizeof(id.root.home), "%s", root->pw_dir);
	setenv("HOME", "/somewhere/else", 1); /* set on purpose: it stays */
	assert_int_equal(in_child(&id, "/somewhere/else"), 0);
	setenv("HOME", root->pw_dir, 1); /* set by sudo */
	assert_int_equal(in_child(&id, "/home/them"), 0);
	id.account.home[0] = '\0'; /* nothing is known of theirs */
	assert_int_equal(in_child(&id, root->pw_dir), 0);
	if (home)
		setenv("HOME", home, 1);
	else
		unsetenv("HOME");
	free(home);
}

static void our_own_identity_needs_no_change(void **state)
{
	struct identity id;
	uid_t before = geteuid();

	(void)state;
	sudo(NULL, NULL);
	assert_int_equal(identity_find(&id, false), 0);
	assert_int_equal(identity_become(&id), 0);
	assert_int_equal(geteuid(), before);
}

/* Who starts a setuid copy would choose SUDO_UID, and --as-root. */
static void a_setuid_profiler_refuses(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		struct identity id;

		if (geteuid() != 0)
			_exit(77);
		sudo("1000", "1000");
		if (setresuid(12345, 0, 0) != 0 || identity_find(&id, false) != -EPERM ||
		    identity_find(&id, true) != -EPERM)
			_exit(1);
		if (setresuid(0, 0, 0) != 0 || setresgid(12345, 0, 0) != 0 ||
		    identity_find(&id, false) != -EPERM)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("needs root");
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, leave_sudo)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_sudo_the_user_is_ours),
		TEST(junk_is_refused),
		TEST(sudo_names_the_user),
		TEST(becoming_the_user_is_for_good),
		TEST(our_own_identity_needs_no_change),
		TEST(a_setuid_profiler_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
