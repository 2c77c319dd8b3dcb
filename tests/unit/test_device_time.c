// SPDX-License-Identifier: MIT
/* Uses of GPUs and causes of idle time, on made courses with known answers. */
#include "profiler/findings/device_time.h"

#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "made_timeline.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define BEGIN (10 * MS) /* the first launch */

enum { MAIN_THREAD = 12, OTHER_THREAD = 13 };

/* A course of a run under way: one process, its threads and devices. */
struct course {
	struct made_timeline made;
	uint32_t site, kernel, copy, nccl, load, compute; /* stacks */
	uint32_t correlation;
	bool is_own[64];
	struct operation_schedule schedule;
	struct device_times times, second; /* the last two thirds */
};

static uint32_t push_work(struct course *c, uint32_t outer, const char *name)
{
	uint32_t stack = made_push(&c->made.made, outer, name);

	c->made.made.frames[c->made.made.stacks[stack].frame].class = CLASS_GPU_KERNEL;
	return stack;
}

static void begin(struct course *c)
{
	memset(c, 0, sizeof(*c));
	made_timeline_begin(&c->made);
	c->site = MADE_STACK(&c->made.made, "main", "step", "cudaLaunchKernel");
	c->kernel = push_work(c, c->site, "[GPU_Kernel]kernel");
	c->copy = push_work(c, c->site, "[GPU_Memcpy HtoD]");
	c->nccl = push_work(c, c->site, "[GPU_Kernel]ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	c->load = MADE_STACK(&c->made.made, "main", "load_batch");
	c->compute = MADE_STACK(&c->made.made, "main", "compute_loss");
	memset(c->is_own, 1, sizeof(c->is_own));
	c->made.made.result.totals.start_ns = 0;
	c->made.made.result.totals.elapsed_ns = 2000 * MS;
	c->made.made.result.totals.sample_ns = 20 * MS;
	assert_int_equal(devices_add(&c->made.made.devices,
				     &(struct device){.process = 1, .id = 0, .is_used = true}),
			 0);
	assert_int_equal(devices_add(&c->made.made.devices,
				     &(struct device){.process = 1, .id = 1, .is_used = true}),
			 0);
	c->made.made.result.devices = c->made.made.devices.list;
	c->made.made.result.device_count = c->made.made.devices.count;
}

struct work {
	uint64_t launch_ns, call_ns, start_ns, duration_ns;
	uint32_t device, stack, work;
	bool is_waited, has_no_launch;
};

static void add_work(struct course *c, const struct work *w)
{
	c->correlation++;
	if (!w->has_no_launch)
		made_record(&c->made,
			    (struct timeline_record){
				    .kind = TIMELINE_LAUNCH,
				    .start_ns = w->launch_ns,
				    .duration_ns = w->call_ns,
				    .place = made_place(&c->made, 1, MAIN_THREAD, NOT, NOT),
				    .stack = {c->site},
				    .correlation = c->correlation});
	made_record(&c->made, (struct timeline_record){
				      .kind = TIMELINE_GPU_OPERATION,
				      .start_ns = w->start_ns,
				      .duration_ns = w->duration_ns,
				      .place = made_place(&c->made, 1, MAIN_THREAD, w->device, 7),
				      .stack = {w->stack ? w->stack : c->kernel},
				      .work = w->work,
				      .is_waited = w->is_waited,
				      .correlation = c->correlation});
}

/* Adds a kernel that starts 5 us after its launch. */
static void add_kernel(struct course *c, uint64_t launch_ns, uint64_t duration_ns, bool is_waited)
{
	add_work(c, &(struct work){.launch_ns = launch_ns,
				   .call_ns = 3 * US,
				   .start_ns = launch_ns + 5 * US,
				   .duration_ns = duration_ns,
				   .is_waited = is_waited});
}

static void add_sample(struct course *c, uint64_t ns, uint32_t stack)
{
	made_record(&c->made, (struct timeline_record){
				      .kind = TIMELINE_CPU_SAMPLE,
				      .start_ns = ns,
				      .duration_ns = 20 * MS,
				      .place = made_place(&c->made, 1, MAIN_THREAD, NOT, NOT),
				      .stack = {stack}});
}

static void divide(struct course *c, uint64_t from_ns, uint64_t to_ns)
{
	timeline_finish(c->made.timeline);
	c->made.made.result.timeline = c->made.timeline;
	assert_int_equal(operation_schedule_read(&c->schedule, &c->made.made.result), 0);
	c->times = (struct device_times){.from_ns = from_ns, .to_ns = to_ns};
	c->second =
		(struct device_times){.from_ns = from_ns + (to_ns - from_ns) / 3, .to_ns = to_ns};
	assert_int_equal(device_times_divide((struct device_times *const[]){&c->times, &c->second},
					     2, &c->schedule, &c->made.made.result, c->is_own),
			 0);
	for (uint32_t i = 0; i < c->second.device_count; i++) {
		uint64_t sum = 0;

		for (int use = 0; use < DEVICE_USES; use++) {
			sum += c->second.devices[i].ns[use];
			if (use != USE_HOST && use != USE_LOADER && use != USE_UNKNOWN)
				assert_true(c->second.devices[i].ns[use] <=
					    c->times.devices[i].ns[use]);
		}
		assert_int_equal(sum, c->second.to_ns - c->second.from_ns);
	}
	for (uint32_t i = 0; i < c->times.device_count; i++) {
		uint64_t sum = 0;

		for (int use = 0; use < DEVICE_USES; use++)
			sum += c->times.devices[i].ns[use];
		assert_int_equal(sum, to_ns - from_ns);
	}
}

static uint64_t share(const struct course *c, enum device_use use)
{
	return device_times_sum(&c->times, use) * 100 / device_times_whole(&c->times);
}

/* Returns the computing time of a kernel. */
static uint64_t computing_ns(const struct course *c, uint32_t kernel)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->times.computing.count; i++)
		if (c->times.computing.list[i].frame == c->made.made.stacks[kernel].frame)
			ns += c->times.computing.list[i].ns;
	return ns;
}

