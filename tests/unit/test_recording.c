/* SPDX-License-Identifier: MIT */
/*
 * Runs recorded on a real GPU (tests/golden/README.md), replayed through the whole collecting side:
 * the GPU part of the profile must be unchanged, and the totals those that CUPTI reported. Also
 * replays new recordings.
 */
#include "collect_text.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/sources/recording.h"

enum { SAMPLE_WEIGHT = 20000000 };

struct replay {
	struct collect *collect;
	struct gpu_pipe *pipe;
	FILE *events, *bytes;
	struct goodbyes goodbyes;
};

static FILE *open_golden(const char *name, const char *suffix)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/%s.%s", name, suffix);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: %s (run from the top folder)", path, strerror(errno));
	return file;
}

/* Replays the remaining events up to the first of this kind, which is included or left for
 * later. */
static void replay_events(struct replay *r, const char *until, bool including)
{
	char *line = NULL;
	size_t capacity = 0;
	bool is_last = false;
	long at = ftell(r->events);

	while (!is_last && getline(&line, &capacity, r->events) > 0) {
		is_last = strncmp(line, until, strlen(until)) == 0;
		if (is_last && !including) {
			assert_int_equal(fseek(r->events, at, SEEK_SET), 0);
			break;
		}
		line[strcspn(line, "\n")] = '\0';
		assert_int_equal(recording_replay_line(r->collect, line), 0);
		at = ftell(r->events);
	}
	free(line);
}

/* Replays the pipe in pieces of `step` bytes, as a pipe may deliver them. */
static void replay_pipe(struct replay *r, size_t step)
{
	char bytes[4096];
	size_t n;

	while ((n = fread(bytes, 1, step, r->bytes)) > 0) {
		gpu_pipe_feed(r->pipe, bytes, n);
		take_pipe(r->collect, r->pipe, 0, &r->goodbyes);
	}
	gpu_pipe_finish(r->pipe);
}

