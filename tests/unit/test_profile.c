/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/collect/join.h"
#include "profiler/profile/profile.h"

static struct profile_key key_of(uint32_t stack, const char *name)
{
	return (struct profile_key){.stack = stack,
				    .capture = PROFILE_NO_CAPTURE,
				    .group = PROFILE_NO_GROUP,
				    .name = name};
}

static void add_kernel(struct profile *p, uint32_t stack, const char *name, uint64_t ns)
{
	struct profile_key key = key_of(stack, name);

	assert_int_equal(profile_add_work(p, &key, ns, 0), 0);
}

static void add_sample(struct profile *p, uint32_t stack)
{
	assert_int_equal(profile_add_sample(p, stack, PROFILE_NO_GROUP), 0);
}

/* Whatever differs in the key is a row of its own. */
static void keys_are_kept_apart(void **state)
{
	static const char one[] = "one";
	struct profile *p = profile_new();
	struct profile_key keys[7];
	const struct profile_entry *e;
	uint32_t count;

	(void)state;
	for (int i = 0; i < 7; i++)
		keys[i] = key_of(1, one);
	keys[1].stack = 2;
	keys[2].capture = 2;
	keys[3].group = 2;
	keys[4].work = 2;
	keys[5].name = NULL;
	keys[6].waiter = 2;
	for (int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < 7; i++)
			assert_int_equal(profile_add_work(p, &keys[i], i, 10 * i), 0);
	e = profile_entries(p, &count);
	assert_int_equal(count, 7);
	for (unsigned int i = 0; i < 7; i++) {
		assert_memory_equal(&e[i].key, &keys[i], offsetof(struct profile_key, waiter));
		assert_int_equal(e[i].key.waiter, keys[i].waiter);
		assert_int_equal(e[i].count, 2);
		assert_int_equal(e[i].gpu_ns, 2 * i);
		assert_int_equal(e[i].bytes, 20 * i);
	}
	profile_free(p);
}

static void rows_add_up(void **state)
{
	static const char one[] = "one", two[] = "two";
	struct profile *p = profile_new();
	const struct profile_entry *e;
	uint32_t count;

	(void)state;
	e = profile_entries(p, &count);
	assert_int_equal(count, 0);
	add_sample(p, 3);
	add_kernel(p, 3, one, 100);
	add_kernel(p, 3, two, 7);
	add_sample(p, 3);
	add_kernel(p, 3, one, UINT64_C(1) << 60);
	add_kernel(p, STACK_NONE, one, 5);
	add_kernel(p, 4, one, 0);
	e = profile_entries(p, &count);
	assert_int_equal(count, 5);
	assert_int_equal(e[0].key.stack, 3);
	assert_null(e[0].key.name);
	assert_int_equal(e[0].count, 2);
	assert_int_equal(e[0].gpu_ns, 0);
	assert_ptr_equal(e[1].key.name, one);
	assert_int_equal(e[1].count, 2);
	assert_int_equal(e[1].gpu_ns, (UINT64_C(1) << 60) + 100);
	assert_ptr_equal(e[2].key.name, two);
	assert_int_equal(e[2].gpu_ns, 7);
	assert_int_equal(e[3].key.stack, STACK_NONE);
	assert_int_equal(e[4].count, 1);
	assert_int_equal(e[4].gpu_ns, 0);
	profile_free(p);
	profile_free(NULL);
}

static void sums_are_exact(void **state)
{
	static const char kernels[50][2];
	struct prng random = prng_round(0);
	struct profile *p = profile_new();
	uint64_t ns = 0, got_ns = 0, samples = 0, got_samples = 0, operations = 0,
		 got_operations = 0;
	const struct profile_entry *e;
	uint32_t count;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint32_t stack = (uint32_t)prng_below(&random, 300);
		uint64_t weight = prng_bits(&random, 45);

		if (prng_chance(&random, 30)) {
			add_sample(p, stack);
			samples++;
		} else {
			add_kernel(p, stack, kernels[prng_below(&random, 50)], weight);
			ns += weight;
			operations++;
		}
	}
	e = profile_entries(p, &count);
	assert_true(count <= 300 * 51);
	for (uint32_t i = 0; i < count; i++) {
		got_ns += e[i].gpu_ns;
		*(e[i].key.name ? &got_operations : &got_samples) += e[i].count;
	}
	assert_int_equal(got_ns, ns);
	assert_int_equal(got_samples, samples);
	assert_int_equal(got_operations, operations);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up),
		cmocka_unit_test(keys_are_kept_apart),
		cmocka_unit_test(sums_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
