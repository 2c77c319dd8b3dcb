/* SPDX-License-Identifier: MIT */
/* What devices are called: by process and number, whenever it is told, in bounded memory. */
#include "unit.h"
#include "profiler/collect/devices.h"

static struct capture captured;
static struct log verbose_log = {.level = LOG_VERBOSE};
static struct log normal_log = {.level = LOG_NORMAL};

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct devices));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	devices_release(*state);
	free(*state);
	return 0;
}

static struct gpu_event_device plain(uint32_t id, const char *name)
{
	return (struct gpu_event_device){.id = id, .name = name, .uuid = {0xab, 0xcd, [15] = 0x7f}};
}

static struct gpu_event_device mig(uint32_t id, uint32_t gpu, uint32_t compute)
{
	struct gpu_event_device e = plain(id, "Some GPU");

	e.is_mig = 1;
	e.gpu_instance = gpu;
	e.compute_instance = compute;
	return e;
}

static void describe(struct devices *d, uint32_t pid, struct gpu_event_device e)
{
	assert_int_equal(devices_describe(d, pid, &e), 0);
}

static const char *report(const struct devices *d, struct log *log)
{
	capture_begin(&captured);
	devices_report(d, log);
	return capture_end(&captured);
}

static void nothing_told_is_a_number(void **state)
{
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0");
	assert_string_equal(devices_use(*state, 10, 255), "GPU 255");
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 0: CUPTI did not tell its name\n"
			    "profile: GPU 255: CUPTI did not tell its name\n");
}

static void a_plain_device_stays_a_number(void **state)
{
	describe(*state, 10, plain(0, "Some GPU"));
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0");
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 0: Some GPU, GPU-abcd0000-0000-0000-0000-00000000007f\n");
	assert_string_equal(report(*state, &normal_log), "");
}

static void an_instance_has_both_ids(void **state)
{
	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 10, mig(1, 4294967294u, 4294967294u));
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(devices_use(*state, 10, 1), "GPU 1 MIG 4294967294/4294967294");
	assert_string_equal(
		report(*state, &verbose_log),
		"profile: GPU 0 MIG 3/0: Some GPU, MIG-abcd0000-0000-0000-0000-00000000007f\n"
		"profile: GPU 1 MIG 4294967294/4294967294: Some GPU, "
		"MIG-abcd0000-0000-0000-0000-00000000007f\n");
}

static void mps_is_said(void **state)
{
	struct gpu_event_context context = {.id = 1, .device_id = 0, .is_mps = 1};

	assert_int_equal(devices_note_context(*state, 10, &context), 0);
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MPS");
	describe(*state, 10, mig(0, 1, 2));
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MIG 1/2 MPS");
	context.is_mps = 0;
	context.device_id = 1;
	assert_int_equal(devices_note_context(*state, 10, &context), 0);
	assert_string_equal(devices_use(*state, 10, 1), "GPU 1");
}

static void what_is_told_later_changes_the_label(void **state)
{
	const char *label = devices_use(*state, 10, 0);

	for (uint32_t i = 0; i < 1000; i++)
		devices_use(*state, 11 + i, 0); /* the list grows meanwhile */
	describe(*state, 10, mig(0, 3, 0));
	assert_string_equal(label, "GPU 0 MIG 3/0");
	assert_ptr_equal(devices_use(*state, 10, 0), label);
	describe(*state, 10, plain(0, "x"));
	assert_string_equal(label, "GPU 0");
}

static void numbers_are_a_processs_own(void **state)
{
	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 11, mig(0, 4, 0));
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(devices_use(*state, 11, 0), "GPU 0 MIG 4/0");
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(devices_use(*state, 12, 0), "GPU 0");
}

static void a_new_program_has_other_devices(void **state)
{
	const char *before;

	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 11, mig(0, 5, 0));
	before = devices_use(*state, 10, 0);
	devices_forget(*state, 10);
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0");
	describe(*state, 10, mig(0, 4, 0));
	assert_string_equal(devices_use(*state, 10, 0), "GPU 0 MIG 4/0");
	assert_string_equal(before, "GPU 0 MIG 3/0");
	assert_string_equal(devices_use(*state, 11, 0), "GPU 0 MIG 5/0");
}

static void only_what_was_used_is_listed_and_once(void **state)
{
	for (uint32_t pid = 1; pid < 500; pid++) {
		describe(*state, pid, plain(0, "Some GPU"));
		describe(*state, pid, plain(1, "Some GPU"));
		devices_use(*state, pid, 1);
	}
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 1: Some GPU, GPU-abcd0000-0000-0000-0000-00000000007f\n");
}

static void many_are_cut(void **state)
{
	const char *text;
	size_t lines = 0;

	for (uint32_t i = 0; i < 200; i++)
		devices_use(*state, 1, i);
	text = report(*state, &verbose_log);
	assert_non_null(strstr(text, "profile: and 136 more devices\n"));
	for (; *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, 65);
}

static void names_are_cleaned_and_cut(void **state)
{
	static char name[3000];

	memset(name, 'x', sizeof(name) - 1);
	describe(*state, 1,
		 plain(0, "a\x1b[2J\n\xc2\x9b;\x7f"
			  "b"));
	describe(*state, 1, plain(1, name));
	devices_use(*state, 1, 0);
	devices_use(*state, 1, 1);
	name[127] = '\0';
	assert_non_null(strstr(report(*state, &verbose_log), "GPU 0: a?[2J???;?b, GPU-"));
	assert_non_null(strstr(captured.text, name));
	assert_null(strstr(captured.text, "xxxx,x"));
}

static void no_uuid_is_no_uuid(void **state)
{
	struct gpu_event_device e = {.id = 0, .name = "Some GPU"};

	describe(*state, 1, e);
	devices_use(*state, 1, 0);
	assert_string_equal(report(*state, &verbose_log), "profile: GPU 0: Some GPU\n");
}

static void there_are_bounds(void **state)
{
	struct devices *d = *state;

	assert_null(devices_use(d, 1, GPU_DEVICE_MAX_ID));
	assert_null(devices_use(d, 1, UINT32_MAX));
	assert_int_equal(d->count, 0);
	for (uint32_t i = 0; i < DEVICES_MAX + 1000; i++)
		devices_use(d, i, 0);
	assert_int_equal(d->count, DEVICES_MAX);
	assert_null(devices_use(d, DEVICES_MAX + 5, 0));
	describe(d, DEVICES_MAX + 5, mig(0, 1, 1)); /* no effect, no harm */
	assert_null(devices_use(d, DEVICES_MAX + 5, 0));
	assert_string_equal(devices_use(d, 5, 0), "GPU 0");
	/* and again: a program that is started anew all the time */
	for (uint32_t i = 0; i < 1000; i++) {
		devices_forget(d, 5);
		devices_use(d, 5, 0);
	}
	assert_int_equal(d->count, DEVICES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_told_is_a_number),
		TEST(a_plain_device_stays_a_number),
		TEST(an_instance_has_both_ids),
		TEST(mps_is_said),
		TEST(what_is_told_later_changes_the_label),
		TEST(numbers_are_a_processs_own),
		TEST(a_new_program_has_other_devices),
		TEST(only_what_was_used_is_listed_and_once),
		TEST(many_are_cut),
		TEST(names_are_cleaned_and_cut),
		TEST(no_uuid_is_no_uuid),
		TEST(there_are_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
