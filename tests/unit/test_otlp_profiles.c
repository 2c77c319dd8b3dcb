// SPDX-License-Identifier: MIT
/* Reads written profiles again. tests/cli/push.bats compares a run's stacks with other formats. */
#include "own_folder.h"
#include "protobuf_reader.h"
#include "random_result.h"
#include "profiler/send/otlp_profiles.h"
#include "profiler/formats/value_columns.h"
#include "profiler/formats/writer.h"
#include "profiler/output/writers.h"

static char *write_profile(const struct result *result, size_t *size)
{
	const struct engine_label label = {"key=value", 3, "value"};
	const struct engine_profile profile = {
		.result = result, .service = "service", .labels = &label, .label_count = 1};
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, size);

	assert_int_equal(otlp_profiles_write(&profile, out), 0);
	assert_int_equal(fclose(out), 0);
	return bytes;
}

/* Finds the nth field with a number. Returns false if there are fewer. */
static bool nth(struct pb message, uint32_t number, uint32_t n, struct pb_field *field)
{
	while (pb_next(&message, field))
		if (field->number == number && n-- == 0)
			return true;
	return false;
}

static struct pb inside(struct pb message, uint32_t number, uint32_t n)
{
	struct pb_field field;

	assert_true(nth(message, number, n, &field));
	assert_true(field.has_bytes);
	return field.bytes;
}

static uint64_t number_in(struct pb message, uint32_t number)
{
	struct pb_field field;

	return nth(message, number, 0, &field) ? field.value : 0;
}

static bool text_is(struct pb bytes, const char *text)
{
	return pb_size(bytes) == strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0;
}

/* Tables of the dictionary, by number. */
enum { LOCATIONS = 2, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };

/* Checks that the stack with this number is the result's stack. */
static bool is_stack(struct pb dictionary, uint64_t number, const struct result *result,
		     uint32_t stack)
{
	struct pb entry = inside(dictionary, STACKS, (uint32_t)number), list;

	if (stack == RESULT_ROOT)
		return number == 0;
	list = inside(entry, 1, 0);
	for (; stack != RESULT_ROOT; stack = result->stacks[stack].outer) {
		const char *name = result->frames[result->stacks[stack].frame].name;
		struct pb location, function;

		if (list.at == list.end)
			return false;
		location = inside(dictionary, LOCATIONS, (uint32_t)pb_number(&list));
		function = inside(dictionary, FUNCTIONS,
				  (uint32_t)number_in(inside(location, 3, 0), 1));
		if (!text_is(inside(dictionary, STRINGS, (uint32_t)number_in(function, 1)), name))
			return false;
	}
	return list.at == list.end;
}

/* Checks the profile of a column: its samples are the rows with a value, in order. Returns their
 * sum. */
static uint64_t check_samples(struct prng *p, struct pb dictionary, struct pb profile,
			      const struct result *result, int column)
{
	uint64_t sum = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < result->row_count; i++) {
		const struct row *row = &result->rows[i];
		uint64_t value = value_column_of(row, column);
		struct pb sample, values;

		if (!value)
			continue;
		sample = inside(profile, 2, at++);
		values = inside(sample, 4, 0);
		EXPECT(p, pb_number(&values) == value && values.at == values.end);
		EXPECT(p, is_stack(dictionary, number_in(sample, 1), result, row->stack));
		sum += value;
	}
	EXPECT(p, !nth(profile, 2, at, &(struct pb_field){0}));
	return sum;
}

static void check_round(struct prng *p, const struct result *result)
{
	size_t size;
	char *bytes = write_profile(result, &size);
	struct pb data = pb_of(bytes, size), resource = inside(data, 1, 0);
	struct pb dictionary = inside(data, 2, 0), scopes = inside(resource, 2, 0);
	uint32_t profiles = 0;

	for (uint32_t table = 1; table <= STACKS; table++)
		EXPECT(p, pb_size(inside(dictionary, table, 0)) == 0);
	for (int column = 0; column < COLUMN_WEIGHT; column++) {
		struct pb_field field;
		uint64_t sum = 0;

		for (uint32_t i = 0; i < result->row_count; i++)
			sum += value_column_of(&result->rows[i], column);
		for (uint32_t i = 0; nth(scopes, 2, i, &field); i++) {
			struct pb type = inside(field.bytes, 1, 0);

			if (!text_is(inside(dictionary, STRINGS, (uint32_t)number_in(type, 1)),
				     value_column_type(NULL, column)))
				continue;
			EXPECT(p, check_samples(p, dictionary, field.bytes, result, column) == sum);
			EXPECT(p, number_in(field.bytes, 3) == result->totals.start_unix_ns);
			EXPECT(p, number_in(field.bytes, 4) == result->totals.elapsed_ns);
			profiles++;
			sum = 0;
		}
		EXPECT(p, sum == 0);
	}
	EXPECT(p, !nth(scopes, 2, profiles, &(struct pb_field){0}));
	free(bytes);
}

static void random_rows_are_all_there(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		struct random_result r;

		random_begin(&p, &r);
		check_round(&p, &r.made.result);
		random_end(&r);
	}
}

static void the_resource_says_whose_it_is(void **state)
{
	struct made_result m;
	struct pb resource, attribute;
	size_t size;
	char *bytes;

	(void)state;
	made_begin(&m);
	m.frames[0].name = "";
	bytes = write_profile(&m.result, &size);
	resource = inside(inside(pb_of(bytes, size), 1, 0), 1, 0);
	attribute = inside(resource, 1, 0);
	assert_true(text_is(inside(attribute, 1, 0), "service.name"));
	assert_true(text_is(inside(inside(attribute, 2, 0), 1, 0), "service"));
	attribute = inside(resource, 1, 1);
	assert_true(text_is(inside(attribute, 1, 0), "key"));
	assert_true(text_is(inside(inside(attribute, 2, 0), 1, 0), "value"));
	free(bytes);
	made_end(&m);
}

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_ptr_equal(writer_for_path("a.profiles.pb"), &otlp_profiles_writer);
	assert_ptr_equal(writer_with_name("otlp-profiles"), &otlp_profiles_writer);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	const struct writer_options options = {.unit_ns = 1};
	struct written written;
	struct made_result m;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	setbuf(full, NULL);
	made_begin(&m);
	m.frames[0].name = "";
	made_add(&m, made_push(&m, RESULT_ROOT, "f"), ROW_CPU, 1);
	assert_int_equal(otlp_profiles_writer.write(&m.result, &options, full, &written), -EIO);
	assert_int_equal(written.items, 1);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_rows_are_all_there),
		cmocka_unit_test(the_resource_says_whose_it_is),
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
