// SPDX-License-Identifier: MIT
#include "profiler/report/unnamed_code.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

/* Characters that may follow the beginning of a file's name. */
#define FILE_ENDS ".-0123456789"

static const struct {
	const char *file, *name, *advice;
} runtimes[] = {
	{"node", "Node", "run it with --perf-basic-prof"},
	{"libnode", "Node", "run it with --perf-basic-prof"},
	{"libjvm", "Java",
	 "run it with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
	 "-XX:+PreserveFramePointer"},
	{"libcoreclr", ".NET", "set DOTNET_PerfMapEnabled=1"},
	{"libjulia", "Julia", "set ENABLE_JITPROFILING=1"},
	{"libluajit", "LuaJIT", "build LuaJIT with -DLUAJIT_USE_PERFTOOLS"},
	{"luajit", "LuaJIT", "build LuaJIT with -DLUAJIT_USE_PERFTOOLS"},
	{"deno", "Deno", "run it with --v8-flags=--perf-basic-prof"},
	{"beam", "Erlang", "run it with +JPperf true"},
	{"libruby", "Ruby", "run it with --yjit-perf"},
	{"ruby", "Ruby", "run it with --yjit-perf"},
	{"php", "PHP", "run it with -d opcache.jit_debug=16"},
	{"wasmtime", "Wasmtime", "run it with --profile perfmap"},
};
#define RUNTIMES (sizeof(runtimes) / sizeof(*runtimes))
#define UNKNOWN UINT8_MAX

/* Properties of a stack. */
struct stack_traits {
	bool has_unnamed;
	uint8_t runtime;
};

/* CPU time of a process. */
struct process {
	uint32_t id; /* PLACE_UNKNOWN if processes are not separated */
	uint64_t unnamed_ns, runtime_ns[RUNTIMES];
};

struct counts {
	RECORD_SET(struct process);
	uint64_t all_ns, unnamed_samples;
};

static uint8_t runtime_of(const char *module)
{
	const char *file = base_name(module);

	for (uint8_t i = 0; i < RUNTIMES; i++) {
		const char *end = file + strlen(runtimes[i].file);

		if (starts_with(file, runtimes[i].file) &&
		    (!*end || strchr(FILE_ENDS, *end) || starts_with(end, "js")))
			return i;
	}
	return UNKNOWN;
}

/* Returns the properties of all stacks. Returns NULL if out of memory. */
static struct stack_traits *find_stack_traits(const struct result *r)
{
	struct stack_traits *list = calloc(r->stack_count + 1u, sizeof(*list));

	if (!list)
		return NULL;
	list[RESULT_ROOT].runtime = UNKNOWN;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count; i++) {
		const struct frame_info *frame = &r->frames[r->stacks[i].frame];

		list[i] = list[r->stacks[i].outer];
		list[i].has_unnamed |= frame->class == CLASS_JIT && frame->name[0] == '[';
		if (list[i].runtime == UNKNOWN && frame->class == CLASS_NATIVE && frame->module)
			list[i].runtime = runtime_of(frame->module);
	}
	return list;
}

static bool add_row(struct counts *c, const struct result *r, const struct row *row,
		    const struct stack_traits *traits)
{
	uint32_t id = r->places[row->place].part[PLACE_PROCESS];
	uint32_t at = record_get(c, &id, &((struct process){.id = id}));
	struct process *p = at != RECORD_NONE ? &c->list[at] : NULL;

	if (!p)
		return false;
	c->all_ns += row->ns;
	if (traits->has_unnamed) {
		p->unnamed_ns += row->ns;
		saturated_add(&c->unnamed_samples, row->count);
	}
	if (traits->runtime != UNKNOWN)
		p->runtime_ns[traits->runtime] += row->ns;
	return true;
}

static uint8_t main_runtime(const struct process *p)
{
	uint8_t most = UNKNOWN;

	for (uint8_t i = 0; i < RUNTIMES; i++)
		if (p->runtime_ns[i] > (most == UNKNOWN ? 0 : p->runtime_ns[most]))
			most = i;
	return most;
}

static void report(struct log *log, const struct counts *c)
{
	uint64_t by_runtime[RUNTIMES] = {0}, unknown = 0, sum = 0;
	uint8_t most = UNKNOWN;

	for (uint32_t i = 0; i < c->count; i++) {
		uint8_t runtime = main_runtime(&c->list[i]);

		*(runtime == UNKNOWN ? &unknown : &by_runtime[runtime]) += c->list[i].unnamed_ns;
		sum += c->list[i].unnamed_ns;
	}
	for (uint8_t i = 0; i < RUNTIMES; i++)
		if (by_runtime[i] > (most == UNKNOWN ? unknown : by_runtime[most]))
			most = i;
	if (most != UNKNOWN)
		sum = by_runtime[most];
	if (sum == 0 || c->unnamed_samples < UNNAMED_CODE_SAMPLES ||
	    (double)sum * 100 < (double)c->all_ns * UNNAMED_CODE_PERCENT)
		return;
	if (most == UNKNOWN)
		log_warn(log,
			 "%.0f %% of the CPU samples are in generated code without names; "
			 "docs/troubleshooting.md tells how runtimes give them",
			 100.0 * (double)sum / (double)c->all_ns);
	else
		log_warn(log,
			 "%.0f %% of the CPU samples are in generated code of %s without names: %s",
			 100.0 * (double)sum / (double)c->all_ns, runtimes[most].name,
			 runtimes[most].advice);
}

void unnamed_code_report(struct log *log, const struct result *r)
{
	struct stack_traits *traits = find_stack_traits(r);
	struct counts counts = {0};
	bool is_complete = traits != NULL;

	for (uint32_t i = 0; i < r->row_count && is_complete; i++)
		if (r->rows[i].kind == ROW_CPU)
			is_complete = add_row(&counts, r, &r->rows[i], &traits[r->rows[i].stack]);
	if (is_complete) /* out of memory: no hint */
		report(log, &counts);
	record_set_release(&counts.set);
	free(traits);
}
