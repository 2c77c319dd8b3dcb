// SPDX-License-Identifier: MIT
#include "profiler/cpu/cpu_time.h"

#include <math.h>
#include <time.h>

#define NOT_KEPT 0u          /* the entry of programs that are not kept */
#define TICKS_PER_SAMPLE 2.6 /* clock ticks per sample, at least */
#define DEVIATIONS 3
#define SMALL_PART 0.01

void cpu_time_release(struct cpu_time *t)
{
	record_set_release(&t->programs.set);
	*t = (struct cpu_time){0};
}

/* ---- programs ---- */

/*
 * Returns the entry of the program that the process runs, or the one of programs that are not kept.
 * Returns NULL if memory is exhausted.
 */
static struct program_time *program_of(struct cpu_time *t, struct process *process)
{
	static const struct program_time not_kept = {.name = NULL};
	const struct program_time program = {.name = process->comm};
	uint32_t at;

	if (t->programs.count == 0 &&
	    record_get(&t->programs, &not_kept.name, &not_kept) != NOT_KEPT)
		return NULL;
	if (process->clock.program)
		return &t->programs.list[process->clock.program - 1];
	at = t->programs.count < CPU_TIME_PROGRAMS_MAX
		     ? record_get(&t->programs, &program.name, &program)
		     : record_find(&t->programs, &program.name);
	if (at == RECORD_NONE)
		at = NOT_KEPT;
	process->clock.program = at + 1;
	return &t->programs.list[at];
}

static void note_process(struct program_time *program, const struct process *process)
{
	program->has_several |= program->process && program->process != process->id;
	program->process = program->has_several ? 0 : process->id;
}

/* ---- what is charged, and what is sampled ---- */

void cpu_time_sampled(struct cpu_time *t, struct process *process, uint64_t ns)
{
	struct program_time *program = program_of(t, process);

	t->sampled_ns += ns;
	if (!program)
		return;
	program->sampled_ns += ns;
	note_process(program, process);
}

void cpu_time_exec(struct cpu_time *t, struct process *process, struct process *now)
{
	now->clock.has_executed = true;
	if (process->source != PROCESS_OURS && program_of(t, process))
		now->clock.earlier = process->clock.program;
	now->clock.charged_ns = process->clock.charged_ns;
	now->clock.read_ns =
		process->source == PROCESS_OURS ? now->began_ns : process->clock.read_ns;
	process->clock.read_ns = CPU_TIME_END;
}

void cpu_time_charge(struct cpu_time *t, struct process *process, uint64_t now_ns,
		     uint64_t total_ns, bool is_before)
{
	struct program_time *program = program_of(t, process);
	uint64_t more;

	if (process->clock.runs_on)
		return;
	if (process->clock.read_ns < now_ns)
		process->clock.read_ns = now_ns;
	if (total_ns <= process->clock.charged_ns)
		return;
	more = total_ns - process->clock.charged_ns;
	process->clock.charged_ns = total_ns;
	if (is_before && process->clock.has_executed) {
		if (!process->clock.earlier) /* our own code, before the command starts */
			return;
		program = &t->programs.list[process->clock.earlier - 1];
	}
	t->charged_ns += more;
	if (!program)
		return;
	program->charged_ns += more;
	if (!is_before)
		note_process(program, process);
}

void cpu_time_read(struct cpu_time *t, struct process *process, uint64_t now_ns, bool is_last)
{
	struct timespec total;
	clockid_t clock;

	if (process->source == PROCESS_OURS || process->source == PROCESS_PIPE_ONLY ||
	    process->clock.runs_on || clock_getcpuclockid(process->pid, &clock) != 0 ||
	    clock_gettime(clock, &total) != 0)
		return;
	cpu_time_charge(t, process, is_last ? CPU_TIME_END : now_ns,
			(uint64_t)total.tv_sec * 1000000000u + (uint64_t)total.tv_nsec, false);
	process->clock.runs_on = is_last;
}

void cpu_time_restart(struct cpu_time *t)
{
	t->charged_ns = t->running_ns = 0;
	for (uint32_t i = 0; i < t->programs.count; i++) {
		t->programs.list[i].charged_ns = 0;
		t->programs.list[i].unread_ns = 0;
	}
}

void cpu_time_end_process(struct cpu_time *t, struct process *process)
{
	struct program_time *program;

	if (process->clock.runs_on)
		t->running_ns += process->clock.charged_ns;
	if (process->clock.runs_on || process->source == PROCESS_OURS ||
	    process->source == PROCESS_PIPE_ONLY || process->ended_ns <= process->clock.read_ns)
		return;
	program = program_of(t, process);
	if (program)
		program->unread_ns += (double)(process->ended_ns - process->clock.read_ns);
}

/* ---- the end ---- */

static void share_unread(struct cpu_time *t, uint64_t waited_ns)
{
	uint64_t known =
		t->charged_ns - (t->running_ns < t->charged_ns ? t->running_ns : t->charged_ns);
	uint64_t ns = waited_ns > known ? waited_ns - known : 0;
	double unread = 0;

	for (uint32_t i = 0; i < t->programs.count; i++)
		unread += t->programs.list[i].unread_ns;
	for (uint32_t i = 0; i < t->programs.count && unread > 0; i++) {
		struct program_time *program = &t->programs.list[i];
		uint64_t more = (uint64_t)((double)ns * (program->unread_ns / unread));

		program->charged_ns += more;
		t->charged_ns += more;
	}
}

static uint64_t lack(const struct program_time *program)
{
	return program->charged_ns > program->sampled_ns ? program->charged_ns - program->sampled_ns
							 : 0;
}

/* Returns the CPU time without samples, or 0 if it may be chance. */
static uint64_t rest_of(const struct cpu_time *t, uint64_t elsewhere_ns, uint64_t sample_ns)
{
	double charged = (double)t->charged_ns;
	double rest = charged - (double)t->sampled_ns - (double)elsewhere_ns;
	double chance = DEVIATIONS * sqrt(charged * (double)sample_ns / TICKS_PER_SAMPLE);

	return rest > chance && rest > SMALL_PART * charged && rest >= (double)sample_ns
		       ? (uint64_t)rest
		       : 0;
}

uint64_t cpu_time_finish(struct cpu_time *t, uint64_t waited_ns, uint64_t elsewhere_ns,
			 uint64_t sample_ns)
{
	unsigned __int128 lacking = 0, up_to = 0;
	uint64_t rest, shared = 0;

	share_unread(t, waited_ns);
	for (uint32_t i = 0; i < t->programs.count; i++)
		lacking += lack(&t->programs.list[i]);
	rest = lacking ? rest_of(t, elsewhere_ns, sample_ns) : 0;
	for (uint32_t i = 0; i < t->programs.count && rest; i++) {
		uint64_t until;

		up_to += lack(&t->programs.list[i]);
		until = (uint64_t)(up_to * rest / lacking);
		t->programs.list[i].rest_ns = until - shared;
		shared = until;
	}
	return rest;
}
