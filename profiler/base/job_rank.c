// SPDX-License-Identifier: MIT
#include "profiler/base/job_rank.h"

#include <stddef.h>
#include <stdlib.h>

static const struct launcher {
	const char *rank, *size, *local; /* NULL: it sets no such variable */
} launchers[] = {
	{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
	{"PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID"},
	{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/* Digits alone, up to JOB_RANK_MAX. */
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

/* False: it is not set, or no number. */
static bool read_number(const char *variable, uint32_t *number)
{
	const char *text = variable ? getenv(variable) : NULL;

	return text && parse(text, number);
}

const char *job_rank_find(struct job_rank *rank)
{
	*rank = (struct job_rank){.is_known = false};
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];
		const char *text = getenv(l->rank);
		uint32_t number;

		if (!text || !*text)
			continue;
		if (!parse(text, &number))
			return l->rank;
		rank->is_known = true;
		rank->rank = number;
		if (read_number(l->size, &number) && number > rank->rank)
			rank->size = number;
		rank->has_local = read_number(l->local, &number);
		rank->local = rank->has_local ? number : 0;
		return NULL;
	}
	return NULL;
}
