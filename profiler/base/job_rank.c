// SPDX-License-Identifier: MIT
#include "profiler/base/job_rank.h"

#include <stddef.h>
#include <stdlib.h>

static const struct launcher {
	const char *rank, *size, *local; /* NULL if the launcher sets no such variable */
} launchers[] = {
	{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
	{"PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID"},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"},
	{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
	{"JOB_COMPLETION_INDEX", NULL, NULL},
};

/* Parses decimal digits up to JOB_RANK_MAX. */
static bool parse(const char *text, uint32_t *number)
{
	*number = 0;
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9')
			return false;
		*number = *number * 10 + (uint32_t)(*c - '0');
		if (*number > JOB_RANK_MAX)
			return false;
	}
	return *text != '\0';
}

static const char *of_environment(const void *context, const char *variable)
{
	(void)context;
	return getenv(variable);
}

const char *job_rank_find(struct job_rank *rank)
{
	return job_rank_find_in(rank, of_environment, NULL);
}

const char *job_rank_find_in(struct job_rank *rank,
			     const char *(*get)(const void *context, const char *variable),
			     const void *context)
{
	*rank = (struct job_rank){.is_known = false};
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];
		const char *text = get(context, l->rank), *size, *local;
		uint32_t number;

		if (!text || !*text)
			continue;
		if (!parse(text, &number))
			return l->rank;
		rank->is_known = true;
		rank->rank = number;
		size = l->size ? get(context, l->size) : NULL;
		if (size && parse(size, &number) && number > rank->rank)
			rank->size = number;
		local = l->local ? get(context, l->local) : NULL;
		rank->has_local = local && parse(local, &number);
		rank->local = rank->has_local ? number : 0;
		return NULL;
	}
	return NULL;
}
