/* SPDX-License-Identifier: MIT */
/* Output to the user's terminal: notices of the target, and log lines. */
#include "unit.h"
#include "profiler/attach/notices.h"

static const char *shown(enum log_level level, uint32_t code, const char *detail)
{
	static struct capture captured;
	struct log log = {.level = level};
	struct notices notices;
	struct gpu_event_notice notice = {code, detail};

	notices_init(&notices, &log);
	capture_begin(&captured);
	notices_add(&notices, 42, &notice);
	return capture_end(&captured);
}

/* Expects one line of text that is safe on any terminal. */
static void assert_clean(const char *text)
{
	size_t n = strlen(text);

	assert_true(n > 0 && text[n - 1] == '\n');
	for (size_t i = 0; i < n - 1; i++) {
		const unsigned char *c = (const unsigned char *)text + i;

		assert_true(c[0] >= 0x20 && c[0] != 0x7f);
		assert_false(c[0] == 0xc2 && c[1] < 0xa0); /* U+0080 to U+009F */
		if ((c[0] & 0xc0) == 0x80)                 /* inside a character alone */
			assert_true(i > 0 && (c[-1] & 0x80));
	}
}

static void each_kind_has_its_words(void **state)
{
	(void)state;
	assert_non_null(
		strstr(shown(LOG_NORMAL, GPU_NOTICE_NO_CUPTI, "/a\n/b"), "no libcupti was found"));
	assert_non_null(strstr(shown(LOG_NORMAL, GPU_NOTICE_NO_CUPTI, "/a\n/b"), "/a, /b\n"));
	assert_non_null(
		strstr(shown(LOG_NORMAL, GPU_NOTICE_SUBSCRIBER_TAKEN, "x"), "another profiler"));
	assert_non_null(strstr(shown(LOG_NORMAL, GPU_NOTICE_CUPTI_ERROR, "why"), "why"));
	assert_non_null(strstr(shown(LOG_NORMAL, GPU_NOTICE_OLD_CUPTI, "CUPTI 5"), "CUPTI 5"));
	assert_non_null(
		strstr(shown(LOG_NORMAL, GPU_NOTICE_OTHER, "hello"), "process 42: hello\n"));
	for (uint32_t code = 0; code < GPU_NOTICE_VERBOSE; code++)
		assert_memory_equal(shown(LOG_NORMAL, code, "x"), "profile: process 42", 19);
}

static void each_unknown_function_is_named_once(void **state)
{
	struct log log = {.level = LOG_NORMAL};
	struct notices notices;
	struct capture captured;
	char name[256];
	const char *text;
	int lines = 0;

	(void)state;
	notices_init(&notices, &log);
	capture_begin(&captured);
	for (int i = 0; i < 100; i++) {
		struct gpu_event_notice notice = {GPU_NOTICE_NEW_FUNCTION, name};

		snprintf(name, sizeof(name), "cuNew%d%s%d", i / 20, i < 40 ? "" : "\x1b", 5);
		notices_add(&notices, 42, &notice);
	}
	for (int i = 0; i < 100; i++) {
		struct gpu_event_notice notice = {GPU_NOTICE_NEW_FUNCTION, name};

		snprintf(name, sizeof(name), "cuMany%d", i);
		notices_add(&notices, 42, &notice);
	}
	text = capture_end(&captured);
	assert_non_null(strstr(text, "process 42 calls cuNew05, a CUDA function newer"));
	assert_null(strchr(text, 0x1b));
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, NOTICES_FUNCTIONS_MAX);
}

/* Reasons for a profile without GPU time name the substitute, or how to get GPU time. */
static void timed_calls_replace_gpu_time(void **state)
{
	static const uint32_t reasons[] = {GPU_NOTICE_NO_CUPTI, GPU_NOTICE_SUBSCRIBER_TAKEN,
					   GPU_NOTICE_CUPTI_ERROR, GPU_NOTICE_OLD_CUPTI};
	struct log log = {.level = LOG_NORMAL};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct gpu_event_notice notice = {reasons[i], "/tool.so"};
		static struct capture captured;
		struct notices notices;

		assert_non_null(strstr(shown(LOG_NORMAL, reasons[i], "/tool.so"), ": no GPU time"));
		assert_null(strstr(shown(LOG_NORMAL, reasons[i], "/tool.so"), "instead"));
		notices_init(&notices, &log);
		notices.fallback = FALLBACK_NEEDS_SUDO;
		capture_begin(&captured);
		notices_add(&notices, 42, &notice);
		assert_non_null(strstr(capture_end(&captured),
				       ": no GPU time (with sudo, the wall time of its CUDA calls "
				       "would be shown instead)"));
		notices_init(&notices, &log);
		notices.fallback = FALLBACK_TIMES_CALLS;
		capture_begin(&captured);
		notices_add(&notices, 42, &notice);
		assert_non_null(
			strstr(capture_end(&captured),
			       ": no GPU time; the wall time of its CUDA calls is shown instead"));
	}
	assert_non_null(strstr(shown(LOG_NORMAL, GPU_NOTICE_OTHER_REFUSED, "libtorch_cpu.so"),
			       "process 42: CUPTI refused libtorch_cpu.so, because"));
}

