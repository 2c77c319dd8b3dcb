/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from the pipe through the whole collecting side: what the profile holds of GPU work is
 * what the sums by device and stream say, and what came out of the join. The first byte chooses
 * what stands at the root, and whether launch stacks come from probes too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/accounts.h"
#include "profiler/collect/collect.h"
#include "profiler/sources/gpu_pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int so)
{
	if (!so)
		abort();
}

/* Wrap alike, whatever is summed. */
struct sums {
	uint64_t count, ns, bytes, told_count;
};

struct listener {
	struct collect *collect;
	bool probes;
	struct sums heard;
};

static void on_event(void *context, uint32_t pid, const struct gpu_event *event, const char *kernel)
{
	struct listener *l = context;

	if (l->probes && event->type == GPU_EVENT_LAUNCH) {
		__u64 frames[2] = {event->launch.correlation_id, event->launch.stack_id};
		struct stack_event stack = {
			.time_ns = event->launch.time_ns,
			.pid = pid,
			.tid = event->launch.tid,
			.kind = STACK_EVENT_LAUNCH,
			.launch_function = LAUNCH_CUDA_KERNEL,
			.user_frames = 2,
		};

		collect_stack(l->collect, &stack, frames);
	}
	if (event->type == GPU_EVENT_KERNEL) {
		l->heard.count++;
		l->heard.ns += event->kernel.duration_ns;
	} else if (event->type == GPU_EVENT_WORK) {
		l->heard.count++;
		l->heard.ns += event->work.duration_ns;
		l->heard.bytes += event->work.bytes;
	} else if (event->type == GPU_EVENT_SUM) {
		l->heard.told_count += event->sum.count;
	}
	collect_gpu_event(l->collect, pid, event, kernel);
}

static struct sums sum_profile(const struct collect *c)
{
	struct sums sums = {0};
	uint32_t count;
	const struct profile_entry *entries = profile_entries(c->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		expect(entries[i].key.name != NULL); /* there are no CPU samples */
		sums.count += entries[i].count;
		sums.ns += entries[i].gpu_ns;
		sums.bytes += entries[i].bytes;
	}
	return sums;
}

static struct sums sum_tally(const struct work_tally *t)
{
	const struct work_sum *sum;
	struct sums sums = {0};
	uint32_t at = 0, n = 0;

	while ((sum = work_tally_next(t, &at))) {
		sums.count += sum->count;
		sums.ns += sum->ns;
		sums.bytes += sum->bytes;
		expect(sum->unmatched <= sum->count && sum->bad_times <= sum->count);
		n++;
	}
	expect(n == t->count);
	return sums;
}

static void check(struct collect *c, const struct sums *heard)
{
	struct sums profile = sum_profile(c), counted = sum_tally(&c->counted);
	struct accounts a = accounts_of(&c->counted, &c->told);

	expect(c->stats.out_of_memory == 0);
	expect(profile.count == heard->count && counted.count == heard->count);
	expect(profile.ns == heard->ns && counted.ns == heard->ns);
	expect(profile.bytes == heard->bytes && counted.bytes == heard->bytes);
	expect(a.matched + a.unmatched <= heard->count);
	expect(a.equal <= a.sums && a.equal <= c->told.count);
	expect(a.sums + a.untold >= c->told.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const orders[] = {"process,thread,device,context,stream", "thread",
					     "stream,device"};
	struct collect c;
	struct listener listener = {.collect = &c};
	struct gpu_pipe *gpu;

	if (size < 1)
		return 0;
	expect(collect_init(&c) == 0);
	/* a newline, as recorded pipes begin: neither */
	if (data[0] % 4 != 2)
		expect(by_parse(orders[data[0] % 4 % 3], &c.by.order));
	listener.probes = data[0] & 0x10;
	gpu = gpu_pipe_new(&c.strings, on_event, &listener);
	expect(gpu != NULL);
	gpu_pipe_feed(gpu, (const char *)data + 1, size - 1);
	gpu_pipe_finish(gpu);
	join_finish(c.join);
	check(&c, &listener.heard);
	gpu_pipe_free(gpu);
	collect_release(&c);
	return 0;
}
