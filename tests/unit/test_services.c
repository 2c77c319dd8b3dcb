/* SPDX-License-Identifier: MIT */
/* The helper is there for options that need it, and connections lead to it. */
#include <errno.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/commands/services.h"

static const struct identity ourselves;

static void options_without_a_server_start_nothing(void **state)
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
	const struct options options = {.span_server = "http://host"}, pushes = {.push_count = 1};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct helper helper = {0};
		struct http_connector connector = services_http(&helper);
		int socket;

		assert_int_equal(services_start(&helper, i ? &options : &pushes, &ourselves), 0);
		assert_true(helper.pid > 0);
		socket = connector.connect(connector.context);
		assert_true(socket >= 0);
		close(socket);
		helper_end(&helper);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_without_a_server_start_nothing),
		cmocka_unit_test(those_with_one_have_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
