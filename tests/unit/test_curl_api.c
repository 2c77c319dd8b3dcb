// SPDX-License-Identifier: MIT
/* Compares curl_api.h with curl/curl.h, if that is installed, while compiling; and loads it. */
#include "unit.h"
#include "profiler/send/curl_api.h"

#if defined(__has_include) && __has_include(<curl/curl.h>)
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define OPTION(name) SAME(CURL_API_OPT_##name, CURLOPT_##name)
OPTION(WRITEDATA);
OPTION(URL);
OPTION(ERRORBUFFER);
OPTION(POSTFIELDS);
OPTION(USERAGENT);
OPTION(HTTPHEADER);
OPTION(NOPROGRESS);
OPTION(POST);
OPTION(FOLLOWLOCATION);
OPTION(XFERINFODATA);
OPTION(CAINFO);
OPTION(ACCEPT_ENCODING);
OPTION(NOSIGNAL);
OPTION(POSTFIELDSIZE_LARGE);
OPTION(TIMEOUT_MS);
OPTION(CONNECTTIMEOUT_MS);
OPTION(PROTOCOLS);
OPTION(HEADERDATA);
OPTION(WRITEFUNCTION);
OPTION(HEADERFUNCTION);
OPTION(XFERINFOFUNCTION);
#if LIBCURL_VERSION_NUM >= 0x075700
OPTION(QUICK_EXIT);
#endif
#define CODE(name) SAME(CURL_API_##name, CURLE_##name)
CODE(OK);
CODE(COULDNT_RESOLVE_PROXY);
CODE(COULDNT_RESOLVE_HOST);
CODE(COULDNT_CONNECT);
CODE(PARTIAL_FILE);
CODE(OPERATION_TIMEDOUT);
CODE(ABORTED_BY_CALLBACK);
CODE(GOT_NOTHING);
CODE(SEND_ERROR);
CODE(RECV_ERROR);
SAME(CURL_API_GLOBAL_ALL, CURL_GLOBAL_ALL);
SAME(CURL_API_PROTO_HTTP, CURLPROTO_HTTP);
SAME(CURL_API_PROTO_HTTPS, CURLPROTO_HTTPS);
SAME(CURL_API_INFO_RESPONSE_CODE, CURLINFO_RESPONSE_CODE);
SAME(CURL_API_INFO_RETRY_AFTER, CURLINFO_RETRY_AFTER);
SAME(CURL_API_ERROR_SIZE, CURL_ERROR_SIZE);
SAME(sizeof(int64_t), sizeof(curl_off_t));
#endif

static void the_library_is_loaded_where_it_is(void **state)
{
	struct curl_api api;
	void *curl;

	(void)state;
	if (!curl_api_load(&api))
		SKIP("libcurl is not installed");
	curl = api.easy_init();
	assert_non_null(curl);
	assert_int_equal(api.easy_setopt(curl, CURL_API_OPT_NOSIGNAL, 1L), CURL_API_OK);
	assert_int_not_equal(api.easy_setopt(curl, 9999, 1L), CURL_API_OK);
	assert_string_equal(api.easy_strerror(CURL_API_OK), "No error");
	api.easy_cleanup(curl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_library_is_loaded_where_it_is)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