static void end(struct course *c)
{
	uint64_t idle = 0, of_sites = 0;

	for (uint32_t i = 0; i < c->times.sites.count; i++)
		of_sites += c->times.sites.list[i].ns;
	for (int use = USE_LOADER; use < DEVICE_USES; use++)
		if (use != USE_START_UP && use != USE_ENDING)
			idle += device_times_sum(&c->times, (enum device_use)use);
	assert_int_equal(of_sites, idle); /* each idle time has a site */
	device_times_release(&c->times);
	device_times_release(&c->second);
	operation_schedule_release(&c->schedule);
	made_timeline_end(&c->made);
}

static void launches_that_cannot_keep_up(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (int i = 0; i < 1000; i++)
		add_kernel(&c, BEGIN + (uint64_t)i * 20 * US, 5 * US, false);
	divide(&c, BEGIN + 5 * US, BEGIN + 20 * MS);
	assert_in_range(share(&c, USE_LAUNCHING), 73, 76);
	assert_in_range(share(&c, USE_COMPUTING), 24, 26);
	end(&c);
}

/* The next launch follows 15 us after each awaited kernel. */
static void waits_that_drain_the_queue(void **state)
{
	struct course c;

	(void)state;
	for (int has_marks = 0; has_marks < 2; has_marks++) {
		begin(&c);
		for (int i = 0; i < 100; i++) {
			uint64_t ns = BEGIN + (uint64_t)i * 60 * US;

			add_kernel(&c, ns, 40 * US, has_marks);
			if (has_marks)
				continue;
			made_record(&c.made,
				    (struct timeline_record){
					    .kind = TIMELINE_WAIT,
					    .start_ns = ns + 4 * US,
					    .duration_ns = 44 * US,
					    .place = made_place(&c.made, 1, MAIN_THREAD, NOT, NOT),
					    .stack = {c.site}});
		}
		divide(&c, BEGIN + 5 * US, BEGIN + 99 * 60 * US + 5 * US);
		assert_int_equal(share(&c, USE_SYNCHRONIZING), 33);
		assert_int_equal(share(&c, USE_COMPUTING), 66);
		/* no copy tells the host a result */
		assert_int_equal(c.times.syncs.gaps, 99);
		assert_int_equal(c.times.syncs.ns, device_times_sum(&c.times, USE_SYNCHRONIZING));
		end(&c);
	}
}

