// SPDX-License-Identifier: MIT
#include "made_result.h"
#include "profiler/send/engine.h"

static void expect_address(const char *url, const struct engine *engine, const char *address)
{
	const char *why;
	char *got;

	assert_ptr_equal(engine_find(url, &got, &why), engine);
	assert_null(why);
	assert_string_equal(got, address);
	free(got);
}

static void the_scheme_names_the_engine(void **state)
{
	(void)state;
	expect_address("http://host:4040", &engine_pyroscope, "http://host:4040/ingest");
	expect_address("https://u:p@host/", &engine_pyroscope, "https://u:p@host/ingest");
	expect_address("http://host/a//", &engine_pyroscope, "http://host/a/ingest");
	expect_address("http://host/a/ingest/", &engine_pyroscope, "http://host/a/ingest");
	expect_address("http://host/a?k=v+w#f", &engine_pyroscope, "http://host/a/ingest?k=v+w");
	expect_address("http://host?k=/ingest", &engine_pyroscope, "http://host/ingest?k=/ingest");
	expect_address("PYROSCOPE+HTTP://host", &engine_pyroscope, "HTTP://host/ingest");
	expect_address("parca+http://[::1]:7070", &engine_parca,
		       "http://[::1]:7070/parca.profilestore.v1alpha1.ProfileStoreService/"
		       "WriteRaw");
	expect_address("otlp+https://host", &engine_otlp, "https://host/v1development/profiles");
	expect_address("otlp+https://host/v1development/profiles", &engine_otlp,
		       "https://host/v1development/profiles");
}

static void other_texts_are_no_engines(void **state)
{
	static const char *const wrong[] = {"",
					    "host:4040",
					    "host",
					    "+http://host",
					    "parc+http://host",
					    "parca+",
					    "parca+parca+http://host",
					    "parca+file:///x",
					    "otlp+http://"};
	const char *why;
	char *address;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(engine_find(wrong[i], &address, &why));
		assert_null(address);
		assert_non_null(why);
	}
}

static void labels_are_checked(void **state)
{
	static const char *const wrong[] = {
		"",          "a",   "=",   "=b",   "a=",     "1=b",    "a-b=c", "a b=c",
		"a=b,c",     "a={", "a=}", "a=\n", "a=\xff", "a=\x7f", "__a=b", "service_name=b",
		"\xc3\xa4=b"};
	struct engine_label label;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(engine_parse_label(wrong[i], &label));
	assert_null(engine_parse_label("_a1=b = c/\xc3\xa4", &label));
	assert_int_equal(label.name_size, 3);
	assert_string_equal(label.value, "b = c/\xc3\xa4");
	assert_null(engine_parse_label("service_names=x", &label));
}

static void pyroscope_gets_name_labels_and_time(void **state)
{
	struct made_result m;
	struct engine_label labels[2];
	struct engine_profile profile = {
		.service = "a b{c=\xc3\xa4", .labels = labels, .label_count = 2};
	char *query;

	(void)state;
	made_begin(&m);
	profile.result = &m.result;
	assert_null(engine_parse_label("x=1", &labels[0]));
	assert_null(engine_parse_label("y=a&b", &labels[1]));
	m.result.totals.start_unix_ns = UINT64_C(1700000000900000000);
	m.result.totals.elapsed_ns = 200000000;
	query = engine_pyroscope.query(&profile);
	assert_string_equal(query, "name=a_b_c___%7Bx%3D1%2Cy%3Da%26b%7D&from=1700000000&"
				   "until=1700000002&format=pprof&spyName=profile");
	free(query);
	profile.label_count = 0;
	m.result.totals.start_unix_ns = 0; /* unknown: it was just now */
	query = engine_pyroscope.query(&profile);
	assert_non_null(strstr(query, "name=a_b_c___%7B%7D&from="));
	free(query);
	made_end(&m);
}

static void the_service_is_the_executable_without_a_name(void **state)
{
	char service[ENGINE_SERVICE_BYTES];
	struct made_result m;

	(void)state;
	made_begin(&m);
	m.result.totals.command = "'/usr/my bin/app' --x /y";
	engine_service(&m.result, NULL, service);
	assert_string_equal(service, "app");
	engine_service(&m.result, "", service);
	assert_string_equal(service, "app");
	engine_service(&m.result, "my app\n", service);
	assert_string_equal(service, "my app?");
	m.result.totals.command = NULL;
	engine_service(&m.result, NULL, service);
	assert_string_equal(service, "unknown_service");
	made_end(&m);
}

static const char *refusal(const struct engine *engine, const void *answer, size_t size)
{
	static char why[HTTP_WHY_BYTES];

	why[0] = '\0';
	return engine->accepts(answer, size, why) ? NULL : why;
}

#define REFUSAL(engine, answer) refusal(engine, answer, sizeof(answer) - 1)

static void parca_answers_in_trailers(void **state)
{
	(void)state;
	assert_null(REFUSAL(&engine_parca, "\0\0\0\0\0\x80\0\0\0\x10grpc-status: 0\r\n"));
	assert_null(REFUSAL(&engine_parca, "Grpc-Status:0\r\n"));
	assert_string_equal(REFUSAL(&engine_parca, "grpc-status: 3\r\ngrpc-message: a%20b\r\n"),
			    "refused it: gRPC status 3, a b");
	assert_string_equal(REFUSAL(&engine_parca, "\x80\0\0\0\x0fgrpc-status: 16"),
			    "refused it: gRPC status 16");
	assert_non_null(REFUSAL(&engine_parca, "{}"));
	assert_non_null(REFUSAL(&engine_parca, ""));
	assert_non_null(REFUSAL(&engine_parca, "grpc-status"));
	assert_non_null(REFUSAL(&engine_parca, "grpc-status:"));
	assert_non_null(REFUSAL(&engine_parca, "grpc-status: 00"));
	for (size_t size = 0; size < 32; size++) { /* reading stops there */
		void *answer = memset(malloc(size + 1), 'g', size);

		refusal(&engine_parca, answer, size);
		free(answer);
	}
}

static void collectors_refuse_in_part(void **state)
{
	(void)state;
	assert_null(REFUSAL(&engine_otlp, ""));
	assert_null(REFUSAL(&engine_otlp, "\x0a\x00"));
	assert_null(REFUSAL(&engine_otlp, "\x0a\x03\x12\x01w")); /* a warning */
	assert_string_equal(REFUSAL(&engine_otlp, "\x0a\x05\x08\x02\x12\x01w"),
			    "refused profiles: w");
	assert_string_equal(REFUSAL(&engine_otlp, "\x0a\x02\x08\x02"), "refused profiles");
	assert_null(REFUSAL(&engine_otlp, "\x0a\x05\x08")); /* no message of ours */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scheme_names_the_engine),
		cmocka_unit_test(other_texts_are_no_engines),
		cmocka_unit_test(labels_are_checked),
		cmocka_unit_test(pyroscope_gets_name_labels_and_time),
		cmocka_unit_test(the_service_is_the_executable_without_a_name),
		cmocka_unit_test(parca_answers_in_trailers),
		cmocka_unit_test(collectors_refuse_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
