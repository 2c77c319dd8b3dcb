/* SPDX-License-Identifier: MIT */
/*
 * Merging native and Python frames. Stacks are written innermost first: natives as letters ('.'
 * other, 'i' the interpreter's, 'E' its loop), Python frames as 'p' and, where a loop was entered,
 * 'P'. A result names natives by their letter and Python frames by digits.
 */
#include "unit.h"
#include "symbolize/python_merge.h"

#define MOST 64

static const char *merge(const char *natives, bool whole, const char *pythons, bool keeps,
			 uint32_t max)
{
	static char text[MOST + 1];
	static struct python_stack python;
	struct python_merged out[MOST];
	uint8_t kinds[MOST];
	struct python_merge_input in = {.natives = kinds,
					.native_count = (uint32_t)strlen(natives),
					.native_is_whole = whole,
					.keeps_native = keeps,
					.python = &python};
	uint32_t n;

	python.count = (uint32_t)strlen(pythons);
	python.is_whole = whole;
	for (uint32_t i = 0; i < python.count; i++)
		python.frames[i] = (struct python_frame){.is_entry = pythons[i] == 'P'};
	for (uint32_t i = 0; i < in.native_count; i++)
		kinds[i] = natives[i] == 'E'   ? PYTHON_NATIVE_LOOP
			   : natives[i] == 'i' ? PYTHON_NATIVE_INTERPRETER
					       : PYTHON_NATIVE_OTHER;
	n = python_merge(&in, out, max);
	assert_true(n <= max);
	for (uint32_t i = 0; i < n; i++)
		text[i] = out[i].is_python ? (char)('0' + out[i].index) : natives[out[i].index];
	text[n] = '\0';
	return text;
}

#define MERGED(natives, pythons) merge(natives, true, pythons, false, MOST)
#define CUT(natives, pythons) merge(natives, false, pythons, false, MOST)
#define KEPT(natives, pythons) merge(natives, true, pythons, true, MOST)

static void loops_become_frames(void **state)
{
	(void)state;
	assert_string_equal(MERGED("..Eiii.", "P"), "..0iii.");
	assert_string_equal(MERGED("..Eiii.", "pppP"), "..0123iii.");
	assert_string_equal(MERGED("E", "P"), "0");
	assert_string_equal(KEPT("..Eiii.", "ppP"), "..012Eiii.");
}

static void interpreter_frames_between_are_dropped(void **state)
{
	(void)state;
	assert_string_equal(MERGED(".iEiiEii.", "pPP"), ".i012ii.");
	assert_string_equal(MERGED("Ei..iEi", "PP"), "0..1i"); /* an extension calls back */
	assert_string_equal(KEPT("Ei..iEi", "PP"), "0Ei..i1Ei");
	assert_string_equal(KEPT(".iEiiEii.", "pPP"), ".i01Eii2Eii.");
}

static void no_python_leaves_all(void **state)
{
	(void)state;
	assert_string_equal(MERGED("..EiiE.", ""), "..EiiE.");
	assert_string_equal(MERGED("", ""), "");
}

static void too_many_loops_stay(void **state)
{
	(void)state;
	/* the innermost is just being entered */
	assert_string_equal(MERGED("EiEi.", "pP"), "Ei01i.");
	assert_string_equal(MERGED(".EiEi.", "p"), ".Ei0i.");
	/* the outermost Python frames were too many */
	assert_string_equal(CUT(".EiEi.", "pP"), ".01iEi.");
}

static void too_many_frames_stay(void **state)
{
	(void)state;
	/* in the innermost loop */
	assert_string_equal(MERGED("EiE..", "PPpPP"), "01234..");
	assert_string_equal(KEPT("EiE..", "PPP"), "01Ei2E..");
	/* the native stack breaks off: they would have been further out */
	assert_string_equal(CUT("EiE.i", "PPpPP"), "01.234");
	assert_string_equal(CUT("E.i", "PpP"), "0.12");
	/* no loop at all */
	assert_string_equal(MERGED("..", "pP"), "..01");
	assert_string_equal(CUT("i.", "pP"), "i.01");
}

static void nothing_beyond_the_room(void **state)
{
	char text[8];

	(void)state;
	for (uint32_t max = 0; max < 8; max++) {
		memcpy(text, ".012ii.", 8);
		text[max < 7 ? max : 7] = '\0';
		assert_string_equal(merge(".Eii.", true, "ppP", false, max), text);
	}
}

static void nothing_is_lost_or_doubled(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", 3000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		char natives[24] = "", pythons[10] = "";
		uint32_t next = 0, others = 0, kept = 0;
		const char *text;

		for (uint64_t i = 0, n = prng_below(&p, sizeof(natives)); i < n; i++) {
			natives[i] = ".iE"[prng_below(&p, 3)];
			others += natives[i] == '.';
		}
		for (uint64_t i = 0, n = prng_below(&p, sizeof(pythons)); i < n; i++)
			pythons[i] = "pP"[prng_below(&p, 2)];
		text = merge(natives, prng_chance(&p, 50), pythons, prng_chance(&p, 50), MOST);
		for (; *text; text++) {
			if (*text >= '0' && *text <= '9')
				EXPECT(&p, (uint32_t)(*text - '0') == next++);
			kept += *text == '.';
		}
		EXPECT(&p, next == strlen(pythons));
		EXPECT(&p, kept == others);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_become_frames),
		cmocka_unit_test(interpreter_frames_between_are_dropped),
		cmocka_unit_test(no_python_leaves_all),
		cmocka_unit_test(too_many_loops_stay),
		cmocka_unit_test(too_many_frames_stay),
		cmocka_unit_test(nothing_beyond_the_room),
		cmocka_unit_test(nothing_is_lost_or_doubled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
