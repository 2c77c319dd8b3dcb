/* SPDX-License-Identifier: MIT */
/* Parts of a message that count as numbers. */
#include "unit.h"
#include "cupti_trace/launch/nvtx_fold.h"

static void expect_folded(const char *text, const char *expected)
{
	char out[NVTX_TEXT_MAX + 1];
	size_t size;

	assert_int_equal(nvtx_fold(text, strlen(text), out, &size), strcmp(text, expected) != 0);
	assert_string_equal(out, expected);
	assert_int_equal(size, strlen(expected));
}

static void numbers_in_names(void **state)
{
	(void)state;
	expect_folded("", "");
	expect_folded("decode", "decode");
	expect_folded("step 12345", "step N");
	expect_folded("layer3.conv1: 0.25", "layerN.convN: N.N");
	expect_folded("at 0x7ffd12ab, 0xZ", "at N, NxZ");
	expect_folded("id 3f2a9c01ee", "id N");
	expect_folded("id 3f2a9", "id NfNaN");
	expect_folded("deadbeef facade", "deadbeef facade");
	expect_folded("req-3f2a9c01-aaaa-4bcd-9f00-0123456789ab!", "req-N!");
	expect_folded("aaaaaaaa-aaaa-bbbb-cccc-dddddddddddd", "N");
	expect_folded("gr\xc3\xb6\xc3\x9f"
		      "e 5",
		      "gr\xc3\xb6\xc3\x9f"
		      "e N");
	expect_folded("0x", "Nx");
	expect_folded("7", "N");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_in_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