/* Returns the lines of GPU kernels. CPU lines end in this machine's kernel symbols. */
static char *gpu_lines(char *folded)
{
	char *out = calloc(strlen(folded) + 1, 1), *end = out, *state = NULL;

	assert_non_null(out);
	for (char *line = strtok_r(folded, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		size_t n = strlen(line);

		if (!strstr(line, "[GPU_"))
			continue;
		memcpy(end, line, n);
		end[n] = '\n';
		end += n + 1;
	}
	return out;
}

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t capacity = 0;

	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

/* Expected content of a recording. */
struct holds {
	const char *name;
	uint64_t spans;    /* operations with a duration, all launched */
	uint64_t instants; /* others, launched too */
	uint64_t staged;   /* spans that are part of a copy between devices through the host */
	bool has_sums;     /* CUPTI's, by device, context, stream and kind */
};

static void check_ledger(const struct replay *r, const struct holds *holds)
{
	const struct ledger *l = collect_ledger(r->collect);
	uint64_t operations = 0, unmatched = 0, staged = 0;

	for (uint32_t i = 0; i < l->gpu.row_count; i++) {
		operations += l->gpu.rows[i].count;
		unmatched += l->gpu.rows[i].unmatched;
		staged += l->gpu.rows[i].staged;
	}
	assert_int_equal(operations, holds->spans + holds->instants);
	assert_int_equal(unmatched, 0);
	assert_int_equal(staged, holds->staged);
	assert_int_equal(l->gpu.matched, holds->spans);
	assert_int_equal(l->gpu.unmatched, 0);
	assert_int_equal(l->gpu.missing, 0);
	assert_int_equal(l->pipe.malformed, 0);
	assert_int_equal(l->pipe.refused, 0);
	assert_int_equal(l->pipe.without_goodbye, 0);
	assert_int_equal(l->gpu.equal, l->gpu.sums);
	assert_int_equal(l->gpu.uncompared, 0);
	assert_int_equal(l->gpu.sums > 0, holds->has_sums);
	assert_int_equal(l->gpu.unreported > 0, !holds->has_sums);
	assert_int_equal(r->goodbyes.count, 1);
	assert_int_equal(r->goodbyes.operations, holds->spans + holds->instants);
}

static void check_profile(struct replay *r, const char *name)
{
	struct written written;
	char *text = folded_text(r->collect, 0, &written);
	char *lines = gpu_lines(text), *expected = read_all(open_golden(name, "folded"));

	if (getenv("PRINT_GOLDEN"))
		fputs(lines, stderr);
	assert_string_equal(lines, expected);
	assert_int_equal(written.total[ROW_GPU], r->goodbyes.ns);
	assert_int_equal(written.total[ROW_CPU],
			 collect_ledger(r->collect)->cpu.samples * SAMPLE_WEIGHT);
	assert_int_equal(written.total[ROW_WAIT] + written.total[ROW_CALL], 0);
	free(text);
	free(lines);
	free(expected);
}

/*
 * Checks a recording. `pipe_first`: the two streams are independent while the program runs, so
 * either may come first.
 */
static void check_all(const struct holds *holds, size_t step, bool pipe_first)
{
	struct replay r = {.events = open_golden(holds->name, "events"),
			   .bytes = open_golden(holds->name, "pipe")};

	r.collect = collect_new(&(struct collect_options){.sample_ns = SAMPLE_WEIGHT});
	assert_non_null(r.collect);
	r.pipe = gpu_pipe_new(r.collect);
	assert_non_null(r.pipe);
	collect_know_tree(r.collect);
	if (pipe_first)
		replay_events(&r, "exec ", true);
	else
		replay_events(&r, "exit ", false);
	replay_pipe(&r, step);
	replay_events(&r, "nothing", true);
	check_profile(&r, holds->name);
	check_ledger(&r, holds);
	fclose(r.events);
	fclose(r.bytes);
	gpu_pipe_free(r.pipe);
	collect_free(r.collect);
}

static const struct holds mixed = {"h100_mixed", 300, 0, 0, false};
static const struct holds driver = {"h100_driver", 100, 0, 0, false};
static const struct holds graphs = {"h100_graphs", 300, 0, 0, true};
static const struct holds peers = {"h200_peers", 66, 22, 4, true};

static void kernels_graphs_and_cooperative_launches(void **state)
{
	(void)state;
	check_all(&mixed, 4096, false);
}

static void launches_through_the_driver_alone(void **state)
{
	(void)state;
	check_all(&driver, 4096, false);
}

/* A program with stacks taken in the process, graph nodes and CUPTI's sums. */
static void graph_nodes_and_sums(void **state)
{
	(void)state;
	check_all(&graphs, 4096, false);
	check_all(&graphs, 7, true);
}

/* Two GPUs, at first without access to each other's memory: a copy is two operations then. */
static void copies_between_devices(void **state)
{
	(void)state;
	check_all(&peers, 4096, false);
	check_all(&peers, 7, true);
}

static void the_pipe_in_small_pieces(void **state)
{
	(void)state;
	check_all(&mixed, 7, false);
}

static void the_pipe_before_the_stacks(void **state)
{
	(void)state;
	check_all(&mixed, 4096, true);
	check_all(&driver, 4096, true);
}

/* Tables have another order in each run; no output shows it. */
static void any_seed_of_the_hashes(void **state)
{
	const struct hash_seed drawn = hash_seed;
	const uint64_t seeds = 5;

	SKIP_UNDER_VALGRIND();
	for (uint64_t i = 1; i <= seeds; i++) {
		hash_seed.first = i << 60 | i;
		hash_seed.second = i * 0xd1342543de82ef95u | 1;
		kernels_graphs_and_cooperative_launches(state);
		graph_nodes_and_sums(state);
	}
	hash_seed = drawn;
}

static void bad_lines_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"stack",
		"stack 1",
		"stack x 1 1 1 0 0 0 0",
		"stack 1 1 1 1 0 0 65535 65535 1",
		"stack 1 1 1 1 0 0 767 0 1",
		"stack 1 1 1 1 0 0 2 0 ff",
		"stack 1 1 1 3 0 0 0 0", /* no such kind */
		"map 1 2 3",
		"fork 1",
		"thread 1 2",
		"exit 1 2", /* the thread's id is missing */
		"nothing 1 2",
		"exec 99999999999999999999999 1",
		"target",
		"target x",
	};
	struct collect *c = new_collect();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[128];

		snprintf(line, sizeof(line), "%s", bad[i]);
		if (recording_replay_line(c, line) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
	}
	assert_int_equal(collect_ledger(c)->cpu.samples, 0);
	collect_free(c);
}

