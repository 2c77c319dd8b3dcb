/* SPDX-License-Identifier: MIT */
/* Names of processes and threads of a run: the table, and the events that put names into it. */
#include "unit.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "profiler/join/collect_private.h"

#define NOBODY 4194305 /* above the largest pid_max */

/* ---- the table ---- */

static void unnoted_processes_are_not_found(void **state)
{
	struct place_names names = {0};

	(void)state;
	assert_null(place_names_process(&names, 0));
	assert_null(place_names_process(&names, UINT32_MAX));
	assert_null(place_names_thread(&names, 0, 0));
	place_names_add_process(&names, &(struct process_info){.id = 1, .pid = 7, .name = "app 7"});
	assert_null(place_names_process(&names, 7));
	assert_null(place_names_thread(&names, 1, 7));
	place_names_release(&names);
	assert_null(place_names_process(&names, 1));
	place_names_release(&names);
}

static void many_are_kept_apart(void **state)
{
	enum { PROCESSES = 300, THREADS = 60 };
	struct place_names names = {0};
	static char text[PROCESSES * THREADS][16];

	(void)state;
	for (uint32_t i = 0; i < PROCESSES * THREADS; i++) {
		uint32_t process = i % PROCESSES * 1000003, tid = i / PROCESSES;

		snprintf(text[i], sizeof(text[i]), "%u", i);
		assert_null(place_names_thread(&names, process, tid));
		place_names_add_thread(&names, &(struct thread_info){process, tid, text[i]});
		if (tid == 0)
			place_names_add_process(&names, &(struct process_info){.id = process,
									       .pid = (pid_t)i,
									       .name = text[i]});
	}
	assert_int_equal(names.thread_count, PROCESSES * THREADS);
	assert_int_equal(names.process_count, PROCESSES);
	for (uint32_t i = 0; i < PROCESSES * THREADS; i++) {
		uint32_t process = i % PROCESSES * 1000003, tid = i / PROCESSES;
		const struct thread_info *thread = place_names_thread(&names, process, tid);

		assert_non_null(thread);
		assert_int_equal(thread->process, process);
		assert_int_equal(thread->tid, tid);
		assert_ptr_equal(thread->name, text[i]);
		assert_ptr_equal(place_names_process(&names, process)->name, text[i % PROCESSES]);
		assert_int_equal(place_names_process(&names, process)->pid, i % PROCESSES);
	}
	assert_null(place_names_thread(&names, 1, 0));
	assert_null(place_names_thread(&names, 0, THREADS));
	place_names_release(&names);
}

/* ---- when names are noted ---- */

static struct collect *collect_with(uint32_t parts)
{
	const struct collect_options options = {.sample_ns = 1, .place_mask = parts};
	struct collect *c = collect_new(&options);

	assert_non_null(c);
	return c;
}

#define PROCESS (1u << PLACE_PROCESS)
#define THREAD (1u << PLACE_PROCESS | 1u << PLACE_THREAD)

static void sample(struct collect *c, pid_t pid, pid_t tid)
{
	const struct stack_event event = {.pid = (uint32_t)pid, .tid = (uint32_t)tid, .time_ns = 2};

	collect_addresses(c, &event, NULL, NULL);
}

static struct process *happen(struct collect *c, enum process_event_type type, pid_t pid, pid_t tid,
			      const char *comm)
{
	struct process_event event = {.type = type, .pid = pid, .tid = tid, .time_ns = 1};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	return collect_process_event(c, &event);
}

static const char *process_name(struct collect *c, uint32_t id)
{
	const struct process_info *info = place_names_process(collect_results(c).place_names, id);

	return info ? info->name : "(none)";
}

static const char *thread_name(struct collect *c, uint32_t id, pid_t tid)
{
	const struct thread_info *info =
		place_names_thread(collect_results(c).place_names, id, (uint32_t)tid);

	return info ? info->name : "(none)";
}

/* Returns "name 4711". */
static const char *with_id(const char *name, pid_t id)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s %d", name, (int)id);
	return out;
}

static void no_names_unless_requested(void **state)
{
	struct collect *c = collect_with(0);
	const struct gpu_event_hello hello = {.pid = (uint32_t)getpid()};

	(void)state;
	sample(c, getpid(), getpid());
	assert_non_null(collect_hello(c, &hello));
	happen(c, PROCESS_COMM, getpid(), getpid(), "other");
	assert_int_equal(collect_results(c).place_names->process_count, 0);
	assert_int_equal(collect_results(c).place_names->thread_count, 0);
	assert_int_equal(collect_results(c).places->count, 1);
	collect_free(c);
	c = collect_with(PROCESS);
	sample(c, getpid(), getpid());
	happen(c, PROCESS_COMM, getpid(), getpid(), "other");
	assert_int_equal(collect_results(c).place_names->process_count, 1);
	assert_int_equal(collect_results(c).place_names->thread_count, 0);
	collect_free(c);
}

