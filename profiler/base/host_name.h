/* SPDX-License-Identifier: MIT */
/* Reads the machine's name. */
#ifndef PROFILER_BASE_HOST_NAME_H
#define PROFILER_BASE_HOST_NAME_H

/* Returns clean text that the caller frees. Returns NULL if there is no name or no memory. */
char *host_name(void);

#endif