static void quiet_and_verbose(void **state)
{
	(void)state;
	assert_string_equal(shown(LOG_ERRORS, GPU_NOTICE_OTHER, "x"), "");
	assert_string_equal(shown(LOG_NORMAL, GPU_NOTICE_VERBOSE, "x"), "");
	assert_non_null(strstr(shown(LOG_VERBOSE, GPU_NOTICE_VERBOSE, "details"), "details"));
}

static void unknown_codes_are_shown_as_they_are(void **state)
{
	(void)state;
	assert_non_null(strstr(shown(LOG_NORMAL, GPU_NOTICES, "x"), "process 42: x"));
	assert_non_null(strstr(shown(LOG_NORMAL, UINT32_MAX, "x"), "process 42: x"));
}

static void a_kind_is_shown_once(void **state)
{
	static struct capture captured;
	struct log log = {.level = LOG_NORMAL};
	struct gpu_event_notice notice = {GPU_NOTICE_OTHER, "first"};
	struct notices notices;
	const char *text;

	(void)state;
	notices_init(&notices, &log);
	capture_begin(&captured);
	notices_add(&notices, 1, &notice);
	notice.detail = "second";
	notices_add(&notices, 2, &notice);
	notice.code = UINT32_MAX; /* all unknown codes count as one kind */
	notices_add(&notices, 2, &notice);
	text = capture_end(&captured);
	assert_string_equal(text, "profile: process 1: first\n");
	assert_int_equal(notices.seen[GPU_NOTICE_OTHER], 3);
}

static void control_characters_never_reach_the_terminal(void **state)
{
	(void)state;
	for (int a = 1; a < 256; a++) {
		for (int b = 1; b < 256; b += a < 0x80 ? 85 : 1) {
			char detail[8] = {'x', (char)a, (char)b, 'y', 0};

			assert_clean(shown(LOG_NORMAL, GPU_NOTICE_OTHER, detail));
		}
	}
	assert_string_equal(shown(LOG_NORMAL, GPU_NOTICE_OTHER, "\x1b[31mred\x07\r\t\x7f"),
			    "profile: process 42: ?[31mred????\n");
	assert_string_equal(shown(LOG_NORMAL, GPU_NOTICE_OTHER,
				  "\xc2\x9b"
				  "31m \x9b \xe2\x82\xac"),
			    "profile: process 42: ?"
			    "31m ? \xe2\x82\xac\n");
}

static void long_texts_are_cut(void **state)
{
	char detail[6000];
	const char *text;

	(void)state;
	memset(detail, 'x', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	text = shown(LOG_NORMAL, GPU_NOTICE_NO_CUPTI, detail);
	assert_clean(text);
	assert_in_range(strlen(text), 900, 1300);
	for (size_t i = 0; i + 3 < sizeof(detail); i += 3)
		memcpy(detail + i, "\xe2\x82\xac", 3);
	assert_clean(shown(LOG_NORMAL, GPU_NOTICE_OTHER, detail));
	memset(detail, '\n', sizeof(detail) - 1);
	assert_clean(shown(LOG_NORMAL, GPU_NOTICE_OTHER, detail));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_its_words),
		cmocka_unit_test(each_unknown_function_is_named_once),
		cmocka_unit_test(timed_calls_replace_gpu_time),
		cmocka_unit_test(quiet_and_verbose),
		cmocka_unit_test(unknown_codes_are_shown_as_they_are),
		cmocka_unit_test(a_kind_is_shown_once),
		cmocka_unit_test(control_characters_never_reach_the_terminal),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
