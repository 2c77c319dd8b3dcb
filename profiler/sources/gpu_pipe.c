// SPDX-License-Identifier: MIT
#include "profiler/sources/gpu_pipe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/sources/node_works.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"
#include "symbolize/util/id_map.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define NAME_IDS_MAX 65536
#define NAME_BYTES_MAX 65536
#define NAME_ID_BYTES 64 /* bytes of an id_map entry: the map is at most half full, and doubles */
#define READ_SIZE 65536
#define SHOWN_LENGTH 80         /* bytes kept of the first rejected line */
#define WRITES_MAX (1u << 20)   /* writes known by number; beyond them a lower number is a repeat */
#define HASH_FACTOR 0x9e3779b1u /* multiplier of the hash of lines in order */

struct tracee {
	uint64_t instance;
	struct process *process; /* NULL: hello not yet accepted */
	bool is_ignored;         /* has another protocol version */
	bool is_tracing;         /* its hello promised events */
	bool has_left;           /* said goodbye */
	bool has_sent_range;     /* sent what was launched in the recorded part */
	uint64_t left_ns;        /* time of the last goodbye, CLOCK_MONOTONIC */
	struct gpu_event_goodbye goodbye;
	uint64_t next_sequence;
	struct id_map writes;   /* by number: lines << 32 | hash; used if repeats are omitted */
	bool forgets_writes;    /* some writes are not in `writes` */
	uint64_t last_write_ns; /* time at which its last write was read */
	uint64_t operations, operation_ns; /* received */
	uint64_t unsent;                   /* dropped by the sender */
	/* launches of one kernel each, their kernels, and lost records */
	uint64_t kernel_launches, launched_kernels, lost;
	struct id_map names;    /* id -> const char * */
	uint32_t names_version; /* from 1 on: changes whenever a name is set */
	size_t kept_bytes;      /* bytes of `names` and `piece`, charged to the target's quota
				 */
	struct node_works works;
	char *piece; /* partly received name, or NULL */
	size_t piece_length;
	uint32_t piece_id;
};

struct known_tracee {
	uint64_t instance;
	struct tracee *tracee;
};

struct gpu_pipe {
	struct collect *collect;
	struct ledger *ledger;
	struct gpu_wire_decoder *decoder;
	RECORD_SET(struct known_tracee) tracees;
	struct tracee *pending; /* its hello was returned, and is not yet answered */
	struct tracee *current; /* sender of this batch; NULL: unknown */
	bool batch_is_refused;  /* its program was not accepted, so it is not malformed */
	bool batch_is_repeat;   /* the batch has been read before (gpu_pipe_leave_out_repeats) */
	bool leaves_out_repeats;
	uint64_t repeats, conflicts;
	uint32_t writes;                  /* number of known writes */
	uint32_t batch_lines, batch_hash; /* so far */
	bool batch_is_bounded;
	uint64_t batch_left; /* bytes left of the batch, if bounded */
	uint64_t batch_sequence, batch_instance;
	struct gpu_event event;
	/* line with operations of graphs' nodes that are still to be returned */
	struct node_run open;
	struct node_work *work; /* the last event's; NULL: the event had a line of its own */
	bool open_is_rejected;
	const char *open_line;
	size_t open_length;
	const char *at, *end;             /* bytes not yet processed */
	char line[GPU_WIRE_LINE_MAX + 1]; /* start of a line, from an earlier piece */
	size_t line_length;
	bool skipping; /* the line is too long: skip to its end */
	char buffer[READ_SIZE];
};

bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version)
{
	return cupti_version >= 130000 && cupti_version < 130100;
}

struct gpu_pipe *gpu_pipe_new(struct collect *collect)
{
	struct gpu_pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->collect = collect;
	p->ledger = collect_ledger(collect);
	p->decoder = gpu_wire_decoder_new();
	if (p->decoder)
		return p;
	free(p);
	return NULL;
}

