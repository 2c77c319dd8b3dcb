// SPDX-License-Identifier: MIT
#include "profiler/tables/caching_allocator.h"

#include <string.h>
#include "profiler/model/memory_use.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/memory_place.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

static const struct caching_allocator torch = {
	"PyTorch's caching allocator",
	"what it hands out is not counted here: PYTORCH_NO_CUDA_MEMORY_CACHING=1 makes each tensor "
	"an "
	"allocation, torch.cuda.memory._record_memory_history() shows them within the program"};
static const struct caching_allocator torch_host = {
	"PyTorch's caching allocator of pinned memory",
	"what it hands out is not counted here: torch.cuda.host_memory_stats() has sums"};
static const struct caching_allocator bfc = {
	"the BFC allocator of JAX or TensorFlow",
	"what it hands out is not counted here: XLA_PYTHON_CLIENT_ALLOCATOR=platform makes each of "
	"JAX's buffers an allocation, TF_GPU_ALLOCATOR=cuda_malloc_async each of TensorFlow's"};
static const struct caching_allocator onnx = {"ONNX Runtime's arena",
					      "what it hands out is not counted here"};
static const struct caching_allocator cupy = {
	"CuPy's memory pool",
	"what it hands out is not counted here: cupy.cuda.set_allocator(None) "
	"makes each array an allocation"};
static const struct caching_allocator rmm = {
	"a pool of RMM",
	"what it hands out is not counted here: rmm.mr.CudaMemoryResource makes each "
	"request an allocation"};

/* Marks of allocators, in the order in which they are tried. */
static const struct {
	const char *function; /* part of a function's name; or NULL */
	const char *file;     /* name of a file */
	const struct caching_allocator *allocator;
} marks[] = {
	{"CUDACachingAllocator", NULL, &torch},
	{"CachingHostAllocator", NULL, &torch_host},
	{"onnxruntime::BFCArena", NULL, &onnx},
	{"BFCAllocator", NULL, &bfc},
	{"rmm::mr::pool_memory_resource", NULL, &rmm},
	{"rmm::mr::arena_memory_resource", NULL, &rmm},
	{"rmm::mr::binning_memory_resource", NULL, &rmm},
	{"4cupy_4cuda_6memory", NULL, &cupy}, /* mangled by Cython */
	{NULL, "libc10_cuda.so", &torch}, /* often without names; nothing else in it allocates */
};

static const struct caching_allocator *of_frame(const struct frame_info *frame)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (marks[i].function
			    ? strstr(frame->name, marks[i].function) != NULL
			    : frame->module && strcmp(base_name(frame->module), marks[i].file) == 0)
			return marks[i].allocator;
	return NULL;
}

const struct caching_allocator *caching_allocator_of(const struct result *r, uint32_t stack)
{
	const struct caching_allocator *found = NULL;

	for (; !found && stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		if (frame->class == CLASS_NATIVE)
			found = of_frame(frame);
	}
	return found;
}

/* ---- as a table ---- */

struct holder {
	const struct caching_allocator *allocator; /* key */
	uint32_t total, unused;                    /* key: the number of the memory's total */
	struct memory_row sums;
};

struct holder_key {
	const struct caching_allocator *allocator;
	uint32_t total, unused;
};

struct holders {
	RECORD_SET(struct holder);
	uint64_t left_out;
};

/* Returns NULL without room for one more. */
static struct holder *get(struct holders *h, const struct caching_allocator *a, uint32_t total)
{
	const struct holder_key key = {a, total, 0};
	uint32_t at = record_find(h, &key);

	if (at == RECORD_NONE && h->count < CACHING_ALLOCATORS_MAX)
		at = record_add(h, &key, (&(struct holder){.allocator = a, .total = total}));
	return at != RECORD_NONE ? &h->list[at] : NULL;
}

static void collect(struct holders *h, const struct result *r)
{
	struct memory_use use;

	memory_use_of(r->tables, &use);
	for (uint32_t i = 0; i < use.row_count; i++) {
		const struct memory_row *row = &use.rows[i];
		const struct caching_allocator *a =
			caching_allocator_of(result_whole(r), row->stack);
		struct holder *holder = a ? get(h, a, row->total) : NULL;

		h->left_out += a && !holder;
		if (!holder)
			continue;
		holder->sums.peak_bytes += row->peak_bytes;
		holder->sums.at_peak += row->at_peak;
		holder->sums.left_bytes += row->left_bytes;
		holder->sums.left += row->left;
		holder->sums.allocated_bytes += row->allocated_bytes;
		holder->sums.allocations += row->allocations;
	}
}

struct holder_row {
	struct memory_row sums;
	const char *name, *advice, *memory;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(holder_row, sums.peak_bytes, "held_at_peak_bytes", "At the peak", BYTES, 11),
	REPORT_COLUMN(holder_row, sums.at_peak, "segments_at_peak", "Segments", COUNT, 9),
	REPORT_COLUMN(holder_row, sums.left_bytes, "left_bytes", "Left", BYTES, 11),
	REPORT_COLUMN(holder_row, sums.left, "segments_left", "Segments left", COUNT, 13),
	REPORT_COLUMN(holder_row, sums.allocated_bytes, "allocated_bytes", "Allocated", BYTES, 11),
	REPORT_COLUMN(holder_row, sums.allocations, "segments", "Segments", COUNT, 9),
	REPORT_COLUMN(holder_row, name, "allocator", "Held by", TEXT, UINT8_MAX),
	REPORT_COLUMN(holder_row, advice, "advice", "Note", NOTE, 0),
	REPORT_COLUMN(holder_row, memory, "memory", "Memory", TEXT, 0),
};

static int by_held(const void *a, const void *b)
{
	const struct holder *x = *(const struct holder *const *)a,
			    *y = *(const struct holder *const *)b;
	int order = compare_numbers(y->sums.peak_bytes, x->sums.peak_bytes);

	return order ? order : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

static void add_holder(struct report_table *f, const struct result *r, const void *record)
{
	const struct holder *h = record;
	char where[MEMORY_PLACE_BYTES];
	struct holder_row row = {h->sums, h->allocator->name, h->allocator->advice, NULL};
	struct memory_use use;

	memory_use_of(r->tables, &use);
	row.memory = memory_place_text(r, &use.totals[h->total], where);
	report_table_add(f, &row);
}

struct report_table *caching_allocators_report_table(const struct result *result)
{
	struct holders h = {.left_out = 0};
	struct report_table *f =
		REPORT_TABLE_NEW("caching_allocators", "Caching allocators", columns);

	collect(&h, result);
	f = report_table_fill(f, result, h.list, h.count, sizeof(*h.list), by_held, add_holder);
	if (f)
		f->left_out += h.left_out;
	record_set_release(&h.set);
	return f;
}
