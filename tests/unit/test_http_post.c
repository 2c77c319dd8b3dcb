// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "http_server.h"
#include "unpack.h"
#include "profiler/send/curl_api.h"
#include "profiler/send/http_post.h"
#include "profiler/run/helper.h"

#define LONG_MS 60000 /* more than any test takes */
#define ANSWER(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"

/* The requests are made by the process that makes them for the command. */
static struct helper helper;

static int connect_helper(const void *context)
{
	return helper_connect(context, 0);
}

static bool start_helper(void)
{
	static helper_service *const services[] = {http_channel_serve};
	const struct identity ourselves = {.other = false};

	helper_end(&helper);
	return helper_start(&helper, &ourselves, services, 1) == 0;
}

static const char *const ok[] = {SERVER_OK, NULL};

struct fixture {
	struct http_server server;
	struct http_post *post;
	struct http_post_stats stats;
	char url[128];
};

static struct http_post_options options_for(struct fixture *f, const char *userinfo,
					    const char *path)
{
	snprintf(f->url, sizeof(f->url), "http://%s127.0.0.1:%u%s", userinfo, f->server.port, path);
	return (struct http_post_options){
		.target = {.url = f->url, .content_type = "application/x-test"},
		.connector = {connect_helper, &helper}};
}

static void open_with(struct fixture *f, const struct http_post_options *options)
{
	char why[HTTP_WHY_BYTES];

	f->post = http_post_new(options, why);
	if (!f->post)
		fail_msg("%s", why);
}

static struct fixture *start(const char *const *answers)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	assert_non_null(f);
	server_start(&f->server, answers);
	options = options_for(f, "", "/take");
	open_with(f, &options);
	return f;
}

static bool send_text(struct fixture *f, const char *text, uint64_t items)
{
	return http_post_send(f->post, strdup(text), strlen(text), items);
}

static void finish(struct fixture *f, int64_t timeout_ms)
{
	http_post_finish(f->post, timeout_ms, &f->stats);
	server_end(&f->server);
}

static void check_count(const struct http_count *count, uint64_t requests, uint64_t items,
			uint64_t bytes)
{
	assert_int_equal(count->requests, requests);
	assert_int_equal(count->items, items);
	assert_int_equal(count->bytes, bytes);
}

static void bodies_arrive_in_order(void **state)
{
	struct fixture *f = start(ok);
	const struct server_request *first = &f->server.requests[0];

	(void)state;
	assert_true(send_text(f, "one", 1));
	assert_true(send_text(f, "three", 3));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 2, 4, 8);
	check_count(&f->stats.failed, 0, 0, 0);
	check_count(&f->stats.dropped, 0, 0, 0);
	assert_int_equal(f->stats.sent_bytes, 8);
	assert_int_equal(f->stats.retries, 0);
	assert_string_equal(f->stats.why, "");
	assert_int_equal(f->server.count, 2);
	assert_ptr_equal(strstr(first->head, "POST /take HTTP/1.1\r\n"), first->head);
	assert_non_null(strstr(first->head, "\r\nContent-Type: application/x-test\r\n"));
	assert_non_null(strstr(first->head, "\r\nUser-Agent: profile/"));
	assert_null(strcasestr(first->head, "\r\nExpect:"));
	assert_null(strcasestr(first->head, "\r\nContent-Encoding:"));
	free(f);
}

static void bodies_are_what_was_given(void **state)
{
	struct fixture *f = start(ok);
	char *large = malloc(3 << 20);

	(void)state;
	memset(large, 7, 3 << 20);
	assert_true(http_post_send(f->post, large, 3 << 20, 1));
	assert_true(http_post_send(f->post, calloc(1, 1), 0, 1));
	http_post_finish(f->post, LONG_MS, &f->stats);
	check_count(&f->stats.sent, 2, 2, 3 << 20);
	assert_int_equal(f->server.requests[0].size, 3 << 20);
	for (size_t i = 0; i < 3 << 20; i++)
		assert_int_equal(f->server.requests[0].body[i], 7);
	assert_int_equal(f->server.requests[1].size, 0);
	server_end(&f->server);
	free(f);
}

