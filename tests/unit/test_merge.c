/* SPDX-License-Identifier: MIT */
/* Merged runs hold all of each run once, whatever they have in common. */
#include "made_ranks.h"
#include "random_result.h"
#include "profiler/shape/merge.h"
#include "profiler/shape/view.h"
#include "profiler/model/clock_fit.h"
#include "profiler/model/stall_places.h"
#include "profiler/tables/ranks_table.h"

#define RUNS 3u

struct job {
	struct random_result runs[RUNS];
	struct quota memory;
	struct merge *merge;
	const struct result *result;
};

static void describe(struct result *r, uint32_t rank)
{
	r->totals.job = (struct job_rank){.is_known = true, .rank = rank, .size = RUNS + 2};
	r->totals.boot = (struct boot_id){{7, 8}};
	r->totals.start_ns = RANDOM_START_NS;
	r->totals.start_unix_ns = UINT64_C(1700000000000000000) + rank;
	r->totals.elapsed_ns = RANDOM_RUN_NS;
	r->totals.sample_ns = 1;
	r->totals.host = "node";
}

static void job_begin(struct prng *p, struct job *j)
{
	memset(j, 0, sizeof(*j));
	j->memory.limit = SIZE_MAX;
	for (uint32_t i = 0; i < RUNS; i++) {
		random_begin(p, &j->runs[i]);
		describe(&j->runs[i].made.result, i);
	}
	j->merge = merge_new(folder, &j->memory);
	assert_non_null(j->merge);
}

static void add_all(struct job *j)
{
	for (uint32_t i = 0; i < RUNS; i++)
		assert_int_equal(merge_add(j->merge, &j->runs[i].made.result, "x"), MERGE_OK);
	j->result = merge_finish(j->merge);
	assert_non_null(j->result);
}

static void job_end(struct job *j)
{
	merge_free(j->merge);
	assert_int_equal(j->memory.used, 0);
	for (uint32_t i = 0; i < RUNS; i++)
		random_end(&j->runs[i]);
}

static uint32_t rank_of(const struct result *r, uint32_t place)
{
	uint32_t rank;

	assert_true(place < r->place_count);
	assert_true(place_names_rank(r->place_names, r->places[place].part[PLACE_PROCESS], &rank));
	return rank;
}

/* Returns the frames from the root on, with everything that tells frames apart. */
static char *stack_text(const struct result *r, uint32_t stack)
{
	char *text = strdup(""), *longer;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *f = &r->frames[r->stacks[stack].frame];

		assert_true(r->stacks[stack].outer < stack);
		assert_true(asprintf(&longer, "%d/%s/%s/%s/%s/%s/%u;%s", (int)f->class, f->name,
				     f->short_name, f->file ? f->file : "-",
				     f->module ? f->module : "-", f->build_id ? f->build_id : "-",
				     f->line, text) >= 0);
		free(text);
		text = longer;
	}
	return text;
}

static void assert_same_stack(const struct result *a, uint32_t x, const struct result *b,
			      uint32_t y)
{
	char *one = stack_text(a, x), *other = stack_text(b, y);

	assert_string_equal(one, other);
	free(one);
	free(other);
}

/* Rows and records come in the order of the runs. */
static void check_rows(const struct job *j)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < RUNS; i++) {
		const struct result *run = &j->runs[i].made.result;

		for (uint32_t k = 0; k < run->row_count; k++, at++) {
			const struct row *want = &run->rows[k], *got = &j->result->rows[at];

			assert_true(at < j->result->row_count);
			assert_int_equal(got->kind, want->kind);
			assert_int_equal(got->ns, want->ns);
			assert_int_equal(got->count, want->count);
			assert_int_equal(got->bytes, want->bytes);
			assert_int_equal(rank_of(j->result, got->place), i);
			assert_memory_equal(&j->result->places[got->place].part[PLACE_THREAD],
					    &run->places[want->place].part[PLACE_THREAD],
					    (PLACE_PARTS - 1) * sizeof(uint32_t));
			assert_same_stack(run, want->stack, j->result, got->stack);
		}
	}
	assert_int_equal(at, j->result->row_count);
}

