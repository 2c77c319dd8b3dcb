// SPDX-License-Identifier: MIT
#include "profiler/model/run_numbers.h"

#include "profiler/model/ledger_counts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define NUMBER(member)                                                                          \
	{                                                                                       \
		offsetof(struct run_numbers, member), sizeof(((struct run_numbers *)0)->member) \
	}

#define OTHER(number, member) [(number)-1] = NUMBER(member),

/* clang-format off */
const struct run_number run_numbers[] = {
	OTHER(1, totals.start_ns)
	OTHER(2, totals.start_unix_ns)
	OTHER(3, totals.elapsed_ns)
	OTHER(4, totals.longest_round_ns)
	OTHER(5, totals.command_cpu_ns)
	OTHER(6, totals.own_cpu_ns)
	OTHER(7, totals.own_memory_bytes)
	OTHER(8, totals.sample_ns)
	OTHER(9, totals.measure.samples_cpu)
	OTHER(10, totals.measure.traces_gpu)
	OTHER(11, totals.measure.frequency_hz)
	OTHER(12, totals.measure.probes_launches)
	OTHER(13, totals.measure.kernels_only)
	OTHER(14, totals.measure.whole_graphs)
	OTHER(15, totals.measure.python_lines)
	OTHER(16, totals.measure.native_python)
	OTHER(17, totals.measure.nvtx)
	OTHER(18, totals.measure.waits)
	OTHER(19, totals.measure.devices)
	OTHER(100, unnamed.unreadable)
	OTHER(101, unnamed.refused)
	OTHER(102, unnamed.stuck)
	OTHER(103, unnamed.mangled)
	OTHER(104, unnamed.not_kept)
	OTHER(105, command)
	OTHER(106, shown)
	OTHER(107, unreadable_path)
	OTHER(108, first_malformed)
	OTHER(109, first_refused)
	OTHER(110, folder)
	OTHER(111, totals.measure.device_graphs)
	OTHER(117, totals.measure.max_overhead)
	OTHER(128, first_python)
	OTHER(138, unnamed.not_asked)
	OTHER(143, totals.measure.thread_origin)
	OTHER(145, totals.measure.unified_memory)
	OTHER(147, totals.measure.launch_shapes)
	OTHER(148, totals.measure.api)
	OTHER(149, totals.measure.memory)
	OTHER(152, host)
	OTHER(153, totals.command_pid)
	OTHER(154, totals.exit_status)
	OTHER(155, totals.measure.stall_period)
	OTHER(167, totals.measure.counters)
	OTHER(176, counters_not_kept)
	OTHER(177, totals.job.is_known)
	OTHER(178, totals.job.rank)
	OTHER(179, totals.job.size)
	OTHER(180, totals.job.has_local)
	OTHER(181, totals.job.local)
	OTHER(182, totals.boot.part[0])
	OTHER(183, totals.boot.part[1])
	OTHER(184, totals.wall_error_ns)
	OTHER(186, totals.measure.wall)
	OTHER(219, totals.measure.exact_stalls)
	OTHER(223, totals.measure.delay_ns)
	OTHER(224, totals.measure.duration_ns)
	OTHER(233, totals.measure.idle)
	OTHER(246, totals.measure.kernel_waits)
	OTHER(247, totals.measure.attached)
	OTHER(248, totals.measure.injects)
	OTHER(249, totals.measure.last_ns)
	OTHER(262, totals.measure.alone)
	OTHER(273, unnamed.unread)
	OTHER(274, unnamed.unread_kind)
	OTHER(275, unread_path)
	OTHER(293, unnamed.refused_frames)
	OTHER(294, links)
	OTHER(310, totals.measure.ops)
	OTHER(311, totals.measure.modules)
	OTHER(312, totals.measure.budget)
#define LOSS_NUMBER(number, member, severity, summary, key, words) \
	[(number) - 1] = NUMBER(ledger.member),
#define LEDGER_NUMBER(number, member) [(number) - 1] = NUMBER(ledger.member),
	LEDGER_COUNTS(LOSS_NUMBER, LEDGER_NUMBER, LEDGER_NUMBER)
};
/* clang-format on */
const uint32_t run_number_count = COUNT(run_numbers);
_Static_assert(COUNT(run_numbers) == LEDGER_NEXT_NUMBER - 1,
	       "LEDGER_NEXT_NUMBER is the first that is free");
