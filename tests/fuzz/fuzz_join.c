/* SPDX-License-Identifier: MIT */
/*
 * Bytes as probes, launches, operations, watermarks and ends of processes: each operation is
 * attributed exactly once.
 */
#include <stdint.h>
#include <stdlib.h>

#include "profiler/join/join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static uint8_t byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* Mostly small and close together, sometimes anything. */
static uint64_t number(struct input *in)
{
	uint8_t kind = byte(in);
	uint64_t value = 0;

	if (kind < 0xc0)
		return kind;
	if (kind < 0xe0)
		return (uint64_t)(kind & 0x1f) * 100000000u + byte(in);
	for (int i = 0; i < 8; i++)
		value = value << 8 | byte(in);
	return value;
}

struct sums {
	uint64_t operations;
	uint64_t ns;
	uint64_t unmatched;
	uint64_t with_stack; /* launches */
};

/* `name` is the operation's mark: set when it is attributed. */
static void attribute(void *context, struct origin_id origin, uint64_t launched_ns,
		      const struct gpu_operation *operation)
{
	struct sums *out = context;
	char *mark = (char *)(uintptr_t)operation->name;

	(void)launched_ns;
	if (*mark)
		abort();
	*mark = 1;
	out->operations++;
	out->ns += operation->duration_ns;
	out->unmatched += same_id(origin, ORIGIN_UNKNOWN);
}

static void check(const struct join *c, const struct sums *in, const struct sums *out)
{
	struct join_stats s = join_stats(c);

	if (in->operations != out->operations || in->ns != out->ns ||
	    s.operations != in->operations || s.unmatched != out->unmatched ||
	    s.matched + s.unmatched != s.operations ||
	    s.probes - s.probes_unused != s.launches - s.launches_unprobed - in->with_stack)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct sums handed_in = {0}, out = {0};
	struct join_output output = {attribute, &out};
	struct join *c = join_new(&output);
	char *marks = calloc(size + 1, 1);

	if (!c || !marks)
		abort();
	if (size && data[0] & 1) /* little is remembered: old items are given up early */
		join_remember(c, 1 + (data[0] >> 1) % 32);
	while (in.at < in.end) {
		uint8_t what = byte(&in), who = byte(&in);
		uint32_t process = who & 3, tid = who >> 2 & 3;
		enum launch_family family = who & 0x10 ? FAMILY_DRIVER : FAMILY_RUNTIME;
		struct gpu_operation op = {.process = process};

		switch (what % 9) {
		case 0:
		case 1:
			join_probe(c, process, tid, number(&in), family,
				   (struct origin_id){byte(&in)});
			break;
		case 2:
		case 3: {
			uint64_t time_ns = number(&in);

			join_launch(c, process, tid, time_ns, (uint32_t)number(&in), family,
				    who & 0x20);
			break;
		}
		case 4:
		case 5:
			op.correlation_id = (uint32_t)number(&in);
			op.duration_ns = number(&in);
			op.name = &marks[handed_in.operations++];
			handed_in.ns += op.duration_ns;
			join_operation(c, process, &op);
			break;
		case 6:
			join_advance(c, number(&in));
			break;
		case 7: {
			uint64_t time_ns = number(&in);

			handed_in.with_stack++;
			join_launch_with_stack(c, process, time_ns, (uint32_t)number(&in),
					       who & 0x20, (struct origin_id){tid});
			break;
		}
		default: /* one, or as many as are forgotten together; they may still continue */
			for (uint32_t n = who & 0x20 ? JOIN_ENDED_MAX : 1; n > 0; n--)
				join_end_process(c, process);
			break;
		}
	}
	join_finish(c);
	check(c, &handed_in, &out);
	join_free(c);
	free(marks);
	return 0;
}
