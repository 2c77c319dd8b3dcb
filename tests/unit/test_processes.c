/* SPDX-License-Identifier: MIT */
/*
 * The table of processes, and its reaction to the kernel's records, with memory that can run out.
 */
#include "collect_text.h"
#include "heap.h"
#include "failing_memory.h"
#include "profiler/cpu/processes.h"
#include "symbolize/address_space.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
__typeof__(address_space_new) __real_address_space_new, __wrap_address_space_new;
__typeof__(address_space_fork) __real_address_space_fork, __wrap_address_space_fork;

void *__wrap_calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : __real_calloc(count, size);
}

struct address_space *__wrap_address_space_new(uint32_t id, pid_t pid, bool is_complete)
{
	return fails_now() ? NULL : __real_address_space_new(id, pid, is_complete);
}

struct address_space *__wrap_address_space_fork(const struct address_space *parent, uint32_t id,
						pid_t pid)
{
	return fails_now() ? NULL : __real_address_space_fork(parent, id, pid);
}

#define LINGER ((uint64_t)PROCESSES_LINGER_NS)

/* ---- the table ---- */

static void a_process_is_known_by_pid_and_id(void **state)
{
	struct processes p = {0};
	struct process *a = processes_start(&p, 100, 5, true);
	struct process *b = processes_start(&p, 200, 6, false);

	(void)state;
	assert_int_equal(a->id, 1);
	assert_int_equal(b->id, 2);
	assert_int_equal(a->pid, 100);
	assert_int_equal(a->threads, 1);
	assert_int_equal(a->ended_ns, 0);
	assert_int_equal(a->source, PROCESS_STARTED);
	assert_int_equal(a->speech, PROCESS_SILENT);
	assert_int_equal(a->space->id, 1);
	assert_int_equal(a->space->pid, 100);
	assert_true(a->space->is_complete);
	assert_false(b->space->is_complete);
	assert_ptr_equal(processes_find(&p, 100), a);
	assert_ptr_equal(processes_find(&p, 200), b);
	assert_null(processes_find(&p, 300));
	assert_ptr_equal(processes_find_last(&p, 200), b);
	assert_null(processes_find_last(&p, 300));
	assert_ptr_equal(processes_get(&p, 1), a);
	assert_ptr_equal(processes_get(&p, 2), b);
	assert_null(processes_get(&p, 3));
	assert_null(processes_get(&p, 0));
	processes_release(&p);
	assert_null(processes_find(&p, 100));
	assert_null(processes_get(&p, 1));
	processes_release(&p);
	process_free(NULL);
}

/* The next process with the number is another, and the first one stays for its late records. */
static void a_pid_is_used_again(void **state)
{
	struct processes p = {0};
	struct process *first = processes_start(&p, 100, 5, true), *second;

	(void)state;
	processes_end(&p, first, 50);
	assert_null(processes_find(&p, 100));
	assert_ptr_equal(processes_find_last(&p, 100), first);
	assert_ptr_equal(processes_get(&p, 1), first);
	assert_int_equal(first->ended_ns, 50);
	second = processes_start(&p, 100, 60, true);
	assert_ptr_equal(processes_find(&p, 100), second);
	assert_ptr_equal(processes_find_last(&p, 100), second);
	assert_int_not_equal(second->id, first->id);
	/* without a record of the first one's end */
	assert_non_null(processes_start(&p, 100, 70, true));
	assert_int_equal(second->ended_ns, 70);
	assert_int_equal(processes_find(&p, 100)->id, 3);
	processes_end(&p, processes_find(&p, 100), 80);
	assert_int_equal(processes_find_last(&p, 100)->id, 3);
	processes_release(&p);
}

static void a_process_ends_once(void **state)
{
	struct processes p = {0};
	struct process *first = processes_start(&p, 100, 5, true), *second;

	(void)state;
	processes_end(&p, first, 50);
	second = processes_start(&p, 100, 60, true);
	processes_end(&p, first, 70); /* the process that now has the pid is unaffected */
	assert_int_equal(first->ended_ns, 50);
	assert_int_equal(second->ended_ns, 0);
	assert_ptr_equal(processes_find(&p, 100), second);
	assert_ptr_equal(processes_take_expired(&p, 50 + LINGER), first);
	assert_null(processes_take_expired(&p, UINT64_MAX));
	process_free(first);
	/* an unknown time of the end is still an end */
	processes_end(&p, second, 0);
	assert_int_not_equal(second->ended_ns, 0);
	processes_release(&p);
}

