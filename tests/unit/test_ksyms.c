/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/ksyms.h"

static struct ksyms *read_text(const char *text)
{
	struct ksyms *ksyms = NULL;
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(ksyms_read(fd, &ksyms), 0);
	close(fd);
	return ksyms;
}

static void test_names(void **state)
{
	struct ksyms *ksyms = read_text("ffffffff81000100 T second\n"
					"ffffffff81000000 T first\n"
					"ffffffff81000200 D some_data\n"
					"ffffffff81000300 t third\n"
					"ffffffffc0000000 t module_function\t[module]\n"
					"ffffffffc0000100 w weak\t[module]\n"
					"0000000000000000 A fixed_percpu_data\n"
					"rubbish\n\nffffffff T\nzz T x\n");

	(void)state;
	assert_string_equal(ksyms_find(ksyms, 0xffffffff81000000), "first");
	assert_string_equal(ksyms_find(ksyms, 0xffffffff810000ff), "first");
	assert_string_equal(ksyms_find(ksyms, 0xffffffff81000100), "second");
	assert_null(ksyms_find(ksyms, 0xffffffff81000200));
	assert_null(ksyms_find(ksyms, 0xffffffff80ffffff));
	assert_null(ksyms_find(ksyms, 5));
	assert_string_equal(ksyms_find(ksyms, 0xffffffff81000301), "third");
	/* The next symbol is a gigabyte away: that is not one function. */
	assert_null(ksyms_find(ksyms, 0xffffffff81000300 + KSYMS_MAX_FUNCTION));
	assert_string_equal(ksyms_find(ksyms, 0xffffffffc0000010), "module_function");
	assert_string_equal(ksyms_find(ksyms, 0xffffffffc0000110), "weak");
	ksyms_free(ksyms);
}

static void test_aliases(void **state)
{
	struct ksyms *ksyms = read_text("ffffffff81000000 t a\n"
					"ffffffff81000000 T __x64_sys_read\n"
					"ffffffff81000000 T _stext\n"
					"ffffffff81000000 W w\n"
					"ffffffff81000000 D d\n"
					"ffffffff81000010 t longer\n"
					"ffffffff81000010 t short\n");

	(void)state;
	assert_string_equal(ksyms_find(ksyms, 0xffffffff81000000), "_stext");
	assert_string_equal(ksyms_find(ksyms, 0xffffffff81000010), "short");
	ksyms_free(ksyms);
}

static void test_hidden_addresses_give_no_symbols(void **state)
{
	struct ksyms *ksyms = read_text("0000000000000000 T first\n0000000000000000 T second\n");

	(void)state;
	assert_null(ksyms_find(ksyms, 0));
	assert_null(ksyms_find(ksyms, 0xffffffff81000000));
	ksyms_free(ksyms);
	ksyms = read_text("");
	assert_null(ksyms_find(ksyms, 0));
	ksyms_free(ksyms);
	ksyms_free(NULL);
}

static void test_this_kernel(void **state)
{
	struct ksyms *ksyms = NULL;

	(void)state;
	if (ksyms_load(&ksyms) != 0) {
		print_message("SKIP: /proc/kallsyms shows no addresses here\n");
		skip();
	}
	ksyms_free(ksyms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_hidden_addresses_give_no_symbols),
		cmocka_unit_test(test_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