static void free_tracee(struct gpu_pipe *p, struct tracee *t)
{
	quota_return(collect_target_quota(p->collect), t->kept_bytes);
	id_map_release(&t->names);
	id_map_release(&t->writes);
	free(t->piece);
	node_works_release(&t->works, collect_target_quota(p->collect));
	free(t);
}

void gpu_pipe_free(struct gpu_pipe *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->tracees.count; i++)
		free_tracee(p, p->tracees.list[i].tracee);
	record_set_release(&p->tracees.set);
	gpu_wire_decoder_free(p->decoder);
	free(p);
}

/* ---- programs ---- */

static struct tracee *find_tracee(const struct gpu_pipe *p, uint64_t instance)
{
	uint32_t at = record_find(&p->tracees, &instance);

	return at == RECORD_NONE ? NULL : p->tracees.list[at].tracee;
}

static struct tracee *add_tracee(struct gpu_pipe *p, uint64_t instance)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t || record_add(&p->tracees, &instance, &((struct known_tracee){instance, t})) ==
			  RECORD_NONE) {
		free(t);
		return NULL;
	}
	t->instance = instance;
	t->names_version = 1;
	return t;
}

static void drop_tracee(struct gpu_pipe *p, struct tracee *t)
{
	record_remove(&p->tracees, uint64_t, record_find(&p->tracees, &t->instance));
	if (p->current == t) {
		p->current = NULL;
		p->open.run.count = 0;
	}
	if (p->pending == t)
		p->pending = NULL;
	free_tracee(p, t);
}

struct process *tracee_process(const struct tracee *tracee)
{
	return tracee->process;
}

uint64_t tracee_instance(const struct tracee *tracee)
{
	return tracee->instance;
}

static void count_sequence(struct gpu_pipe *p, struct tracee *t, uint64_t sequence)
{
	uint64_t *lost = &p->ledger->pipe.lost_batches;

	t->last_write_ns = monotonic_ns();
	if (p->leaves_out_repeats && sequence < t->next_sequence) {
		*lost -= *lost > 0; /* the missing write comes from another file */
		return;
	}
	if (sequence > t->next_sequence)
		saturated_add(lost, sequence - t->next_sequence);
	t->next_sequence = sequence + 1;
}

void gpu_pipe_accept(struct gpu_pipe *p, struct tracee *tracee, struct process *process)
{
	const struct gpu_event_hello *hello = &p->event.hello;
	struct ledger_pipe *l = &p->ledger->pipe;

	tracee->process = process;
	p->pending = NULL;
	count_sequence(p, tracee, p->batch_sequence);
	l->processes++;
	l->without_cupti += hello->is_off != 0;
	l->foreign_versions += tracee->is_ignored;
	l->graph_time_bugs +=
		!tracee->is_ignored && gpu_pipe_has_graph_time_bug(hello->cupti_version);
}

void gpu_pipe_ignore(struct tracee *tracee)
{
	tracee->is_ignored = true;
	tracee->is_tracing = false;
}

/*
 * Returns the number of launches of one kernel that have no record of it. When tracing has ended,
 * their records never come. A launch on several devices counts several kernels as launched, so the
 * true number may be higher.
 */
static uint64_t without_record(const struct tracee *t)
{
	uint64_t recorded = saturated_sum(t->launched_kernels, t->lost);

	return t->is_tracing && t->kernel_launches > recorded ? t->kernel_launches - recorded : 0;
}

uint64_t gpu_pipe_waiting(const struct gpu_pipe *p)
{
	uint64_t waiting = 0;

	for (uint32_t i = 0; i < p->tracees.count; i++)
		saturated_add(&waiting, without_record(p->tracees.list[i].tracee));
	return waiting;
}

/* Counts operations that the goodbye reports and that have not arrived. */
static void count_missing(struct gpu_pipe *p, struct tracee *t)
{
	const struct gpu_event_goodbye *e = &t->goodbye;
	uint64_t accounted = saturated_sum(t->operations, t->unsent);

	if (!t->is_tracing || !t->has_left)
		return;
	if (e->kernels > accounted) {
		saturated_add(&p->ledger->gpu.missing, e->kernels - accounted);
		saturated_add(&t->lost, e->kernels - accounted);
	}
	if (e->kernels == t->operations && e->kernel_ns != t->operation_ns)
		p->ledger->pipe.wrong_totals++;
}

