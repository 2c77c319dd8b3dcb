// SPDX-License-Identifier: MIT
#include "profiler/attach/notices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/hash.h"

#define SHOWN_MAX 1000

/* CUptiResult */
enum {
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES = 40,
};

void notices_init(struct notices *n, struct log *log)
{
	memset(n, 0, sizeof(*n));
	n->log = log;
}

/* Joins lines with commas, and cuts the text to `size`. */
static void join_lines(const char *detail, char *out, size_t size)
{
	size_t used = 0;

	for (; *detail && used + 3 < size; detail++) {
		if (*detail == '\n') {
			out[used++] = ',';
			out[used++] = ' ';
		} else {
			out[used++] = *detail;
		}
	}
	out[used] = '\0';
}

/* Returns words for the substitute for GPU time, or how to get one. */
static const char *describe_fallback(const struct notices *n)
{
	static const char *const texts[] = {
		[FALLBACK_NONE] = "no GPU time",
		[FALLBACK_TIMES_CALLS] =
			"no GPU time; the wall time of its CUDA calls is shown instead",
		[FALLBACK_NEEDS_SUDO] = "no GPU time (with sudo, the wall time of its CUDA calls "
					"would be shown instead)",
		[FALLBACK_NEEDS_ROOT] = "no GPU time (with --as-root, the wall time of its CUDA "
					"calls would be shown instead)",
	};

	return texts[n->fallback];
}

/* Shows each function once. */
static void add_new_function(struct notices *n, uint32_t pid, const char *name)
{
	for (uint32_t i = 0; i < n->function_count; i++)
		if (strncmp(n->functions[i], name, sizeof(n->functions[i]) - 1) == 0)
			return;
	if (n->function_count == NOTICES_FUNCTIONS_MAX)
		return;
	snprintf(n->functions[n->function_count++], sizeof(n->functions[0]), "%.63s", name);
	log_warn(n->log,
		 "process %u calls %s, a CUDA function newer than this profile: the GPU work that "
		 "CUPTI reports of it is under the call; there may be more",
		 pid, name);
}

/* Handles a detail such as "35 cuptiPCSamplingEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES". */
static void add_no_stalls(const struct notices *n, uint32_t pid, const char *detail)
{
	unsigned long error = strtoul(detail, NULL, 10);
	const char *what = detail + strcspn(detail, " ");

	what += *what == ' ';
	switch (error) {
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES:
		log_warn(n->log,
			 "process %u: no stalls: the driver reserves performance counters for "
			 "administrators. One of them can allow them to all users, with the option "
			 "NVreg_RestrictProfilingToAdminUsers=0 of the kernel module nvidia "
			 "(%s)",
			 pid, what);
		break;
	case CUPTI_NOT_COMPATIBLE:
		log_warn(n->log,
			 "process %u: no stalls: they need CUPTI of CUDA 12.4 or later (%s)", pid,
			 what);
		break;
	default:
		log_warn(n->log,
			 "process %u: no stalls: this GPU or driver does not sample warps (%s)",
			 pid, what);
		break;
	}
}

/* Shows each text once, and NOTICES_COUNTERS_MAX at most: several metrics may be missing. */
static void add_counters(struct notices *n, uint32_t pid, const char *detail)
{
	uint32_t hash = hash_bytes(detail, strlen(detail));

	for (uint32_t i = 0; i < n->counters_count; i++)
		if (n->counters[i] == hash)
			return;
	if (n->counters_count == NOTICES_COUNTERS_MAX)
		return;
	n->counters[n->counters_count++] = hash;
	log_warn(n->log, "process %u: hardware counters: %s", pid, detail);
}

void notices_add(struct notices *n, uint32_t pid, const struct gpu_event_notice *notice)
{
	uint32_t code = notice->code < GPU_NOTICES ? notice->code : GPU_NOTICE_OTHER;
	char detail[SHOWN_MAX];

	join_lines(notice->detail, detail, sizeof(detail));
	if (n->seen[code]++ > 0 && code != GPU_NOTICE_VERBOSE && code != GPU_NOTICE_NEW_FUNCTION &&
	    code != GPU_NOTICE_COUNTERS)
		return;
	switch (code) {
	case GPU_NOTICE_RANGE_SENT: /* gpu_pipe has noted it */
		break;
	case GPU_NOTICE_VERBOSE:
		log_verbose(n->log, "process %u: %s", pid, detail);
		break;
	case GPU_NOTICE_NEW_FUNCTION:
		add_new_function(n, pid, detail);
		break;
	case GPU_NOTICE_COUNTERS:
		add_counters(n, pid, detail);
		break;
	case GPU_NOTICE_NO_CUPTI:
		log_warn(n->log,
			 "process %u uses CUDA, but no libcupti was found: %s. Install "
			 "CUPTI (it comes with the CUDA Toolkit) or set CUDA_HOME. Looked in: %s",
			 pid, describe_fallback(n), detail);
		break;
	case GPU_NOTICE_SUBSCRIBER_TAKEN:
		log_warn(n->log,
			 "process %u: another profiler (%s) already uses CUPTI: %s. "
			 "Turn it off (torch.profiler, nsys, ncu, Proton, ...) for GPU time",
			 pid, detail, describe_fallback(n));
		break;
	case GPU_NOTICE_NOT_RECORDED:
		log_warn(
			n->log,
			"process %u: this CUPTI does not record some GPU work, which is not in the "
			"profile: %s",
			pid, detail);
		break;
	case GPU_NOTICE_DEVICE_LAUNCH:
		log_warn(n->log,
			 "process %u has device code that launches kernels from kernels: CUPTI "
			 "does not report those, so their time is not in the profile",
			 pid);
		break;
	case GPU_NOTICE_OLD_CUPTI:
		log_warn(n->log, "process %u: %s is too old: %s. CUDA 11.8 or later is needed", pid,
			 detail, describe_fallback(n));
		break;
	case GPU_NOTICE_CUPTI_ERROR:
		log_warn(n->log, "process %u: CUPTI failed: %s. %s", pid, describe_fallback(n),
			 detail);
		break;
	case GPU_NOTICE_OTHER_REFUSED:
		log_warn(
			n->log,
			"process %u: CUPTI refused %s, because it serves one profiler per process. "
			"This profile is complete; the other one has GPU events only without "
			"profile, or with -cpu-only",
			pid, detail);
		break;
	case GPU_NOTICE_NO_STALLS:
		add_no_stalls(n, pid, detail);
		break;
	case GPU_NOTICE_NO_PYTHON:
		log_warn(n->log,
			 "process %u: %s: Python functions are shown as the interpreter's C "
			 "functions",
			 pid, detail);
		break;
	default:
		log_warn(n->log, "process %u: %s", pid, detail);
		break;
	}
}