static void check_records(const struct job *j)
{
	/* one boot: the first run's wall clock and the machine's clock */
	uint64_t moved = j->runs[0].made.result.totals.start_unix_ns - RANDOM_START_NS, at = 0;

	for (uint32_t i = 0; i < RUNS; i++)
		for (uint32_t k = 0; k < j->runs[i].record_count; k++, at++) {
			const struct timeline_record *want = &j->runs[i].records[k];
			struct timeline_record got;

			assert_int_equal(timeline_read(j->result->timeline, at, 1, &got), 0);
			assert_int_equal(got.kind, want->kind);
			assert_int_equal(got.start_ns, want->start_ns + moved);
			assert_int_equal(got.duration_ns, want->duration_ns);
			assert_int_equal(got.correlation, want->correlation);
			assert_int_equal(rank_of(j->result, got.place.number), i);
			assert_same_stack(&j->runs[i].made.result, want->stack.number, j->result,
					  got.stack.number);
			assert_int_equal(!got.shape, !want->shape);
			if (want->shape)
				assert_memory_equal(
					timeline_shape(j->result->timeline, got.shape),
					timeline_shape(j->runs[i].timeline, want->shape),
					sizeof(struct timeline_shape));
		}
	assert_int_equal(timeline_stats(j->result->timeline).records, at);
	assert_int_equal(j->result->totals.ledger->timeline.records, at);
}

static void check_frames(const struct result *r)
{
	for (uint32_t i = 0; i < r->frame_count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct frame_info *a = &r->frames[i], *b = &r->frames[k];

			assert_false(a->class == b->class && a->name == b->name &&
				     a->file == b->file && a->module == b->module &&
				     a->line == b->line);
		}
	for (uint32_t i = 1; i < r->stack_count; i++)
		for (uint32_t k = 1; k < i; k++)
			if (memcmp(&r->stacks[i], &r->stacks[k], sizeof(*r->stacks)) == 0)
				fail_msg("stacks %u and %u are one", i, k);
}

static void everything_is_there_once(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20); round++) {
		struct prng p = prng_round(round);
		static struct job j;

		job_begin(&p, &j);
		add_all(&j);
		check_rows(&j);
		check_records(&j);
		check_frames(j.result);
		assert_int_equal(j.result->rank_count, RUNS);
		assert_int_equal(j.result->totals.job.size, RUNS + 2);
		assert_int_equal(j.result->totals.elapsed_ns, RANDOM_RUN_NS);
		job_end(&j);
	}
}

/* Numbers of metrics and processes differ between runs; correlation ids are equal. */
static void values_of_launches_keep_their_process_and_metric(void **state)
{
	static const char *const metrics[RUNS][2] = {{"a", "b"}, {"b", "a"}, {"c", "a"}};
	static struct counter_table counters[RUNS];
	static struct counter_value values[RUNS][3];
	struct prng p = prng_round(5);
	static struct job j;
	const struct counter_table *all;

	(void)state;
	job_begin(&p, &j);
	for (uint32_t i = 0; i < RUNS; i++) {
		struct result *r = &j.runs[i].made.result;

		for (uint32_t k = 0; k < 3; k++) /* values of two launches */
			values[i][k] = (struct counter_value){r->processes[0].id, 7 + k / 2, k % 2,
							      10 * i + k};
		counters[i] = (struct counter_table){
			.metrics = {{metrics[i][0], ""}, {metrics[i][1], ""}},
			.metric_count = 2,
			.values = values[i],
			.value_count = 3};
		r->counters = &counters[i];
		r->counters_result = r;
		r->totals.measure.counters = true;
	}
	add_all(&j);
	all = j.result->counters;
	assert_int_equal(all->metric_count, 3);
	assert_int_equal(all->value_count, 3 * RUNS);
	for (uint32_t i = 0; i < 3 * RUNS; i++) {
		const struct counter_value *v = &all->values[i];
		uint32_t rank;

		assert_true(place_names_rank(j.result->place_names, v->process, &rank));
		assert_int_equal(rank, i / 3);
		assert_int_equal(v->correlation, 7 + i % 3 / 2);
		assert_true(v->value == 10 * rank + i % 3);
		assert_string_equal(all->metrics[v->metric].name, metrics[rank][i % 3 % 2]);
	}
	assert_int_equal(j.result->totals.ledger->counters.unlisted, 0);
	job_end(&j);
}

