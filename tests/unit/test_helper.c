/* SPDX-License-Identifier: MIT */
/* The helper: what it has, that connections are served side by side, and how it ends. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/run/helper.h"

#define USER 12345
#define GROUP 23456

static const struct identity ourselves;

/* Sends its status. */
static void tell(int socket, pthread_mutex_t *loading)
{
	FILE *file = fopen("/proc/self/status", "re");
	char text[4096];
	size_t size = file ? fread(text, 1, sizeof(text), file) : 0;

	(void)loading;
	send(socket, text, size, MSG_NOSIGNAL);
	if (file)
		fclose(file);
}

static void echo(int socket, pthread_mutex_t *loading)
{
	char byte;

	pthread_mutex_lock(loading);
	pthread_mutex_unlock(loading);
	while (recv(socket, &byte, 1, 0) == 1)
		send(socket, &byte, 1, MSG_NOSIGNAL);
}

static void hang(int socket, pthread_mutex_t *loading)
{
	(void)socket;
	(void)loading;
	for (;;)
		pause();
}

enum { TELL, ECHO, HANG, SERVICES };
static helper_service *const services[] = {tell, echo, hang};

static struct helper start(const struct identity *identity)
{
	struct helper helper = {0};

	assert_int_equal(helper_start(&helper, identity, services, SERVICES), 0);
	return helper;
}

static int open_connection(const struct helper *helper, uint32_t service)
{
	int socket = helper_connect(helper, service);

	assert_true(socket >= 0);
	return socket;
}

/* Reads until the end. */
static void read_all(int socket, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used + 1 < size && (n = recv(socket, text + used, size - 1 - used, 0)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(socket);
}

static bool echoes(int socket)
{
	char byte = 'x';

	return send(socket, &byte, 1, MSG_NOSIGNAL) == 1 && recv(socket, &byte, 1, 0) == 1 &&
	       byte == 'x';
}

static void need_line(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("'%s' is not in %s", line, text);
}

static void it_is_the_user_without_capabilities(void **state)
{
	const struct identity user = {.other = true, .uid = USER, .gid = GROUP};
	bool is_root = geteuid() == 0;
	struct helper helper = start(is_root ? &user : &ourselves);
	char text[4096];

	(void)state;
	read_all(open_connection(&helper, TELL), text, sizeof(text));
	need_line(text, "Name:\tprofile-helper\n");
	need_line(text, "\nCapInh:\t0000000000000000\n");
	need_line(text, "\nCapPrm:\t0000000000000000\n");
	need_line(text, "\nCapEff:\t0000000000000000\n");
	need_line(text, "\nNoNewPrivs:\t1\n");
	if (is_root) {
		need_line(text, "\nUid:\t12345\t12345\t12345\t12345\n");
		need_line(text, "\nGid:\t23456\t23456\t23456\t23456\n");
		need_line(text, "\nGroups:\t23456 \n");
	}
	helper_end(&helper);
}

static void one_that_hangs_keeps_no_other(void **state)
{
	struct helper helper = start(&ourselves);
	int stuck = open_connection(&helper, HANG), first = open_connection(&helper, ECHO);
	int second = open_connection(&helper, ECHO);

	(void)state;
	assert_true(echoes(second));
	assert_true(echoes(first));
	assert_true(echoes(second));
	close(first);
	assert_true(echoes(second));
	close(second);
	helper_end(&helper);
	close(stuck);
}

static void what_there_is_not_is_closed(void **state)
{
	struct helper helper = start(&ourselves), none = {0};
	char byte;
	int socket = open_connection(&helper, SERVICES);

	(void)state;
	assert_int_equal(recv(socket, &byte, 1, 0), 0);
	close(socket);
	assert_int_equal(helper_connect(&none, ECHO), -EPIPE);
	helper_end(&none);
	helper_end(&helper);
	assert_int_equal(helper_connect(&helper, ECHO), -EPIPE);
}

static void there_is_a_limit(void **state)
{
	struct helper helper = start(&ourselves);
	int sockets[HELPER_CONNECTIONS + 1];
	char byte;

	(void)state;
	for (int i = 0; i < HELPER_CONNECTIONS; i++)
		sockets[i] = open_connection(&helper, ECHO);
	for (int i = 0; i < HELPER_CONNECTIONS; i++)
		assert_true(echoes(sockets[i]));
	sockets[HELPER_CONNECTIONS] = open_connection(&helper, ECHO);
	assert_int_equal(recv(sockets[HELPER_CONNECTIONS], &byte, 1, 0), 0);
	for (int i = 0; i <= HELPER_CONNECTIONS; i++)
		close(sockets[i]);
	helper_end(&helper);
}

/* The helper's death ends the stream. Its time counts nowhere until helper_end. */
static void its_death_shows(void **state)
{
	struct helper helper = start(&ourselves);
	int socket = open_connection(&helper, ECHO), late;
	char byte;

	(void)state;
	assert_true(echoes(socket));
	assert_int_equal(kill(helper.pid, SIGKILL), 0);
	assert_int_equal(recv(socket, &byte, 1, 0), 0);
	close(socket);
	late = helper_connect(&helper, ECHO);
	if (late >= 0) { /* a connection that is not closed yet */
		assert_true(recv(late, &byte, 1, 0) <= 0);
		close(late);
	}
	helper_end(&helper);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* A terminal's signals are the supervisor's. */
static void signals_do_not_end_it(void **state)
{
	struct helper helper = start(&ourselves);
	int socket = open_connection(&helper, ECHO);

	(void)state;
	assert_true(echoes(socket));
	/* valgrind handles signals of faults itself */
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP && i != SIGSEGV && i != SIGBUS && i != SIGILL &&
		    i != SIGFPE && i != SIGTRAP && i != SIGSYS)
			kill(helper.pid, i);
	assert_true(echoes(socket));
	close(socket);
	helper_end(&helper);
}

/* Runs in a child: starts a helper, lets a connection hang, reports the helper's pid, and waits
 * to be killed. */
static void be_parent(int pipe)
{
	struct helper helper = {0};

	if (helper_start(&helper, &ourselves, services, SERVICES) == 0 &&
	    helper_connect(&helper, HANG) >= 0 &&
	    write(pipe, &helper.pid, sizeof(helper.pid)) == sizeof(helper.pid))
		pause();
	_exit(1);
}

static void it_ends_with_its_parent(void **state)
{
	pid_t parent, helper = 0;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	parent = fork();
	if (parent == 0)
		be_parent(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &helper, sizeof(helper)), sizeof(helper));
	close(ends[0]);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(helper, NULL, 0), helper); /* we are its parent now */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_user_without_capabilities),
		cmocka_unit_test(one_that_hangs_keeps_no_other),
		cmocka_unit_test(what_there_is_not_is_closed),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(its_death_shows),
		cmocka_unit_test(signals_do_not_end_it),
		cmocka_unit_test(it_ends_with_its_parent),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