/* Samples a process's first thread with the kernel's name for it, at this time. */
static void sample_named(struct collect *c, pid_t tid, uint64_t time_ns, const char *comm)
{
	struct stack_event event = {.pid = NOBODY, .tid = (uint32_t)tid, .time_ns = time_ns};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	collect_addresses(c, &event, NULL, NULL);
}

static void rename_at(struct collect *c, pid_t tid, uint64_t time_ns, const char *comm)
{
	struct process_event event = {
		.type = PROCESS_COMM, .pid = NOBODY, .tid = tid, .time_ns = time_ns};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	collect_process_event(c, &event);
}

static void a_renamed_process_has_its_newest_name(void **state)
{
	struct collect *c = collect_with(THREAD);
	uint32_t id = collect_find_process(c, NOBODY)->id;

	(void)state;
	happen(c, PROCESS_EXEC, NOBODY, NOBODY, "app");
	id = collect_find_process(c, NOBODY)->id;
	sample_named(c, NOBODY, 5, "");
	assert_string_equal(process_name(c, id), with_id("app", NOBODY));
	rename_at(c, NOBODY, 10, "worker");
	/* no time has been spent under it yet */
	assert_string_equal(process_name(c, id), with_id("app", NOBODY));
	sample_named(c, NOBODY, 9, "");
	assert_string_equal(process_name(c, id), with_id("app", NOBODY));
	/* time of another thread is the process's, too */
	sample_named(c, NOBODY + 1, 10, "helper");
	assert_string_equal(process_name(c, id), with_id("worker", NOBODY));
	assert_string_equal(thread_name(c, id, NOBODY + 1), with_id("helper", NOBODY + 1));
	sample_named(c, NOBODY, 11, "");
	assert_string_equal(thread_name(c, id, NOBODY), with_id("worker", NOBODY));
	/* the record's name counts, even if the rename is missing */
	sample_named(c, NOBODY, 12, "unseen");
	assert_string_equal(process_name(c, id), with_id("unseen", NOBODY));
	assert_string_equal(thread_name(c, id, NOBODY), with_id("unseen", NOBODY));
	/* nothing follows */
	rename_at(c, NOBODY, 20, "over");
	rename_at(c, NOBODY + 1, 20, "over");
	collect_finish(c, 30);
	assert_string_equal(process_name(c, id), with_id("unseen", NOBODY));
	assert_string_equal(thread_name(c, id, NOBODY + 1), with_id("helper", NOBODY + 1));
	assert_int_equal(collect_results(c).place_names->process_count, 1);
	assert_int_equal(collect_results(c).place_names->thread_count, 2);
	collect_free(c);
}

static void a_fork_has_its_parents_name(void **state)
{
	struct collect *c = collect_with(THREAD);
	const struct process_event fork = {
		.type = PROCESS_FORK, .pid = NOBODY + 5, .parent = NOBODY, .time_ns = 20};
	uint32_t id;

	(void)state;
	collect_find_process(c, NOBODY);
	happen(c, PROCESS_EXEC, NOBODY, NOBODY, "app");
	sample_named(c, NOBODY, 5, "master");
	id = collect_process_event(c, &fork)->id;
	collect_note_process(c, collect_find_process(c, NOBODY + 5));
	assert_string_equal(process_name(c, id), with_id("master", NOBODY + 5));
	collect_free(c);
}

/* A pool whose threads take a name for each task. */
static void names_without_end_are_bounded_and_counted(void **state)
{
	enum { TASKS = 2 * COLLECT_RENAME_BYTES / INTERN_ENTRY_BYTES };
	struct collect *c = collect_with(THREAD);
	char name[16];

	(void)state;
	collect_find_process(c, NOBODY);
	for (uint32_t i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "task-%u", i);
		sample_named(c, NOBODY + 1, 5 + i, name);
	}
	assert_in_range(c->rename_bytes.used, COLLECT_RENAME_BYTES / 2, COLLECT_RENAME_BYTES);
	assert_int_not_equal(c->rename_bytes.refused, 0);
	assert_int_equal(collect_results(c).place_names->thread_count, 1);
	collect_finish(c, 5 + TASKS);
	assert_int_equal(collect_ledger(c)->bounds.refused, c->rename_bytes.refused);
	collect_free(c);
}

static void names_of_the_table_are_replaced(void **state)
{
	struct place_names names = {0};

	(void)state;
	assert_false(place_names_rename_process(&names, 1, "b 7"));
	assert_false(place_names_rename_thread(&names, 1, 7, "b 7"));
	place_names_add_process(&names, &(struct process_info){.id = 1, .pid = 7, .name = "a 7"});
	place_names_add_thread(&names, &(struct thread_info){1, 8, "a 8"});
	assert_true(place_names_rename_process(&names, 1, "b 7"));
	assert_true(place_names_rename_thread(&names, 1, 8, "b 8"));
	assert_string_equal(place_names_process(&names, 1)->name, "b 7");
	assert_string_equal(place_names_thread(&names, 1, 8)->name, "b 8");
	assert_int_equal(names.renames, 2);
	place_names_release(&names);
}