/* All random runs have equal pids, like runs in containers. */
static void equal_pids_stay_apart(void **state)
{
	struct prng p = prng_round(3);
	static struct job j;

	(void)state;
	job_begin(&p, &j);
	for (uint32_t i = 0; i < RUNS; i++)
		place_names_add_thread(&j.runs[i].made.place_names,
				       &(struct thread_info){.process = 0,
							     .tid = 40 + i / 2,
							     .name = i / 2 ? "own" : "worker"});
	for (uint32_t i = 0; i < RUNS; i++) {
		struct made_result *m = &j.runs[i].made;

		m->result.processes = m->place_names.processes;
		m->result.process_count = m->place_names.process_count;
		m->result.threads = m->place_names.threads;
		m->result.thread_count = m->place_names.thread_count;
	}
	add_all(&j);
	for (uint32_t i = 0; i < j.result->process_count; i++) {
		const struct process_info *a = &j.result->processes[i];

		assert_true(a->has_rank);
		assert_int_equal(a->has_twin, a->pid > 0);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(a->id, j.result->processes[k].id);
	}
	for (uint32_t i = 0; i < j.result->thread_count; i++) {
		const struct thread_info *t = &j.result->threads[i];

		uint32_t rank = place_names_process(j.result->place_names, t->process)->rank;
		char want[32];

		snprintf(want, sizeof(want), "rank %u: worker", rank);
		assert_string_equal(t->name, t->tid == 41 ? "own" : want);
	}
	job_end(&j);
}

/* Each run's, with texts of its own. */
static void instructions_of_all_runs_are_there(void **state)
{
	struct prng p = prng_round(5);
	static struct job j;
	char names[RUNS][16];
	struct stall_place places[RUNS];
	const struct result_table *all;

	(void)state;
	job_begin(&p, &j);
	for (uint32_t i = 0; i < RUNS; i++) {
		snprintf(names[i], sizeof(names[i]), "k%u", i / 2);
		places[i] = (struct stall_place){names[i], "[selected]", 16 * i, 1 + i};
		j.runs[i].made.result.totals.measure.stall_period = 14;
		made_table(&j.runs[i].made, &stall_places_table, &places[i], 1);
	}
	add_all(&j);
	memset(names, 'x', sizeof(names));
	all = result_tables_find(j.result->tables, &stall_places_table);
	assert_int_equal(all->count, RUNS);
	for (uint32_t i = 0; i < RUNS; i++) {
		const struct stall_place *got = result_table_row(all, &stall_places_table, i);

		assert_string_equal(got->kernel, i / 2 ? "k1" : "k0");
		assert_string_equal(got->reason, "[selected]");
		assert_int_equal(got->offset, 16 * i);
		assert_int_equal(got->samples, 1 + i);
	}
	job_end(&j);
}

static uint64_t start_of(const struct job *j, uint32_t rank)
{
	return j->result->ranks[rank].start_ns;
}

