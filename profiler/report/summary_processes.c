// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/saturate.h"

/* Returns what to do, as a sentence without a full stop. */
static const char *remedy_of(enum untraced_cause cause)
{
	static const char *const remedies[UNTRACED_CAUSES] = {
		[UNTRACED_NOT_KNOWN] =
			"It ended at once, or belongs to another user: then run profile with sudo",
		[UNTRACED_NOT_FOUND] = "See docs/troubleshooting.md, and what -v says of it",
		[UNTRACED_OTHER_LIBC] = "Run it with glibc",
		[UNTRACED_OLD_LIBC] = "Build profile on that system, or on one as old",
		[UNTRACED_NO_VARIABLE] =
			"Pass it on, and all that begin with PROFILE_ or INJECTION_: env -i, sudo, "
			"service managers and launchers drop them",
		[UNTRACED_OTHER_LIBRARY] = "Run without that tool (nsys, ncu, compute-sanitizer)",
		[UNTRACED_OTHER_FILES] =
			"Set TMPDIR to a folder that it sees, too: bubblewrap, systemd's "
			"PrivateTmp and containers have a /tmp of their own",
		[UNTRACED_OTHER_USER] = "Run profile as that user",
		[UNTRACED_NO_EXEC] = "Set TMPDIR to a folder on another file system",
		[UNTRACED_FILTERED] = "Run it without its sandbox",
		[UNTRACED_NO_PIPE_NAMED] = "Pass on all variables that begin with PROFILE_",
		[UNTRACED_NO_PIPE] = "Leave the folder of profile's files as it is",
		[UNTRACED_SECURE] = "Run it as its owner, or without its capabilities",
		[UNTRACED_PIPE_CLOSED] = "Leave the folder of profile's files as it is",
	};

	return remedies[cause];
}

/*
 * Reports processes that may have used CUDA: by cause, unless some of them turned out to be
 * traced.
 */
static void report_unsure(struct log *log, const struct ledger_processes *p)
{
	uint64_t known = 0, counts[UNTRACED_CAUSES] = {0};

	for (uint32_t i = UNTRACED_NOT_KNOWN + 1; i < UNTRACED_CAUSES; i++)
		known = saturated_sum(known, p->unsure[i]);
	if (known <= p->untraced)
		memcpy(counts, p->unsure, sizeof(counts));
	else
		known = 0;
	counts[UNTRACED_NOT_KNOWN] = p->untraced - known;
	for (enum untraced_cause cause = 0; cause < UNTRACED_CAUSES; cause++) {
		bool is_known = cause != UNTRACED_NOT_KNOWN;
		const char *text = is_known ? untraced_cause_text(cause) : "sudo and -v tell more";

		log_warn_if(log, counts[cause],
			    "# process{|es} loaded the CUDA driver and {was|were} not traced; "
			    "whether {it|they} used the GPU is not known: %s%s%s",
			    text, is_known ? ". " : "", is_known ? remedy_of(cause) : "");
	}
}

/* Reports untraced processes, and what to do. */
void summary_untraced(struct log *log, const struct ledger_processes *p)
{
	log_warn_if(
		log, p->never_started,
		"tracing never started in # process{|es} that initialized CUDA: {its|their} GPU "
		"time is not in the profile. No cause was found: see docs/troubleshooting.md");
	for (enum untraced_cause cause = 0; cause < UNTRACED_CAUSES; cause++)
		log_warn_if(log, p->causes[cause],
			    "# process{|es} used the GPU and {was|were} not traced: %s. %s",
			    untraced_cause_text(cause), remedy_of(cause));
	report_unsure(log, p);
}

/* Returns the number of processes with any known cause. */
uint64_t summary_count_causes(const struct ledger_processes *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < UNTRACED_CAUSES; i++)
		sum = saturated_sum(sum, p->causes[i]);
	return sum;
}

/* Reports why a profile has no GPU time. */
void summary_no_gpu(struct log *log, const struct measure *m, const struct ledger *l)
{
	if (used_gpu(l) || l->processes.never_started || l->processes.untraced ||
	    summary_count_causes(&l->processes))
		return;
	if (m->attached) {
		if (!m->samples_cpu)
			log_warn(log, "no process has loaded CUDA's driver: the profile is empty");
		return;
	}
	if (m->ranges && !l->outside.ranges)
		return;        /* report_ranges has printed that nothing was recorded */
	if (is_part_of_run(m)) /* CUDA may have been used before or after */
		log_line(log, "No process used CUDA up to the end of what was recorded");
	else if (l->processes.unwatched)
		log_warn(log,
			 "no process sent GPU work: the command did not use CUDA, or something "
			 "dropped CUDA_INJECTION64_PATH from its environment (env -i, sudo, a "
			 "launcher), which without eBPF was not seen; run with sudo to know. %s",
			 m->samples_cpu ? "This profile has CPU time only"
					: "The profile is empty");
	else if (!m->samples_cpu)
		log_warn(log, "the command did not use CUDA: the profile is empty");
	else /* without CPU time, the line about an empty profile follows */
		log_warn(log, "the command did not use CUDA%s",
			 l->cpu.samples || l->cpu.not_sampled_ns
				 ? ": this profile has CPU time only"
				 : "");
}

