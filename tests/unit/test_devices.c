/* SPDX-License-Identifier: MIT */
/* Names of devices: by process and number, described at any time, in bounded memory. */
#include "unit.h"
#include "profiler/model/devices.h"
#include "profiler/report/gpu_table.h"

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

static void describe(struct devices *d, uint32_t process, struct gpu_event_device e)
{
	assert_int_equal(devices_describe(d, process, &e), 0);
}

/* Uses a device for work. Returns its name. */
static const char *use(struct devices *d, uint32_t process, uint32_t id)
{
	static char label[DEVICE_LABEL_BYTES];

	devices_use(d, process, id);
	devices_make_labels(d);
	devices_label(d, process, id, label);
	return label;
}

static const char *report(const struct devices *d, struct log *log)
{
	const struct result result = {.devices = d->list, .device_count = d->count};

	capture_begin(&captured);
	gpu_table_report_devices(log, &result);
	return capture_end(&captured);
}

static void an_undescribed_device_is_a_number(void **state)
{
	assert_string_equal(use(*state, 10, 0), "GPU 0");
	assert_string_equal(use(*state, 10, 255), "GPU 255");
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 0: CUPTI did not report its name\n"
			    "profile: GPU 255: CUPTI did not report its name\n");
}

static void a_plain_device_stays_a_number(void **state)
{
	describe(*state, 10, plain(0, "Some GPU"));
	assert_string_equal(use(*state, 10, 0), "GPU 0");
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 0: Some GPU, GPU-abcd0000-0000-0000-0000-00000000007f\n");
	assert_string_equal(report(*state, &normal_log), "");
}

static void an_instance_has_both_ids(void **state)
{
	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 10, mig(1, 4294967294u, 4294967294u));
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(use(*state, 10, 1), "GPU 1 MIG 4294967294/4294967294");
	assert_string_equal(
		report(*state, &verbose_log),
		"profile: GPU 0 MIG 3/0: Some GPU, MIG-abcd0000-0000-0000-0000-00000000007f\n"
		"profile: GPU 1 MIG 4294967294/4294967294: Some GPU, "
		"MIG-abcd0000-0000-0000-0000-00000000007f\n");
}

static void mps_is_shown(void **state)
{
	struct gpu_event_context context = {.id = 1, .device_id = 0, .is_mps = 1};

	assert_int_equal(devices_note_context(*state, 10, &context), 0);
	assert_string_equal(use(*state, 10, 0), "GPU 0 MPS");
	describe(*state, 10, mig(0, 1, 2));
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 1/2 MPS");
	context.is_mps = 0;
	context.device_id = 1;
	assert_int_equal(devices_note_context(*state, 10, &context), 0);
	assert_string_equal(use(*state, 10, 1), "GPU 1");
}

static void later_descriptions_change_the_label(void **state)
{
	assert_string_equal(use(*state, 10, 0), "GPU 0");
	for (uint32_t i = 0; i < 1000; i++)
		use(*state, 11 + i, 0); /* the list grows meanwhile */
	describe(*state, 10, mig(0, 3, 0));
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	describe(*state, 10, plain(0, "x"));
	assert_string_equal(use(*state, 10, 0), "GPU 0");
}

static void device_numbers_are_per_process(void **state)
{
	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 11, mig(0, 4, 0));
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(use(*state, 11, 0), "GPU 0 MIG 4/0");
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(use(*state, 12, 0), "GPU 0");
}

/* A program that is executed is another process of the run. */
static void a_new_program_has_other_devices(void **state)
{
	describe(*state, 10, mig(0, 3, 0));
	describe(*state, 11, mig(0, 5, 0));
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(use(*state, 12, 0), "GPU 0");
	describe(*state, 12, mig(0, 4, 0));
	assert_string_equal(use(*state, 12, 0), "GPU 0 MIG 4/0");
	assert_string_equal(use(*state, 10, 0), "GPU 0 MIG 3/0");
	assert_string_equal(use(*state, 11, 0), "GPU 0 MIG 5/0");
}

static void only_used_devices_are_listed_once(void **state)
{
	for (uint32_t process = 1; process < 500; process++) {
		describe(*state, process, plain(0, "Some GPU"));
		describe(*state, process, plain(1, "Some GPU"));
		use(*state, process, 1);
	}
	assert_string_equal(report(*state, &verbose_log),
			    "profile: GPU 1: Some GPU, GPU-abcd0000-0000-0000-0000-00000000007f\n");
}

static void many_are_cut(void **state)
{
	const char *text;
	size_t lines = 0;

	for (uint32_t i = 0; i < 200; i++)
		use(*state, 1, i);
	text = report(*state, &verbose_log);
	assert_non_null(strstr(text, "profile: and 136 more devices\n"));
	for (; *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, 65);
}

