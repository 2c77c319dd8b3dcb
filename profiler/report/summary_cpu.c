// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "profiler/base/capability_advice.h"
#include "profiler/model/quantity.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

void summary_samples(struct log *log, const struct measure *m, const struct ledger *l)
{
	char cpu[40] = "", gpu[120] = "";

	if (!summary_shows(log, l, SUMMARY_SAMPLES))
		return;
	if (m->samples_cpu)
		snprintf(cpu, sizeof(cpu), "%" PRIu64 " CPU", l->cpu.samples);
	if (m->traces_gpu && used_gpu(l) && (!m->attached || m->injects))
		snprintf(gpu, sizeof(gpu),
			 "%" PRIu64 " launch%s, %" PRIu64 " GPU kernel%s (%.3f ms)",
			 l->launches.kernels, pick(l->launches.kernels, "", "es"), l->gpu.kernels,
			 plural(l->gpu.kernels), ms(l->gpu.kernel_ns));
	if (cpu[0] || gpu[0])
		log_line(log, "Samples: %s%s%s", cpu, cpu[0] && gpu[0] ? ", " : "", gpu);
}

/* Reports sampled and charged CPU time, from 100 samples on, or if some time has no sample. */
void summary_cpu(struct log *log, const struct measure *m, const struct totals *t)
{
	const struct ledger_cpu *cpu = &t->ledger->cpu;
	double used = (double)(cpu->used_ns ? cpu->used_ns : t->command_cpu_ns);
	double sampled = (double)saturated_sum(cpu->samples, cpu->in_calls) * (double)t->sample_ns;
	double rest = (double)cpu->not_sampled_ns;
	bool is_wrong;

	if ((m->wall || m->idle) && sampled > 0) /* with --wall and --idle, samples stand for the
						    time that their threads ran */
		sampled = used > rest ? used - rest : 0;

	/* the charged time of a part may be unknown */
	if (!m->samples_cpu || (is_part_of_run(m) && !cpu->used_ns) || m->ranges || used <= 0 ||
	    (used < 100 * (double)t->sample_ns && rest <= 0))
		return;
	is_wrong = rest > 0.05 * used && !m->wall &&
		   !m->idle; /* there each thread has an unsampled rest */
	if (is_wrong || log->level >= LOG_VERBOSE)
		log_line(log, "CPU: %.3f s used, %.3f s sampled (%.0f %%)%s", used / 1e9,
			 sampled / 1e9, 100 * sampled / used,
			 rest > 0 ? ", the rest is [not sampled]" : "");
	if (is_wrong)
		log_warn(log, "%.0f %% of the CPU time has no sample: %s", 100 * rest / used,
			 2 * (double)cpu->dropped * (double)t->sample_ns > rest
				 ? "samples were dropped, see below"
				 : "time in exec and exit, or, without root, in the operating "
				   "system, or of threads and processes that ran for less than a "
				   "sampling period");
}

/* Reports the reasons for idle GPUs. */
void summary_idle(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_idle *idle = &l->idle;
	const struct {
		uint64_t ns;
		const char *what;
	} parts[] = {{idle->off_cpu_ns, "the launching thread was off the CPU"},
		     {idle->computing_ns, "it computed"},
		     {idle->unknown_ns, "it was between two samples"},
		     {idle->launched_ns, "the work was launched and had not begun"},
		     {idle->before_ns, "before the first operation"},
		     {idle->after_ns, "after the last one"}};
	uint64_t ns = ledger_idle_ns(idle);
	char text[QUANTITY_BYTES], whole[QUANTITY_BYTES];

	if (!m->idle)
		return;
	log_warn_if(log, idle->lost,
		    "# record{ is|s are} missing from idle times: no room beside the output, or in "
		    "memory");
	if (idle->devices == 0) {
		log_line(log, "GPU idle: nothing ran on a GPU");
		return;
	}
	log_line_if(log, idle->devices, "GPU idle: # GPU{|s}, %s of %s (%.1f %%)",
		    time_text(text, (double)ns), time_text(whole, (double)idle->whole_ns),
		    percent_of(ns, idle->whole_ns));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].ns)
			log_line(log, "%12s  %s", time_text(text, (double)parts[i].ns),
				 parts[i].what);
}