/* One machine's clock is exact; others are by their wall clocks. */
static void clocks_are_aligned(void **state)
{
	struct prng p = prng_round(4);
	static struct job j;
	struct totals *t[RUNS];

	(void)state;
	job_begin(&p, &j);
	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = &j.runs[i].made.result.totals;
	/* the first machine has just been started, and the wall clock was set meanwhile */
	t[1]->start_ns += 500;
	t[1]->start_unix_ns -= 1000000;
	t[2]->boot.part[0]++;
	t[2]->start_ns = UINT64_C(1) << 50;
	t[2]->start_unix_ns = t[0]->start_unix_ns - UINT64_C(100000000000);
	add_all(&j);
	assert_int_equal(start_of(&j, 0), t[0]->start_unix_ns);
	assert_int_equal(start_of(&j, 1), t[0]->start_unix_ns + 500);
	assert_int_equal(start_of(&j, 2), t[2]->start_unix_ns);
	assert_int_equal(j.result->totals.start_ns, t[2]->start_unix_ns);
	assert_int_equal(j.result->totals.start_unix_ns, t[2]->start_unix_ns);
	assert_int_equal(j.result->totals.elapsed_ns, UINT64_C(100000000000) + 500 + RANDOM_RUN_NS);
	assert_int_equal(j.result->ranks[0].clock, j.result->ranks[1].clock);
	assert_int_not_equal(j.result->ranks[0].clock, j.result->ranks[2].clock);
	job_end(&j);

	/* without the first one's wall clock they are shown from one start */
	job_begin(&p, &j);
	j.runs[0].made.result.totals.start_unix_ns = 0;
	j.runs[1].made.result.totals.boot.part[1] = 0;
	j.runs[1].made.result.totals.start_ns = 5;
	j.runs[2].made.result.totals.boot = (struct boot_id){{0, 0}};
	j.runs[2].made.result.totals.start_unix_ns = UINT64_MAX;
	add_all(&j);
	for (uint32_t i = 0; i < RUNS; i++) {
		assert_int_equal(start_of(&j, i), start_of(&j, 0));
		assert_false(j.result->ranks[i].has_wall_clock);
	}
	assert_int_equal(j.result->totals.start_unix_ns, 0);
	job_end(&j);
}

static void wrong_ranks_are_refused(void **state)
{
	struct prng p = prng_round(5);
	static struct job j;
	struct result *first, *second;

	(void)state;
	job_begin(&p, &j);
	first = &j.runs[0].made.result;
	second = &j.runs[1].made.result;
	assert_int_equal(merge_add(j.merge, first, "a"), MERGE_OK);
	second->totals.job.rank = 0;
	assert_int_equal(merge_add(j.merge, second, "b"), MERGE_SAME_RANK);
	assert_string_equal(merge_source_of(j.merge, 0), "a");
	assert_null(merge_source_of(j.merge, 1));
	second->totals.job.is_known = false;
	assert_int_equal(merge_add(j.merge, second, "b"), MERGE_NO_RANK);
	second->totals.job = (struct job_rank){.is_known = true, .rank = 1};
	second->ranks = &(struct rank_info){.rank = 1};
	second->rank_count = 1;
	assert_int_equal(merge_add(j.merge, second, "b"), MERGE_MERGED);
	second->rank_count = 0;
	assert_int_equal(merge_add(j.merge, second, "b"), MERGE_OK);
	j.result = merge_finish(j.merge);
	assert_non_null(j.result);
	assert_int_equal(j.result->row_count, first->row_count + second->row_count);
	job_end(&j);
}

static void memory_is_bounded(void **state)
{
	struct prng p = prng_round(6);
	static struct job j;
	size_t used;

	(void)state;
	job_begin(&p, &j);
	assert_int_equal(merge_add(j.merge, &j.runs[0].made.result, "a"), MERGE_OK);
	used = j.memory.used;
	merge_free(j.merge);
	for (size_t limit = 0; limit < used; limit += used / 50 + 1) {
		enum merge_error error;

		j.memory.limit = limit;
		j.merge = merge_new(folder, &j.memory);
		error = merge_add(j.merge, &j.runs[0].made.result, "a");
		assert_true(error == MERGE_TOO_LARGE || error == MERGE_NO_MEMORY);
		merge_free(j.merge);
	}
	j.merge = NULL;
	job_end(&j);
}

static void sums_that_are_too_large_are_refused(void **state)
{
	struct prng p = prng_round(7);
	static struct job j;

	(void)state;
	job_begin(&p, &j);
	for (uint32_t i = 0; i < 2; i++)
		made_add(&j.runs[i].made, RESULT_ROOT, ROW_CPU, LEDGER_TOTAL_MAX / 2 + 1);
	assert_int_equal(merge_add(j.merge, &j.runs[0].made.result, "a"), MERGE_OK);
	assert_int_equal(merge_add(j.merge, &j.runs[1].made.result, "b"), MERGE_TOO_LARGE);
	job_end(&j);
}