/* ---- what is recorded ---- */

/* A sample with two frames of the kernel, and no stack. */
struct sample {
	struct stack_snapshot snapshot;
	__u64 kernel[2];
};

static struct sample sample_of(pid_t pid, uint64_t time_ns)
{
	struct sample s = {
		.snapshot = {.event = {.time_ns = time_ns,
				       .pid = (uint32_t)pid,
				       .tid = (uint32_t)pid,
				       .kind = STACK_EVENT_CPU_SNAPSHOT,
				       .kernel_frames = 2,
				       .size = sizeof(s)},
			     .kernel_at = offsetof(struct sample, kernel),
			     .stack_at = sizeof(s),
			     .stack_above = STACK_ABOVE_UNKNOWN},
		.kernel = {0xffffffff81000130, 0xffffffff81000130},
	};

	s.snapshot.registers[16] = 0x1010;
	return s;
}

/* Records everything that can happen, as a run does. */
static void record_run(struct collect *c, struct recording *recording)
{
	const struct process_event happened[] = {
		{.time_ns = 1, .type = PROCESS_EXEC, .pid = 70, .comm = "program"},
		{.time_ns = 2,
		 .type = PROCESS_MAP,
		 .pid = 70,
		 .mapping = {.start = 0x1000,
			     .end = 0x2000,
			     .file_offset = 0x100,
			     .inode = 5,
			     .path = "/no where/a\nb"}},
		{.time_ns = 3, .type = PROCESS_FORK, .pid = 70, .tid = 71, .parent = 70},
		{.time_ns = 4, .type = PROCESS_FORK, .pid = 80, .tid = 80, .parent = 70},
		{.time_ns = 5, .type = PROCESS_COMM, .pid = 70, .tid = 71, .comm = "thread"},
		{.time_ns = 6, .type = PROCESS_EXIT, .pid = 70, .tid = 70},
	};
	struct sample sample = sample_of(70, 10);
	struct stack_event *event = &sample.snapshot.event;

	recording_target(recording, 70);
	assert_non_null(collect_start_target(c, 70));
	for (size_t i = 0; i < sizeof(happened) / sizeof(happened[0]); i++) {
		recording_process_event(recording, &happened[i]);
		collect_process_event(c, &happened[i]);
	}
	collect_snapshot(c, &sample.snapshot, NULL);
	recording_stack(recording, c, event, false);
	event->kernel_frames = 0;
	collect_snapshot(c, &sample.snapshot, NULL);
	recording_stack(recording, c, event, false);
	event->kernel_frames = 2;
	event->launch_function = cuda_launch_function_of("cuLaunchKernel");
	collect_snapshot(c, &sample.snapshot, "cuLaunchKernel");
	recording_stack(recording, c, event, true);
	recording_pipe(recording, "bytes\n", 6);
}

/* Reads a whole file, and removes it. */
static char *take_file(const char *path)
{
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	unlink(path);
	return read_all(file);
}

