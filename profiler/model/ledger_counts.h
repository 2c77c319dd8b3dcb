/* SPDX-License-Identifier: MIT */
/*
 * Lists all counts of struct ledger, as a table for the preprocessor.
 *
 * A count of lost work is one member of the ledger and one row here. The row yields its sum over
 * runs, its number in captures, and its key in JSON and metrics. It also yields the line in the
 * summary, the report and the page, and --strict.
 *
 * LEDGER_COUNTS(L, N, K) expands to rows of three kinds:
 *
 * - L(number, member, severity, summary, key, words): a named count. `severity`: LOSS fails
 *   --strict; INCOMPLETE is listed, but all time is in the profile; NO_LOSS is neither. `summary`:
 *   LISTED prints `words` and the count; TOLD if report/summary.c has its own sentence. `key`: the
 *   name for programs, or NULL. `words`: the name for people in the plural, or NULL.
 * - N(number, member): a count that is no loss.
 * - K(number, member): no count; not summed.
 *
 * `number` is the field in captures (docs/capture-format.md), and never changes. A new row, here or
 * in run_numbers.c, gets LEDGER_NEXT_NUMBER, which then grows. The order of the rows is the order
 * in outputs.
 */
#ifndef PROFILER_MODEL_LEDGER_COUNTS_H
#define PROFILER_MODEL_LEDGER_COUNTS_H

#define LEDGER_NEXT_NUMBER 315