/* Returns true if operations came that no goodbye reports. */
static bool ended_in_the_middle(const struct tracee *t)
{
	return t->is_tracing &&
	       (!t->has_left || saturated_sum(t->operations, t->unsent) > t->goodbye.kernels);
}

/* Returns the end of its process, or now if it is unknown. */
static uint64_t end_of(const struct tracee *t)
{
	return t->process && t->process->ended_ns ? t->process->ended_ns : monotonic_ns();
}

uint64_t tracee_silence(const struct tracee *t)
{
	uint64_t ended_ns = end_of(t);

	return ended_in_the_middle(t) && ended_ns > t->last_write_ns ? ended_ns - t->last_write_ns
								     : 0;
}

/* Returns true if the process ended before the recording, so that nothing was to send. */
static bool ended_before(const struct gpu_pipe *p, const struct tracee *t)
{
	uint64_t from_ns = collect_time_range(p->collect)->from_ns;

	return from_ns && end_of(t) < from_ns;
}

/*
 * Counts a program that ended without a goodbye, by the way it ended. A program that only worked on
 * after its goodbye, and lost no kernel by that, ended in order.
 */
static void count_end(struct ledger *l, const struct tracee *t)
{
	const struct process *process = t->process;
	bool is_killed =
		process && process->end == PROCESS_EXITED && WIFSIGNALED(process->wait_status);
	uint64_t launches = without_record(t);

	if (t->has_left && !is_killed && !launches)
		return;
	l->pipe.without_goodbye++;
	if (is_killed) {
		l->pipe.killed++;
		saturated_add(&l->pipe.killed_launches, launches);
	} else if (process && process->end != PROCESS_END_UNKNOWN &&
		   tracee_silence(t) < GPU_PIPE_SILENT_NS) {
		l->pipe.exited++;
		saturated_add(&l->pipe.exited_launches, launches);
	}
}

void gpu_pipe_close(struct gpu_pipe *p, struct tracee *t)
{
	count_missing(p, t);
	saturated_add(&p->ledger->cost.program_ns, t->goodbye.own_ns);
	/* after the recording, the program did not wait for its records */
	if (t->has_left && time_range_is_over(collect_time_range(p->collect), t->left_ns))
		p->ledger->outside.unended += without_record(t);
	else if (!ended_before(p, t))
		p->ledger->launches.unended += without_record(t);
	if (ended_in_the_middle(t) && !ended_before(p, t)) {
		count_end(p->ledger, t);
		if (t->process)
			t->process->lacks_sums = true;
	}
	drop_tracee(p, t);
}

bool gpu_pipe_find_ended(const struct gpu_pipe *p, uint64_t time_ns, struct tracee **tracee)
{
	for (uint32_t i = 0; i < p->tracees.count; i++) {
		const struct tracee *t = p->tracees.list[i].tracee;
		const struct process *process = t->process;

		*tracee = p->tracees.list[i].tracee;
		if (time_ns == UINT64_MAX ||
		    (process && process->ended_ns && process->ended_ns < time_ns) ||
		    (t->has_left && t->left_ns + GPU_PIPE_LEAVE_NS < time_ns))
			return true;
	}
	return false;
}

uint32_t gpu_pipe_list(const struct gpu_pipe *p, pid_t *pids, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->tracees.count; i++) {
		if (!p->tracees.list[i].tracee->is_tracing || !p->tracees.list[i].tracee->process)
			continue;
		if (count < max)
			pids[count] = p->tracees.list[i].tracee->process->pid;
		count++;
	}
	return count;
}

static bool is_running(const struct tracee *t)
{
	/* the end of a process may be out of sight, too */
	return t->is_tracing && !t->has_left && t->process && !t->process->ended_ns &&
	       (kill(t->process->pid, 0) == 0 || errno == EPERM);
}

