/* SPDX-License-Identifier: MIT */
/* Parts of a server's address and answers that may be shown. */
#include "unit.h"
#include "profiler/send/http_shown.h"

static struct http_shown shown_of(const char *url, const char *headers)
{
	struct http_shown shown = {.has_secrets = false};
	char why[HTTP_WHY_BYTES] = "";

	if (!http_shown_read(&shown, url, headers, why))
		fail_msg("%s", why);
	return shown;
}

static void credentials_are_left_out(void **state)
{
	struct http_shown shown = shown_of("https://me:hunter22@host:1/path?key=hunter22", NULL);

	(void)state;
	assert_string_equal(shown.server, "https://host:1/path");
	assert_true(http_shown_is_secret(&shown, "anything: how it spells them is not known"));
	http_shown_release(&shown);
}

static void words_of_fields_are_secret(void **state)
{
	struct http_shown shown =
		shown_of("http://host/", "Authorization=Bearer%20hunter22,X-Scope=abc");

	(void)state;
	assert_true(http_shown_is_secret(&shown, "no user hunter22, it says"));
	assert_true(http_shown_is_secret(&shown, "Bearer?"));
	assert_false(http_shown_is_secret(&shown, "no such user"));
	assert_false(http_shown_is_secret(&shown, "abc")); /* too short for a credential */
	http_shown_release(&shown);
}

static void proxies_have_secrets(void **state)
{
	struct http_shown shown;

	(void)state;
	setenv("all_proxy", "http://me:hunter22@host", 1);
	shown = shown_of("http://host/", NULL);
	unsetenv("all_proxy");
	assert_true(http_shown_is_secret(&shown, "x"));
	http_shown_release(&shown);
}

static void what_is_wrong_is_said(void **state)
{
	struct http_shown shown = {.has_secrets = false};
	char why[HTTP_WHY_BYTES];

	(void)state;
	assert_false(http_shown_read(&shown, "file:///x", NULL, why));
	assert_string_equal(why, "the URL: it must begin with http:// or https://");
	assert_false(http_shown_read(&shown, "http://host", "nothing", why));
	assert_string_equal(why, "the headers: a field has no '='");
	http_shown_release(&shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credentials_are_left_out),
		cmocka_unit_test(words_of_fields_are_secret),
		cmocka_unit_test(proxies_have_secrets),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	for (const char *const *name =
		     (const char *const[]){"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
					   "ALL_PROXY", NULL};
	     *name; name++)
		unsetenv(*name);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
