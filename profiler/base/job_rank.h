/* SPDX-License-Identifier: MIT */
/*
 * The rank of a process in a parallel job, as its launcher says in the environment.
 *
 * The first of these variables that is set and not empty counts. torchrun's comes first, for it
 * also runs within a job of Slurm. Slurm's and Kubernetes' come last: both start the launchers of
 * others:
 *
 *	RANK                    torchrun, and others that start PyTorch
 *	OMPI_COMM_WORLD_RANK    Open MPI
 *	PMI_RANK                MPICH, Intel MPI, srun --mpi=pmi2
 *	PMIX_RANK               srun --mpi=pmix
 *	FLUX_TASK_RANK          flux run
 *	SLURM_PROCID            srun
 *	JOB_COMPLETION_INDEX    an indexed job of Kubernetes, whose pods do not know their number
 *
 * The number of ranks and the rank within its machine are those of the same launcher. The
 * environment is the user's, so it may hold anything: ranks are decimal digits and nothing else.
 */
#ifndef PROFILER_BASE_JOB_RANK_H
#define PROFILER_BASE_JOB_RANK_H

#include <stdbool.h>
#include <stdint.h>

#define JOB_RANK_MAX 9999999u
#define JOB_RANK_VARIABLES                                  \
	"RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, " \
	"FLUX_TASK_RANK, SLURM_PROCID, JOB_COMPLETION_INDEX"

/* Ends a message that none of these variables is set. */
#define JOB_RANK_ADVICE "set RANK and WORLD_SIZE for each rank; under sudo use sudo -E"

struct job_rank {
	bool is_known;
	uint32_t rank;
	uint32_t size; /* ranks of the job; 0: unknown */
	bool has_local;
	uint32_t local; /* the rank among those of its machine */
};

/*
 * NULL: found, or no rank is set. Otherwise the variable whose value is not a rank; then none is
 * known.
 */
const char *job_rank_find(struct job_rank *rank);

/* Does the same where `get` gives the value of a variable; NULL: it is not set. */
const char *job_rank_find_in(struct job_rank *rank,
			     const char *(*get)(const void *context, const char *variable),
			     const void *context);

#endif
