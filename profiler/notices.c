// SPDX-License-Identifier: MIT
#include "profiler/notices.h"

#include <string.h>

#define SHOWN_MAX 1000

void notices_init(struct notices *n, struct log *log)
{
	memset(n, 0, sizeof(*n));
	n->log = log;
}

/* Printable text; line ends become ", ". */
static void clean(const char *detail, char *out, size_t size)
{
	size_t used = 0;

	for (; *detail && used + 3 < size; detail++) {
		if (*detail == '\n') {
			out[used++] = ',';
			out[used++] = ' ';
		} else {
			out[used++] =
				(unsigned char)*detail < 0x20 || *detail == 0x7f ? '?' : *detail;
		}
	}
	out[used] = '\0';
}

void notices_add(struct notices *n, uint32_t pid, const struct gpu_event_notice *notice)
{
	uint32_t code = notice->code < GPU_NOTICES ? notice->code : GPU_NOTICE_OTHER;
	char detail[SHOWN_MAX];

	clean(notice->detail, detail, sizeof(detail));
	if (code == GPU_NOTICE_VERBOSE) {
		log_verbose(n->log, "process %u: %s", pid, detail);
		return;
	}
	if (n->seen[code]++ > 0)
		return;
	switch (code) {
	case GPU_NOTICE_NO_CUPTI:
		log_warn(n->log,
			 "process %u uses CUDA, but no libcupti was found: no GPU time. Install "
			 "CUPTI (it comes with the CUDA Toolkit) or set CUDA_HOME. Looked in: %s",
			 pid, detail);
		break;
	case GPU_NOTICE_SUBSCRIBER_TAKEN:
		log_warn(n->log,
			 "process %u: another profiler already uses CUPTI there (%s): no GPU time. "
			 "Turn it off (torch.profiler, nsys, ncu, Proton, ...) and run again",
			 pid, detail);
		break;
	case GPU_NOTICE_OLD_CUPTI:
		log_warn(n->log,
			 "process %u: %s is too old: no GPU time. CUDA 11.8 or later is needed",
			 pid, detail);
		break;
	case GPU_NOTICE_CUPTI_ERROR:
		log_warn(n->log, "process %u: CUPTI does not work there: no GPU time. %s", pid,
			 detail);
		break;
	default:
		log_warn(n->log, "process %u: %s", pid, detail);
		break;
	}
}