bool gpu_pipe_has_running(const struct gpu_pipe *p)
{
	for (uint32_t i = 0; i < p->tracees.count; i++)
		if (is_running(p->tracees.list[i].tracee))
			return true;
	return false;
}

bool gpu_pipe_has_range(const struct gpu_pipe *p)
{
	for (uint32_t i = 0; i < p->tracees.count; i++)
		if (!p->tracees.list[i].tracee->has_sent_range &&
		    is_running(p->tracees.list[i].tracee))
			return false;
	return true;
}

/* ---- kernel names ---- */

static bool keep_bytes(struct gpu_pipe *p, struct tracee *t, size_t bytes)
{
	if (!quota_take(collect_target_quota(p->collect), bytes))
		return false;
	t->kept_bytes += bytes;
	return true;
}

static void drop_bytes(struct gpu_pipe *p, struct tracee *t, size_t bytes)
{
	t->kept_bytes -= bytes;
	quota_return(collect_target_quota(p->collect), bytes);
}

/* Sets a kernel's name. Over the quota the kernel has no name, which is counted. */
static void set_name(struct gpu_pipe *p, struct tracee *t, uint32_t id, const char *name)
{
	const char *kept = collect_text(p->collect, name);
	uint64_t *value;

	if (!kept || (!id_map_find(&t->names, id) && !keep_bytes(p, t, NAME_ID_BYTES)))
		return;
	value = id_map_get(&t->names, id);
	if (value)
		*value = (uint64_t)(uintptr_t)kept;
	t->names_version += t->names_version < UINT32_MAX ? 1 : 2; /* never 0 */
}

static void drop_piece(struct gpu_pipe *p, struct tracee *t)
{
	if (!t->piece)
		return;
	free(t->piece);
	t->piece = NULL;
	drop_bytes(p, t, t->piece_length + 1);
	t->piece_length = 0;
}

/* Returns the length of the piece that fits into a name, cut between characters. */
static size_t fitting_length(size_t length, const char *text)
{
	size_t room = NAME_BYTES_MAX - 1 - length, n = strlen(text);

	return n <= room ? n : cut_text(text, room);
}

/*
 * Appends a piece to a name, cutting names that are too long. Returns false if refused or out of
 * memory.
 */
static bool add_piece(struct gpu_pipe *p, struct tracee *t, const char *text)
{
	size_t n = fitting_length(t->piece_length, text), bytes = t->piece ? n : n + 1;
	char *piece;

	if (!keep_bytes(p, t, bytes))
		return false;
	piece = realloc(t->piece, t->piece_length + n + 1);
	if (!piece) {
		drop_bytes(p, t, bytes);
		return false;
	}
	memcpy(piece + t->piece_length, text, n);
	piece[t->piece_length + n] = '\0';
	t->piece = piece;
	t->piece_length += n;
	return true;
}

/* Takes a name, or the next piece of one. Returns false if invalid. */
static bool take_name(struct gpu_pipe *p, struct tracee *t, const struct gpu_event_name *e)
{
	if (e->id == 0 || e->id > NAME_IDS_MAX)
		return false;
	if (t->piece_id != e->id)
		drop_piece(p, t);
	if (!e->more && !t->piece) {
		set_name(p, t, e->id, e->name);
		return true;
	}
	t->piece_id = e->id;
	if (!add_piece(p, t, e->name))
		return false;
	if (e->more)
		return true;
	set_name(p, t, e->id, t->piece);
	drop_piece(p, t);
	return true;
}

static const char *name_of(const struct tracee *t, uint32_t id)
{
	const uint64_t *name = id_map_find(&t->names, id);

	if (name)
		return (const char *)(uintptr_t)*name;
	return id ? GPU_PIPE_NAME_LOST : GPU_PIPE_NAMES_FULL;
}

/* Returns the name of the kernel that nodes of graphs run. Looks for it when names have changed. */
static const char *name_of_work(const struct tracee *t, struct node_work *work)
{
	if (work->version != t->names_version) {
		work->name = name_of(t, work->event.of.name_id);
		work->version = t->names_version;
	}
	return work->name;
}

/* ---- events ---- */

