/* SPDX-License-Identifier: MIT */
/*
 * rank_captures FOLDER RANKS KERNEL [MACHINES AHEAD_US DRIFT_PPM [exact]]: writes the captures of a
 * made job (tests/unit/made_ranks.h), cap.0.profile and so on, whose collectives are kernels of
 * this name. Of several machines, each has a wall clock that is so much ahead of the one before,
 * and a CLOCK_MONOTONIC that is so much faster.
 */
#include "tests/unit/made_ranks.h"

int main(int argc, char **argv)
{
	static char name[256], path[4096];
	uint32_t ranks = argc >= 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	uint32_t machines = argc >= 7 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1;

	if (ranks == 0 || machines == 0) {
		fprintf(stderr, "usage: rank_captures FOLDER RANKS KERNEL "
				"[MACHINES AHEAD_US DRIFT_PPM [exact]]\n");
		return 2;
	}
	make_folder(NULL);
	snprintf(name, sizeof(name), "[GPU_Kernel]%s", argv[3]);
	for (uint32_t i = 0; i < ranks; i++) {
		struct made_timeline m;
		struct written written;
		FILE *out;

		if (machines > 1) {
			uint32_t machine = i / ((ranks + machines - 1) / machines);

			made_clock = (struct made_clock){
				.machine = machine,
				.ahead_ns = (int64_t)machine * strtol(argv[5], NULL, 10) * 1000,
				.drift = machine * strtod(argv[6], NULL) * 1e-6,
				.is_exact = argc >= 8,
				.jitter_ns = 900000};
		}
		made_rank(&m, i, ranks, "[GPU_Kernel]gemm", name);
		snprintf(path, sizeof(path), "%s/cap.%u.profile", argv[1], i);
		out = fopen(path, "w");
		if (!out ||
		    capture_writer.write(&m.made.result, &(struct writer_options){.unit_ns = 1},
					 out, &written) != 0 ||
		    fclose(out) != 0) {
			perror(path);
			return 1;
		}
		made_timeline_end(&m);
	}
	remove_folder(NULL);
	return 0;
}
