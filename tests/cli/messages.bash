# shellcheck shell=bash disable=SC2034 # tests use them
# SPDX-License-Identifier: MIT
# The words of messages that several test files look for, each in one place. Helpers load it.
#
# A function prints a message, or the beginning of one, as it stands in a line; its arguments stand for the numbers and
# names in it, and may be patterns: expect_line stderr "^$(correlation 1000)\$". Words without arguments are variables.

# ---- the summary ----

# correlation MATCHED [UNMATCHED [DROPPED]]: the line of GPU work and its launches; 0, where not given
correlation()
{
	echo "Correlation: $1 matched, ${2-0} unmatched, ${3-0} dropped"
}

# launched LAUNCHES KERNELS: in the line of samples
launched()
{
	echo "$1 launches, $2 GPU kernels"
}

# cpu_samples COUNT: the beginning of that line
cpu_samples()
{
	echo "Samples: $1 CPU"
}

# stacks_of PERCENT: the beginning of a line of stacks
stacks_of()
{
	echo "Stacks: $1 %"
}

# whole_launches PERCENT: the beginning of the line of launches' stacks
whole_launches()
{
	echo "Stacks: $1 % of launches are whole"
}

# stacks_sampled PERCENT LAUNCHES: with --max-overhead
stacks_sampled()
{
	echo "Stacks: $1 % of $2 launches have one of their own"
}

# counters_read MEASURED LAUNCHES: with --counters
counters_read()
{
	echo "Counters: $1 of $2 launches were measured"
}

# stall_samples COUNT: the beginning of the line of --stalls
stall_samples()
{
	echo "Stalls: $1 samples"
}

# waits_of CALLS: the beginning of the line of --waits, with "call" or "calls"
waits_of()
{
	echo "Waits: $1"
}

# wall_of THREADS: the beginning of the line of --wall, with "thread" or "threads"
wall_of()
{
	echo "Wall: $1"
}

# calls_timed CALLS PROCESSES: the beginning of the line of timed calls, with "process" or "processes"
calls_timed()
{
	echo "CUDA calls: $1 in $2 without GPU time"
}

# exits_told PROCESSES: the beginning of what is said of them, with "process" or "processes"
exits_told()
{
	echo "$1 ended by _exit or exec"
}

# ranks_of COUNT SIZE: the beginning of the line of a job
ranks_of()
{
	echo "Ranks: $1 of $2"
}

# gpu_row DEVICE KIND: the beginning of a row of the table of GPU work
gpu_row()
{
	echo "  GPU $1  $2"
}

# own_sums MATCHING ALL: the last row
own_sums()
{
	echo "CUPTI's own sums: $1 of $2 match"
}

# no_goodbye PROCESSES: the beginning of what is said of them, with "process" or "processes"
no_goodbye()
{
	echo "$1 ended without a goodbye"
}

# killed_told PROCESS: of one
killed_told()
{
	echo "$1 was killed: GPU work of its last 50 ms is missing"
}

# malformed COUNT LINES WHERE: of the pipe or a trace, with "line" or "lines"
malformed()
{
	echo "$1 malformed $2 in the $3"
}

ran_on='outlived the command' used_untraced='process used the GPU and was not traced'
# The beginning of --top.
took='The run took'
calls_table='CUDA calls:' memory_table='Memory:' shapes_table='Launch shapes:'
# Losses of a row of the table of GPU work, and of its sums.
odd_work='unmatched|without times|not the same'
wrote='Wrote'

# ---- while it goes on ----

# snapshot_written NUMBER: the beginning of the line
snapshot_written()
{
	echo "Snapshot $1 is written"
}

# answer_written NUMBER: the beginning of the line of an answer
answer_written()
{
	echo "Answer $1 is written"
}

# attached_to PROCESSES: with "process" or "processes"
attached_to()
{
	echo "attached to $1"
}

# another_profiler WHO: it has CUPTI
another_profiler()
{
	echo "another profiler $1 already uses CUPTI"
}

uses_cuda='uses CUDA' no_gpu_time='profile: no GPU time:' not_begun='CUPTI has not begun' going_on='Going on with'
timed_instead='no GPU time; the wall time of its CUDA calls is shown instead'
goes_on='The command goes on' waiting_for='Waiting for' stops_waiting='Ctrl-C stops waiting'

# ---- what is wrong ----

# strict_says WHAT COUNT: a line of --strict
strict_says()
{
	echo "profile: --strict: $1: $2"
}

# needs_gpu_time OPTION OTHER
needs_gpu_time()
{
	echo "$1 needs GPU time: not with $2"
}

# whole_run_drawn OTHER: --weight
whole_run_drawn()
{
	echo "--weight draws one whole run by something else than time: not with $1"
}

# of_a_run OPTION
of_a_run()
{
	echo "$1 cannot be used with --from: it applies only to a run"
}

# not_merged FILES ALL: of captures or traces
not_merged()
{
	echo "profile: $1 of $2 files cannot be merged: nothing is written"
}

# ended_early TIME: before there was anything to record
ended_early()
{
	echo "profile: the run ended after $1, before --delay had passed: nothing was recorded"
}

# not_in_timeline EVENTS WHY
not_in_timeline()
{
	echo "profile: $1 events are missing from the timeline: $2"
}

no_cuda='profile: the command did not use CUDA' gave_up='profile: gave up: no profile was written'
no_bpf_words='eBPF programs is not permitted'
no_bpf="profile: loading $no_bpf_words"
try_help="Try 'profile --help'." profiler_killed='the profiler was killed by signal 9'
other_options='was measured with other options'