static void names_are_cleaned_and_cut(void **state)
{
	static char name[3000];
	struct gpu_event_device second;

	memset(name, 'x', sizeof(name) - 1);
	second = plain(1, name);
	second.uuid[0] = 7;
	describe(*state, 1,
		 plain(0, "a\x1b[2J\n\xc2\x9b;\x7f"
			  "b"));
	describe(*state, 1, second);
	use(*state, 1, 0);
	use(*state, 1, 1);
	name[127] = '\0';
	assert_non_null(strstr(report(*state, &verbose_log), "GPU 0: a?[2J???;?b, GPU-"));
	assert_non_null(strstr(captured.text, name));
	assert_null(strstr(captured.text, "xxxx,x"));
}

static void no_uuid_is_no_uuid(void **state)
{
	struct gpu_event_device e = {.id = 0, .name = "Some GPU"};

	describe(*state, 1, e);
	use(*state, 1, 0);
	assert_string_equal(report(*state, &verbose_log), "profile: GPU 0: Some GPU\n");
}

static void labels_show_known_parts(void **state)
{
	struct devices *d = *state;
	char label[DEVICE_LABEL_BYTES];
	struct device device = {.id = UINT32_MAX,
				.is_mig = true,
				.is_mps = true,
				.gpu_instance = UINT32_MAX,
				.compute_instance = UINT32_MAX};

	describe(d, 10, mig(0, 3, 0));
	devices_label(d, 10, 0, label); /* nothing ran on it */
	assert_string_equal(label, "GPU 0 MIG 3/0");
	assert_false(d->list[0].is_used);
	assert_string_equal(report(d, &verbose_log), "");
	devices_label(d, 11, 7, label);
	assert_string_equal(label, "GPU 7");
	assert_int_equal(d->count, 1);
	/* the longest one fits */
	device_label(&device, label);
	assert_string_equal(label, "GPU 4294967295 MIG 4294967295/4294967295 MPS");
}

static void there_are_bounds(void **state)
{
	struct devices *d = *state;
	struct gpu_event_context context = {.device_id = 0, .is_mps = 1};

	/* ids that no device has are not kept */
	assert_string_equal(use(d, 1, GPU_DEVICE_MAX_ID), "GPU 256");
	assert_string_equal(use(d, 1, UINT32_MAX), "GPU 4294967295");
	describe(d, 1, plain(GPU_DEVICE_MAX_ID, "x"));
	assert_int_equal(d->count, 0);
	assert_string_equal(use(d, 1, GPU_DEVICE_MAX_ID - 1), "GPU 255");
	assert_int_equal(d->count, 1);
	for (uint32_t i = 1; i < DEVICES_MAX + 1000; i++)
		assert_int_equal(devices_describe(d, i, &(struct gpu_event_device){.name = ""}), 0);
	assert_int_equal(d->count, DEVICES_MAX);
	/* later ones have only their number */
	describe(d, DEVICES_MAX + 5, mig(0, 1, 1));
	assert_int_equal(devices_note_context(d, DEVICES_MAX + 5, &context), 0);
	assert_string_equal(use(d, DEVICES_MAX + 5, 0), "GPU 0");
	assert_int_equal(d->count, DEVICES_MAX + 1); /* used, in no process's list */
	/* existing devices can still be described */
	describe(d, 5, mig(0, 1, 1));
	assert_string_equal(use(d, 5, 0), "GPU 0 MIG 1/1");
}

static bool is_even(const void *unused, uint32_t process)
{
	(void)unused;
	return process % 2 == 0;
}