/* Returns the kept lines and hash of the current write, or NULL if it was not read before. */
static uint64_t *find_write(const struct gpu_pipe *p)
{
	return p->batch_sequence <= UINT32_MAX
		       ? id_map_find(&p->current->writes, (uint32_t)p->batch_sequence)
		       : NULL;
}

static uint64_t read_so_far(const struct gpu_pipe *p)
{
	return (uint64_t)p->batch_lines << 32 | p->batch_hash;
}

static bool is_repeat(const struct gpu_pipe *p)
{
	const struct tracee *t = p->current;

	if (!p->leaves_out_repeats || !t)
		return false;
	return find_write(p) || (p->batch_sequence < t->next_sequence &&
				 (t->forgets_writes || p->batch_sequence > UINT32_MAX));
}

/*
 * Counts a repeated write, as a conflict if its content differs. A file may end within a write that
 * another file has whole.
 */
static void end_repeat(struct gpu_pipe *p, const uint64_t *kept, bool is_end_of_file)
{
	bool is_cut = is_end_of_file && kept && p->batch_lines < *kept >> 32 &&
		      p->batch_is_bounded && p->batch_left > 0;

	p->batch_is_repeat = false;
	if (kept && *kept != read_so_far(p) && !is_cut) {
		p->conflicts++;
		saturated_add(&p->ledger->pipe.lost_batches, 1);
	} else {
		p->repeats++;
	}
}

/* Keeps the lines and hash of a write, or compares them with kept ones. */
static void end_batch(struct gpu_pipe *p, bool is_end_of_file)
{
	struct tracee *t = p->current;
	uint64_t *kept;

	if (!p->leaves_out_repeats || !t || !t->process)
		return;
	kept = find_write(p);
	if (p->batch_is_repeat) {
		end_repeat(p, kept, is_end_of_file);
		return;
	}
	if (t->forgets_writes || p->batch_sequence > UINT32_MAX)
		return;
	if (!kept && p->writes < WRITES_MAX)
		kept = id_map_get(&t->writes, (uint32_t)p->batch_sequence);
	p->writes += kept && !*kept;
	if (kept)
		*kept = read_so_far(p);
	else
		t->forgets_writes = true;
}

/* Notes a line. If a write was cut where it was read before, the following lines are no repeat. */
static void note_batch_line(struct gpu_pipe *p, const char *line, size_t length)
{
	const uint64_t *kept = p->batch_is_repeat && p->current ? find_write(p) : NULL;

	if (!p->leaves_out_repeats)
		return;
	if (kept && *kept == read_so_far(p))
		p->batch_is_repeat = false;
	p->batch_hash = p->batch_hash * HASH_FACTOR + hash_bytes(line, length);
	p->batch_lines++;
}

static void begin_batch(struct gpu_pipe *p, const struct gpu_event_batch *e)
{
	end_batch(p, false);
	p->current = find_tracee(p, e->instance);
	p->batch_is_bounded = e->bytes > 0;
	p->batch_left = e->bytes;
	p->batch_instance = e->instance;
	p->batch_sequence = e->sequence;
	p->batch_is_refused = !p->current; /* until a hello identifies the sender */
	p->batch_lines = p->batch_hash = 0;
	p->batch_is_repeat = is_repeat(p);
	if (p->current && !p->batch_is_repeat)
		count_sequence(p, p->current, e->sequence);
}

static bool take_hello(struct gpu_pipe *p, const struct gpu_event_hello *e)
{
	struct tracee *t;

	if (e->instance != p->batch_instance || e->instance == 0 || find_tracee(p, e->instance))
		return false;
	if (p->tracees.count == GPU_PIPE_TRACEES_MAX) {
		p->ledger->bounds.programs++;
		return true;
	}
	t = add_tracee(p, e->instance);
	if (!t) {
		p->ledger->bounds.out_of_memory++;
		return true;
	}
	t->is_ignored = e->version < GPU_WIRE_OLDEST || e->version > GPU_WIRE_VERSION;
	t->is_tracing = !e->is_off && !t->is_ignored; /* otherwise the hello explains why not */
	p->pending = p->current = t;
	p->batch_is_refused = false;
	return true;
}

