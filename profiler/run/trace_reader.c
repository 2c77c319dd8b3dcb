// SPDX-License-Identifier: MIT
#include "profiler/run/trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/attach/notices.h"
#include "profiler/base/command_text.h"
#include "profiler/base/process_names.h"
#include "profiler/sources/gpu_pipe.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define CHUNK_BYTES 65536

struct trace_reader {
	struct log *log;
	struct notices notices;
	struct collect *collect;
	struct gpu_pipe *pipe;
	uint32_t frequency_hz;
	bool has_nvtx, has_counters;
	uint32_t accepted, other_boots;
	/* the first program: by time of its description, otherwise by order */
	uint32_t pid;
	char *program; /* executable; NULL: unknown, as for the strings below */
	struct boot_id boot;
	struct job_rank job;
	bool has_run; /* a program has described itself; members below are set */
	uint64_t run_ns, unix_offset_ns;
	char *command, *folder, *host;
	uint64_t first_ns, last_ns; /* range of all events; first_ns 0: none yet */
	char chunk[CHUNK_BYTES];
};

struct trace_reader *trace_reader_new(struct log *log, struct timeline *timeline,
				      uint32_t frequency_hz)
{
	struct trace_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->log = log;
	r->frequency_hz = frequency_hz;
	notices_init(&r->notices, log);
	r->collect = collect_new(&(struct collect_options){
		.place_mask = PLACES_ALL,
		.measure = {.traces_gpu = true, .devices = true, .counters = true, .alone = true},
		.timeline = timeline,
		.is_over = true});
	r->pipe = r->collect ? gpu_pipe_new(r->collect) : NULL;
	if (r->pipe) {
		gpu_pipe_leave_out_repeats(r->pipe);
		return r;
	}
	trace_reader_free(r);
	return NULL;
}

static void free_description(struct trace_reader *r)
{
	free(r->command);
	free(r->folder);
	free(r->host);
}

void trace_reader_free(struct trace_reader *r)
{
	if (!r)
		return;
	gpu_pipe_free(r->pipe);
	collect_free(r->collect);
	free(r->program);
	free_description(r);
	free(r);
}

/* ---- programs' descriptions ---- */

/* Returns a printable copy, or NULL if empty or out of memory. */
static char *clean_copy(const char *text)
{
	char *copy = text[0] ? strdup(text) : NULL;

	if (copy)
		clean_text(copy);
	return copy;
}

/* Returns the words, each NUL-terminated, and a final NUL. Returns NULL when out of memory. */
static char *words_of(const char *text)
{
	size_t length = strlen(text);
	char *words = calloc(1, length + 2);

	for (size_t i = 0; words && i < length; i++)
		words[i] = text[i] == GPU_RUN_WORD_END ? '\0' : text[i];
	return words;
}

/* Returns the command line, or NULL if empty or out of memory. */
static char *command_of(const char *arguments)
{
	char *words = words_of(arguments);
	char *text = words ? command_text_packed(words, strlen(arguments)) : NULL;

	free(words);
	return text;
}

/* Names a process after the script or program that its interpreter or loader runs. */
static void name_process(struct trace_reader *r, struct process *process, const char *arguments)
{
	struct process_names names;
	char *words = words_of(arguments), *program = NULL;

	if (words)
		process_names_find(&names, "", "", words, strlen(arguments), false);
	if (words && names.program)
		program = strndup(names.program, names.program_bytes);
	if (program)
		collect_name_program(r->collect, process, program);
	free(program);
	free(words);
}

static const char *variable_of(const void *context, const char *name)
{
	return variable_in(context, name);
}

static struct job_rank rank_of(const char *job)
{
	struct job_rank rank = {.is_known = false};
	char *words = words_of(job);

	if (!words)
		return rank;
	job_rank_find_in(&rank, variable_of, words);
	free(words);
	return rank;
}