/* The child inherits the parent's state, but not its data and its reports. */
static void a_fork_is_a_copy(void **state)
{
	struct processes p = {0};
	struct process *parent = processes_start(&p, 100, 5, true), *child;
	struct quota quota = {.limit = 1000};
	const struct work_sum one = {.count = 1};

	(void)state;
	parent->source = PROCESS_OURS;
	parent->comm = "train";
	parent->python = 7;
	parent->threads = 4;
	parent->speech = PROCESS_TRACED;
	parent->lacks_gpu_time = true;
	parent->sent.quota = &quota;
	assert_int_equal(target_stacks_set(&parent->sent, 1, (struct sent_stack){{1}, true}), 0);
	process_count(parent, &parent->counted, &quota, &one);
	assert_int_equal(parent->counted.count, 1);
	child = processes_fork(&p, parent, 101, 9);
	assert_int_equal(child->source, PROCESS_OURS);
	assert_ptr_equal(child->comm, parent->comm);
	assert_int_equal(child->python, 7);
	assert_int_equal(child->threads, 1);
	assert_int_equal(child->speech, PROCESS_SILENT);
	assert_false(child->lacks_gpu_time || child->source == PROCESS_PIPE_ONLY);
	assert_int_equal(child->sent.held, 0);
	assert_int_equal(child->counted.count, 0);
	assert_int_equal(child->space->id, child->id);
	assert_int_equal(child->space->pid, 101);
	assert_ptr_equal(child->space->maps, parent->space->maps); /* until one of them changes */
	processes_release(&p);
	assert_int_equal(quota.used, 0);
}

static void those_apart_are_not_known_by_pid(void **state)
{
	struct processes p = {0};
	struct process *kernel_s = processes_start(&p, 100, 5, true);
	struct process *one = processes_start_pipe_only(&p, 100, 100);
	struct process *other = processes_start_pipe_only(&p, 100, 100);
	struct process *alone = processes_start_pipe_only(&p, 200, 200);

	(void)state;
	assert_true(one->source == PROCESS_PIPE_ONLY && other->source == PROCESS_PIPE_ONLY &&
		    alone->source == PROCESS_PIPE_ONLY);
	assert_int_not_equal(kernel_s->source, PROCESS_PIPE_ONLY);
	assert_int_equal(kernel_s->ended_ns, 0);
	assert_ptr_equal(processes_find(&p, 100), kernel_s);
	assert_null(processes_find(&p, 200));
	assert_int_equal(one->pid, 100);
	assert_ptr_equal(processes_get(&p, one->id), one);
	assert_ptr_equal(processes_get(&p, other->id), other);
	assert_int_not_equal(one->id, other->id);
	/* nor does its end concern the one that has the pid */
	processes_end(&p, one, 50);
	assert_ptr_equal(processes_find(&p, 100), kernel_s);
	assert_ptr_equal(processes_take_expired(&p, 50 + LINGER), one);
	process_free(one);
	assert_non_null(processes_start(&p, 100, 60, true));
	assert_int_equal(other->ended_ns, 0);
	processes_release(&p);
}

static void a_process_lingers(void **state)
{
	struct processes p = {0};
	struct process *running = processes_start(&p, 100, 5, true);
	struct process *ended = processes_start(&p, 200, 5, true);

	(void)state;
	assert_null(processes_take_expired(&p, UINT64_MAX / 2));
	processes_end(&p, ended, 1000);
	assert_null(processes_take_expired(&p, 1000));
	assert_null(processes_take_expired(&p, 1000 + LINGER - 1));
	assert_ptr_equal(processes_get(&p, ended->id), ended);
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), ended);
	assert_null(processes_get(&p, ended->id));
	assert_null(processes_take_expired(&p, UINT64_MAX / 2));
	assert_ptr_equal(processes_find(&p, 100), running);
	process_free(ended);
	processes_release(&p);
}