static void take_drops(struct gpu_pipe *p, struct tracee *t, const struct gpu_event_drops *e)
{
	uint64_t kernels = saturated_sum(e->kernels, e->unsent_kernels);

	saturated_add(&p->ledger->gpu.dropped, kernels);
	saturated_add(&p->ledger->launches.dropped, saturated_sum(e->launches, e->unsent_launches));
	saturated_add(&p->ledger->gpu.unknown_kinds, e->unknown);
	saturated_add(&p->ledger->outside.before, e->early);
	saturated_add(&p->ledger->outside.before_ns, e->early_ns);
	saturated_add(&p->ledger->outside.after, e->late);
	saturated_add(&p->ledger->outside.after_ns, e->late_ns);
	saturated_add(&p->ledger->bounds.ranges, e->ranges);
	saturated_add(&p->ledger->bounds.folded_ranges, e->folded_ranges);
	saturated_add(&t->operations, e->late);
	saturated_add(&t->operation_ns, e->late_ns);
	saturated_add(&t->unsent, e->unsent_kernels);
	saturated_add(&t->lost, kernels);
}

/* Takes a goodbye. Later exit handlers may send more: the last goodbye counts. */
static void take_goodbye(struct tracee *t, const struct gpu_event_goodbye *e)
{
	t->goodbye = *e;
	t->has_left = true;
	t->left_ns = monotonic_ns();
}

static void count_operation(struct tracee *t, uint64_t duration_ns)
{
	t->operations++;
	t->operation_ns += duration_ns;
}

/* Adds an event's measurements to the run's totals. Returns false if a total would overflow. */
static bool add_measured(struct ledger *l, const struct gpu_event *event)
{
	const struct gpu_event_work *work = &event->work;
	const struct gpu_event_sum *sum = &event->sum;

	switch (event->type) {
	case GPU_EVENT_KERNEL:
		return ledger_total_add(&l->measured, 1, event->kernel.duration_ns, 0);
	case GPU_EVENT_WORK:
		return ledger_total_add(&l->measured, 1, work->duration_ns, work->bytes);
	case GPU_EVENT_WAIT:
		return ledger_total_add(&l->measured, 1, event->wait.duration_ns, 0);
	case GPU_EVENT_SUM:
		return ledger_total_add(&l->reported, sum->count, sum->ns, sum->bytes);
	default:
		return true;
	}
}

/* Counts an event of the current program. */
static void count_event(struct gpu_pipe *p, struct tracee *t, const struct gpu_event *event)
{
	struct ledger *l = p->ledger;

	switch (event->type) {
	case GPU_EVENT_LAUNCH:
		t->kernel_launches +=
			!(event->launch.flags & (GPU_LAUNCH_IS_GRAPH | GPU_LAUNCH_IS_OTHER));
		break;
	case GPU_EVENT_NOTICE:
		t->has_sent_range |= event->notice.code == GPU_NOTICE_RANGE_SENT;
		break;
	case GPU_EVENT_VOID:
		/* a void launch is complete, like one whose kernel has a record */
		saturated_add(&t->launched_kernels, event->voids.launches);
		break;
	case GPU_EVENT_KERNEL:
		if (collect_is_recorded(p->collect, t->process, &event->kernel)) {
			l->gpu.kernels++;
			l->gpu.kernel_ns += event->kernel.duration_ns;
		}
		saturated_add(&t->launched_kernels,
			      event->kernel.graph_node_id == 0 &&
				      collect_knows_launch(p->collect, t->process,
							   event->kernel.correlation_id));
		count_operation(t, event->kernel.duration_ns);
		break;
	case GPU_EVENT_WORK:
		count_operation(t,
				gpu_work_is_stall(event->work.work) ? 0 : event->work.duration_ns);
		break;
	case GPU_EVENT_DROPS:
		take_drops(p, t, &event->drops);
		break;
	case GPU_EVENT_GOODBYE:
		take_goodbye(t, &event->goodbye);
		break;
	default:
		break;
	}
}