static void waits_for_results(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (uint64_t i = 0; i < 100; i++) {
		add_kernel(&c, BEGIN + i * 60 * US, 30 * US, false);
		add_work(&c, &(struct work){.launch_ns = BEGIN + i * 60 * US + 10 * US,
					    .call_ns = 3 * US,
					    .start_ns = BEGIN + i * 60 * US + 35 * US,
					    .duration_ns = 5 * US,
					    .stack = c.copy,
					    .work = GPU_WORK_MEMCPY_DTOH,
					    .is_waited = true});
	}
	divide(&c, BEGIN + 5 * US, BEGIN + 99 * 60 * US + 5 * US);
	assert_int_equal(share(&c, USE_SYNCHRONIZING), 41);
	assert_int_equal(c.times.syncs.gaps, 0);
	end(&c);
}

/*
 * The next launch follows half a millisecond after an awaited kernel. Threads of some machines wake
 * up as late. Samples tell that code ran.
 */
static void short_times_after_waits(void **state)
{
	struct course c;

	(void)state;
	for (uint64_t samples = 0; samples < 4; samples++) {
		begin(&c);
		for (uint64_t i = 0; i < 100; i++) {
			add_kernel(&c, BEGIN + i * MS, 500 * US, true);
			if (i < samples)
				add_sample(&c, BEGIN + i * MS + 700 * US, c.compute);
		}
		divide(&c, BEGIN + 5 * US, BEGIN + 99 * MS + 5 * US);
		assert_int_equal(share(&c, samples < 2 ? USE_UNKNOWN : USE_HOST), 50);
		assert_int_equal(c.times.sites.list[0].is_sampled, samples >= 2);
		end(&c);
	}
}

/* Steps of 10 ms: 5 ms of host code, and 50 launches. */
static void add_host_steps(struct course *c, uint32_t samples_in, bool waits)
{
	for (uint64_t step = 0; step < 100; step++) {
		uint64_t ns = BEGIN + step * 10 * MS;

		for (uint64_t i = 0; i < 50; i++)
			add_work(c, &(struct work){.launch_ns = ns + 5 * MS + i * 10 * US,
						   .call_ns = 3 * US,
						   .start_ns = ns + 5 * MS + i * 100 * US + 5 * US,
						   .duration_ns = 100 * US,
						   .is_waited = waits && i == 49});
		if (samples_in && step % 4 == 1)
			add_sample(c, ns + 2 * MS, samples_in);
	}
}

static void host_code(void **state)
{
	struct course c;

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		begin(&c);
		add_host_steps(&c, c.load, waits);
		divide(&c, BEGIN + 5 * MS, BEGIN + 995 * MS);
		assert_in_range(share(&c, USE_LOADER), 48, 50);
		assert_true(c.times.sites.list[0].is_sampled);
		assert_int_equal(c.times.sites.list[0].stack, c.load);
		end(&c);

		begin(&c);
		add_host_steps(&c, c.compute, waits);
		divide(&c, BEGIN + 5 * MS, BEGIN + 995 * MS);
		assert_in_range(share(&c, USE_HOST), 48, 50);
		assert_int_equal(c.times.sites.list[0].stack, c.compute);
		end(&c);

		begin(&c);
		add_host_steps(&c, 0, waits); /* off the CPU */
		divide(&c, BEGIN + 5 * MS, BEGIN + 995 * MS);
		assert_in_range(share(&c, USE_HOST), 48, 50);
		assert_false(c.times.sites.list[0].is_sampled);
		assert_int_equal(c.times.sites.list[0].stack, c.site);
		assert_int_equal(c.times.sites.list[0].count, 99);
		assert_in_range(c.times.sites.list[0].longest_ns, 5 * MS - 10 * US,
				5 * MS + 10 * US);
		end(&c);
	}
}