/* Programs of one process, and processes with one number, in time. */
static void a_number_leads_to_whom_it_belonged_then(void **state)
{
	struct processes p = {0};
	struct process *first = processes_start(&p, 100, 10, true), *second, *third, *apart;

	(void)state;
	processes_end(&p, first, 20);
	/* a process keeps ending while nobody else has the number */
	assert_ptr_equal(processes_find_at(&p, 100, 500), first);
	assert_null(processes_find_at(&p, 100, 9));
	second = processes_start(&p, 100, 20, true);
	third = processes_start(&p, 100, 30, true); /* this ends the second */
	apart = processes_start_pipe_only(&p, 100, 100);
	processes_end(&p, apart, 40);
	assert_ptr_equal(processes_find_at(&p, 100, 35), third);
	assert_ptr_equal(processes_find_at(&p, 100, 25), second);
	assert_ptr_equal(processes_find_at(&p, 100, 15), first);
	assert_ptr_equal(processes_find_at(&p, 100, 5), third); /* lost records */
	processes_end(&p, third, 40);
	assert_ptr_equal(processes_find_last(&p, 100), third);
	/* one in the middle is taken out: it expires first, because the others are traced */
	first->speech = third->speech = PROCESS_TRACED;
	assert_ptr_equal(processes_take_expired(&p, 40 + LINGER), apart);
	assert_ptr_equal(processes_take_expired(&p, 40 + LINGER), second);
	assert_null(processes_take_expired(&p, 40 + LINGER));
	assert_ptr_equal(processes_find_at(&p, 100, 25), first);
	third->speech = PROCESS_SPOKE;
	assert_ptr_equal(processes_take_expired(&p, 40 + LINGER), third);
	assert_ptr_equal(processes_find_last(&p, 100), first);
	first->speech = PROCESS_SPOKE;
	assert_ptr_equal(processes_take_expired(&p, 40 + LINGER), first);
	assert_null(processes_find_last(&p, 100));
	assert_int_equal(p.ended.count, 0);
	process_free(first);
	process_free(second);
	process_free(third);
	process_free(apart);
	processes_release(&p);
}

/* A traced process stays, and delays no other. */
static void a_traced_process_stays(void **state)
{
	struct processes p = {0};
	struct process *processes[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		processes[i] = processes_start(&p, 100 + i, 5, true);
		processes[i]->speech = i % 2 == 0 ? PROCESS_TRACED : PROCESS_SILENT;
	}
	for (int i = 0; i < 5; i++)
		processes_end(&p, processes[i], 1000);
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), processes[1]);
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), processes[3]);
	assert_null(processes_take_expired(&p, UINT64_MAX / 2));
	process_free(processes[1]);
	process_free(processes[3]);
	processes[4]->speech = PROCESS_SPOKE;
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), processes[4]);
	process_free(processes[4]);
	/* the list continues after a removed entry */
	processes[1] = processes_start(&p, 100, 5, true);
	processes_end(&p, processes[1], 2000);
	assert_ptr_equal(processes_take_expired(&p, 2000 + LINGER), processes[1]);
	process_free(processes[1]);
	processes[0]->speech = PROCESS_SPOKE;
	processes[2]->speech = PROCESS_SPOKE;
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), processes[0]);
	assert_ptr_equal(processes_take_expired(&p, 1000 + LINGER), processes[2]);
	process_free(processes[0]);
	process_free(processes[2]);
	assert_null(processes_take_any(&p));
	processes_release(&p);
}

static void everything_can_be_taken_out(void **state)
{
	struct processes p = {0};
	struct process *process;
	uint32_t taken = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		process = i % 3 ? processes_start(&p, 100 + i, 5, true)
				: processes_start_pipe_only(&p, 7, 7);
		process->speech = i % 2 ? PROCESS_TRACED : PROCESS_SILENT;
		if (i % 5 == 0)
			processes_end(&p, process, 1000);
	}
	while ((process = processes_take_any(&p))) {
		assert_int_not_equal(process->ended_ns, 0);
		assert_null(processes_get(&p, process->id));
		process_free(process);
		taken++;
	}
	assert_int_equal(taken, 100);
	assert_int_equal(p.by_pid.count, 0);
	processes_release(&p);
}

/* A number that would be left after all: no process is half in the table. */
static void without_memory_there_is_no_process(void **state)
{
	struct processes p = {0};
	struct process *parent = processes_start(&p, 50, 5, true), *process;
	uint32_t failures = 0;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		for (uint32_t i = 1;; i++) {
			failing_allocation = i;
			process = kind == 0   ? processes_start(&p, 100, 5, true)
				  : kind == 1 ? processes_start_pipe_only(&p, 100, 100)
					      : processes_fork(&p, parent, 100, 5);
			if (process)
				break;
			failures++;
			assert_null(processes_find(&p, 100));
			assert_null(processes_get(&p, p.newest_id + 1));
			assert_int_equal(p.newest_id, 1 + kind);
		}
		failing_allocation = 0;
		assert_int_equal(process->id, 2 + kind);
		processes_end(&p, process, 10);
	}
	assert_true(failures >= 3 * 3);
	processes_release(&p);
}