static void bodies_are_compressed_on_request(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;
	const struct server_request *first = &f->server.requests[0];
	unsigned char *unpacked;
	size_t size;

	(void)state;
	server_start(&f->server, ok);
	options = options_for(f, "", "/");
	options.target.is_compressed = true;
	open_with(f, &options);
	assert_true(http_post_send(f->post, calloc(100000, 1), 100000, 1));
	http_post_finish(f->post, LONG_MS, &f->stats);
	assert_non_null(strstr(first->head, "\r\nContent-Encoding: gzip\r\n"));
	unpacked = gunzip(first->body, first->size, &size);
	assert_int_equal(size, 100000);
	assert_int_equal(f->stats.sent.bytes, 100000);
	assert_int_equal(f->stats.sent_bytes, first->size);
	free(unpacked);
	server_end(&f->server);
	free(f);
}

static void busy_servers_are_asked_again(void **state)
{
	static const char *const answers[] = {
		ANSWER("429 Too Many Requests"),
		ANSWER("502 Bad Gateway"),
		"HTTP/1.1 503 Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
		"",
		/* closed */ SERVER_OK,
		NULL};
	struct fixture *f = start(answers);

	(void)state;
	assert_true(send_text(f, "body", 1));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 1, 1, 4);
	assert_int_equal(f->stats.retries, 4);
	assert_int_equal(f->server.count, 5);
	free(f);
}

static void not_for_ever(void **state)
{
	static const char *const answers[] = {ANSWER("504 Gateway Timeout"), NULL};
	struct fixture *f = start(answers);

	(void)state;
	assert_true(send_text(f, "body", 2));
	finish(f, LONG_MS);
	check_count(&f->stats.failed, 1, 2, 4);
	assert_int_equal(f->server.count, HTTP_ATTEMPTS);
	assert_non_null(strstr(f->stats.why, "/take answered 504, 5 times"));
	free(f);
}

/* Sends one body; the number of requests that were made of it. */
static unsigned int try_answer(const char *answer, const char *why)
{
	const char *const answers[] = {answer, NULL};
	struct fixture *f = start(answers);
	unsigned int count;

	send_text(f, "body", 1);
	finish(f, LONG_MS);
	check_count(&f->stats.failed, 1, 1, 4);
	if (!strstr(f->stats.why, why))
		fail_msg("'%s' is not in '%s'", why, f->stats.why);
	count = atomic_load(&f->server.count);
	free(f);
	return count;
}

static void other_refusals_are_final(void **state)
{
	(void)state;
	assert_int_equal(try_answer("HTTP/1.1 400 Bad Request\r\nContent-Length: 14\r\n\r\n"
				    "no\x1b such thing",
				    "answered 400 (no? such thing)"),
			 1);
	assert_int_equal(try_answer(ANSWER("401 Unauthorized"), "credentials"), 1);
	assert_int_equal(try_answer(ANSWER("413 Too Large"), "body of this size"), 1);
	assert_int_equal(try_answer(ANSWER("500 Internal"), "answered 500"), 1);
	assert_int_equal(try_answer("HTTP/1.1 307 Temporary\r\nLocation: file:///etc/passwd\r\n"
				    "Content-Length: 0\r\n\r\n",
				    "redirect"),
			 1);
	assert_int_equal(try_answer("HTTP/1.1 503 Busy\r\nRetry-After: 100000\r\n\r\n",
				    "asks for a pause of 3600 s"),
			 1);
	assert_int_equal(try_answer("SSH-2.0-OpenSSH\r\n", "HTTP/0.9"), 1);
}