/* [rank N] holds what the capture of that rank does. */
static void ranks_are_frames_at_the_root(void **state)
{
	struct prng p = prng_round(8);
	static struct job j;
	struct view_options options = {.names = VIEW_NAMES_DEFAULT};
	uint64_t sums[RUNS] = {0};
	struct view *view;
	const struct result *r;

	(void)state;
	job_begin(&p, &j);
	add_all(&j);
	assert_true(grouping_parse("rank,process", &options.by));
	view = view_new(j.result, &options, folder, NULL);
	assert_non_null(view);
	r = view_result(view);
	for (uint32_t i = 0; i < r->row_count; i++) {
		uint32_t stack = r->rows[i].stack, rank;

		assert_int_not_equal(stack, RESULT_ROOT);
		while (r->stacks[stack].outer != RESULT_ROOT)
			stack = r->stacks[stack].outer;
		assert_int_equal(sscanf(r->frames[r->stacks[stack].frame].name, "[rank %u]", &rank),
				 1);
		assert_true(rank < RUNS);
		sums[rank] += r->rows[i].ns;
	}
	for (uint32_t i = 0; i < RUNS; i++) {
		const struct result *run = &j.runs[i].made.result;

		for (uint32_t k = 0; k < run->row_count; k++)
			sums[i] -= run->rows[k].ns;
		assert_int_equal(sums[i], 0);
	}
	view_free(view);
	job_end(&j);
}

/* ---- collectives ---- */

#define ALL_REDUCE "[GPU_Kernel]ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"

struct made_job {
	struct made_timeline runs[RUNS];
	struct quota memory;
	struct merge *merge;
	const struct result *result;
};

static void made_job_begin(struct made_job *j, const char *collective)
{
	memset(j, 0, sizeof(*j));
	j->memory.limit = SIZE_MAX;
	for (uint32_t i = 0; i < RUNS; i++)
		made_rank(&j->runs[i], i, RUNS, "[GPU_Kernel]gemm", collective);
}

static void made_job_merge(struct made_job *j, bool has_timeline)
{
	j->merge = merge_new(has_timeline ? folder : NULL, &j->memory);
	assert_non_null(j->merge);
	for (uint32_t i = 0; i < RUNS; i++)
		assert_int_equal(merge_add(j->merge, &j->runs[i].made.result, "x"), MERGE_OK);
	j->result = merge_finish(j->merge);
	assert_non_null(j->result);
}

static void made_job_end(struct made_job *j)
{
	merge_free(j->merge);
	assert_int_equal(j->memory.used, 0);
	for (uint32_t i = 0; i < RUNS; i++)
		made_timeline_end(&j->runs[i]);
}

/* Sums a rank's rows whose innermost frame has this name. */
static struct row sum_of(const struct result *r, uint32_t rank, const char *name)
{
	struct row sum = {.count = 0};

	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];

		if (rank_of(r, row->place) != rank ||
		    strcmp(r->frames[r->stacks[row->stack].frame].name, name) != 0)
			continue;
		sum.count += row->count;
		sum.ns += row->ns;
	}
	return sum;
}

static void waits_for_a_late_rank_are_below_the_kernel(void **state)
{
	static struct made_job j;

	(void)state;
	for (uint32_t has_timeline = 0; has_timeline < 2; has_timeline++) {
		struct rank_time *times;

		made_job_begin(&j, ALL_REDUCE);
		made_job_merge(&j, has_timeline);
		times = rank_times(j.result);
		for (uint32_t i = 0; i < RUNS; i++) {
			uint64_t waited = i == 1 ? 0 : RANKS_STEPS * RANKS_LATE_NS;

			assert_int_equal(sum_of(j.result, i, "[waiting for rank 1]").ns, waited);
			assert_int_equal(sum_of(j.result, i, "[waiting for rank 1]").count, 0);
			assert_int_equal(sum_of(j.result, i, ALL_REDUCE).ns,
					 RANKS_STEPS * RANKS_REDUCE_NS);
			assert_int_equal(sum_of(j.result, i, ALL_REDUCE).count, RANKS_STEPS);
			assert_int_equal(times[i].collective_ns,
					 RANKS_STEPS * RANKS_REDUCE_NS + waited);
			assert_int_equal(times[i].waited_ns, waited);
			assert_int_equal(times[i].kept_ns,
					 i == 1 ? (RUNS - 1) * RANKS_STEPS * RANKS_LATE_NS : 0);
			assert_int_equal(j.result->ranks[i].collectives, RANKS_STEPS);
			assert_int_equal(j.result->ranks[i].came_last, i == 1 ? RANKS_STEPS : 0);
			assert_int_equal(j.result->ranks[i].alone, 0);
		}
		assert_int_equal(j.result->row_count, 2 * RUNS + RUNS - 1);
		check_frames(j.result);
		free(times);
		made_job_end(&j);
	}
}

