// SPDX-License-Identifier: MIT
#include "cupti_trace/main/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/settings.h"

#define ARGUMENTS_BYTES 2048
#define BOOT_ID_BYTES 40
#define JOB_BYTES 512

const char *trace_name(void)
{
	const char *name = getenv(GPU_WIRE_PIPE_ENV) ? NULL : secure_getenv(TRACE_ENV);

	return name && name[0] ? name : NULL;
}

void trace_use_settings(void)
{
	settings_configure(&(struct trace_config){
		.stacks = true,
		.devices = true,
		.timeline = true,
		.verbose = secure_getenv("INJECTION_VERBOSE"),
		.metrics = secure_getenv("INJECTION_METRICS"),
		.metrics_kernels = secure_getenv("INJECTION_METRICS_KERNELS"),
		.metrics_launches = secure_getenv("INJECTION_METRICS_LAUNCHES"),
	});
}

/* ---- the program ---- */

/* Reads up to size - 1 bytes of a file, and appends a NUL. Returns their number. */
static size_t read_file(const char *path, char *text, size_t size)
{
	int fd = guest_open(path, O_RDONLY);
	size_t used = 0;
	ssize_t n = 1;

	while (fd >= 0 && n != 0 && used < size - 1) {
		n = read(fd, text + used, size - 1 - used);
		if (n < 0 && errno != EINTR)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[used] = '\0';
	return used;
}

/* Replaces the NUL after each word. */
static void read_arguments(char *text, size_t size)
{
	size_t used = read_file("/proc/self/cmdline", text, size);

	for (size_t i = 0; i < used; i++)
		if (!text[i])
			text[i] = GPU_RUN_WORD_END;
}

/* Reads the variables that profiler/base/job_rank.h knows; omits those that do not fit. */
static void read_job(char *text, size_t size)
{
	static const char names[] = "RANK\0WORLD_SIZE\0LOCAL_RANK\0"
				    "OMPI_COMM_WORLD_RANK\0OMPI_COMM_WORLD_SIZE\0"
				    "OMPI_COMM_WORLD_LOCAL_RANK\0PMI_RANK\0PMI_SIZE\0"
				    "MPI_LOCALRANKID\0PMIX_RANK\0FLUX_TASK_RANK\0FLUX_JOB_SIZE\0"
				    "FLUX_TASK_LOCAL_ID\0SLURM_PROCID\0SLURM_NTASKS\0"
				    "SLURM_LOCALID\0JOB_COMPLETION_INDEX\0";
	size_t used = 0;

	text[0] = '\0';
	for (const char *name = names; *name; name += strlen(name) + 1) {
		const char *value = getenv(name);
		int n = value ? snprintf(text + used, size - used, "%s=%.20s%c", name, value,
					 GPU_RUN_WORD_END)
			      : 0;

		if (n < 0 || (size_t)n >= size - used)
			text[used] = '\0';
		else
			used += (size_t)n;
	}
}

void trace_describe_run(struct sink *sink)
{
	char boot[BOOT_ID_BYTES], host[HOST_NAME_MAX + 1] = "", folder[PATH_MAX] = "",
						       arguments[ARGUMENTS_BYTES], job[JOB_BYTES];
	struct gpu_event event = {.type = GPU_EVENT_RUN,
				  .run = {.time_ns = clock_now_ns(),
					  .unix_ns = clock_wall_ns(),
					  .boot = boot,
					  .host = host,
					  .folder = folder,
					  .arguments = arguments,
					  .job = job}};

	read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	boot[strcspn(boot, "\n")] = '\0';
	gethostname(host, sizeof(host) - 1);
	if (!getcwd(folder, sizeof(folder)) || folder[0] != '/')
		folder[0] = '\0';
	read_arguments(arguments, sizeof(arguments));
	read_job(job, sizeof(job));
	sink_put(sink, &event);
}

void trace_send_time(struct sink *sink)
{
	struct gpu_event event = {.type = GPU_EVENT_RUN, .run = {.time_ns = clock_now_ns()}};

	sink_put(sink, &event);
}