static void secrets_are_not_shown(void **state)
{
	static const char *const echoes[] = {
		"HTTP/1.1 400 Bad\r\nContent-Length: 26\r\n\r\nno user hunter22, it says\n", NULL};
	const char *const places[] = {"me:hunter22@", "", ""};
	const char *const paths[] = {"/", "/?key=hunter22", "/"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fixture *f = calloc(1, sizeof(*f));
		struct http_post_options options;
		char headers[] = "Authorization=Bearer%20hunter22";

		server_start(&f->server, echoes);
		options = options_for(f, places[i], paths[i]);
		if (i == 2)
			options.target.headers = headers;
		options.target.query = "format=x";
		open_with(f, &options);
		memset(headers, 0, sizeof(headers)); /* the post has a copy */
		assert_null(strstr(http_post_shown(f->post), "hunter22"));
		assert_true(send_text(f, "body", 1));
		http_post_finish(f->post, LONG_MS, &f->stats);
		assert_non_null(strstr(f->stats.why, "answered 400"));
		assert_null(strstr(f->stats.why, "hunter22"));
		assert_non_null(strstr(f->server.requests[0].head,
				       i == 1 ? "POST /?key=hunter22&format=x HTTP"
					      : "POST /?format=x HTTP"));
		assert_non_null(
			strstr(f->server.requests[0].head,
			       i == 0   ? "Authorization: Basic bWU6aHVudGVyMjI=" /* me:hunter22 */
			       : i == 2 ? "Authorization: Bearer hunter22"
					: "POST"));
		server_end(&f->server);
		free(f);
	}
}

/* Neither by libcurl, which quotes what it cannot read, nor by the proxy. */
static void secrets_of_proxies_are_not_shown(void **state)
{
	static const char *const echoes[] = {
		"HTTP/1.1 400 Bad\r\nContent-Length: 26\r\n\r\nno user hunter22, it says\n", NULL};
	static const char *const wrong[] = {"http://me:hunter22@127.0.0.1:80 80",
					    "foo://me:hunter22@127.0.0.1:1", "me:hunter22@"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fixture *f = calloc(1, sizeof(*f));
		struct http_post_options options;
		char proxy[64];

		server_start(&f->server, echoes);
		snprintf(proxy, sizeof(proxy), "http://me:hunter22@127.0.0.1:%u", f->server.port);
		setenv("http_proxy", i < 3 ? wrong[i] : proxy, 1);
		assert_true(start_helper()); /* the helper starts with that environment */
		options = options_for(f, "", "/");
		open_with(f, &options);
		assert_true(send_text(f, "body", 1));
		http_post_finish(f->post, i < 3 ? 0 : LONG_MS, &f->stats);
		unsetenv("http_proxy");
		if (i == 3) {
			assert_non_null(strstr(f->stats.why, "answered 400"));
			assert_non_null(strstr(f->server.requests[0].head,
					       "Authorization: Basic bWU6aHVudGVyMjI="));
		}
		assert_null(strstr(f->stats.why, "hunter22"));
		server_end(&f->server);
		free(f);
	}
	assert_true(start_helper());
}

static void an_endless_answer_is_cut(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\n.", NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	f->server.is_endless = true;
	server_start(&f->server, answers);
	options = options_for(f, "", "/");
	open_with(f, &options);
	assert_true(send_text(f, "body", 1));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 1, 1, 4);
	assert_int_equal(f->server.count, 1);
	free(f);
}

static void an_answer_cut_behind_its_body_counts(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"2\r\n{}\r\n0\r\nX-Field: x\r\n",
		NULL};
	struct fixture *f = start(answers);

	(void)state;
	assert_true(send_text(f, "body", 1));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 1, 1, 4);
	assert_int_equal(f->server.count, 1);
	free(f);
}

/* Some servers answer with a page whatever they get. */
static void a_page_accepts_nothing(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\r\n <html",
		"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\xef\xbb\xbf<html",
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{}<html", NULL};
	struct fixture *f = start(answers);

	(void)state;
	assert_true(send_text(f, "one", 1));
	assert_true(send_text(f, "two", 2));
	assert_true(send_text(f, "six", 6));
	finish(f, LONG_MS);
	check_count(&f->stats.failed, 2, 3, 6);
	check_count(&f->stats.sent, 1, 6, 3);
	assert_int_equal(f->server.count, 3);
	assert_non_null(strstr(f->stats.why, " answered with a page for browsers: "));
	free(f);
}

static uint64_t all_but_one(const void *answer, size_t size)
{
	assert_int_equal(size, 4);
	assert_memory_equal(answer, "many", 4);
	return UINT64_MAX;
}