/* Makes the function that reduces a range of NCCL. */
static void name_range(struct made_result *m, const char *name)
{
	m->result.totals.measure.nvtx = true;
	for (uint32_t i = 1; i < m->result.frame_count; i++)
		if (strcmp(m->frames[i].name, "all_reduce") == 0) {
			m->frames[i].class = CLASS_NVTX;
			m->frames[i].name = m->frames[i].short_name = name;
		}
}

/* Rank 2 is in step with the others, and has another communicator. */
static void communicators_of_ranges_tell_who_waited(void **state)
{
	static struct made_job j;
	struct view_options options = {.names = VIEW_NAMES_DEFAULT};
	struct view *view;

	(void)state;
	made_job_begin(&j, ALL_REDUCE);
	for (uint32_t i = 0; i < RUNS; i++)
		name_range(&j.runs[i].made,
			   i < 2 ? "nvtx:NCCL:ncclAllReduce 1 B, 2 ranks, comm 00000001"
				 : "nvtx:NCCL:ncclAllReduce 1 B, 2 ranks, comm 00000002");
	made_job_merge(&j, true);
	assert_int_equal(sum_of(j.result, 0, "[waiting for rank 1]").ns,
			 RANKS_STEPS * RANKS_LATE_NS);
	assert_int_equal(sum_of(j.result, 2, "[waiting for rank 1]").ns, 0);
	assert_int_equal(j.result->ranks[1].came_last, RANKS_STEPS);
	assert_int_equal(j.result->ranks[2].alone, RANKS_STEPS);
	options.slice.has_time = true; /* found again */
	options.slice.to_ns = 10 * RANKS_STEP_NS;
	view = view_new(j.result, &options, folder, NULL);
	assert_non_null(view);
	assert_int_equal(sum_of(view_result(view), 0, "[waiting for rank 1]").ns,
			 10 * RANKS_LATE_NS);
	assert_int_equal(sum_of(view_result(view), 2, "[waiting for rank 1]").ns, 0);
	view_free(view);
	made_job_end(&j);
}

static void a_row_is_split_no_further_than_it_goes(void **state)
{
	static struct made_job j;

	(void)state;
	made_job_begin(&j, ALL_REDUCE);
	j.runs[0].made.rows[1].ns = 3; /* the others' are with other stacks */
	j.runs[2].made.rows[1].ns = 0;
	made_job_merge(&j, true);
	assert_int_equal(sum_of(j.result, 0, "[waiting for rank 1]").ns, 3);
	assert_int_equal(sum_of(j.result, 0, ALL_REDUCE).ns, 0);
	assert_int_equal(sum_of(j.result, 0, ALL_REDUCE).count, RANKS_STEPS);
	assert_int_equal(j.result->row_count, 2 * RUNS + 1);
	made_job_end(&j);
}

/* A machine with a wall clock of its own, 3 ms ahead of the others'. */
#define AHEAD_NS UINT64_C(3000000)
static void move_rank_1(struct made_job *j, uint64_t wall_error_ns)
{
	for (uint32_t i = 0; i < RUNS; i++)
		j->runs[i].made.result.totals.wall_error_ns = wall_error_ns;
	j->runs[1].made.result.totals.boot.part[0]++;
	j->runs[1].made.result.totals.start_unix_ns += AHEAD_NS;
	j->runs[1].made.result.totals.host = "node1";
}