/* ---- sums of work ---- */

static const struct work_sum *any_sum(uint32_t stream)
{
	static struct work_sum sum;

	sum = (struct work_sum){.key = {.stream = stream}, .count = 1, .ns = 10, .bytes = 2};
	return &sum;
}

static void sums_take_from_the_quota(void **state)
{
	struct processes p = {0};
	struct process *process = processes_start(&p, 100, 5, true);
	struct quota quota = {.limit = 10000};
	struct work_tally *t = &process->counted;
	uint32_t streams;
	size_t used;

	(void)state;
	process->sent.quota = &quota;
	for (uint32_t i = 0; i < 1000; i++)
		process_count(process, t, &quota, any_sum(i));
	streams = t->count;
	assert_in_range(streams, 10, 10000 / sizeof(struct work_sum));
	assert_true(t->overflowed);
	assert_int_equal(quota.refused, 1);
	assert_int_equal(quota.used, process->tally_bytes);
	assert_null(work_tally_find(t, &any_sum(streams)->key));
	/* existing ones continue */
	for (uint32_t i = 0; i < streams; i++)
		process_count(process, t, &quota, any_sum(i));
	assert_int_equal(work_tally_find(t, &any_sum(3)->key)->count, 2);
	assert_int_equal(work_tally_find(t, &any_sum(3)->key)->ns, 20);
	assert_int_equal(work_tally_find(t, &any_sum(3)->key)->bytes, 4);
	/* no other process is added: it would have only a part of its work */
	quota.limit = 20000;
	used = quota.used;
	process_count(process, t, &quota, any_sum(streams));
	assert_int_equal(t->count, streams);
	assert_int_equal(quota.used, used);
	/* the other tally is unaffected */
	process_count(process, &process->reported, &quota, any_sum(streams));
	assert_int_equal(process->reported.count, 1);
	assert_false(process->reported.overflowed);
	processes_release(&p);
	assert_int_equal(quota.used, 0);
}

/* ---- beside a model ---- */

enum { MOST = 600, PIDS = 12 };

struct model {
	struct process *processes[MOST];
	uint64_t ended_ns[MOST]; /* 0: runs */
	int64_t ended_order[MOST];
	bool is_gone[MOST];
	uint32_t count;
	int64_t ended;
	uint32_t by_pid[PIDS]; /* id; 0: none */
};

static void end_in_model(struct model *m, uint32_t id, uint64_t now)
{
	if (m->ended_ns[id])
		return;
	m->ended++;
	m->ended_ns[id] =
		m->processes[id]->source == PROCESS_PIPE_ONLY ? 1 : now; /* it does not linger */
	m->ended_order[id] = m->processes[id]->source == PROCESS_PIPE_ONLY ? -m->ended : m->ended;
	for (uint32_t i = 0; i < PIDS; i++)
		if (m->by_pid[i] == id)
			m->by_pid[i] = 0;
}

static void begin_one(struct prng *r, struct processes *p, struct model *m, uint64_t now)
{
	uint32_t pid = (uint32_t)prng_below(r, PIDS), kind = (uint32_t)prng_below(r, 3);
	const struct process *parent = processes_find(p, (pid_t)prng_below(r, PIDS));
	uint32_t id = m->count + 1;
	struct process *process;

	if (kind == 2 && !parent)
		return;
	if (kind != 1 && m->by_pid[pid])
		end_in_model(m, m->by_pid[pid], now);
	process = kind == 0   ? processes_start(p, (pid_t)pid, now, true)
		  : kind == 1 ? processes_start_pipe_only(p, (pid_t)pid, (pid_t)pid)
			      : processes_fork(p, parent, (pid_t)pid, now);
	EXPECT(r, process && process->id == id &&
			  (process->source == PROCESS_PIPE_ONLY) == (kind == 1));
	process->speech = prng_chance(r, 30) ? PROCESS_TRACED : PROCESS_SILENT;
	m->processes[id] = process;
	m->count++;
	if (kind != 1)
		m->by_pid[pid] = id;
}