static void refused_items_are_counted(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmany",
					      NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	server_start(&f->server, answers);
	options = options_for(f, "", "/");
	options.count_refused = all_but_one;
	open_with(f, &options);
	assert_true(send_text(f, "body", 7));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 1, 0, 4);
	assert_int_equal(f->stats.refused_items, 7);
	free(f);
}

static bool is_accepted(const void *answer, size_t size, char why[HTTP_WHY_BYTES])
{
	assert_int_equal(size, strlen(answer));
	snprintf(why, HTTP_WHY_BYTES, "says: %s", (const char *)answer);
	return strstr(answer, "grpc-status: 0") != NULL;
}

/* A protocol may refuse a request in the header or the body of an answer. */
static void refusals_of_a_protocol_are_heard(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nX: y\r\nGrpc-status: 3\r\nContent-Length: 3\r\n\r\nno\x1b",
		"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\ngrpc-status: 0", NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	server_start(&f->server, answers);
	options = options_for(f, "", "/");
	options.accepts = is_accepted;
	open_with(f, &options);
	assert_true(send_text(f, "one", 1));
	assert_true(send_text(f, "two", 2));
	finish(f, LONG_MS);
	check_count(&f->stats.failed, 1, 1, 3);
	check_count(&f->stats.sent, 1, 2, 3);
	assert_int_equal(f->server.count, 2);
	assert_non_null(strstr(f->stats.why, "/ says: Grpc-status: 3??no?"));
	free(f);
}

static void a_silent_server_holds_nobody(void **state)
{
	struct fixture *f = start(NULL);

	(void)state;
	assert_true(send_text(f, "body", 5));
	assert_true(send_text(f, "more", 6));
	assert_false(http_post_wait(f->post, 7, 0, NULL, NULL));
	assert_true(http_post_wait(f->post, 8, LONG_MS, NULL, NULL));
	finish(f, 50);
	check_count(&f->stats.sent, 0, 0, 0);
	assert_int_equal(f->stats.failed.items + f->stats.dropped.items, 11);
	assert_int_equal(f->stats.failed.requests + f->stats.dropped.requests, 2);
	assert_non_null(strstr(f->stats.why, "no answer in time"));
	free(f);
}

static bool ends_when_asked_twice(void *context)
{
	return ++*(int *)context == 2;
}

/* A request stuck in libcurl, where no timeout ends it, holds nobody. */
static void a_request_that_is_stuck_holds_nobody(void **state)
{
	char folder[] = "/tmp/test-http-post-XXXXXX", pipe[64];
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	server_start(&f->server, NULL);
	options = options_for(f, "", "/");
	snprintf(f->url, sizeof(f->url), "https://127.0.0.1:%u/", f->server.port);
	options.target.ca_file = pipe; /* nobody ever opens its other end */
	open_with(f, &options);
	assert_true(send_text(f, "body", 5));
	assert_false(http_post_wait(f->post, 0, 300, NULL, NULL));
	finish(f, 0);
	check_count(&f->stats.failed, 1, 5, 4);
	assert_non_null(strstr(f->stats.why, "no answer in time"));
	unlink(pipe);
	rmdir(folder);
	free(f);
}

/* A user may kill the helper, which is reported. */
static void a_helper_that_has_ended_is_said(void **state)
{
	struct fixture *f = start(ok);

	(void)state;
	helper_end(&helper);
	assert_true(send_text(f, "body", 5));
	assert_true(send_text(f, "more", 6));
	finish(f, LONG_MS);
	check_count(&f->stats.failed, 2, 11, 8);
	assert_non_null(strstr(f->stats.why, "/take: profile-helper, the process that sends, has "
					     "ended"));
	free(f);
}

/* An answer that drips counts by its status. Requests behind it do not wait. */
static void an_answer_that_drips_is_cut(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\n.", NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	f->server.is_endless = true;
	f->server.drips = true;
	server_start(&f->server, answers);
	options = options_for(f, "", "/");
	options.target.request_ms = UINT32_MAX;
	open_with(f, &options);
	assert_true(send_text(f, "one", 1));
	assert_true(send_text(f, "two", 1));
	finish(f, INT32_MAX);
	check_count(&f->stats.sent, 2, 2, 6);
	free(f);
}