static void clocks_of_machines_are_aligned_by_collectives(void **state)
{
	static struct made_job j;
	const struct clock_alignment *a;
	uint64_t wait_ns = RANKS_LATE_NS - CLOCK_FIT_SKEW_NS;
	struct view_options options = {.names = VIEW_NAMES_DEFAULT};
	struct timeline_record first, moved;
	struct view *view;

	(void)state;
	for (uint32_t has_timeline = 0; has_timeline < 2; has_timeline++) {
		made_job_begin(&j, ALL_REDUCE);
		move_rank_1(&j, 0);
		made_job_merge(&j, has_timeline);
		a = &j.result->ranks[1].alignment;
		assert_int_equal(a->reference, j.result->ranks[0].clock);
		assert_int_equal(a->collectives, RANKS_STEPS);
		assert_int_equal(a->moved_ns, -(int64_t)AHEAD_NS);
		assert_int_equal(a->error_ns, CLOCK_FIT_SKEW_NS);
		assert_true(a->bound_ns > RANKS_REDUCE_NS);
		assert_int_equal(j.result->ranks[1].start_ns, j.result->ranks[0].start_ns);
		assert_int_equal(j.result->ranks[0].alignment.collectives, 0);
		for (uint32_t i = 0; i < RUNS; i++) {
			assert_int_equal(j.result->ranks[i].collectives, RANKS_STEPS);
			assert_int_equal(j.result->ranks[i].came_last, i == 1 ? RANKS_STEPS : 0);
			assert_int_equal(j.result->ranks[i].alone, 0);
			assert_int_equal(sum_of(j.result, i, "[waiting for rank 1]").ns,
					 i == 1 ? 0 : RANKS_STEPS * wait_ns);
		}
		if (has_timeline) {
			uint64_t at = timeline_stats(j.result->timeline).records / RUNS;

			assert_int_equal(timeline_read(j.result->timeline, 0, 1, &first), 0);
			assert_int_equal(timeline_read(j.result->timeline, at, 1, &moved), 0);
			assert_int_equal(first.start_ns, moved.start_ns);
			/* a part of it, too, whose waits are found again */
			options.slice.has_time = true;
			options.slice.to_ns = 10 * RANKS_STEP_NS;
			view = view_new(j.result, &options, folder, NULL);
			assert_non_null(view);
			assert_int_equal(sum_of(view_result(view), 2, "[waiting for rank 1]").ns,
					 10 * wait_ns);
			view_free(view);
		}
		made_job_end(&j);
	}
}

static void other_machines_and_kernels_are_not_compared(void **state)
{
	static struct made_job j;

	(void)state;
	made_job_begin(&j, ALL_REDUCE);
	move_rank_1(&j, 1000); /* wall clocks are exact, so those collectives are others */
	made_job_merge(&j, true);
	assert_int_equal(j.result->ranks[1].alignment.collectives, 0);
	assert_int_equal(j.result->ranks[1].start_ns, j.result->ranks[0].start_ns + AHEAD_NS);
	for (uint32_t i = 0; i < RUNS; i++) {
		/* rank 0 and 2 come together */
		assert_int_equal(j.result->ranks[i].collectives, i == 1 ? 0 : RANKS_STEPS);
		assert_int_equal(j.result->ranks[i].came_last, i == 0 ? RANKS_STEPS : 0);
		assert_int_equal(j.result->ranks[i].alone, i == 1 ? RANKS_STEPS : 0);
	}
	assert_int_equal(j.result->row_count, 2 * RUNS);
	made_job_end(&j);

	made_job_begin(&j, "[GPU_Kernel]ncclDevKernel_SendRecv(x)");
	made_job_merge(&j, true);
	for (uint32_t i = 0; i < RUNS; i++)
		assert_int_equal(j.result->ranks[i].collectives + j.result->ranks[i].alone, 0);
	assert_int_equal(j.result->row_count, 2 * RUNS);
	made_job_end(&j);
}