static void note_time(struct trace_reader *r, uint64_t from_ns, uint64_t length_ns)
{
	uint64_t to_ns = saturated_sum(from_ns, length_ns);

	if (!r->first_ns || from_ns < r->first_ns)
		r->first_ns = from_ns;
	if (to_ns > r->last_ns)
		r->last_ns = to_ns;
}

static void describe(struct trace_reader *r, const struct process *process,
		     const struct gpu_event_run *e)
{
	free_description(r);
	r->has_run = true;
	r->run_ns = e->time_ns;
	r->pid = (uint32_t)process->pid;
	r->boot = boot_id_parse(e->boot);
	r->job = rank_of(e->job);
	/* may wrap; wraps back when added to a time */
	r->unix_offset_ns = e->unix_ns - e->time_ns;
	r->command = command_of(e->arguments);
	r->folder = e->folder[0] == '/' ? strdup(e->folder) : NULL;
	r->host = clean_copy(e->host);
}

static void take_run(struct trace_reader *r, struct tracee *tracee, const struct gpu_event_run *e)
{
	struct boot_id boot = boot_id_parse(e->boot ? e->boot : "");

	if (e->unix_ns && boot_is_known(&boot) && boot_is_known(&r->boot) &&
	    !boot_is_same(&boot, &r->boot)) {
		r->other_boots++;
		gpu_pipe_ignore(tracee);
		return;
	}
	if (e->unix_ns && (!r->has_run || e->time_ns < r->run_ns))
		describe(r, tracee_process(tracee), e);
	if (e->unix_ns)
		name_process(r, tracee_process(tracee), e->arguments);
	note_time(r, e->time_ns, 0);
}

static void take_hello(struct trace_reader *r, struct tracee *tracee,
		       const struct gpu_event_hello *hello)
{
	struct process *process = collect_hello(r->collect, hello);

	if (!process)
		return;
	gpu_pipe_accept(r->pipe, tracee, process);
	if (r->accepted++)
		return;
	r->pid = hello->pid;
	r->program = clean_copy(hello->executable);
}

/* ---- events ---- */

static void note_times(struct trace_reader *r, const struct gpu_event *event)
{
	if (event->type == GPU_EVENT_LAUNCH)
		note_time(r, event->launch.time_ns, 0);
	else if (event->type == GPU_EVENT_KERNEL && !event->kernel.bad_time)
		note_time(r, event->kernel.start_ns, event->kernel.duration_ns);
	else if (event->type == GPU_EVENT_WORK && !event->work.bad_time)
		note_time(r, event->work.start_ns, event->work.duration_ns);
}

static void take_event(struct trace_reader *r, struct tracee *tracee, const struct gpu_event *event,
		       const char *kernel)
{
	struct process *process = tracee_process(tracee);

	switch (event->type) {
	case GPU_EVENT_HELLO:
		take_hello(r, tracee, &event->hello);
		break;
	case GPU_EVENT_RUN:
		take_run(r, tracee, &event->run);
		break;
	case GPU_EVENT_NOTICE:
		notices_add(&r->notices, (uint32_t)process->pid, &event->notice);
		break;
	default:
		r->has_nvtx |= event->type == GPU_EVENT_NVTX;
		r->has_counters |= event->type == GPU_EVENT_METRIC;
		note_times(r, event);
		collect_gpu_event(r->collect, process, event, kernel);
	}
}

void trace_reader_finish(struct trace_reader *r)
{
	struct tracee *tracee;

	while (gpu_pipe_find_ended(r->pipe, UINT64_MAX, &tracee)) {
		struct process *process = tracee_process(tracee);

		gpu_pipe_close(r->pipe, tracee);
		if (process)
			collect_goodbye(r->collect, process, r->last_ns);
	}
	collect_finish(r->collect, r->last_ns);
	log_warn_if(r->log, gpu_pipe_repeats(r->pipe),
		    "# write{|s} of the traces {is|are} in them more than once, and counted once: "
		    "is a file given twice, or a copy of another?");
	log_warn_if(r->log, gpu_pipe_conflicts(r->pipe),
		    "# write{|s} of the traces {has|have} the number of another one with other "
		    "content, and {is|are} left out: a file is damaged, or claims to be of another "
		    "program. Read the files one by one");
	log_warn_if(r->log, r->other_boots,
		    "# program{|s} of the trace ran after another start of the machine, by another "
		    "clock, and {is|are} left out: give each run a file of its own (%%p)");
}