/* Nor does it renew the timeout with a server that takes bodies. */
static void answers_that_drip_use_up_timeout(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\n.", NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	f->server.is_endless = true;
	f->server.drips = true;
	server_start(&f->server, answers);
	options = options_for(f, "", "/");
	open_with(f, &options);
	http_post_count_timeout(f->post);
	for (int i = 0; i < 4; i++)
		assert_true(send_text(f, "body", 1));
	assert_false(http_post_wait(f->post, 0, 3 * HTTP_ANSWER_MS / 2, NULL, NULL));
	finish(f, 0);
	assert_int_equal(f->stats.sent.items + f->stats.failed.items + f->stats.dropped.items, 4);
	assert_true(f->stats.dropped.items > 0);
	free(f);
}

/* A sender waits for room as long as the server accepts bodies. */
static void waiting_for_room(void **state)
{
	static const char *const answers[] = {
		SERVER_OK, SERVER_OK,
		"HTTP/1.1 503 Busy\r\nRetry-After: 50\r\nContent-Length: 0\r\n\r\n", NULL};
	struct fixture *f = start(answers);
	int asked = 0;

	(void)state;
	assert_true(http_post_wait(f->post, 0, 0, NULL, NULL));
	assert_true(send_text(f, "one", 1));
	assert_true(send_text(f, "two", 1));
	assert_true(http_post_wait(f->post, 0, LONG_MS, NULL, NULL));
	assert_true(http_post_wait(f->post, 0, 0, NULL, NULL));
	assert_true(send_text(f, "three", 1));
	assert_true(send_text(f, "four", 1));
	assert_true(http_post_wait(f->post, 9, LONG_MS, NULL, NULL));
	assert_false(http_post_wait(f->post, 5, 100, NULL, NULL));
	/* room, but no more progress */
	http_post_count_timeout(f->post);
	assert_false(http_post_wait(f->post, 9, 0, NULL, NULL));
	assert_false(http_post_wait(f->post, 5, LONG_MS, ends_when_asked_twice, &asked));
	assert_int_equal(asked, 2);
	finish(f, 0);
	check_count(&f->stats.sent, 2, 2, 6);
	assert_int_equal(f->stats.failed.requests + f->stats.dropped.requests, 2);
	free(f);
}

/* Accepted requests extend the wait. The reason for a failure is known at once. */
static void progress_and_failures(void **state)
{
	static const char *const answers[] = {SERVER_OK, ANSWER("400 Bad Request"), NULL};
	struct fixture *f = start(answers);
	char why[HTTP_WHY_BYTES];

	(void)state;
	assert_int_equal(http_post_failed(f->post, why), 0);
	assert_string_equal(why, "");
	assert_true(send_text(f, "one", 1));
	assert_true(http_post_wait(f->post, 0, LONG_MS, NULL, NULL));
	http_post_count_timeout(f->post);
	assert_true(send_text(f, "two", 1));
	assert_true(http_post_wait(f->post, 0, LONG_MS, NULL, NULL));
	assert_int_equal(http_post_failed(f->post, why), 1);
	assert_non_null(strstr(why, "answered 400"));
	finish(f, LONG_MS);
	check_count(&f->stats.sent, 1, 1, 3);
	check_count(&f->stats.failed, 1, 1, 3);
	free(f);
}

static void a_full_queue_drops(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	server_start(&f->server, NULL);
	options = options_for(f, "", "/");
	options.queue_bytes = 10;
	open_with(f, &options);
	assert_false(send_text(f, "eleven byte", 1));
	assert_true(send_text(f, "ten bytes.", 2));
	assert_false(send_text(f, "x", 4));
	assert_false(http_post_send(f->post, NULL, 3, 8));
	finish(f, 0);
	assert_int_equal(f->stats.failed.items + f->stats.dropped.items, 15);
	assert_true(f->stats.dropped.items >= 13);
	free(f);
}

