/* SPDX-License-Identifier: MIT */
/*
 * Reads the rank of a process in a parallel job from the launcher's environment variables.
 *
 * The first variable that is set and not empty counts. torchrun's comes first, because torchrun
 * also runs within Slurm jobs. Slurm's and Kubernetes' come last: both start other launchers.
 *
 *	RANK                    torchrun, and others that start PyTorch
 *	OMPI_COMM_WORLD_RANK    Open MPI
 *	PMI_RANK                MPICH, Intel MPI, srun --mpi=pmi2
 *	PMIX_RANK               srun --mpi=pmix
 *	FLUX_TASK_RANK          flux run
 *	SLURM_PROCID            srun
 *	JOB_COMPLETION_INDEX    an indexed job of Kubernetes, whose pods do not know their number
 *
 * The job's size and the local rank come from that launcher too. The environment may hold anything:
 * only decimal digits are ranks.
 */
#ifndef PROFILER_BASE_JOB_RANK_H
#define PROFILER_BASE_JOB_RANK_H

#include <stdbool.h>
#include <stdint.h>

#define JOB_RANK_MAX 9999999u
#define JOB_RANK_VARIABLES                                  \
	"RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, " \
	"FLUX_TASK_RANK, SLURM_PROCID, JOB_COMPLETION_INDEX"

/* End of a message that reports a missing rank. */
#define JOB_RANK_ADVICE "set RANK and WORLD_SIZE for each rank; under sudo use sudo -E"

struct job_rank {
	bool is_known;
	uint32_t rank;
	uint32_t size; /* ranks of the job; 0 if unknown */
	bool has_local;
	uint32_t local; /* rank within the machine */
};

/*
 * Reads the rank from the environment. Returns NULL if it is valid or not set. Otherwise returns
 * the variable whose value is no rank, and sets no rank.
 */
const char *job_rank_find(struct job_rank *rank);

/*
 * Reads the rank through `get`, which returns a variable's value, or NULL if it is not set. Returns
 * like job_rank_find.
 */
const char *job_rank_find_in(struct job_rank *rank,
			     const char *(*get)(const void *context, const char *variable),
			     const void *context);

#endif