/* Returns the first process that has ended, has lingered and is not traced, or 0. */
static uint32_t settled_in_model(const struct model *m, uint64_t now)
{
	uint32_t first = 0;

	for (uint32_t id = 1; id <= m->count; id++)
		if (!m->is_gone[id] && m->ended_ns[id] && m->ended_ns[id] + LINGER <= now &&
		    !process_is_speaking(m->processes[id]) &&
		    (!first || m->ended_order[id] < m->ended_order[first]))
			first = id;
	return first;
}

static void settle_all(struct prng *r, struct processes *p, struct model *m, uint64_t now)
{
	struct process *process;

	while ((process = processes_take_expired(p, now))) {
		EXPECT(r, process->id == settled_in_model(m, now));
		m->is_gone[process->id] = true;
		process_free(process);
	}
	EXPECT(r, settled_in_model(m, now) == 0);
}

static void check(struct prng *r, const struct processes *p, const struct model *m)
{
	for (uint32_t pid = 0; pid < PIDS; pid++) {
		const struct process *found = processes_find(p, (pid_t)pid);

		EXPECT(r, (found ? found->id : 0) == m->by_pid[pid]);
	}
	for (uint32_t id = 1; id <= m->count; id++) {
		const struct process *found = processes_get(p, id);

		EXPECT(r, found == (m->is_gone[id] ? NULL : m->processes[id]));
		EXPECT(r, !found || found->ended_ns == m->ended_ns[id]);
	}
}

static void random_lives(struct prng *r)
{
	struct model *m = calloc(1, sizeof(*m));
	struct processes p = {0};
	uint64_t now = 1;

	assert_non_null(m);
	for (int i = 0; i < 1000 && m->count < MOST - 1; i++) {
		uint32_t id = m->count ? 1 + (uint32_t)prng_below(r, m->count) : 0;

		now += prng_bits(r, 30);
		switch (prng_below(r, 4)) {
		case 0:
		case 1:
			begin_one(r, &p, m, now);
			break;
		case 2:
			if (!id || m->is_gone[id])
				break;
			processes_end(&p, m->processes[id], now);
			end_in_model(m, id, now);
			break;
		default:
			if (id && !m->is_gone[id] && prng_chance(r, 50))
				m->processes[id]->speech = PROCESS_SPOKE;
			settle_all(r, &p, m, now);
		}
	}
	check(r, &p, m);
	processes_release(&p);
	free(m);
}

static void processes_come_and_go(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 5 : 100);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_lives(&r);
	}
}

/* ---- what the kernel's records make of it ---- */

enum { PID = 70 };

static struct process *happens(struct collect *c, uint64_t time_ns, enum process_event_type type,
			       pid_t pid, pid_t tid, pid_t parent)
{
	return collect_process_event(c, &(struct process_event){.time_ns = time_ns,
								.type = type,
								.pid = pid,
								.tid = tid,
								.parent = parent,
								.comm = "program"});
}

static void take_sample(struct collect *c, pid_t pid)
{
	const struct stack_event event = {.time_ns = 1000,
					  .pid = (uint32_t)pid,
					  .tid = (uint32_t)pid,
					  .kind = STACK_EVENT_CPU_SNAPSHOT,
					  .user_frames = 1};
	const __u64 address = 0x1010;

	collect_addresses(c, &event, &address, NULL);
}

static int begin(void **state)
{
	struct collect *c = new_collect();

	*state = c;
	collect_know_tree(c);
	return collect_start_target(c, PID) ? 0 : -1;
}

static int end(void **state)
{
	collect_free(*state);
	return 0;
}

static void our_own_code_is_not_sampled(void **state)
{
	struct collect *c = *state;
	const struct ledger_cpu *cpu = &collect_ledger(c)->cpu;
	struct process *target = collect_find_process(c, PID), *child, *program;

	assert_int_equal(target->source, PROCESS_OURS);
	take_sample(c, PID);
	assert_int_equal(cpu->samples, 0);
	/* a fork of it is still ours, until it runs another program */
	child = happens(c, 10, PROCESS_FORK, 80, 80, PID);
	assert_int_equal(child->source, PROCESS_OURS);
	take_sample(c, 80);
	assert_int_equal(cpu->samples, 0);
	program = happens(c, 20, PROCESS_EXEC, 80, 80, 0);
	assert_ptr_not_equal(program, child);
	assert_int_not_equal(program->source, PROCESS_OURS);
	take_sample(c, 80);
	assert_int_equal(cpu->samples, 1);
	assert_int_equal(collect_find_process(c, PID)->source, PROCESS_OURS);
	take_sample(c, PID);
	assert_int_equal(cpu->samples, 1);
	happens(c, 30, PROCESS_EXEC, PID, PID, 0);
	take_sample(c, PID);
	assert_int_equal(cpu->samples, 2);
}