/* A function of that name is a loader only if it is the user's own. */
static void others_load_too(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	memset(c.is_own, 0, sizeof(c.is_own));
	add_host_steps(&c, c.load, false);
	divide(&c, BEGIN + 5 * MS, BEGIN + 995 * MS);
	assert_int_equal(share(&c, USE_LOADER), 0);
	end(&c);
}

/* Rows of --idle tell that the thread was off the CPU in a loader. */
static void idle_rows(void **state)
{
	struct course c;
	uint32_t blocked, first;

	(void)state;
	begin(&c);
	blocked = made_push(&c.made.made, c.load, "[blocked: read pipe]");
	made_add(&c.made.made, blocked, ROW_IDLE, 300 * MS);
	made_add(&c.made.made, c.compute, ROW_IDLE, 100 * MS);
	first = made_push(&c.made.made, RESULT_ROOT, "[before the first operation]");
	c.made.made.frames[c.made.made.stacks[first].frame].class = CLASS_MARK;
	made_add(&c.made.made, first, ROW_IDLE, 5000 * MS);
	add_host_steps(&c, 0, false);
	divide(&c, BEGIN + 5 * MS, BEGIN + 995 * MS);
	assert_in_range(share(&c, USE_LOADER), 36, 38);
	assert_in_range(share(&c, USE_HOST), 11, 13);
	end(&c);
}

static void exposed_copies_and_collectives(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	/* launched at once: kernel 0 to 6, copy 4 to 8, collective 7 to 9, kernel 9 to 10 ms */
	add_work(&c, &(struct work){BEGIN, US, BEGIN + 10 * US, 6 * MS, .stack = c.kernel});
	add_work(&c, &(struct work){BEGIN + US, US, BEGIN + 4 * MS, 4 * MS, .stack = c.copy,
				    .work = GPU_WORK_MEMCPY_HTOD});
	add_work(&c, &(struct work){BEGIN + 2 * US, US, BEGIN + 7 * MS, 2 * MS, .stack = c.nccl});
	add_work(&c, &(struct work){BEGIN + 3 * US, US, BEGIN + 9 * MS, MS, .stack = c.kernel});
	divide(&c, BEGIN, BEGIN + 12 * MS);
	assert_int_equal(device_times_sum(&c.times, USE_COMPUTING), 7 * MS);
	assert_int_equal(device_times_sum(&c.times, USE_COPIES), MS - 10 * US);
	assert_int_equal(device_times_sum(&c.times, USE_COLLECTIVES), 2 * MS);
	assert_int_equal(device_times_sum(&c.times, USE_START_UP), 10 * US);
	assert_int_equal(device_times_sum(&c.times, USE_ENDING), 2 * MS);
	end(&c);
}

/* Two kernels of 6 ms overlap by 2 ms, which are the first one's. */
static void overlapping_kernels(void **state)
{
	struct course c;
	uint32_t other;

	(void)state;
	begin(&c);
	other = push_work(&c, c.site, "[GPU_Kernel]other");
	add_work(&c, &(struct work){BEGIN, US, BEGIN + 10 * US, 6 * MS, .stack = c.kernel});
	add_work(&c,
		 &(struct work){BEGIN + US, US, BEGIN + 4 * MS + 10 * US, 6 * MS, .stack = other});
	divide(&c, BEGIN + MS, BEGIN + 20 * MS);
	assert_int_equal(device_times_sum(&c.times, USE_COMPUTING), 9 * MS + 10 * US);
	assert_int_equal(computing_ns(&c, c.kernel), 5 * MS + 10 * US);
	assert_int_equal(computing_ns(&c, other), 4 * MS);
	end(&c);
}

/* All were launched long before; the GPU needs 2 us between kernels of 8 us. */
static void queued_kernels(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (uint64_t i = 0; i < 1000; i++)
		add_work(&c, &(struct work){.launch_ns = BEGIN + i * 3 * US,
					    .call_ns = 2 * US,
					    .start_ns = BEGIN + 5 * US + i * 10 * US,
					    .duration_ns = 8 * US});
	divide(&c, BEGIN + 5 * US, BEGIN + 5 * US + 10 * MS);
	assert_in_range(share(&c, USE_QUEUED), 18, 20);
	end(&c);
}