/* ---- lines ---- */

/* Counts a line that is malformed or refused, and keeps the first one. */
static void reject_line(struct gpu_pipe *p, bool is_refused, const char *line, size_t length)
{
	struct ledger_pipe *l = &p->ledger->pipe;
	char *shown = is_refused ? l->first_refused : l->first_malformed;
	size_t n = length < SHOWN_LENGTH ? length : SHOWN_LENGTH;

	*(is_refused ? &l->refused : &l->malformed) += 1;
	if (shown[0])
		return;
	for (size_t i = 0; i < n; i++)
		shown[i] = line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '?';
	shown[n] = '\0';
}

static void leave(struct gpu_pipe *p, bool is_end_of_file)
{
	end_batch(p, is_end_of_file);
	p->current = NULL;
	p->batch_is_refused = false;
	p->batch_is_repeat = false;
	p->batch_is_bounded = false;
	p->batch_instance = 0;
	p->open.run.count = 0;
}

/*
 * Ends a bounded batch after its bytes. Bytes beyond come from another writer, even if they look
 * valid.
 */
static void leave_batch(struct gpu_pipe *p, size_t length)
{
	if (!p->batch_is_bounded)
		return;
	if (length + 1 > p->batch_left) {
		leave(p, false);
	} else {
		p->batch_left -= length + 1;
	}
}

static void open_run(struct gpu_pipe *p, const struct gpu_event_node_run *run, const char *line,
		     size_t length)
{
	node_run_open(&p->open, run);
	p->open_is_rejected = false;
	p->open_line = line;
	p->open_length = length;
}

/*
 * Makes the event of the next operation in the open line. Returns false at its end. Operations
 * whose work was not defined, or whose time would take a total past its limit, are left out: the
 * line counts as malformed, once.
 */
static bool next_operation(struct gpu_pipe *p)
{
	while (p->open.run.count &&
	       node_run_next(&p->open, &p->current->works, &p->work, &p->event)) {
		if (p->work && add_measured(p->ledger, &p->event)) {
			count_event(p, p->current, &p->event);
			return true;
		}
		if (!p->open_is_rejected)
			reject_line(p, false, p->open_line, p->open_length);
		p->open_is_rejected = true;
	}
	p->open.run.count = 0;
	p->work = NULL;
	return false;
}

/* Processes a line. Returns true if its event is to be returned. */
static bool take_line(struct gpu_pipe *p, const char *line, size_t length)
{
	const struct gpu_event *event = &p->event;

	if (length == 0)
		return false; /* every batch begins with a newline */
	p->ledger->pipe.lines++;
	leave_batch(p, length);
	if (gpu_wire_decode(p->decoder, line, length, &p->event) != 0) {
		reject_line(p, false, line, length);
		return false;
	}
	if (event->type == GPU_EVENT_BATCH) {
		begin_batch(p, &event->batch);
		return false;
	}
	note_batch_line(p, line, length);
	if (p->batch_is_repeat)
		return false;
	if (event->type == GPU_EVENT_HELLO) {
		if (take_hello(p, &event->hello))
			return p->pending != NULL;
		reject_line(p, false, line, length);
		return false;
	}
	if (!p->current || !p->current->process) {
		reject_line(p, p->batch_is_refused, line, length);
		return false;
	}
	if (p->current->is_ignored)
		return false;
	if (event->type == GPU_EVENT_NAME) {
		if (!take_name(p, p->current, &event->name))
			reject_line(p, false, line, length);
		return false;
	}
	if (event->type == GPU_EVENT_NODE_WORK) {
		node_works_add(&p->current->works, collect_target_quota(p->collect),
			       &event->node_work);
		return false;
	}
	if (event->type == GPU_EVENT_NODE_RUN) {
		open_run(p, &event->node_run, line, length);
		return false;
	}
	if (!add_measured(p->ledger, event)) {
		reject_line(p, false, line, length);
		return false;
	}
	count_event(p, p->current, event);
	return true;
}