/* clang-format off */
#define LEDGER_COUNTS(L, N, K) \
	L(22, cpu.dropped, LOSS, TOLD, "cpu_samples_dropped", "CPU samples dropped") \
	L(24, cpu.after_end, INCOMPLETE, TOLD, NULL, \
	  "processes that outlived the command; not sampled since") \
	L(29, launches.dropped, LOSS, TOLD, "launches_dropped", "launches dropped") \
	L(30, launches.unended, LOSS, TOLD, "launches_without_record", \
	  "kernel launches without a record of their kernel") \
	L(112, launches.copies_unended, LOSS, TOLD, "copies_without_record", \
	  "copies and sets without a record") \
	L(113, launches.graphs_unended, INCOMPLETE, TOLD, "graph_launches_without_record", \
	  "graph launches without any record, perhaps of empty graphs") \
	L(264, launches.confused, LOSS, TOLD, "launches_confused", \
	  "launches with the correlation id of another") \
	L(39, gpu.dropped, LOSS, TOLD, "gpu_operations_dropped", "GPU operations dropped") \
	L(40, gpu.missing, LOSS, TOLD, "gpu_operations_missing", \
	  "GPU operations sent that did not arrive") \
	L(35, gpu.unmatched, LOSS, TOLD, "gpu_operations_unmatched", \
	  "GPU operations not matched with a launch") \
	L(42, gpu.sums, NO_LOSS, TOLD, "gpu_sums", NULL) \
	L(43, gpu.equal, NO_LOSS, TOLD, "gpu_sums_equal", NULL) \
	L(37, gpu.bad_times, LOSS, TOLD, NULL, "GPU operations without usable timestamps") \
	L(45, gpu.uncompared, LOSS, TOLD, NULL, "CUPTI's own sums that were not compared") \
	L(41, gpu.unknown_kinds, LOSS, LISTED, NULL, "CUPTI records of an unknown kind") \
	L(62, pipe.malformed, LOSS, TOLD, "lines_malformed", "malformed lines from programs") \
	L(64, pipe.refused, LOSS, TOLD, "lines_refused", \
	  "lines from programs that are not in the profile") \
	L(66, pipe.lost_batches, LOSS, LISTED, "writes_lost", "writes of traced processes lost") \
	L(65, pipe.left, LOSS, TOLD, "bytes_left_in_pipe", \
	  "bytes from programs that were not read") \
	L(70, pipe.without_goodbye, NO_LOSS, TOLD, "processes_without_goodbye", NULL) \
	L(266, pipe.killed, LOSS, TOLD, "processes_killed", "traced processes that were killed") \
	L(267, pipe.exited, NO_LOSS, TOLD, "processes_exited_at_once", NULL) \
	L(71, pipe.wrong_totals, LOSS, TOLD, NULL, \
	  "processes that reported a different sum of GPU time than arrived") \
	L(72, pipe.foreign_versions, LOSS, TOLD, NULL, "processes with another protocol version") \
	L(83, processes.not_followed, LOSS, TOLD, "processes_not_followed", \
	  "processes not followed") \
	L(84, processes.never_started, LOSS, TOLD, "processes_never_traced", \
	  "processes in which tracing never started") \
	L(82, processes.lost_records, INCOMPLETE, TOLD, "mapping_records_lost", \
	  "mapping records lost: some frames may be [unknown]") \
	L(144, processes.lost_threads, INCOMPLETE, TOLD, NULL, \
	  "threads whose creation was not seen") \
	L(80, calls.lost, LOSS, TOLD, "timed_calls_lost", "timed CUDA calls lost") \
	L(89, bounds.truncated, INCOMPLETE, TOLD, "stacks_cut", \
	  "stacks cut, which begin at [truncated]") \
	L(131, unwound.ends[UNWIND_TOO_DEEP], NO_LOSS, TOLD, "stacks_cut_too_deep", NULL) \
	L(132, unwound.ends[UNWIND_SHORT_COPY], NO_LOSS, TOLD, "stacks_cut_short_copy", NULL) \
	L(133, unwound.ends[UNWIND_NO_INFORMATION], NO_LOSS, TOLD, \
	  "stacks_cut_no_information", NULL) \
	L(134, unwound.ends[UNWIND_BAD_INFORMATION], NO_LOSS, TOLD, \
	  "stacks_cut_bad_information", NULL) \
	L(135, unwound.ends[UNWIND_NOT_CODE], NO_LOSS, TOLD, "stacks_cut_not_code", NULL) \
	L(136, unwound.ends[UNWIND_UNREADABLE], NO_LOSS, TOLD, "stacks_cut_unreadable", NULL) \
	L(137, unwound.ends[UNWIND_LOOP], NO_LOSS, TOLD, "stacks_cut_loop", NULL) \
	L(130, unwound.ends[UNWIND_GUESSED], NO_LOSS, TOLD, "stacks_guessed", NULL) \
	L(265, python.missing, INCOMPLETE, TOLD, "stacks_without_python", \
	  "stacks without their Python functions") \
	L(127, python.unordered, INCOMPLETE, TOLD, NULL, \
	  "stacks with Python functions in an unknown place") \
	L(86, bounds.stacks, LOSS, TOLD, "stacks_not_kept", \
	  "stacks past the limit on distinct stacks") \
	L(87, bounds.refused, LOSS, TOLD, "names_not_kept", \
	  "names, mappings or stacks from the program past the limit") \
	L(88, bounds.out_of_memory, LOSS, TOLD, "events_out_of_memory", \
	  "events lost because memory was short") \
	L(263, bounds.programs, LOSS, TOLD, "programs_past_limit", \
	  "programs past the limit on programs at one time") \
	L(150, bounds.allocations, LOSS, LISTED, "allocations_not_followed", \
	  "allocations or releases not followed") \
	L(161, stalls.dropped, LOSS, TOLD, "stall_samples_dropped", \
	  "stall samples that the GPU dropped") \
	L(163, stalls.lost, LOSS, TOLD, "stall_samples_lost", \
	  "stall samples for which there was no room") \
	L(159, stalls.unmatched, NO_LOSS, TOLD, "stall_samples_unmatched", NULL) \
	L(164, stalls.overflows, NO_LOSS, TOLD, "stall_buffer_overflows", NULL) \
	L(165, stalls.cubins_left_out, NO_LOSS, TOLD, "line_tables_left_out", NULL) \
	L(151, bounds.late_allocations, LOSS, TOLD, "allocations_late", \
	  "allocations or releases that came too late for exact peaks") \
	L(194, wall.lost, LOSS, TOLD, "thread_times_lost", "threads whose times are not known") \
	L(242, idle.lost, LOSS, TOLD, "idle_records_lost", "records missing from idle times") \
	L(270, bounds.ranges, LOSS, TOLD, "nvtx_ranges_without_name", \
	  "ranges past a limit, without their names") \
	L(271, bounds.folded_ranges, INCOMPLETE, TOLD, "nvtx_ranges_folded", \
	  "NVTX ranges with N for the numbers in their names") \
	L(185, counters.unlisted, LOSS, TOLD, NULL, \
	  "kernels in the timeline without their counters") \
	N(20, cpu.samples) N(21, cpu.whole) N(23, cpu.in_calls) N(125, cpu.used_ns) \
	N(126, cpu.not_sampled_ns) N(139, cpu.handed) N(140, cpu.without_parent) \
	N(129, unwound.ends[UNWIND_WHOLE]) \
	N(25, launches.kernels) N(26, launches.with_stack) N(27, launches.by_probe) \
	N(28, launches.whole) K(31, launches.probed_functions) N(118, launches.skipped) \
	N(141, launches.handed) N(142, launches.without_parent) \
	N(32, gpu.kernels) N(33, gpu.kernel_ns) N(34, gpu.matched) N(36, gpu.unmatched_ns) \
	N(38, gpu.unseen_nodes) N(44, gpu.unreported) K(46, gpu.difference_pid) \
	K(47, gpu.difference.key.device) K(48, gpu.difference.key.context) \
	K(49, gpu.difference.key.stream) K(50, gpu.difference.key.work) \
	K(51, gpu.difference.count) K(52, gpu.difference.ns) K(53, gpu.difference.bytes) \
	K(54, gpu.difference_here.key.device) K(55, gpu.difference_here.key.context) \
	K(56, gpu.difference_here.key.stream) K(57, gpu.difference_here.key.work) \
	K(58, gpu.difference_here.count) K(59, gpu.difference_here.ns) \
	K(60, gpu.difference_here.bytes) N(146, gpu.unwatched) \
	N(61, pipe.lines) N(63, pipe.too_long) N(67, pipe.processes) N(68, pipe.without_cupti) \
	N(69, pipe.graph_time_bugs) N(268, pipe.killed_launches) N(269, pipe.exited_launches) \
	N(73, calls.waits) N(74, calls.wait_ns) N(75, calls.cut_waits) N(76, calls.timed) \
	N(77, calls.timed_ns) N(78, calls.without_stack) N(79, calls.unfinished) \
	N(81, calls.processes) N(276, calls.wait_computed_ns) \
	N(85, processes.untraced) N(279, processes.causes[UNTRACED_NOT_KNOWN]) \
	N(280, processes.causes[UNTRACED_NOT_FOUND]) \
	N(281, processes.causes[UNTRACED_OTHER_LIBC]) \
	N(282, processes.causes[UNTRACED_OLD_LIBC]) \
	N(283, processes.causes[UNTRACED_NO_VARIABLE]) \
	N(284, processes.causes[UNTRACED_OTHER_LIBRARY]) \
	N(285, processes.causes[UNTRACED_OTHER_FILES]) \
	N(286, processes.causes[UNTRACED_OTHER_USER]) N(287, processes.causes[UNTRACED_NO_EXEC]) \
	N(288, processes.causes[UNTRACED_FILTERED]) \
	N(289, processes.causes[UNTRACED_NO_PIPE_NAMED]) \
	N(290, processes.causes[UNTRACED_NO_PIPE]) \
	N(291, processes.causes[UNTRACED_PIPE_CLOSED]) N(292, processes.causes[UNTRACED_SECURE]) \
	N(295, processes.unwatched) \
	N(296, processes.unsure[UNTRACED_NOT_KNOWN]) \
	N(297, processes.unsure[UNTRACED_NOT_FOUND]) \
	N(298, processes.unsure[UNTRACED_OTHER_LIBC]) \
	N(299, processes.unsure[UNTRACED_OLD_LIBC]) \
	N(300, processes.unsure[UNTRACED_NO_VARIABLE]) \
	N(301, processes.unsure[UNTRACED_OTHER_LIBRARY]) \
	N(302, processes.unsure[UNTRACED_OTHER_FILES]) \
	N(303, processes.unsure[UNTRACED_OTHER_USER]) \
	N(304, processes.unsure[UNTRACED_NO_EXEC]) \
	N(305, processes.unsure[UNTRACED_FILTERED]) \
	N(306, processes.unsure[UNTRACED_NO_PIPE_NAMED]) \
	N(307, processes.unsure[UNTRACED_NO_PIPE]) \
	N(308, processes.unsure[UNTRACED_PIPE_CLOSED]) \
	N(309, processes.unsure[UNTRACED_SECURE]) \
	N(272, python.unread) \
	N(114, cost.program_ns) N(115, cost.kernel_ns) N(116, cost.pipe_bytes) \
	N(119, spread.operations) N(120, spread.ns) N(121, spread.borrowed_ns) \
	N(122, spread.left) N(123, spread.left_ns) K(124, spread.error_ns) \
	K(156, stalls.period) N(157, stalls.taken) N(158, stalls.samples) \
	N(160, stalls.with_lines) N(162, stalls.other) N(166, stalls.split_ns) \
	N(220, stalls.unlocated) N(221, stalls.placed) N(222, stalls.mean_ns) \
	N(168, counters.measured) N(169, counters.unplaced) N(170, counters.captured) \
	N(171, counters.graphs) N(172, counters.busy) N(173, counters.peers) \
	N(174, counters.failed) N(175, counters.replays) \
	N(187, wall.threads) N(188, wall.switches) N(189, wall.stacks) N(190, wall.ran_ns) \
	N(191, wall.spread_ns) N(192, wall.left_ns) N(193, wall.in_calls_ns) \
	N(195, wall.off_ns[OFF_CPU_OTHER]) N(196, wall.off_ns[OFF_CPU_RUNNABLE]) \
	N(197, wall.off_ns[OFF_CPU_ACCEPT]) N(198, wall.off_ns[OFF_CPU_CONNECT]) \
	N(199, wall.off_ns[OFF_CPU_DISK]) N(200, wall.off_ns[OFF_CPU_EPOLL]) \
	N(201, wall.off_ns[OFF_CPU_EXIT]) N(202, wall.off_ns[OFF_CPU_FILE]) \
	N(203, wall.off_ns[OFF_CPU_FUTEX]) N(204, wall.off_ns[OFF_CPU_IOCTL]) \
	N(205, wall.off_ns[OFF_CPU_LOCK]) N(206, wall.off_ns[OFF_CPU_MEMORY]) \
	N(207, wall.off_ns[OFF_CPU_PAGE_FAULT]) N(208, wall.off_ns[OFF_CPU_POLL]) \
	N(209, wall.off_ns[OFF_CPU_READ]) N(210, wall.off_ns[OFF_CPU_RECEIVE]) \
	N(211, wall.off_ns[OFF_CPU_SEND]) N(212, wall.off_ns[OFF_CPU_SIGNAL]) \
	N(213, wall.off_ns[OFF_CPU_SLEEP]) N(214, wall.off_ns[OFF_CPU_STOPPED]) \
	N(215, wall.off_ns[OFF_CPU_SYNC]) N(216, wall.off_ns[OFF_CPU_URING]) \
	N(217, wall.off_ns[OFF_CPU_WAIT]) N(218, wall.off_ns[OFF_CPU_WRITE]) \
	N(243, wall.off_ns[OFF_CPU_GIL]) N(244, wall.of_profile_ns) N(245, wall.of_driver_ns) \
	N(254, wall.off_ns[OFF_CPU_READ_DEVICE]) N(255, wall.off_ns[OFF_CPU_READ_FILE]) \
	N(256, wall.off_ns[OFF_CPU_READ_PIPE]) N(257, wall.off_ns[OFF_CPU_READ_SOCKET]) \
	N(258, wall.off_ns[OFF_CPU_WRITE_DEVICE]) N(259, wall.off_ns[OFF_CPU_WRITE_FILE]) \
	N(260, wall.off_ns[OFF_CPU_WRITE_PIPE]) N(261, wall.off_ns[OFF_CPU_WRITE_SOCKET]) \
	N(234, idle.devices) N(235, idle.whole_ns) N(236, idle.off_cpu_ns) \
	N(237, idle.computing_ns) N(238, idle.launched_ns) N(239, idle.unknown_ns) \
	N(240, idle.before_ns) N(241, idle.after_ns) \
	N(225, outside.before) N(226, outside.before_ns) N(227, outside.after) \
	N(228, outside.after_ns) N(229, outside.earlier) N(230, outside.earlier_ns) \
	N(231, outside.calls) N(232, outside.unended) N(250, outside.not_held_ns) \
	N(251, outside.ranges) N(252, outside.unchosen) N(253, outside.unchosen_ns) \
	N(313, windows.count) N(314, windows.ns) \
	N(277, outside.entered) N(278, outside.only_outside) \
	K(90, measured.count) K(91, measured.ns) K(92, measured.bytes) \
	K(93, reported.count) K(94, reported.ns) K(95, reported.bytes) \
	K(96, timeline.records) K(99, timeline.error) K(97, timeline.lost) \
	K(98, timeline.lost_shapes)
/* clang-format on */

#endif
