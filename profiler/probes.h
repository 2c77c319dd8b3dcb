/* SPDX-License-Identifier: MIT */
/*
 * Finds CUDA's launch functions in the files a process has mapped, and puts probes on them.
 *
 * cudart may be linked statically into the program (local symbols in its .symtab), come as a shared
 * library from anywhere, or be absent; programs may call the driver only. So every file with
 * executable mappings is looked through for the launch functions' names, once a file.
 */
#ifndef PROFILER_PROBES_H
#define PROFILER_PROBES_H

#include <stdint.h>
#include <sys/types.h>
#include "profiler/cpu_source.h"
#include "profiler/log.h"

struct probes;

struct probes *probes_new(struct cpu_source *source, struct log *log);
void probes_free(struct probes *probes);

/* Looks through what `pid` maps now. Returns how many functions were newly probed, or -errno. */
int probes_scan_process(struct probes *probes, pid_t pid);

/* Looks through one file. The same result; -ENOENT when it has no launch function at all. */
int probes_scan_file(struct probes *probes, const char *path);

/* How many functions are probed in all. */
uint32_t probes_count(const struct probes *probes);

#endif