/* A part of the run has what its times are of. */
static void slices_have_the_waits_in_them(void **state)
{
	static struct made_job j;
	struct view_options options = {.names = VIEW_NAMES_DEFAULT};
	uint64_t at = 50 * RANKS_STEP_NS;
	struct view *view;

	(void)state;
	made_job_begin(&j, ALL_REDUCE);
	made_job_merge(&j, true);
	options.slice.has_time = true;
	/* from the middle of a wait to the middle of the next one; a wait; half a collective */
	for (uint32_t i = 0; i < 3; i++) {
		static const struct {
			uint64_t from_ns, to_ns, wait_ns, reduce_ns, count;
		} cases[] = {
			{12000000, 32000000, 3000000 + 2000000, 2000000, 1},
			{10000000, 15000000, 5000000, 0, 1},
			{16000000, 20000000, 0, 1000000, 0},
		};

		options.slice.from_ns = at + cases[i].from_ns;
		options.slice.to_ns = at + cases[i].to_ns;
		view = view_new(j.result, &options, folder, NULL);
		assert_non_null(view);
		for (uint32_t rank = 0; rank < RUNS; rank += 2) {
			const struct result *r = view_result(view);

			assert_int_equal(sum_of(r, rank, "[waiting for rank 1]").ns,
					 cases[i].wait_ns);
			assert_int_equal(sum_of(r, rank, "[waiting for rank 1]").count, 0);
			assert_int_equal(sum_of(r, rank, ALL_REDUCE).ns, cases[i].reduce_ns);
			assert_int_equal(sum_of(r, rank, ALL_REDUCE).count, cases[i].count);
		}
		assert_int_equal(sum_of(view_result(view), 1, "[waiting for rank 1]").ns, 0);
		view_free(view);
	}
	made_job_end(&j);
}

/* Adds what work of the kernel has in all, with what is below it, by rank. */
static void add_kernel_rows(const struct result *r, uint32_t first, struct row sums[RUNS])
{
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack = result_work_stack(r, row->stack);
		uint32_t rank = r->rank_count ? rank_of(r, row->place) : first;

		if (row->kind != ROW_GPU || stack == RESULT_ROOT ||
		    strcmp(r->frames[r->stacks[stack].frame].name, ALL_REDUCE) != 0)
			continue;
		sums[rank].count += row->count;
		sums[rank].ns += row->ns;
		sums[rank].bytes += row->bytes;
	}
}

/* Kernels keep their time in all ranks, whatever times collectives have. */
static void collectives_keep_all_time(void **state)
{
	uint64_t waited_ns = 0;

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20); round++) {
		struct prng p = prng_round(round);
		struct row before[RUNS] = {{.count = 0}}, after[RUNS] = {{.count = 0}};
		static struct job j;
		struct rank_time *times;

		job_begin(&p, &j);
		for (uint32_t i = 0; i < RUNS; i++) {
			struct made_result *m = &j.runs[i].made;

			for (uint32_t k = 0; k < m->result.frame_count; k++)
				if (m->frames[k].class == CLASS_GPU_KERNEL)
					m->frames[k].name = ALL_REDUCE;
			add_kernel_rows(&m->result, i, before);
		}
		add_all(&j);
		add_kernel_rows(j.result, 0, after);
		times = rank_times(j.result);
		for (uint32_t i = 0; i < RUNS; i++) {
			EXPECT(&p, before[i].count == after[i].count);
			EXPECT(&p, before[i].ns == after[i].ns);
			EXPECT(&p, before[i].bytes == after[i].bytes);
			waited_ns += times[i].waited_ns;
		}
		free(times);
		job_end(&j);
	}
	assert_true(waited_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_there_once),
		cmocka_unit_test(values_of_launches_keep_their_process_and_metric),
		cmocka_unit_test(equal_pids_stay_apart),
		cmocka_unit_test(instructions_of_all_runs_are_there),
		cmocka_unit_test(clocks_are_aligned),
		cmocka_unit_test(wrong_ranks_are_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(sums_that_are_too_large_are_refused),
		cmocka_unit_test(ranks_are_frames_at_the_root),
		cmocka_unit_test(waits_for_a_late_rank_are_below_the_kernel),
		cmocka_unit_test(communicators_of_ranges_tell_who_waited),
		cmocka_unit_test(collectives_keep_all_time),
		cmocka_unit_test(a_row_is_split_no_further_than_it_goes),
		cmocka_unit_test(clocks_of_machines_are_aligned_by_collectives),
		cmocka_unit_test(other_machines_and_kernels_are_not_compared),
		cmocka_unit_test(slices_have_the_waits_in_them),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
