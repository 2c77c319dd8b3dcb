/* SPDX-License-Identifier: MIT */
/* Untrusted texts in Markdown show as they are, and begin no markup, whatever their bytes. */
#include "unit.h"
#include "profiler/formats/markdown_text.h"
#include "symbolize/util/text.h"

static char *write_text(const char *text, unsigned int columns)
{
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(out);
	markdown_text(out, text, columns);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(got), size);
	return got;
}

static void expect(const char *text, unsigned int columns, const char *want)
{
	char *got = write_text(text, columns);

	assert_string_equal(got, want);
	free(got);
}

static void markup_is_escaped(void **state)
{
	(void)state;
	expect("plain name(int)", 100, "plain name(int)");
	expect("a|b", 100, "a\\|b");
	expect("`*_[]#!~\\", 100, "\\`\\*\\_\\[\\]\\#\\!\\~\\\\");
	expect("<img src=x onerror=y>&lt;", 100, "&lt;img src=x onerror=y&gt;&amp;lt;");
	expect("[text](javascript:x)", 100, "\\[text\\](javascript:x)");
	expect("![a](http://b)", 100, "\\!\\[a\\](http\\://b)");
	expect("www.example.com", 100, "www\\.example.com");
	expect("$x$", 100, "\\$x\\$");
}

static void nobody_is_mentioned(void **state)
{
	(void)state;
	expect("@somebody", 100, "\\@ somebody");
	expect("call(@somebody)", 100, "call(\\@ somebody)");
	expect("memcpy@plt", 100, "memcpy\\@plt");
	expect("user@evil.com", 100, "user\\@ evil.com");
	expect("mailto:a@e-vil.com", 100, "mailto:a\\@ e-vil.com");
	expect("a@@V_2", 100, "a\\@\\@ V\\_2");
}

static void lines_and_controls(void **state)
{
	(void)state;
	expect("a\nb\r\tc", 100, "a b  c");
	expect("a\x01\x7f", 100, "a\xef\xbf\xbd\xef\xbf\xbd");
	expect("\xe2\x80\xae"
	       "abc",
	       100,
	       "\xef\xbf\xbd"
	       "abc"); /* U+202E: right to left */
	expect("\xff\xc3", 100, "\xef\xbf\xbd\xef\xbf\xbd");
	expect("", 100, "");
}

static void long_texts_are_cut(void **state)
{
	(void)state;
	expect("abcdef", 6, "abcdef");
	expect("abcdefg", 6, "abcde\xe2\x80\xa6");
	expect("a<<<<<", 3, "a&lt;\xe2\x80\xa6");
	expect("\xe5\xad\x97\xe5\xad\x97", 4, "\xe5\xad\x97\xe5\xad\x97"); /* two columns each */
	expect("\xe5\xad\x97\xe5\xad\x97", 3, "\xe5\xad\x97\xe2\x80\xa6");
	expect("abc", 1, "\xe2\x80\xa6");
	/* marks without width take columns */
	expect("e\xcc\x81\xcc\x81\xcc\x81", 3, "e\xcc\x81\xe2\x80\xa6");
}

static void home_folders_are_left_out(void **state)
{
	(void)state;
	expect("/home/ada/work/train.py", 100, "\\~/work/train.py");
	expect("load (/home/ada/a.py)", 100, "load (\\~/a.py)");
	expect("/root/a.py:/Users/ada/b", 100, "\\~/a.py\\:\\~/b");
	expect("/home/ada", 100, "\\~");
	expect("/home/ada /root", 100, "\\~ \\~");
	expect("x='/home/ada/a b'", 100, "x='\\~/a b'");
	/* no homes */
	expect("/rootfs/a", 100, "/rootfs/a");
	expect("/opt/home/ada/x", 100, "/opt/home/ada/x");
	expect("/home/", 100, "/home/");
	expect("/usr/lib", 100, "/usr/lib");
}

/* Returns whether a byte stands behind an odd number of backslashes. */
static bool is_escaped(const char *text, const char *at)
{
	size_t count = 0;

	while (at - count > text && at[-1 - (ptrdiff_t)count] == '\\')
		count++;
	return count % 2;
}

static void any_bytes(void **state)
{
	static const char marks[] = "|`*_[]#!~@$<>&/\\ \n.:w\xc3\xa9\xe2\x80\xae\xcc\x81";

	(void)state;
	for (uint64_t round = 0; round < 3000; round++) {
		struct prng p = prng_round(round);
		unsigned int columns = (unsigned int)prng_below(&p, 120);
		char text[500], *got;
		size_t length = prng_below(&p, sizeof(text));

		for (size_t i = 0; i < length; i++)
			text[i] = prng_chance(&p, 60) ? marks[prng_below(&p, sizeof(marks) - 1)]
						      : (char)(1 + prng_below(&p, 255));
		text[length] = '\0';
		got = write_text(text, columns);
		EXPECT(&p, strlen(got) <= 5 * columns + 3);
		EXPECT(&p, !strpbrk(got, "<>\n\r\t"));
		for (const char *at = got; *at; at++) {
			if (strchr("|`*_[]#!~$", *at))
				EXPECT(&p, is_escaped(got, at));
			EXPECT(&p, (unsigned char)*at >= ' ');
			if (*at == '&')
				EXPECT(&p, starts_with(at, "&amp;") || starts_with(at, "&lt;") ||
						   starts_with(at, "&gt;"));
		}
		for (const char *at = got; *at;) {
			size_t bytes = count_utf8_bytes((const unsigned char *)at);

			EXPECT(&p, bytes > 0);
			at += bytes;
		}
		/* no backslash at the end escapes what follows */
		EXPECT(&p, !*got || !is_escaped(got, got + strlen(got)));
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_is_escaped),         cmocka_unit_test(nobody_is_mentioned),
		cmocka_unit_test(lines_and_controls),        cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(home_folders_are_left_out), cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