static void a_closed_port_is_said(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_post_options options;

	(void)state;
	server_start(&f->server, NULL);
	options = options_for(f, "", "/");
	server_end(&f->server);
	open_with(f, &options);
	assert_true(send_text(f, "body", 1));
	http_post_finish(f->post, LONG_MS, &f->stats);
	check_count(&f->stats.failed, 1, 1, 4);
	assert_int_equal(f->stats.retries, HTTP_ATTEMPTS - 1);
	assert_non_null(strstr(f->stats.why, "onnect"));
	free(f);
}

static void what_cannot_be_sent_to_is_refused_at_once(void **state)
{
	struct http_post_options options = {
		.target = {.url = "file:///etc/passwd", .content_type = "a/b"},
		.connector = {connect_helper, &helper}};
	char why[HTTP_WHY_BYTES];
	struct http_post_stats stats;
	struct http_post *post;

	(void)state;
	assert_null(http_post_new(&options, why));
	assert_string_equal(why, "the URL: it must begin with http:// or https://");
	options.target.url = "http://localhost";
	options.target.headers = "nothing";
	assert_null(http_post_new(&options, why));
	assert_string_equal(why, "the headers: a field has no '='");
	options.target.headers = NULL;
	post = http_post_new(&options, why);
	assert_non_null(post);
	http_post_finish(post, LONG_MS, &stats); /* without having sent anything */
	check_count(&stats.dropped, 0, 0, 0);
	http_post_finish(NULL, 0, &stats);
	check_count(&stats.dropped, 0, 0, 0);
}

static void pauses_grow_and_differ(void **state)
{
	(void)state;
	for (unsigned int attempt = 1; attempt < 64; attempt++) {
		uint32_t whole = http_post_pause_ms(attempt, 0);

		assert_int_equal(whole, attempt < 10 ? 250u << (attempt - 1) : 128000);
		for (uint32_t random = 1; random; random <<= 1) {
			assert_true(http_post_pause_ms(attempt, random) <= whole);
			assert_true(http_post_pause_ms(attempt, random) >= whole / 2);
		}
	}
	assert_int_equal(http_post_pause_ms(1, 125), 125);
}

int main(void)
{
	struct curl_api api; /* all but one test need it */
	int status;
	const struct CMUnitTest without[] = {cmocka_unit_test(pauses_grow_and_differ)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_arrive_in_order),
		cmocka_unit_test(bodies_are_what_was_given),
		cmocka_unit_test(bodies_are_compressed_on_request),
		cmocka_unit_test(busy_servers_are_asked_again),
		cmocka_unit_test(not_for_ever),
		cmocka_unit_test(other_refusals_are_final),
		cmocka_unit_test(secrets_are_not_shown),
		cmocka_unit_test(secrets_of_proxies_are_not_shown),
		cmocka_unit_test(an_endless_answer_is_cut),
		cmocka_unit_test(an_answer_cut_behind_its_body_counts),
		cmocka_unit_test(a_page_accepts_nothing),
		cmocka_unit_test(refused_items_are_counted),
		cmocka_unit_test(refusals_of_a_protocol_are_heard),
		cmocka_unit_test(a_silent_server_holds_nobody),
		cmocka_unit_test(a_request_that_is_stuck_holds_nobody),
		cmocka_unit_test(an_answer_that_drips_is_cut),
		cmocka_unit_test(answers_that_drip_use_up_timeout),
		cmocka_unit_test(waiting_for_room),
		cmocka_unit_test(progress_and_failures),
		cmocka_unit_test(a_full_queue_drops),
		cmocka_unit_test(a_closed_port_is_said),
		cmocka_unit_test(what_cannot_be_sent_to_is_refused_at_once),
		cmocka_unit_test(pauses_grow_and_differ),
		cmocka_unit_test(a_helper_that_has_ended_is_said),
	};

	unsetenv("http_proxy");
	unsetenv("all_proxy");
	if (!curl_api_load(&api))
		return cmocka_run_group_tests(without, NULL, NULL);
	if (!start_helper())
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	helper_end(&helper);
	return status;
}