static void another_program_is_another_process(void **state)
{
	struct collect *c = *state;
	struct process *target = collect_find_process(c, PID);
	struct process *first = happens(c, 10, PROCESS_EXEC, PID, PID, 0);
	struct process *second = happens(c, 20, PROCESS_EXEC, PID, PID, 0);

	assert_int_equal(target->ended_ns, 10);
	assert_int_equal(first->ended_ns, 20);
	assert_int_equal(second->ended_ns, 0);
	assert_true(first->id != target->id && second->id != first->id);
	assert_string_equal(second->comm, "program");
	assert_ptr_equal(collect_find_process(c, PID), second);
}

/* The last thread takes the process with it, not the main one. */
static void a_process_outlives_its_main_thread(void **state)
{
	struct collect *c = *state;
	struct process *process = happens(c, 10, PROCESS_EXEC, PID, PID, 0);

	assert_ptr_equal(happens(c, 20, PROCESS_FORK, PID, 71, PID), process);
	assert_ptr_equal(happens(c, 30, PROCESS_FORK, PID, 72, PID), process);
	assert_int_equal(process->threads, 3);
	assert_ptr_equal(happens(c, 40, PROCESS_EXIT, PID, PID, 0), process);
	assert_int_equal(process->ended_ns, 0);
	assert_ptr_equal(collect_find_process(c, PID), process);
	/* the process may go on and start others */
	assert_ptr_equal(happens(c, 50, PROCESS_FORK, PID, 73, PID), process);
	happens(c, 60, PROCESS_EXIT, PID, 72, 0);
	happens(c, 70, PROCESS_EXIT, PID, 73, 0);
	assert_int_equal(process->ended_ns, 0);
	assert_ptr_equal(happens(c, 80, PROCESS_EXIT, PID, 71, 0), process);
	assert_int_equal(process->ended_ns, 80);
	assert_null(happens(c, 90, PROCESS_EXIT, PID, PID, 0));
}

/* Maps the program, which is the first event after exec. */
static void map_program(struct collect *c, uint64_t time_ns)
{
	const struct process_event map = {
		.time_ns = time_ns,
		.type = PROCESS_MAP,
		.pid = PID,
		.tid = PID,
		.mapping = {.start = 0x1000, .end = 0x2000, .path = "/bin/program"}};

	assert_non_null(collect_process_event(c, &map));
}

/*
 * A process may execute a program that the user may not inspect. The kernel then reports an exit
 * although the process goes on. The second exit is its end.
 */
static void a_program_with_more_rights_goes_on(void **state)
{
	struct collect *c = *state;
	struct process *process = happens(c, 10, PROCESS_EXEC, PID, PID, 0);

	happens(c, 10, PROCESS_EXIT, PID, PID, 0);
	assert_int_equal(process->ended_ns, 0);
	assert_ptr_equal(collect_find_process(c, PID), process);
	map_program(c, 11);
	happens(c, 20, PROCESS_EXIT, PID, PID, 0);
	assert_int_equal(process->ended_ns, 20);
}

/*
 * Another thread than the main one executes a program: all others end, it takes the main one's id,
 * and its own end is never recorded.
 */
static void any_thread_may_execute_a_program(void **state)
{
	struct collect *c = *state;
	struct process *before = happens(c, 10, PROCESS_EXEC, PID, PID, 0), *after;

	happens(c, 20, PROCESS_FORK, PID, 71, PID);
	happens(c, 30, PROCESS_FORK, PID, 72, PID);
	happens(c, 40, PROCESS_EXIT, PID, 72, 0);
	happens(c, 50, PROCESS_EXIT, PID, PID, 0);
	assert_int_equal(before->ended_ns, 0);
	after = happens(c, 60, PROCESS_EXEC, PID, PID, 0);
	assert_int_equal(before->ended_ns, 60);
	assert_int_not_equal(after->id, before->id);
	assert_int_equal(after->threads, 1);
	map_program(c, 65);
	happens(c, 70, PROCESS_EXIT, PID, PID, 0);
	assert_int_equal(after->ended_ns, 70);
}

