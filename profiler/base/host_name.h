/* SPDX-License-Identifier: MIT */
/* The machine's name. */
#ifndef PROFILER_BASE_HOST_NAME_H
#define PROFILER_BASE_HOST_NAME_H

/* Clean text, to be freed; NULL: it has none, or out of memory. */
char *host_name(void);

#endif