/* The launching call itself takes long, as the first of a kernel that is loaded. */
static void long_launching_calls(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (uint64_t i = 0; i < 100; i++)
		add_work(&c, &(struct work){.launch_ns = BEGIN + i * 2 * MS,
					    .call_ns = MS,
					    .start_ns = BEGIN + i * 2 * MS + MS,
					    .duration_ns = 999 * US});
	divide(&c, BEGIN + MS, BEGIN + 200 * MS);
	assert_in_range(share(&c, USE_HOST), 48, 50);
	end(&c);
}

static void unknown_launches(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (uint64_t i = 0; i < 10; i++)
		add_work(&c, &(struct work){.start_ns = BEGIN + i * 2 * MS,
					    .duration_ns = MS,
					    .has_no_launch = true});
	divide(&c, BEGIN, BEGIN + 19 * MS);
	assert_int_equal(device_times_sum(&c.times, USE_UNKNOWN), 9 * MS);
	assert_int_equal(c.schedule.without_launch, 10);
	end(&c);
}

static void two_devices(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	for (uint64_t i = 0; i < 100; i++) {
		add_kernel(&c, BEGIN + i * MS, 900 * US, false);
		if (i % 2)
			add_work(&c, &(struct work){.launch_ns = BEGIN + i * MS + 20 * US,
						    .call_ns = 3 * US,
						    .start_ns = BEGIN + i * MS + 30 * US,
						    .duration_ns = 400 * US,
						    .device = 1});
	}
	divide(&c, BEGIN, BEGIN + 100 * MS);
	assert_int_equal(c.times.device_count, 2);
	assert_int_equal(c.times.devices[0].ns[USE_COMPUTING], 90 * MS);
	assert_int_equal(c.times.devices[1].ns[USE_COMPUTING], 20 * MS);
	assert_int_equal(computing_ns(&c, c.kernel), 110 * MS);
	end(&c);
}

/* Times of any kind, also impossible ones, add up, whatever the range. */
static void any_course(void **state)
{
	struct course c;

	(void)state;
	srand(1);
	for (int round = 0; round < 200; round++) {
		uint64_t from = (uint64_t)(rand() % 50) * MS;

		begin(&c);
		for (int i = 0; i < 200; i++) {
			uint64_t at = (uint64_t)rand() % (100 * MS), late = (uint64_t)rand() % MS;

			add_work(&c,
				 &(struct work){.launch_ns = rand() % 10 ? at - late % (at + 1)
									 : at + late,
						.call_ns = (uint64_t)rand() % (2 * MS),
						.start_ns = at,
						.duration_ns = rand() % 50 ? (uint64_t)rand() % MS
									   : UINT64_MAX - at - 1,
						.device = (uint32_t)rand() % 2,
						.stack = rand() % 3 ? c.kernel : c.nccl,
						.is_waited = rand() % 4 == 0,
						.has_no_launch = rand() % 8 == 0});
			if (i % 20 == 0)
				add_sample(&c, at, c.load);
		}
		divide(&c, from, from + (uint64_t)(rand() % 80) * MS);
		end(&c);
	}
}

static void nothing(void **state)
{
	struct course c;

	(void)state;
	begin(&c);
	divide(&c, 0, 5 * MS);
	assert_int_equal(c.times.device_count, 0);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_that_cannot_keep_up),
		cmocka_unit_test(waits_that_drain_the_queue),
		cmocka_unit_test(waits_for_results),
		cmocka_unit_test(short_times_after_waits),
		cmocka_unit_test(host_code),
		cmocka_unit_test(others_load_too),
		cmocka_unit_test(idle_rows),
		cmocka_unit_test(exposed_copies_and_collectives),
		cmocka_unit_test(overlapping_kernels),
		cmocka_unit_test(queued_kernels),
		cmocka_unit_test(long_launching_calls),
		cmocka_unit_test(unknown_launches),
		cmocka_unit_test(two_devices),
		cmocka_unit_test(any_course),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
