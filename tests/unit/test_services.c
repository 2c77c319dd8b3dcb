/* SPDX-License-Identifier: MIT */
/* The helper is there for options that need it, and connections lead to it. */
#include <errno.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/commands/services.h"

static const struct identity ourselves;

static void options_that_need_none_start_nothing(void **state)
{
	const struct options options = {.level = LOG_NORMAL};
	struct helper helper = {0};
	struct http_connector connector = services_http(&helper);

	(void)state;
	assert_int_equal(services_start(&helper, &options, &ourselves), 0);
	assert_int_equal(helper.pid, 0);
	assert_int_equal(connector.connect(connector.context), -EPIPE);
}

static void those_with_one_have_connections(void **state)
{
	const struct options all[] = {{.span_server = "http://host"},
				      {.push_count = 1},
				      {.run.measure.traces_gpu = true}};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct helper helper = {0};
		struct http_connector http = services_http(&helper);
		struct gpu_watch_connector gpu_states = services_gpu_states(&helper);
		int socket;

		assert_int_equal(services_start(&helper, &all[i], &ourselves), 0);
		assert_true(helper.pid > 0);
		socket = http.connect(http.context);
		assert_true(socket >= 0);
		close(socket);
		socket = gpu_states.connect(gpu_states.context);
		assert_true(socket >= 0);
		close(socket);
		helper_end(&helper);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_that_need_none_start_nothing),
		cmocka_unit_test(those_with_one_have_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
