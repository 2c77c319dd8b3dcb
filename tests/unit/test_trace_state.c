/* SPDX-License-Identifier: MIT */
/* The state of GPUs as counters of a timeline. */
#include "made_timeline.h"
#include "profiler/formats/trace_state.h"

#define FIRST "GPU-a"
#define SECOND "GPU-b"

static struct gpu_state row(const char *gpu, uint64_t from_ns, uint32_t mhz, uint64_t bytes)
{
	const struct gpu_reading reading = {.start_ns = from_ns,
					    .end_ns = from_ns + 100,
					    .sm_mhz = mhz,
					    .pcie_sent = bytes,
					    .is_power_capped = mhz == 1410};
	struct gpu_state made;

	gpu_state_of(&made, gpu, &reading);
	return made;
}

struct given {
	struct trace_state *state;
	char text[1024];
};

static void take(void *context, uint32_t counter, uint64_t time_ns, uint64_t value)
{
	struct given *g = context;
	size_t used = strlen(g->text);

	snprintf(g->text + used, sizeof(g->text) - used, "%u %s %" PRIu64 "=%" PRIu64 "\n",
		 g->state->counters[counter].gpu, trace_counter_name(&g->state->counters[counter]),
		 time_ns, value);
}

static void values_in_order_once(void **state)
{
	const struct gpu_state rows[] = {row(FIRST, 2000, 1980, 0), row(FIRST, 2100, 1980, 0),
					 row(FIRST, 2200, 1410, 0), row(SECOND, 2050, 345, 7),
					 row(SECOND, 2150, 345, 0)};
	char name[TRACE_STATE_NAME_BYTES];
	struct made_timeline m;
	struct trace_state s;
	struct given g = {&s, ""};

	(void)state;
	made_timeline_begin(&m);
	m.made.result.totals.elapsed_ns = 10000;
	made_table(&m.made, &gpu_states_table, rows, 5);
	assert_int_equal(trace_state_init(&s, &m.made.result), 0);
	assert_string_equal(trace_state_name(&s, 1, name), "GPU-b: state");
	trace_state_until(&s, 1999, take, &g);
	assert_string_equal(g.text, "");
	trace_state_until(&s, 2100, take, &g);
	assert_string_equal(g.text, "0 SM clock (MHz) 2000=1980\n"
				    "0 clocks limited by power or heat (%) 2000=0\n"
				    "1 SM clock (MHz) 2050=345\n"
				    "1 PCIe sent (bytes/s) 2050=70000000\n");
	g.text[0] = '\0';
	trace_state_until(&s, UINT64_MAX, take, &g);
	assert_string_equal(g.text, "1 PCIe sent (bytes/s) 2150=0\n"
				    "0 SM clock (MHz) 2200=1410\n"
				    "0 clocks limited by power or heat (%) 2200=100\n");
	g.text[0] = '\0';
	trace_state_until(&s, UINT64_MAX, take, &g);
	assert_string_equal(g.text, "");
	trace_state_release(&s);
	made_timeline_end(&m);
}

static void impossible_values_are_cut(void **state)
{
	struct gpu_state made = row(FIRST, 2000, 1980, UINT64_C(1) << 50);
	struct made_timeline m;
	struct trace_state s;
	struct given g = {&s, ""};

	(void)state;
	made.ns = 1;
	made.power_sum = UINT64_MAX;
	made_timeline_begin(&m);
	m.made.result.totals.elapsed_ns = 10000;
	made_table(&m.made, &gpu_states_table, &made, 1);
	assert_int_equal(trace_state_init(&s, &m.made.result), 0);
	trace_state_until(&s, UINT64_MAX, take, &g);
	assert_non_null(strstr(g.text, "power (W) 2000=9000000000000000\n"));
	assert_non_null(strstr(g.text, "PCIe sent (bytes/s) 2000=9000000000000000\n"));
	trace_state_release(&s);
	made_timeline_end(&m);
}

static void without_readings_there_are_no_counters(void **state)
{
	struct made_timeline m;
	struct trace_state s;

	(void)state;
	made_timeline_begin(&m);
	assert_int_equal(trace_state_init(&s, &m.made.result), 0);
	assert_int_equal(s.count, 0);
	trace_state_until(&s, UINT64_MAX, take, NULL);
	trace_state_release(&s);
	made_timeline_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_in_order_once),
		cmocka_unit_test(impossible_values_are_cut),
		cmocka_unit_test(without_readings_there_are_no_counters),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
