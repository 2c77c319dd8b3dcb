/* SPDX-License-Identifier: MIT */
/* The channel to the process that makes requests, where that is hostile, hangs or is not there.
 * What requests do is tested in test_http_post.c. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/send/http_channel.h"
#include "symbolize/util/monotonic.h"

#define OPENED_BYTES (4 + HTTP_WHY_BYTES)

/* The other end, as a thread. */
struct other_end {
	void (*behave)(int socket);
	pthread_t thread;
	int socket, started;
};

static void *run(void *arg)
{
	struct other_end *other = arg;

	other->behave(other->socket);
	close(other->socket);
	return NULL;
}

static int connect_other(const void *context)
{
	struct other_end *other = (struct other_end *)(uintptr_t)context;
	int sockets[2];

	if (!other->behave)
		return -EPIPE;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	if (other->started++)
		pthread_join(other->thread, NULL);
	other->socket = sockets[0];
	assert_int_equal(pthread_create(&other->thread, NULL, run, other), 0);
	return sockets[1];
}

static const struct http_target target = {.url = "http://host/path", .content_type = "a/b"};

static struct http_channel *open_channel(struct other_end *other, char why[HTTP_WHY_BYTES])
{
	const struct http_connector connector = {connect_other, other};

	return http_channel_new(&target, &connector, why);
}

static void end(struct other_end *other, struct http_channel *channel)
{
	http_channel_free(channel);
	if (other->started)
		pthread_join(other->thread, NULL);
}

/* Says that it is open, or not, with a text that is not one. */
static void send_opened(int socket, uint32_t is_open)
{
	char opened[OPENED_BYTES];

	memset(opened, 'w', sizeof(opened));
	memcpy(opened + 4, "\x1b]0;", 4);
	memcpy(opened, &is_open, sizeof(is_open));
	send(socket, opened, sizeof(opened), MSG_NOSIGNAL);
}

/* Reads until no bytes are left. */
static void read_on(int socket)
{
	char bytes[4096];

	while (recv(socket, bytes, sizeof(bytes), 0) > 0)
		;
}

static void refuse(int socket)
{
	send_opened(socket, 0);
	read_on(socket);
}

static void what_it_cannot_do_is_said(void **state)
{
	struct other_end other = {.behave = refuse};
	char why[HTTP_WHY_BYTES];

	(void)state;
	assert_null(open_channel(&other, why));
	assert_int_equal(strlen(why), HTTP_WHY_BYTES - 1);
	assert_int_equal(why[0], '?'); /* no control character reaches the terminal */
	end(&other, NULL);
}

/* Bytes that no honest one sends: lengths beyond all bounds, texts without an end. */
static void lie(int socket)
{
	char lies[1 << 16];

	send_opened(socket, 1);
	memset(lies, 0xff, sizeof(lies));
	send(socket, lies, sizeof(lies), MSG_NOSIGNAL);
	read_on(socket);
}

static void lies_are_bounded(void **state)
{
	struct other_end other = {.behave = lie};
	char why[HTTP_WHY_BYTES];
	struct http_channel *channel = open_channel(&other, why);
	_Atomic int64_t deadline = INT64_MAX;
	struct http_outcome outcome;

	(void)state;
	assert_non_null(channel);
	http_channel_post(channel, "body", 4, &deadline, &outcome);
	assert_int_equal(outcome.answer_size, HTTP_ANSWER_BYTES);
	assert_int_equal(outcome.answer[HTTP_ANSWER_BYTES], '\0');
	assert_true(strlen(outcome.why) < HTTP_WHY_BYTES);
	end(&other, channel);
}

static void leave(int socket)
{
	send_opened(socket, 1);
}

static void one_that_ends_is_begun_again(void **state)
{
	struct other_end other = {.behave = leave};
	char why[HTTP_WHY_BYTES];
	struct http_channel *channel = open_channel(&other, why);
	_Atomic int64_t deadline = INT64_MAX;
	struct http_outcome outcome;

	(void)state;
	assert_non_null(channel);
	for (int i = 0; i < 2; i++) {
		http_channel_post(channel, "body", 4, &deadline, &outcome);
		assert_false(outcome.is_accepted);
		assert_false(outcome.is_worth_a_retry);
		assert_string_equal(outcome.why, "http://host/path: profile-helper, the process "
						 "that sends, has ended");
	}
	/* the end is seen before a request, or by it */
	assert_in_range(other.started, 2, 3);
	end(&other, channel);
}

static void none_is_said(void **state)
{
	struct other_end other = {.behave = NULL};
	char why[HTTP_WHY_BYTES];
	struct http_channel *channel = open_channel(&other, why);
	_Atomic int64_t deadline = INT64_MAX;
	struct http_outcome outcome;

	(void)state;
	assert_non_null(channel); /* the run goes on, and what is not sent is counted */
	http_channel_post(channel, "body", 4, &deadline, &outcome);
	assert_false(outcome.is_accepted);
	assert_non_null(strstr(outcome.why, "has ended"));
	assert_string_equal(http_channel_shown(channel)->server, "http://host/path");
	end(&other, channel);
}

/* Takes the request, and answers only when told to stop. */
static void be_slow(int socket)
{
	char result[8192] = {0};

	send_opened(socket, 1);
	read_on(socket);
	result[0] = 99; /* the status, which comes first */
	send(socket, result, sizeof(result), MSG_NOSIGNAL);
}

static void hang(int socket)
{
	struct pollfd peer = {.fd = socket, .events = 0};

	send_opened(socket, 1);
	while (poll(&peer, 1, -1) >= 0 && !(peer.revents & POLLHUP))
		;
}

/* A server may still report a request's state at the deadline. The wait is not for ever. */
static void nobody_waits_beyond_the_deadline(void **state)
{
	struct other_end slow = {.behave = be_slow}, stuck = {.behave = hang};
	char why[HTTP_WHY_BYTES];
	struct http_channel *channel = open_channel(&slow, why);
	_Atomic int64_t deadline = monotonic_ms() + 300;
	struct http_outcome outcome;

	(void)state;
	assert_non_null(channel);
	http_channel_post(channel, "body", 4, &deadline, &outcome);
	assert_int_equal(outcome.status, 99);
	end(&slow, channel);
	channel = open_channel(&stuck, why);
	assert_non_null(channel);
	atomic_store(&deadline, monotonic_ms() + 300);
	http_channel_post(channel, "body", 4, &deadline, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.why, "http://host/path: no answer in time");
	end(&stuck, channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_cannot_do_is_said),
		cmocka_unit_test(lies_are_bounded),
		cmocka_unit_test(one_that_ends_is_begun_again),
		cmocka_unit_test(none_is_said),
		cmocka_unit_test(nobody_waits_beyond_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
