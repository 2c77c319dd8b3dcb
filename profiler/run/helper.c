// SPDX-License-Identifier: MIT
#include "profiler/run/helper.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "profiler/run/isolated_child.h"
#include "profiler/run/privilege.h"

/* ---- in the helper ---- */

struct serving {
	helper_service *const *services;
	uint32_t count;
	pthread_mutex_t loading;
	_Atomic uint32_t connections;
};

struct connection {
	struct serving *serving;
	helper_service *service;
	int socket;
};

static void *serve(void *arg)
{
	struct connection *c = arg;

	c->service(c->socket, &c->serving->loading);
	close(c->socket);
	atomic_fetch_sub(&c->serving->connections, 1);
	free(c);
	return NULL;
}

static void begin_connection(struct serving *s, uint32_t service, int socket)
{
	struct connection *c = service < s->count ? malloc(sizeof(*c)) : NULL;
	pthread_t thread;

	if (atomic_fetch_add(&s->connections, 1) < HELPER_CONNECTIONS && c) {
		*c = (struct connection){s, s->services[service], socket};
		if (pthread_create(&thread, NULL, serve, c) == 0) {
			pthread_detach(thread);
			return;
		}
	}
	atomic_fetch_sub(&s->connections, 1);
	free(c);
	close(socket);
}

/* A message of a service's number and one descriptor. */
struct passed {
	struct iovec data;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message;
};

static void make_message(struct passed *p, uint32_t *service)
{
	memset(p, 0, sizeof(*p));
	p->data = (struct iovec){service, sizeof(*service)};
	p->message = (struct msghdr){.msg_iov = &p->data,
				     .msg_iovlen = 1,
				     .msg_control = &p->control,
				     .msg_controllen = sizeof(p->control)};
}

/* Receives the next connection's socket. Returns -1 if profile has ended or closed its end. */
static int take_connection(int socket, uint32_t *service)
{
	const struct cmsghdr *header;
	struct passed passed;
	int taken = -1;

	make_message(&passed, service);
	if (recvmsg(socket, &passed.message, MSG_CMSG_CLOEXEC) != sizeof(*service))
		return -1;
	header = CMSG_FIRSTHDR(&passed.message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&taken, CMSG_DATA(header), sizeof(taken));
	return taken;
}

static void be_helper(int socket, pid_t parent, const struct identity *identity,
		      helper_service *const *services, uint32_t count)
{
	struct serving serving = {.services = services, .count = count};
	uint32_t service;
	int taken;

	if (identity_become(identity) != 0 || isolated_child_begin(&socket, parent) != 0)
		_exit(1);
	prctl(PR_SET_NAME, "profile-helper", 0, 0, 0);
	privilege_lower_priority();
	pthread_mutex_init(&serving.loading, NULL);
	while ((taken = take_connection(socket, &service)) >= 0)
		begin_connection(&serving, service, taken);
	_exit(0);
}

/* ---- in profile ---- */

int helper_start(struct helper *helper, const struct identity *identity,
		 helper_service *const *services, uint32_t count)
{
	pid_t parent = getpid(), pid;
	int sockets[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		be_helper(sockets[0], parent, identity, services, count);
	err = pid < 0 ? -errno : 0;
	close(sockets[0]);
	if (err)
		close(sockets[1]);
	else
		*helper = (struct helper){pid, sockets[1]};
	return err;
}

static int pass(int socket, uint32_t service, int descriptor)
{
	struct passed passed;

	make_message(&passed, &service);
	passed.control.header.cmsg_level = SOL_SOCKET;
	passed.control.header.cmsg_type = SCM_RIGHTS;
	passed.control.header.cmsg_len = CMSG_LEN(sizeof(descriptor));
	memcpy(CMSG_DATA(&passed.control.header), &descriptor, sizeof(descriptor));
	return sendmsg(socket, &passed.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int helper_connect(const struct helper *helper, uint32_t service)
{
	int sockets[2], err;

	if (!helper->pid)
		return -EPIPE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	err = pass(helper->socket, service, sockets[0]);
	close(sockets[0]);
	if (!err)
		return sockets[1];
	close(sockets[1]);
	return err == -ECONNRESET ? -EPIPE : err;
}

void helper_end(struct helper *helper)
{
	if (!helper->pid)
		return;
	close(helper->socket);
	isolated_child_end(helper->pid);
	*helper = (struct helper){0, -1};
}