/* Records of an end, or of threads' starts, may be lost. A fork then shows that the process is
 * another one. */
static void a_new_process_replaces_one_with_its_pid(void **state)
{
	struct collect *c = *state;
	struct process *target = happens(c, 10, PROCESS_EXEC, PID, PID, 0);
	struct process *first = happens(c, 20, PROCESS_FORK, 80, 80, PID);
	struct process *second = happens(c, 30, PROCESS_FORK, 80, 80, PID);

	assert_int_equal(first->ended_ns, 30);
	assert_int_not_equal(first->id, second->id);
	assert_ptr_equal(collect_find_process(c, 80), second);
	assert_ptr_equal(collect_find_process(c, PID), target);
	/* a stranger's child with the number is not ours, and ours has ended */
	assert_null(happens(c, 40, PROCESS_FORK, 80, 80, 9999));
	assert_int_equal(second->ended_ns, 40);
}

static void strangers_are_not_followed(void **state)
{
	struct collect *c = *state;
	static const enum process_event_type types[] = {PROCESS_EXEC, PROCESS_COMM, PROCESS_MAP,
							PROCESS_EXIT, PROCESS_SAMPLE};
	struct code_mapping mapping = {.start = 1, .end = 2, .path = "/lib/libcuda.so.1"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_null(collect_process_event(c, &(struct process_event){.type = types[i],
									     .pid = 9999,
									     .mapping = mapping}));
	assert_null(happens(c, 10, PROCESS_FORK, 9998, 9998, 9999));
	assert_false(collect_find_process(c, PID)->gpu.has_driver);
	assert_non_null(collect_process_event(
		c, &(struct process_event){.type = PROCESS_MAP, .pid = PID, .mapping = mapping}));
	assert_true(collect_find_process(c, PID)->gpu.has_driver);
}

/* ---- many ---- */

/* Enters a CUDA call in a thread; the call never returns. */
static void enter_call(struct collect *c, pid_t pid, uint32_t tid, uint64_t now)
{
	static struct stack_snapshot entry = {.stack_at = sizeof(entry)};

	entry.event = (struct stack_event){.time_ns = now, .pid = (uint32_t)pid, .tid = tid};
	entry.registers[16] = 0x1010;
	collect_call(c, &entry, "cudaFree", -1);
}

/* Gives a process every kind of data: it maps, samples, launches and reports. */
static void live(struct collect *c, uint32_t tid, uint64_t now)
{
	struct process_event map = {
		.time_ns = now,
		.type = PROCESS_MAP,
		.pid = 80,
		.mapping = {
			.start = 0x1000, .end = 0x2000, .inode = 5, .path = "/no where/program"}};
	const struct gpu_event_frame frame = {0x1010, GPU_FRAME_RETURN, 0};
	const struct gpu_event events[] = {
		{.type = GPU_EVENT_CODE, .code = {0x1000, 0x2000, 0, 5, 0, 0, "/no where/program"}},
		{.type = GPU_EVENT_STACK, .stack = {7, 1, "cudaLaunchKernel", 1, &frame}},
		{.type = GPU_EVENT_NODE, .node = {.id = 5, .time_ns = now, .stack_id = 7}},
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {now, 80, 1, GPU_LAUNCH_RUNTIME, GPU_LAUNCH_IS_GRAPH, 7}},
		{.type = GPU_EVENT_KERNEL,
		 .kernel = {.start_ns = now,
			    .duration_ns = 10,
			    .correlation_id = 1,
			    .graph_node_id = 5}},
		/* whose launch is lost */
		{.type = GPU_EVENT_KERNEL, .kernel = {.start_ns = now, .correlation_id = 2}},
		{.type = GPU_EVENT_SUM, .sum = {.count = 2, .ns = 10}},
	};
	struct process *process;

	happens(c, now, PROCESS_FORK, 80, 80, PID);
	happens(c, now, PROCESS_EXEC, 80, 80, 0);
	collect_process_event(c, &map);
	happens(c, now, PROCESS_FORK, 80, (pid_t)tid, 80);
	take_sample(c, 80);
	enter_call(c, 80, tid, now);
	process = say_hello(c, 80);
	assert_non_null(process);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		send_event(c, process, &events[i]);
	happens(c, now + 1, PROCESS_EXIT, 80, (pid_t)tid, 0);
	happens(c, now + 2, PROCESS_EXIT, 80, 80, 0);
	collect_goodbye(c, process, now + 3);
}