static void take_bytes(struct trace_reader *r, const char *bytes, size_t count)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel;

	gpu_pipe_feed(r->pipe, bytes, count);
	while ((event = gpu_pipe_next(r->pipe, &tracee, &kernel)))
		take_event(r, tracee, event, kernel);
	/* no other source delivers stacks, so nothing has to wait */
	collect_advance(r->collect, UINT64_MAX);
}

/* Counts records that only a trace has. */
static uint64_t understood(const struct trace_reader *r)
{
	return r->accepted + gpu_pipe_repeats(r->pipe) + gpu_pipe_conflicts(r->pipe);
}

int trace_reader_read(struct trace_reader *r, FILE *in, const struct trace_head *head)
{
	uint64_t known = understood(r);
	size_t got;

	if (head)
		take_bytes(r, head->bytes, head->count);
	while ((got = fread(r->chunk, 1, sizeof(r->chunk), in)) > 0)
		take_bytes(r, r->chunk, got);
	if (ferror(in))
		return errno ? -errno : -EIO;
	gpu_pipe_finish(r->pipe);
	return understood(r) > known ? 0 : -EBADMSG;
}

/* ---- the beginning ---- */

/* Finds the first program's description of its run. */
static void find_run(struct trace_head *head, struct gpu_wire_decoder *decoder)
{
	const char *at = head->bytes, *end = at + head->count, *newline;
	struct gpu_event event;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		size_t length = (size_t)(newline - at);

		if (length == 0 || length > GPU_WIRE_LINE_MAX ||
		    gpu_wire_decode(decoder, at, length, &event) != 0 ||
		    event.type != GPU_EVENT_RUN || !event.run.unix_ns)
			continue;
		head->job = rank_of(event.run.job);
		head->boot = boot_id_parse(event.run.boot);
		return;
	}
}

int trace_head_read(struct trace_head *head, FILE *in)
{
	struct gpu_wire_decoder *decoder = gpu_wire_decoder_new();

	head->bytes = malloc(TRACE_HEAD_BYTES);
	if (!decoder || !head->bytes) {
		gpu_wire_decoder_free(decoder);
		return -ENOMEM;
	}
	head->count = fread(head->bytes, 1, TRACE_HEAD_BYTES, in);
	find_run(head, decoder);
	gpu_wire_decoder_free(decoder);
	return ferror(in) ? (errno ? -errno : -EIO) : 0;
}

void trace_head_release(struct trace_head *head)
{
	free(head->bytes);
	*head = (struct trace_head){.bytes = NULL};
}

/* ---- the result ---- */

struct collect *trace_reader_collect(struct trace_reader *r)
{
	return r->collect;
}

struct totals trace_reader_totals(const struct trace_reader *r)
{
	const char *command = r->command ? r->command : r->program;
	uint64_t elapsed_ns = r->last_ns - r->first_ns;

	return (struct totals){.ledger = collect_ledger(r->collect),
			       .command = command ? command : "unknown",
			       .folder = r->folder,
			       .host = r->host,
			       .command_pid = r->pid,
			       .start_ns = r->first_ns,
			       .start_unix_ns = r->has_run ? r->first_ns + r->unix_offset_ns : 0,
			       .elapsed_ns =
				       elapsed_ns < GPU_EVENT_DURATION_LIMIT_NS ? elapsed_ns : 0,
			       .measure = {.traces_gpu = true,
					   .frequency_hz = r->frequency_hz,
					   .devices = true,
					   .nvtx = r->has_nvtx,
					   .counters = r->has_counters,
					   .alone = true},
			       .sample_ns = measure_sample_ns(r->frequency_hz),
			       .job = r->job,
			       .boot = r->boot};
}