#define LAUNCHES_TEXT_BYTES 80

/* Writes "; 12 of their kernel launches have no record". */
static const char *launches_text(char text[LAUNCHES_TEXT_BYTES], uint32_t processes,
				 uint64_t launches)
{
	text[0] = '\0';
	if (launches)
		snprintf(text, LAUNCHES_TEXT_BYTES,
			 "; %" PRIu64 " of %s kernel launches %s no record", launches,
			 pick(processes, "its", "their"), pick(launches, "has", "have"));
	return text;
}

/* Reports processes that ended without a goodbye, by kind of end. */
static void report_ends(struct log *log, const struct ledger_pipe *pipe, bool alone)
{
	uint64_t known = (uint64_t)pipe->killed + pipe->exited;
	uint32_t others =
		pipe->without_goodbye > known ? pipe->without_goodbye - (uint32_t)known : 0;
	char text[LAUNCHES_TEXT_BYTES];

	log_warn_if(log, pipe->killed,
		    "# traced process{ was|es were} killed: GPU work of {its|their} last 50 ms is "
		    "missing%s",
		    launches_text(text, pipe->killed, pipe->killed_launches));
	if (pipe->exited_launches)
		log_warn(log,
			 "%u traced process%s ended by _exit or exec, or with threads that still "
			 "launched%s, and what %s launched in the last 50 ms may be missing, too",
			 pipe->exited, pick(pipe->exited, "", "es"),
			 launches_text(text, pipe->exited, pipe->exited_launches),
			 pick(pipe->exited, "it", "they"));
	else if (pipe->exited)
		log_line_if(log, pipe->exited,
			    "# traced process{|es} ended by _exit or exec: what {it|they} launched "
			    "in the last 50 ms and did not wait for is missing, if anything");
	log_warn_if(log, others,
		    "# traced process{|es} ended without a goodbye (killed%s?): GPU work of "
		    "{its|their} last 50 ms is missing%s",
		    alone ? ", or the disk full" : "", alone ? ", or all that found no room" : "");
}

/* Reports data of traced processes that did not arrive, and the reasons. */
static void report_broken_off(struct log *log, const struct totals *t)
{
	const struct ledger_pipe *pipe = &t->ledger->pipe;

	report_ends(log, pipe, t->measure.alone);
	if (t->longest_round_ns >= GPU_WIRE_TIMEOUT_MS * UINT64_C(1000000) &&
	    (pipe->without_goodbye || pipe->lost_batches))
		log_warn(log,
			 "profile itself read nothing for %.1f s (stopped, or no free CPU): "
			 "programs wait %d s for it, then go on and drop what they cannot send",
			 (double)t->longest_round_ns / 1e9, GPU_WIRE_TIMEOUT_MS / 1000);
	log_warn_if(log, pipe->left,
		    "# byte{|s} in the pipe {was|were} not read: something went on writing after "
		    "the end");
}

void summary_losses(struct log *log, const struct totals *t)
{
	const struct ledger *l = t->ledger;
	uint64_t not_followed = l->processes.not_followed, after_end = l->cpu.after_end;
	uint64_t lost_threads = l->processes.lost_threads;
	uint64_t lost_records = l->processes.lost_records;
	uint32_t foreign = l->pipe.foreign_versions;

	summary_dropped(log, &t->measure, l);
	log_warn_if(log, not_followed, "# process{ was|es were} not followed: too many at once");
	log_warn_if(log, after_end,
		    "# process{|es} outlived the command: CPU time after its end is not in "
		    "the profile");
	log_warn_if(log, lost_threads,
		    "the creation of # thread{|s} was not seen: the machine was too busy; "
		    "{its|their} stacks begin with {the thread|the threads}");
	report_broken_off(log, t);
	log_warn_if(log, foreign,
		    "# process{|es} sent another protocol version and {was|were} ignored: is %s "
		    "from another release?",
		    t->measure.alone ? "the library that wrote them" : "-injection-lib");
	log_warn_if(log, lost_records,
		    "# mapping record{ was|s were} lost: some frames may be [unknown]");
}
