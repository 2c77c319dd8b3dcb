/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of CUDA in the files a process has mapped, and puts probes on them: launch
 * functions, those whose calls can be timed (cuda_functions.h), or CUPTI's cuptiSubscribe.
 *
 * cudart may be linked statically into the program (local symbols in its .symtab), come as a shared
 * library from anywhere, or be absent; programs may call the driver only. So every file with
 * executable mappings is looked through for the functions' names, once a file.
 */
#ifndef PROFILER_SOURCES_PROBES_H
#define PROFILER_SOURCES_PROBES_H

#include <stdint.h>
#include <sys/types.h>
#include "profiler/sources/bpf_source.h"
#include "profiler/base/log.h"
#include "symbolize/bounded_call.h"

struct probes;

/* Each kind of probe has its own. `calls` reads the files, all are borrowed. NULL: out of memory.
 */
struct probes *probes_new(enum bpf_source_probe kind, struct bpf_source *source,
			  struct bounded_caller *calls, struct log *log);
void probes_free(struct probes *probes);

/*
 * Looks through what `pid` maps now. Returns how many functions were newly probed, or -errno. Those
 * of calls are probed in that process only, the others in all that map the file.
 */
int probes_scan_process(struct probes *probes, pid_t pid);

/* Takes back what was put into that process only, and may look through its files anew. */
void probes_forget_process(struct probes *probes, pid_t pid);

/* Looks through one file. The same result; -ENOENT when it has no such function at all. */
int probes_scan_file(struct probes *probes, const char *path);

/* How many functions are probed in all. */
uint32_t probes_count(const struct probes *probes);

#endif
