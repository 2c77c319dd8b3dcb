/* SPDX-License-Identifier: MIT */
/*
 * A server for one test: on 127.0.0.1, it takes each connection's one request, keeps it, and gives
 * the next answer of a list; the last one stays for all that follow. An answer is sent as it is, so
 * that it may be anything.
 */
#ifndef TESTS_UNIT_HTTP_SERVER_H
#define TESTS_UNIT_HTTP_SERVER_H

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

struct server_request {
	char head[4096];
	char *body;
	size_t size;
};

struct http_server {
	int socket;
	uint16_t port;
	pthread_t thread;
	const char *const *answers; /* NULL at the end */
	bool is_silent;             /* accepts connections and sends nothing */
	bool is_endless;            /* repeats the answer's last byte until the client closes */
	bool drips;                 /* repeats slowly */
	_Atomic bool ends;
	struct server_request requests[64];
	_Atomic unsigned int count;
};

/* Reads until the client goes, or the test ends. */
static inline void server_await_close(struct http_server *s, int client)
{
	struct pollfd poll_for = {.fd = client, .events = POLLIN};
	char byte;

	while (!atomic_load(&s->ends))
		if (poll(&poll_for, 1, 20) > 0 && read(client, &byte, 1) <= 0)
			return;
}

static inline void server_read(int client, struct server_request *r)
{
	size_t used = 0, length = 0, have;
	char *end = NULL, *field;
	ssize_t got;

	while (!end && used + 1 < sizeof(r->head)) {
		got = read(client, r->head + used, sizeof(r->head) - 1 - used);
		if (got <= 0)
			return;
		used += (size_t)got;
		r->head[used] = '\0';
		end = strstr(r->head, "\r\n\r\n");
	}
	assert_non_null(end);
	end += 4;
	field = strcasestr(r->head, "\r\nContent-Length:");
	if (field)
		length = strtoul(field + 17, NULL, 10);
	r->body = malloc(length + 1);
	have = used - (size_t)(end - r->head);
	memcpy(r->body, end, have);
	*end = '\0';
	while (have < length && (got = read(client, r->body + have, length - have)) > 0)
		have += (size_t)got;
	r->body[have] = '\0';
	r->size = have;
}

static inline void server_answer(struct http_server *s, int client, const char *answer)
{
	size_t left = strlen(answer);
	ssize_t sent;

	while (left > 0 && (sent = send(client, answer, left, MSG_NOSIGNAL)) > 0) {
		answer += sent;
		left -= (size_t)sent;
	}
	while (s->is_endless && !atomic_load(&s->ends) &&
	       send(client, "................................", s->drips ? 1 : 32, MSG_NOSIGNAL) >
		       0)
		if (s->drips)
			poll(NULL, 0, 50);
}

static inline void *server_run(void *arg)
{
	struct http_server *s = arg;
	struct pollfd poll_for = {.fd = s->socket, .events = POLLIN};

	while (!atomic_load(&s->ends)) {
		unsigned int at = atomic_load(&s->count);
		int client;

		if (poll(&poll_for, 1, 20) <= 0)
			continue;
		client = accept(s->socket, NULL, NULL);
		if (s->is_silent) {
			server_await_close(s, client);
		} else if (at < 64) {
			server_read(client, &s->requests[at]);
			atomic_store(&s->count, at + 1);
			server_answer(s, client, *s->answers);
			if (s->answers[1])
				s->answers++;
		}
		shutdown(client, SHUT_WR);
		server_await_close(s, client);
		close(client);
	}
	return NULL;
}

static inline void server_start(struct http_server *s, const char *const *answers)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	s->answers = answers;
	s->is_silent = answers == NULL;
	s->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->socket, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(s->socket, 64), 0);
	assert_int_equal(getsockname(s->socket, (struct sockaddr *)&address, &size), 0);
	s->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static inline void server_end(struct http_server *s)
{
	atomic_store(&s->ends, true);
	pthread_join(s->thread, NULL);
	close(s->socket);
	for (unsigned int i = 0; i < atomic_load(&s->count); i++)
		free(s->requests[i].body);
}

#endif