static void devices_of_processes_that_are_not_in_use_are_forgotten(void **state)
{
	struct devices *d = *state;

	for (uint32_t process = 1; process <= 10; process++)
		assert_int_equal(devices_describe(d, process,
						  &(struct gpu_event_device){.id = 7, .name = ""}),
				 0);
	devices_forget(d, is_even, NULL);
	assert_int_equal(d->count, 5);
	for (uint32_t process = 1; process <= 10; process++)
		assert_int_equal(devices_find(d, process, 7) != NULL, process % 2 == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static struct gpu_event_device gpu(uint32_t id, uint8_t first, uint8_t last)
{
	return (struct gpu_event_device){
		.id = id, .name = "Some GPU", .uuid = {first, 2, 3, 4, [15] = last}};
}

static const char *label(const struct devices *d, uint32_t process, uint32_t id)
{
	static char text[DEVICE_LABEL_BYTES];

	devices_label(d, process, id, text);
	return text;
}

/* One GPU for each process, of which each is number 0. */
static void devices_of_one_number_have_their_uuids(void **state)
{
	struct devices *d = *state;

	describe(d, 1, gpu(0, 0xa1, 1));
	describe(d, 2, gpu(0, 0xb1, 1));
	describe(d, 3, gpu(0, 0xa1, 1));
	use(d, 1, 0);
	assert_string_equal(use(d, 3, 0), "GPU 0"); /* nothing has run on the other */
	assert_string_equal(use(d, 2, 0), "GPU 0 (b1020304)");
	assert_string_equal(label(d, 3, 0), "GPU 0 (a1020304)");
	/* the beginnings do not tell these apart */
	describe(d, 4, gpu(0, 0xa1, 9));
	use(d, 4, 0);
	assert_string_equal(label(d, 1, 0), "GPU 0 (a1020304-0000-0000-0000-000000000001)");
	assert_string_equal(label(d, 4, 0), "GPU 0 (a1020304-0000-0000-0000-000000000009)");
	/* one whose UUID is not known is neither */
	assert_string_equal(use(d, 5, 0), "GPU 0");
}

/* CUDA_VISIBLE_DEVICES=1 of two: the process that sees both has the number that people know. */
static void a_device_has_its_largest_number(void **state)
{
	struct devices *d = *state;

	describe(d, 1, gpu(0, 0xb1, 1));
	describe(d, 2, gpu(0, 0xa1, 1));
	describe(d, 2, gpu(1, 0xb1, 1));
	use(d, 2, 0);
	assert_string_equal(use(d, 1, 0), "GPU 1");
	assert_string_equal(label(d, 2, 1), "GPU 1");
	assert_string_equal(label(d, 2, 0), "GPU 0");
	assert_int_equal(devices_key(d, 1, 0), devices_key(d, 2, 1));
	assert_int_not_equal(devices_key(d, 1, 0), devices_key(d, 2, 0));
	/* listed in another order */
	describe(d, 3, gpu(0, 0xb1, 1));
	describe(d, 3, gpu(1, 0xa1, 1));
	devices_make_labels(d);
	assert_string_equal(label(d, 1, 0), "GPU 1 (b1020304)");
	assert_string_equal(label(d, 3, 1), "GPU 1 (a1020304)");
}

static bool is_third(const void *context, uint32_t process)
{
	(void)context;
	return process == 3;
}

/* A description may be late, and processes may be forgotten. */
static void keys_stay(void **state)
{
	struct devices *d = *state;
	uint32_t early = devices_key(d, 1, 4), key, other;
	char text[DEVICE_LABEL_BYTES];

	assert_int_equal(devices_key(d, 2, 4), early); /* not distinguished yet */
	describe(d, 1, gpu(4, 0xa1, 1));
	key = devices_key(d, 1, 4);
	assert_int_not_equal(key, early);
	assert_int_equal(devices_key(d, 2, 4), early);
	describe(d, 3, gpu(4, 0xa1, 1));
	assert_int_equal(devices_key(d, 3, 4), key);
	describe(d, 5, gpu(5, 0xb1, 1));
	describe(d, 3, gpu(6, 0xb1, 1));
	devices_forget(d, is_third, NULL);
	assert_null(devices_find(d, 5, 5));
	assert_int_equal(devices_key(d, 3, 4), key);
	other = devices_key(d, 3, 6);
	devices_end_process(d, 3);
	assert_null(devices_find(d, 3, 4));
	devices_make_labels(d);
	devices_label_of_key(d, key, text);
	assert_string_equal(text, "GPU 4");
	devices_label_of_key(d, other, text);
	assert_string_equal(text, "GPU 6");
	devices_label_of_key(d, early, text);
	assert_string_equal(text, "GPU 4");
	devices_label_of_key(d, devices_key(d, 7, GPU_DEVICE_MAX_ID), text);
	assert_string_equal(text, "other GPUs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_undescribed_device_is_a_number),
		TEST(a_plain_device_stays_a_number),
		TEST(an_instance_has_both_ids),
		TEST(mps_is_shown),
		TEST(later_descriptions_change_the_label),
		TEST(device_numbers_are_per_process),
		TEST(a_new_program_has_other_devices),
		TEST(only_used_devices_are_listed_once),
		TEST(many_are_cut),
		TEST(names_are_cleaned_and_cut),
		TEST(no_uuid_is_no_uuid),
		TEST(labels_show_known_parts),
		TEST(there_are_bounds),
		TEST(devices_of_processes_that_are_not_in_use_are_forgotten),
		TEST(devices_of_one_number_have_their_uuids),
		TEST(a_device_has_its_largest_number),
		TEST(keys_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