/* Reports off-CPU time by kind, longest first: "futex 1.250 s". */
void summary_wall(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_wall *wall = &l->wall;
	uint64_t left[OFF_CPU_KINDS], off_ns = 0;
	char text[400] = "", life[QUANTITY_BYTES], ran[QUANTITY_BYTES], off[QUANTITY_BYTES],
	     runnable[QUANTITY_BYTES];

	if (!m->wall)
		return;
	memcpy(left, wall->off_ns, sizeof(left));
	left[OFF_CPU_RUNNABLE] = 0;
	for (int i = 0; i < OFF_CPU_KINDS; i++)
		saturated_add(&off_ns, left[i]);
	for (int n = 0; n < OFF_CPU_KINDS; n++) {
		int most = 0;

		for (int i = 1; i < OFF_CPU_KINDS; i++)
			if (left[i] > left[most])
				most = i;
		if (left[most] == 0)
			break;
		append_text(text, sizeof(text), "%s%s %s", *text ? ", " : " (",
			    off_cpu_name((enum off_cpu_kind)most),
			    time_text(life, (double)left[most]));
		left[most] = 0;
		if (strlen(text) > sizeof(text) - 60)
			break;
	}
	log_line(log, "Wall: %" PRIu64 " thread%s, %s: %s on a CPU, %s blocked%s%s, %s runnable",
		 wall->threads, plural(wall->threads),
		 time_text(life, (double)wall->ran_ns + (double)off_ns +
					 (double)wall->off_ns[OFF_CPU_RUNNABLE]),
		 time_text(ran, (double)wall->ran_ns), time_text(off, (double)off_ns), text,
		 text[0] ? ")" : "", time_text(runnable, (double)wall->off_ns[OFF_CPU_RUNNABLE]));
	log_line(log,
		 "  %" PRIu64 " switch%s, %" PRIu64
		 " with a stack; %s of the others is spread over these",
		 wall->switches, pick(wall->switches, "", "es"), wall->stacks,
		 time_text(life, (double)wall->spread_ns));
	if (wall->of_profile_ns || wall->of_driver_ns)
		log_line(log,
			 "  in it are %s of profile's own thread, and %s of threads of CUPTI and "
			 "the driver, each in one frame",
			 time_text(life, (double)wall->of_profile_ns),
			 time_text(ran, (double)wall->of_driver_ns));
	if (wall->left_ns)
		log_line(log, "  %s is under [stack not captured]",
			 time_text(life, (double)wall->left_ns));
	if (wall->in_calls_ns)
		log_line(log, "  %s more is within timed calls, whose time has it",
			 time_text(life, (double)wall->in_calls_ns));
	log_warn_if(log, wall->lost,
		    "# thread{|s} without times, or only with a part of them: there were too many "
		    "at once, or they ended last");
}

/* Reports work of threads that is shown under the threads that waited for it. */
void summary_async_parents(struct log *log, const struct ledger *l)
{
	uint64_t launches = l->launches.handed, samples = l->cpu.handed;
	uint64_t apart = saturated_sum(l->launches.without_parent, l->cpu.without_parent);

	if (saturated_sum(saturated_sum(launches, samples), apart) == 0 ||
	    !summary_shows(log, l, SUMMARY_HANDED_OVER))
		return;
	log_line(log,
		 "Handed over: %" PRIu64 " launch%s and %" PRIu64
		 " CPU sample%s of other threads are under the thread that waited for them",
		 launches, pick(launches, "", "es"), samples, plural(samples));
	if (apart)
		log_line(log,
			 "  %" PRIu64 " launch%s and %" PRIu64
			 " CPU sample%s could not be attributed to a waiting thread: none "
			 "waited, or several did",
			 l->launches.without_parent, pick(l->launches.without_parent, "", "es"),
			 l->cpu.without_parent, plural(l->cpu.without_parent));
}

/* Reports the source of stacks, and the share of whole stacks. */
void summary_stacks(struct log *log, const struct ledger *l)
{
	uint64_t taken = l->launches.with_stack + l->launches.by_probe;

	if (!summary_shows(log, l, SUMMARY_STACKS))
		return;
	if (l->cpu.samples)
		log_line(log, "Stacks: %.1f %% of CPU samples are whole",
			 percent_of(l->cpu.whole, l->cpu.samples));
	if (l->launches.with_stack)
		log_line(log, "Stacks: %.1f %% of launches are whole, taken in the process",
			 percent_of(l->launches.whole, taken));
	else if (l->launches.by_probe)
		log_line(log,
			 "Stacks: %.1f %% of launches are whole, taken by uprobes on %u function%s",
			 percent_of(l->launches.whole, taken), l->launches.probed_functions,
			 plural(l->launches.probed_functions));
}

/*
 * Reports launches without a stack of their own (--max-overhead), and the error of the stacks they
 * got.
 */
void summary_spread(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_spread *spread = &l->spread;
	uint64_t taken = l->launches.with_stack;
	uint64_t launches = saturated_sum(taken, l->launches.skipped);

	if (!m->max_overhead || launches == 0)
		return;
	log_line(log, "Stacks: %.1f %% of %" PRIu64 " launches have one of their own%s",
		 percent_of(taken, launches), launches,
		 l->launches.skipped ? "" : ": --max-overhead left none out");
	if (!l->launches.skipped)
		return;
	log_line(log,
		 "  %.3f ms of GPU work by the others are spread over these, by kernel and thread; "
		 "standard error of a stack's time: %.3f ms at most",
		 ms(spread->ns - spread->left_ns), ms(spread->error_ns));
	if (spread->borrowed_ns)
		log_line(log,
			 "  %.3f ms of it went by stacks of other threads or few launches, and are "
			 "not in that error",
			 ms(spread->borrowed_ns));
	if (spread->left_ns)
		log_line(log, "  %.3f ms are under [stack not sampled]: no such launch had a stack",
			 ms(spread->left_ns));
}

void summary_guessed(struct log *log, const struct ledger *l)
{
	uint64_t guessed = l->unwound.ends[UNWIND_GUESSED];

	if (!summary_shows(log, l, SUMMARY_GUESSED))
		return;
	log_line_if(log, guessed,
		    "Stacks: # {is|are} guessed: of code without call-frame information that had "
		    "two possible callers");
}

void summary_python(struct log *log, const struct ledger *l)
{
	uint64_t missing = l->python.missing;
	uint64_t unread = l->python.unread < missing ? l->python.unread : missing;

	missing -= unread;
	log_line_if(log, unread,
		    "Stacks: # {is|are} without {its|their} Python functions, which profile may "
		    "not read: " CAPABILITY_ADVICE);
	if (!summary_shows(log, l, SUMMARY_PYTHON))
		return;
	log_line_if(log, missing,
		    "Stacks: # {is|are} without {its|their} Python functions: taken before the "
		    "interpreter was known, or as a function was entered");
}