static void names_are_read_once(void **state)
{
	struct collect *c = collect_with(THREAD);
	const struct process_info *info;
	uint32_t id;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "early"), 0);
	sample(c, getpid(), getpid());
	id = collect_find_process(c, getpid())->id;
	assert_int_equal(prctl(PR_SET_NAME, "late"), 0);
	for (int i = 0; i < 100; i++)
		sample(c, getpid(), getpid());
	assert_string_equal(process_name(c, id), with_id("early", getpid()));
	assert_string_equal(thread_name(c, id, getpid()), with_id("early", getpid()));
	assert_int_equal(collect_results(c).place_names->process_count, 1);
	assert_int_equal(collect_results(c).place_names->thread_count, 1);
	info = place_names_process(collect_results(c).place_names, id);
	assert_int_equal(info->id, id);
	assert_int_equal(info->pid, getpid());
	collect_free(c);
}

static void a_program_is_named_when_it_says_hello(void **state)
{
	struct collect *c = collect_with(PROCESS);
	const struct gpu_event_hello hello = {.pid = (uint32_t)getpid()};
	struct process *process;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "cuda app"), 0);
	process = collect_hello(c, &hello);
	assert_non_null(process);
	assert_string_equal(process_name(c, process->id), with_id("cuda app", getpid()));
	collect_free(c);
}

static void *thread_main(void *c)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	prctl(PR_SET_NAME, "pool;1\x1b\x7f\t*\n;");
	sample(c, getpid(), tid);
	return (void *)(uintptr_t)tid;
}

/* Control characters and line breaks are replaced; writers handle the rest. */
static void names_move_no_cursor_and_break_no_line(void **state)
{
	struct collect *c = collect_with(THREAD);
	pthread_t thread;
	void *tid;
	uint32_t id;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, c), 0);
	assert_int_equal(pthread_join(thread, &tid), 0);
	id = collect_find_process(c, getpid())->id;
	assert_string_equal(thread_name(c, id, (pid_t)(uintptr_t)tid),
			    with_id("pool;1???*", (pid_t)(uintptr_t)tid));
	/* a name from the kernel's record is cleaned, too */
	happen(c, PROCESS_COMM, getpid(), NOBODY, "a\x1b[2J\nb");
	assert_string_equal(thread_name(c, id, NOBODY), with_id("a?[2J?b", NOBODY));
	collect_free(c);
}

/* Nothing can be read of a process that has ended before it is looked at. */
static void ended_processes_are_named_by_their_records(void **state)
{
	struct collect *c = collect_with(THREAD);
	struct process *process;

	(void)state;
	sample(c, NOBODY, NOBODY + 1);
	process = collect_find_process(c, NOBODY);
	assert_string_equal(process_name(c, process->id), "[process 4194305]");
	assert_string_equal(thread_name(c, process->id, NOBODY + 1), "[thread 4194306]");
	/* another program under this pid, named by its exec */
	process = happen(c, PROCESS_EXEC, NOBODY, NOBODY, "app");
	assert_non_null(process);
	happen(c, PROCESS_COMM, NOBODY, NOBODY + 1, "loader");
	sample(c, NOBODY, NOBODY + 1);
	sample(c, NOBODY, NOBODY + 2);
	assert_string_equal(process_name(c, process->id), "app 4194305");
	assert_string_equal(thread_name(c, process->id, NOBODY + 1), "loader 4194306");
	assert_string_equal(thread_name(c, process->id, NOBODY + 2), "[thread 4194307]");
	/* a thread's name is its own in each process */
	process = happen(c, PROCESS_EXEC, NOBODY, NOBODY, "other");
	sample(c, NOBODY, NOBODY + 1);
	assert_string_equal(process_name(c, process->id), "other 4194305");
	assert_string_equal(thread_name(c, process->id, NOBODY + 1), "[thread 4194306]");
	assert_int_equal(collect_results(c).place_names->process_count, 3);
	collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unnoted_processes_are_not_found),
		cmocka_unit_test(many_are_kept_apart),
		cmocka_unit_test(no_names_unless_requested),
		cmocka_unit_test(names_are_read_once),
		cmocka_unit_test(a_renamed_process_has_its_newest_name),
		cmocka_unit_test(a_fork_has_its_parents_name),
		cmocka_unit_test(names_without_end_are_bounded_and_counted),
		cmocka_unit_test(names_of_the_table_are_replaced),
		cmocka_unit_test(a_program_is_named_when_it_says_hello),
		cmocka_unit_test(names_move_no_cursor_and_break_no_line),
		cmocka_unit_test(ended_processes_are_named_by_their_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
