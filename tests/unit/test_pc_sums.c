/* SPDX-License-Identifier: MIT */
/* Sums of PC samples, and what is sent of cubins: through a pipe, as the profiler reads them. */
#include "fifo_sink.h"
#include <elf.h>
#include "cupti_trace/hw/cubin_lines.h"
#include "cupti_trace/hw/pc_sums.h"

enum { NAMES = 4, PCS = 8, STALLS = 3 };

struct bench {
	struct fifo fifo;
	struct sink sink;
	uint64_t sums[NAMES][PCS][STALLS];
	uint32_t lines, pieces, correlations;
	uint8_t image[1 << 16];
};

static void hear(void *context, const struct gpu_event *event, const char *kernel)
{
	struct bench *b = context;

	(void)kernel;
	if (event->type == GPU_EVENT_CUBIN) {
		assert_in_range(event->cubin.offset + event->cubin.count, 1, sizeof(b->image));
		memcpy(b->image + event->cubin.offset, event->cubin.bytes, event->cubin.count);
		b->pieces++;
	}
	if (event->type != GPU_EVENT_PCS)
		return;
	b->lines++;
	b->correlations += event->pcs.correlation_id;
	for (uint32_t i = 0; i < event->pcs.count; i++) {
		const struct gpu_pc_count *c = &event->pcs.counts[i];

		assert_int_equal(event->pcs.cubin_crc, event->pcs.name_id + 1);
		b->sums[event->pcs.name_id][c->pc][c->stall - 1] += c->samples;
	}
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	fifo_open_sink(&b->fifo, &b->sink, hear, b);
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	fifo_remove(&b->fifo);
	free(b);
	return 0;
}

static void finish(struct bench *b)
{
	fifo_close_sink(&b->fifo, &b->sink);
}

/* Samples of two launches stay apart, even at one place. */
static void launches_have_lines_of_their_own(void **state)
{
	struct bench *b = *state;
	struct pc_sums sums = {.count = 0};

	for (uint32_t i = 0; i < 12; i++) {
		struct pc_place place = {
			.cubin_crc = 1, .stall = 1, .pc = i & 1, .correlation_id = i % 3};

		assert_true(pc_sums_add(&sums, &place, UINT64_C(1) << 8 * (i % 3)));
	}
	assert_int_equal(sums.count, 6);
	pc_sums_send(&sums, &b->sink);
	finish(b);
	assert_int_equal(b->lines, 3);
	assert_int_equal(b->sums[0][0][0], 0x020202);
	assert_int_equal(b->sums[0][1][0], 0x020202);
	assert_int_equal(b->correlations, 1 + 2);
	pc_sums_release(&sums);
}

/* Whatever is added arrives, once; a full table is sent and used again. */
static void sums_arrive(void **state)
{
	static uint64_t expected[NAMES][PCS][STALLS];
	struct prng p = prng_round(0);
	struct bench *b = *state;
	struct pc_sums sums = {.max = 64};
	uint32_t refused = 0;

	for (int i = 0; i < 20000; i++) {
		uint32_t name = (uint32_t)prng_below(&p, NAMES);
		struct pc_place place = {.cubin_crc = name + 1,
					 .name_id = name,
					 .pc = (uint32_t)prng_below(&p, PCS),
					 .stall = 1 + (uint32_t)prng_below(&p, STALLS)};
		uint64_t samples = 1 + prng_below(&p, 100);

		if (!pc_sums_add(&sums, &place, samples)) {
			refused++;
			pc_sums_send(&sums, &b->sink);
			assert_true(pc_sums_add(&sums, &place, samples));
		}
		assert_true(sums.count <= sums.max);
		expected[name][place.pc][place.stall - 1] += samples;
	}
	pc_sums_send(&sums, &b->sink);
	pc_sums_send(&sums, &b->sink); /* nothing is left */
	finish(b);
	assert_memory_equal(b->sums, expected, sizeof(expected));
	assert_true(refused > 0);
	/* functions have lines of their own, and no line is for one place */
	assert_in_range(b->lines, refused + 1, (refused + 1) * NAMES);
	pc_sums_release(&sums);
}

/* All of a cubin that its lines take, at its place. */
static void cubins_arrive(void **state)
{
	struct bench *b = *state;
	static char cubin[1 << 16];
	FILE *file = fopen("build/tests/cubins/lines.cubin", "re");
	size_t size, sum, same = 0;

	if (!file) {
		finish(b);
		print_message("SKIP: no nvcc made a cubin\n");
		skip();
	}
	size = fread(cubin, 1, sizeof(cubin), file);
	fclose(file);
	sum = cubin_lines_size(cubin, size);
	assert_in_range(sum, 500, size - 1);
	cubin_lines_send(cubin, size, 7, &b->sink);
	finish(b);
	for (size_t i = 0; i < size; i++)
		same += b->image[i] == (uint8_t)cubin[i];
	assert_in_range(same, sum, size); /* bytes that are not sent may be 0, too */
	assert_memory_equal(b->image, cubin, sizeof(Elf64_Ehdr));
	assert_true(b->pieces >= sum / GPU_CUBIN_PIECE);
}

static void only_cubins_with_lines_are_sent(void **state)
{
	struct bench *b = *state;
	static char self[1 << 16];
	FILE *file = fopen("/proc/self/exe", "re");
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 1};

	assert_non_null(file);
	assert_int_equal(fread(self, 1, sizeof(self), file), sizeof(self));
	fclose(file);
	/* cut off: its section headers are outside */
	assert_int_equal(cubin_lines_size(self, sizeof(self)), 0);
	cubin_lines_send(self, sizeof(self), 7, &b->sink);
	assert_int_equal(cubin_lines_size("text", 4), 0);
	assert_int_equal(cubin_lines_size(NULL, 0), 0);
	assert_int_equal(cubin_lines_size((const char *)&header, sizeof(header)), 0);
	header.e_shoff = UINT64_MAX - 10;
	assert_int_equal(cubin_lines_size((const char *)&header, sizeof(header)), 0);
	header.e_shoff = 0; /* the header itself, as a section's */
	assert_int_equal(cubin_lines_size((const char *)&header, sizeof(header)), 0);
	finish(b);
	assert_int_equal(b->pieces, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_arrive), TEST(launches_have_lines_of_their_own), TEST(cubins_arrive),
		TEST(only_cubins_with_lines_are_sent)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