static void ended_processes_leave_no_memory(void **state)
{
	struct collect *c = *state;
	const struct ledger *ledger = collect_ledger(c);
	uint32_t many = getenv("UNDER_VALGRIND") ? 500 : 10000;
	uint64_t now = 1;
	size_t before = 0;

	for (uint32_t i = 0; i < 1000 + many; i++) {
		if (i == 1000)
			before = heap_bytes();
		live(c, 100 + i, now);
		now += LINGER / 10;
		collect_advance(c, now);
	}
	/* less than 26 bytes for each */
	assert_true(heap_bytes() <= before + HEAP_NOISE);
	collect_finish(c, now);
	assert_int_equal(ledger->gpu.sums, 1000 + many);
	assert_int_equal(ledger->gpu.equal, 1000 + many);
	assert_int_equal(ledger->gpu.unseen_nodes, 0);
	assert_int_equal(ledger->gpu.unmatched, 1000 + many);
	assert_int_equal(ledger->cpu.samples, 1000 + many);
	assert_int_equal(ledger->calls.unfinished, 1000 + many);
	assert_int_equal(ledger->bounds.refused, 0);
	assert_int_equal(ledger->bounds.out_of_memory, 0);
}

/*
 * A process whose last lines are read long after its end expires at once. Operations that wait for
 * a missing launch are still in its tallies.
 */
static void settling_compares_every_sum(void **state)
{
	const struct gpu_event events[] = {
		/* whose launch never comes */
		{.type = GPU_EVENT_KERNEL, .kernel = {10, 7, .correlation_id = 1}},
		/* and a launch whose probe never comes */
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {.time_ns = 10, .tid = 5, .correlation_id = 2}},
		{.type = GPU_EVENT_KERNEL, .kernel = {10, 9, .correlation_id = 2}},
		/* and a launch that claims a future time */
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {.time_ns = UINT64_C(1) << 60, .tid = 5, .correlation_id = 3}},
		{.type = GPU_EVENT_KERNEL, .kernel = {10, 20, .correlation_id = 3}},
		{.type = GPU_EVENT_SUM, .sum = {.count = 3, .ns = 36}},
	};
	struct collect *c = *state;
	const struct ledger_gpu *gpu = &collect_ledger(c)->gpu;
	struct process *process = happens(c, 10, PROCESS_EXEC, PID, PID, 0);
	uint64_t read_ns = 2 * LINGER;

	map_program(c, 15);
	assert_ptr_equal(say_hello(c, PID), process);
	happens(c, 20, PROCESS_EXIT, PID, PID, 0);
	collect_advance(c, read_ns);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		send_event(c, process, &events[i]);
	collect_advance(c, read_ns + 1);
	assert_int_equal(gpu->sums, 0);
	collect_goodbye(c, process, read_ns + 1);
	collect_advance(c, read_ns + 1);
	assert_int_equal(gpu->sums, 1);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->unmatched, 3);
	assert_int_equal(gpu->unmatched_ns, 36);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_known_by_pid_and_id),
		cmocka_unit_test(a_pid_is_used_again),
		cmocka_unit_test(a_process_ends_once),
		cmocka_unit_test(a_fork_is_a_copy),
		cmocka_unit_test(those_apart_are_not_known_by_pid),
		cmocka_unit_test(a_process_lingers),
		cmocka_unit_test(a_number_leads_to_whom_it_belonged_then),
		cmocka_unit_test(a_traced_process_stays),
		cmocka_unit_test(everything_can_be_taken_out),
		cmocka_unit_test(without_memory_there_is_no_process),
		cmocka_unit_test(sums_take_from_the_quota),
		cmocka_unit_test(processes_come_and_go),
		TEST(our_own_code_is_not_sampled),
		TEST(another_program_is_another_process),
		TEST(a_process_outlives_its_main_thread),
		TEST(a_program_with_more_rights_goes_on),
		TEST(any_thread_may_execute_a_program),
		TEST(a_new_process_replaces_one_with_its_pid),
		TEST(strangers_are_not_followed),
		TEST(ended_processes_leave_no_memory),
		TEST(settling_compares_every_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
