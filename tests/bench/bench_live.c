/* SPDX-License-Identifier: MIT */
/*
 * Measures what --live costs the loop: passes over 200,000 rows with stacks of 30 frames, half of
 * them GPU work, 50,000 places in code; and choosing and writing what is shown.
 */
#include "profiler/model/live_message.h"
#include "symbolize/util/monotonic.h"

#define ROWS 200000u
#define DEPTH 30u
#define NAMES 2000u
#define KERNELS 300u
#define PLACES 50000u
#define STEP_NS 2000000u

static char names[NAMES][16];
static struct live_pick picks[1024];
static struct live_writer writer;

static void add_row(struct stack_table *stacks, struct profile *profile, uint32_t i)
{
	struct stack_id stack = STACK_EMPTY;
	uint32_t random = i;
	struct frame frame;

	for (uint32_t depth = 0; depth < DEPTH; depth++) {
		uint32_t name = depth < DEPTH / 2 ? depth : random % NAMES;

		random = random * 1103515245u + 12345u;
		stack = stack_table_push_text(stacks, stack, FRAME_PYTHON, names[name]);
	}
	if (i % 2) {
		stack = stack_table_push_text(stacks, stack, FRAME_API, "cudaLaunchKernel");
		stack = stack_table_push_text(stacks, stack, FRAME_GPU_KERNEL, names[i % KERNELS]);
		profile_add(profile, ROW_GPU, stack, PLACE_NOWHERE, 1000 + i, 0);
		return;
	}
	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_CODE;
	frame.code.module = MODULE_KERNEL;
	frame.code.offset = i % PLACES;
	stack = stack_table_push(stacks, stack, &frame);
	profile_add(profile, ROW_CPU, stack, PLACE_NOWHERE, 20000000, 0);
}

static void measure(const char *what, struct live_sums *sums, const struct collected *in)
{
	const struct live_numbers numbers = {.kernels = 1};
	uint64_t begun, longest = 0, took, pass;
	bool is_done = false;

	live_sums_begin(sums);
	while (!is_done) {
		begun = monotonic_ns();
		is_done = live_sums_step(sums, in, STEP_NS);
		took = monotonic_ns() - begun;
		longest = took > longest ? took : longest;
	}
	pass = sums->spent_ns;
	begun = monotonic_ns();
	live_writer_begin(&writer, &numbers);
	for (int i = 0; i < LIVE_TABLES; i++) {
		uint32_t count = live_sums_pick(sums, in, (enum live_table)i, picks, 1024);

		live_writer_add(&writer, in, &sums->whole[i], picks, count);
	}
	printf("%s: %.1f ms, in steps of at most %.1f ms; message of %zu KiB %.1f ms\n", what,
	       (double)pass / 1e6, (double)longest / 1e6, writer.used >> 10,
	       (double)(monotonic_ns() - begun) / 1e6);
}

int main(void)
{
	struct stack_table *stacks = stack_table_new();
	struct profile *profile = profile_new();
	struct collected in = {.stacks = stacks, .profile = profile};
	struct live_sums sums = {.next_row = 0};

	if (!stacks || !profile)
		return 1;
	for (uint32_t i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "f%u", i);
	for (uint32_t i = 0; i < ROWS; i++)
		add_row(stacks, profile, i);
	measure("--live, first pass over 200000 rows", &sums, &in);
	measure("--live, later passes", &sums, &in);
	live_sums_release(&sums);
	stack_table_free(stacks);
	profile_free(profile);
	return 0;
}