static void recordings_can_be_replayed(void **state)
{
	char folder[] = "/tmp/test_recording_XXXXXX", prefix[64], path[80], *events, *bytes;
	struct collect *c = new_collect(), *again = new_collect();
	struct recording *recording;
	struct written written;
	char *text, *replayed, *rest = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(prefix, sizeof(prefix), "%s/run", folder);
	recording = recording_open(prefix, false);
	assert_non_null(recording);
	record_run(c, recording);
	assert_int_equal(recording_close(recording), 0);
	snprintf(path, sizeof(path), "%s.events", prefix);
	events = take_file(path);
	snprintf(path, sizeof(path), "%s.pipe", prefix);
	bytes = take_file(path);
	assert_int_equal(rmdir(folder), 0);
	assert_string_equal(bytes, "bytes\n");
	/* kernel addresses are confidential */
	assert_string_equal(events, "target 70\n"
				    "exec 1 70\n"
				    "map 2 70 1000 2000 100 0 0 5 /no where/a?b\n"
				    "thread 3 70 71\n"
				    "fork 4 70 80\n"
				    "exit 6 70 70\n"
				    "stack 10 70 70 1 0 1 1 2 1010 0 0\n"
				    "stack 10 70 70 1 0 1 1 0 1010\n"
				    "stack 10 70 70 2 5 1 1 0 1010\n");
	for (char *line = strtok_r(events, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		assert_int_equal(recording_replay_line(again, line), 0);
	/* equal samples, launches and processes */
	assert_int_equal(collect_ledger(again)->cpu.samples, 2);
	assert_int_equal(collect_ledger(again)->launches.by_probe, 1);
	text = folded_text(c, 100, &written);
	replayed = folded_text(again, 100, &written);
	assert_non_null(strstr(text, "[truncated];[a?b] 1000\n"));
	assert_non_null(strstr(replayed, "[truncated];[a?b] 1000\n"));
	assert_non_null(strstr(replayed, "[truncated];[a?b];[kernel];[kernel] 1000\n"));
	free(text);
	free(replayed);
	free(events);
	free(bytes);
	collect_free(c);
	collect_free(again);
}

static void record_exec(struct recording *r, pid_t pid, uint64_t time_ns, const char *path)
{
	struct process_event event = {.time_ns = time_ns, .type = PROCESS_EXEC, .pid = pid};

	recording_process_event(r, &event);
	event.type = PROCESS_MAP;
	event.mapping = (struct code_mapping){.start = 0x1000, .end = 0x2000, .path = path};
	recording_process_event(r, &event);
}

static void record_fork(struct recording *r, pid_t parent, pid_t child)
{
	recording_process_event(
		r, &(struct process_event){.type = PROCESS_FORK, .pid = child, .parent = parent});
}

static void record_map(struct recording *r, pid_t pid, const char *path)
{
	recording_process_event(
		r, &(struct process_event){.type = PROCESS_MAP,
					   .pid = pid,
					   .mapping = {.start = 1, .end = 2, .path = path}});
}

/* Records a stack of the process, with these flags. */
static void record_stack(struct recording *r, const struct collect *c, pid_t pid, uint32_t flags)
{
	recording_stack(r, c,
			&(struct stack_event){.time_ns = 9, .pid = (uint32_t)pid, .flags = flags},
			false);
}

static void mappings_of_hidden_programs_are_left_out(void **state)
{
	char folder[] = "/tmp/test_recording_XXXXXX", prefix[64], path[80], *events;
	struct recording *recording;
	struct collect *c = new_collect();

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(prefix, sizeof(prefix), "%s/run", folder);
	recording = recording_open(prefix, true);
	assert_non_null(recording);
	record_exec(recording, 1, 1, "/open");
	record_fork(recording, 1, 2); /* has its mappings, too */
	record_stack(recording, c, 1, 0);
	record_map(recording, 1, "/open_later");
	record_stack(recording, c, 1, 0);
	record_stack(recording, c, 2, 0);
	/* during the next exec, nothing of that program is known */
	record_exec(recording, 1, 2, "/secret");
	record_stack(recording, c, 1, STACK_EVENT_IN_EXEC);
	recording_no_access(recording, 1);
	record_map(recording, 1, "/secret_later");
	record_stack(recording, c, 1, STACK_EVENT_NO_ACCESS);
	record_fork(recording, 1, 3);
	record_stack(recording, c, 3, STACK_EVENT_NO_ACCESS);
	record_exec(recording, 3, 3, "/childs");
	record_stack(recording, c, 3, 0);
	/* the record of its exec was lost */
	record_map(recording, 3, "/unseen_secret");
	recording_no_access(recording, 3);
	record_stack(recording, c, 3, STACK_EVENT_NO_ACCESS);
	assert_int_equal(recording_close(recording), 0);
	snprintf(path, sizeof(path), "%s.events", prefix);
	events = take_file(path);
	snprintf(path, sizeof(path), "%s.pipe", prefix);
	free(take_file(path));
	assert_int_equal(rmdir(folder), 0);
	assert_string_equal(events, "exec 1 1\n"
				    "fork 0 1 2\n"
				    "map 1 1 1000 2000 0 0 0 0 /open\n"
				    "stack 9 1 0 1 0 0 0 0\n"
				    "map 0 1 1 2 0 0 0 0 /open_later\n"
				    "stack 9 1 0 1 0 0 0 0\n"
				    "map 1 1 1000 2000 0 0 0 0 /open\n"
				    "stack 9 2 0 1 0 0 0 0\n"
				    "exec 2 1\n"
				    "stack 9 1 0 1 0 0 0 0\n"
				    "stack 9 1 0 1 0 0 0 0\n"
				    "fork 0 1 3\n"
				    "stack 9 3 0 1 0 0 0 0\n"
				    "exec 3 3\n"
				    "map 3 3 1000 2000 0 0 0 0 /childs\n"
				    "stack 9 3 0 1 0 0 0 0\n"
				    "stack 9 3 0 1 0 0 0 0\n");
	free(events);
	collect_free(c);
}

static void nothing_is_recorded_without_a_recording(void **state)
{
	struct collect *c = new_collect();

	(void)state;
	record_run(c, NULL);
	assert_int_equal(recording_close(NULL), 0);
	collect_free(c);
	errno = 0;
	assert_null(recording_open("/tmp/no such folder/run", false));
	assert_int_equal(errno, ENOENT);
}

static void a_full_disk_is_noticed(void **state)
{
	char folder[] = "/tmp/test_recording_XXXXXX", path[64];
	struct recording *recording;
	struct collect *c;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		SKIP("there is no /dev/full");
	c = new_collect();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/run.events", folder);
	assert_int_equal(symlink("/dev/full", path), 0);
	snprintf(path, sizeof(path), "%s/run", folder);
	recording = recording_open(path, false);
	assert_non_null(recording);
	record_run(c, recording);
	assert_int_equal(recording_close(recording), -ENOSPC);
	collect_free(c);
	snprintf(path, sizeof(path), "%s/run.events", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/run.pipe", folder);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_graphs_and_cooperative_launches),
		cmocka_unit_test(launches_through_the_driver_alone),
		cmocka_unit_test(graph_nodes_and_sums),
		cmocka_unit_test(copies_between_devices),
		cmocka_unit_test(the_pipe_in_small_pieces),
		cmocka_unit_test(the_pipe_before_the_stacks),
		cmocka_unit_test(any_seed_of_the_hashes),
		cmocka_unit_test(bad_lines_are_refused),
		cmocka_unit_test(recordings_can_be_replayed),
		cmocka_unit_test(mappings_of_hidden_programs_are_left_out),
		cmocka_unit_test(nothing_is_recorded_without_a_recording),
		cmocka_unit_test(a_full_disk_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
