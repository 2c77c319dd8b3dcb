// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/send/http_url.h"

static const char *shown(const char *text)
{
	static char out[HTTP_URL_BYTES];
	struct http_url url;

	assert_null(http_url_parse(&url, text));
	http_url_show(&url, out, sizeof(out));
	return out;
}

static void neither_credentials_nor_queries_are_shown(void **state)
{
	(void)state;
	assert_string_equal(shown("http://host"), "http://host");
	assert_string_equal(shown("HTTPS://host:4318/v1/traces"), "https://host:4318/v1/traces");
	assert_string_equal(shown("http://me:secret@host/a?key=secret#x"), "http://host/a");
	assert_string_equal(shown("http://me:a%40b@host:1?key=secret"), "http://host:1");
	assert_string_equal(shown("http://host?x=/@secret"), "http://host");
	assert_string_equal(shown("http://host:65535/"), "http://host:65535/");
	assert_string_equal(shown("http://[fe80::1%25eth0]:80/"), "http://[fe80::1%25eth0]:80/");
}

static void parts_are_found(void **state)
{
	struct http_url url;

	(void)state;
	assert_null(http_url_parse(&url, "https://u:p@[::1]:4040/push?a=b#f"));
	assert_true(url.is_secure);
	assert_int_equal(url.user_size, 3);
	assert_int_equal(url.host_size, 10);
	assert_memory_equal(url.host, "[::1]:4040", 10);
	assert_int_equal(url.path_size, 5);
	assert_memory_equal(url.path, "/push", 5);
	assert_int_equal(url.query_size, 3);
	assert_memory_equal(url.query, "a=b", 3);
}

static void all_else_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "host",
					    "file:///etc/passwd",
					    "ftp://host/",
					    "http:/host",
					    "http://",
					    "http:///path",
					    "http://u:p@/x",
					    "http://:80/",
					    "http://host:/",
					    "http://host:x",
					    "http://host:123456",
					    "http://host:65536",
					    "http://host:0",
					    "http://[::1",
					    "http://[]",
					    "http://[1.2.3.4]",
					    "http://[::1%]",
					    "http://[::1%25]",
					    "http://[::1%25an-interface-too-long]",
					    "http://[0000:0000:0000:0000:0000:0000:0000:0000:0000]",
					    "http://[::1]x",
					    "http://ho st/",
					    "http://host/a b",
					    "http://host/\n",
					    "http://host\\@other/",
					    "http://h\x01st/",
					    "http://(host)/"};
	struct http_url url;
	char longest[HTTP_URL_BYTES + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(http_url_parse(&url, wrong[i]));
	assert_string_equal(http_url_parse(&url, "http://me:a@b@host"),
			    "its user or password has a character that must be encoded (an @ is "
			    "%40)");
	assert_non_null(http_url_parse(&url, "http://me%00:a@host"));
	assert_non_null(http_url_parse(&url, "http://me:%1f@host"));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "http://", 7);
	longest[HTTP_URL_BYTES] = '\0';
	assert_non_null(http_url_parse(&url, longest));
	longest[HTTP_URL_BYTES - 1] = '\0';
	assert_null(http_url_parse(&url, longest));
}

static void texts_are_decoded(void **state)
{
	char text[] = "a%20b%2Cc%zz%4", nul[] = "%00%41%f";

	(void)state;
	assert_int_equal(http_url_decode(text, strlen(text)), 10);
	assert_memory_equal(text, "a b,c%zz%4", 10);
	assert_int_equal(http_url_decode(nul, strlen(nul)), 4);
	assert_memory_equal(nul, "\0A%f", 4);
}

static void texts_are_encoded(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	http_url_encode(out, "a b{\xff-._~");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "a%20b%7B%FF-._~");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neither_credentials_nor_queries_are_shown),
		cmocka_unit_test(parts_are_found),
		cmocka_unit_test(all_else_is_refused),
		cmocka_unit_test(texts_are_decoded),
		cmocka_unit_test(texts_are_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