/* Keeps the start of an incomplete line. Skips a line that is too long. */
static void keep_partial(struct gpu_pipe *p, const char *bytes, size_t n)
{
	if (p->skipping)
		return;
	if (p->line_length + n > GPU_WIRE_LINE_MAX) {
		memcpy(p->line + p->line_length, bytes, GPU_WIRE_LINE_MAX - p->line_length);
		p->ledger->pipe.lines++;
		p->ledger->pipe.too_long++;
		reject_line(p, false, p->line, GPU_WIRE_LINE_MAX);
		p->skipping = true;
		p->line_length = 0;
		return;
	}
	memcpy(p->line + p->line_length, bytes, n);
	p->line_length += n;
}

/* Finds the next complete line. Returns false if none is left. */
static bool next_line(struct gpu_pipe *p, const char **line, size_t *length)
{
	while (p->at < p->end) {
		const char *begin = p->at, *newline = memchr(begin, '\n', (size_t)(p->end - begin));
		bool was_begun = p->line_length > 0 || p->skipping;

		p->at = newline ? newline + 1 : p->end;
		*line = begin;
		*length = (size_t)((newline ? newline : p->end) - begin);
		if (newline && !was_begun && *length <= GPU_WIRE_LINE_MAX)
			return true;
		keep_partial(p, begin, *length);
		if (!newline)
			return false;
		*line = p->line;
		*length = p->line_length;
		was_begun = !p->skipping;
		p->skipping = false;
		p->line_length = 0;
		if (was_begun)
			return true;
	}
	return false;
}

/* Refuses the program of the last hello if it was not accepted. */
static void refuse_pending(struct gpu_pipe *p)
{
	if (!p->pending)
		return;
	reject_line(p, true, "hello", strlen("hello"));
	p->batch_is_refused = true;
	drop_tracee(p, p->pending);
}

/* Returns the kernel, or other GPU function, that the event is about, or NULL. */
static const char *kernel_of(const struct gpu_pipe *p, const struct gpu_event *event)
{
	const struct tracee *t = p->current;

	switch (event->type) {
	case GPU_EVENT_KERNEL:
		return p->work ? name_of_work(t, p->work) : name_of(t, event->kernel.name_id);
	case GPU_EVENT_PCS:
		return name_of(t, event->pcs.name_id);
	default:
		return NULL;
	}
}

const struct gpu_event *gpu_pipe_next(struct gpu_pipe *p, struct tracee **tracee,
				      const char **kernel)
{
	const char *line;
	size_t length;

	refuse_pending(p);
	while (!next_operation(p)) {
		if (!next_line(p, &line, &length))
			return NULL;
		if (take_line(p, line, length))
			break;
	}
	*tracee = p->current;
	*kernel = kernel_of(p, &p->event);
	return &p->event;
}

/* ---- bytes ---- */

void gpu_pipe_feed(struct gpu_pipe *p, const char *bytes, size_t size)
{
	p->at = bytes;
	p->end = bytes + size;
}

int gpu_pipe_fill(struct gpu_pipe *p, int fd, const char **bytes)
{
	ssize_t n;

	do
		n = read(fd, p->buffer, sizeof(p->buffer));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	if (bytes)
		*bytes = p->buffer;
	gpu_pipe_feed(p, p->buffer, (size_t)n);
	p->ledger->cost.pipe_bytes += (uint64_t)n;
	return (int)n;
}

void gpu_pipe_leave_out_repeats(struct gpu_pipe *p)
{
	p->leaves_out_repeats = true;
}

uint64_t gpu_pipe_repeats(const struct gpu_pipe *p)
{
	return p->repeats;
}

uint64_t gpu_pipe_conflicts(const struct gpu_pipe *p)
{
	return p->conflicts;
}

void gpu_pipe_finish(struct gpu_pipe *p)
{
	refuse_pending(p);
	if (p->line_length > 0) {
		p->ledger->pipe.lines++;
		reject_line(p, false, p->line, p->line_length);
	}
	p->line_length = 0;
	p->skipping = false;
	leave(p, true);
}
