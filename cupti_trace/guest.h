/* SPDX-License-Identifier: MIT */
/*
 * Manners of a guest: what the library leaves as it was in the program's threads.
 *
 * Between guest_enter and guest_leave the thread is not cancelled and runs no signal handler: it
 * would go away, or come back through exit, with a lock of ours held. Signals that came meanwhile
 * are handled at guest_leave; those of faults are not held back. errno is afterwards what it was.
 *
 * For whatever takes a lock, makes a system call or waits in a thread of the program; not for what
 * each launch does, since it costs four system calls. May be nested; only the outermost acts.
 */
#ifndef CUPTI_TRACE_GUEST_H
#define CUPTI_TRACE_GUEST_H

#include <signal.h>
#include <stdbool.h>
#include "cupti_trace/own_cost.h"

struct guest {
	bool is_outermost;
	int cancel_state;
	int error;
	sigset_t signals;
	bool is_measured;
	struct own_cost_mark mark;
};

void guest_enter(struct guest *guest);
/* For little that is done often: its time is not measured (own_cost.h), which would take longer. */
void guest_enter_briefly(struct guest *guest);
void guest_leave(const struct guest *guest);

/*
 * Opens a file for the library, close-on-exec: a descriptor or -errno. It may be made (O_CREAT),
 * with what the umask leaves of all rights to read and write. It gets a high number: low
 * ones are the program's. It never is, not even for a moment, one of the standard descriptors,
 * should the program have closed them: what another thread prints would get into the file.
 */
int guest_open(const char *path, int flags);

/* Whether none of the standard descriptors is closed: what opens a descriptor gets another one. */
bool guest_has_standard(void);

#endif
