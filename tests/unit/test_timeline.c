/* SPDX-License-Identifier: MIT */
/* Records added to a timeline can be read again, and lost ones are counted. */
#include "unit.h"
#include <dirent.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "profiler/model/timeline.h"

#define RECORD sizeof(struct timeline_record)

struct bench {
	char folder[64];
	struct timeline *timeline;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	return mkdtemp(b->folder) ? 0 : -1;
}

/* Removes the folder, which fails if a test leaves files. */
static int end(void **state)
{
	struct bench *b = *state;
	int err;

	timeline_free(b->timeline);
	err = rmdir(b->folder);
	free(b);
	return err;
}

static void begin_timeline(struct bench *b, const struct timeline_limits *limits)
{
	b->timeline = timeline_new(b->folder, limits);
	assert_non_null(b->timeline);
}

/* All that is added at once. */
struct event {
	struct timeline_record record; /* without the number of the shape */
	struct timeline_shape shape;
};

/* Makes an event from its number. */
static struct event event_of(uint64_t number)
{
	struct prng p = {number, number};
	struct event e = {.record = {.kind = (uint8_t)prng_below(&p, TIMELINE_KINDS),
				     .start_ns = prng_u64(&p),
				     .duration_ns = prng_bits(&p, 64),
				     .place = {(uint32_t)prng_bits(&p, 32)},
				     .stack = {(uint32_t)prng_bits(&p, 20)},
				     .graph_node = prng_bits(&p, 64),
				     .correlation = (uint32_t)prng_u64(&p),
				     .work = (uint32_t)prng_u64(&p),
				     .bytes = prng_bits(&p, 64)}};

	if (prng_chance(&p, 50))
		e.shape = (struct timeline_shape){
			.grid = {(uint32_t)prng_below(&p, 9), 1, 1},
			.block = {1, (uint32_t)prng_below(&p, 9), 1},
			.static_shared = (uint32_t)prng_below(&p, 3),
			.registers = (uint32_t)prng_below(&p, 3),
		};
	return e;
}

static int add_event(struct timeline *t, const struct event *event)
{
	struct timeline_record record = event->record;

	record.shape = timeline_number_shape(t, &event->shape);
	return timeline_add(t, &record);
}

static void add_events(struct timeline *t, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		struct event e = event_of(i);

		assert_int_equal(add_event(t, &e), 0);
	}
}

static bool has_shape(const struct timeline_shape *is, const struct timeline_shape *wanted)
{
	static const struct timeline_shape none;

	if (memcmp(wanted, &none, sizeof(none)) == 0)
		return !is;
	return is && memcmp(is, wanted, sizeof(none)) == 0;
}

/* Checks that the record is the event with this number. */
static bool has_number(const struct timeline *t, const struct timeline_record *r, uint64_t number)
{
	struct event e = event_of(number);

	if (!has_shape(timeline_shape(t, r->shape), &e.shape))
		return false;
	e.record.shape = r->shape;
	return memcmp(r, &e.record, RECORD) == 0;
}

/* Expects the reader to return `count` events, numbered from `first`, and nothing after them. */
static void expect_rest(const struct timeline *t, struct timeline_reader *r, uint64_t first,
			uint64_t count)
{
	const struct timeline_record *record;

	for (uint64_t i = first; i < first + count; i++) {
		assert_int_equal(timeline_reader_next(r, &record), 1);
		assert_true(has_number(t, record, i));
	}
	assert_int_equal(timeline_reader_next(r, &record), 0);
	assert_int_equal(timeline_reader_next(r, &record), 0);
}

static void expect_all(const struct timeline *t, uint64_t count)
{
	struct timeline_reader *r = timeline_reader_new(t);

	assert_non_null(r);
	assert_int_equal(timeline_stats(t).records, count);
	expect_rest(t, r, 0, count);
	timeline_reader_free(r);
}

static void nothing_is_a_timeline_too(void **state)
{
	struct bench *b = *state;
	struct timeline_record record;

	timeline_free(NULL);
	timeline_reader_free(NULL);
	begin_timeline(b, NULL);
	assert_int_equal(timeline_finish(b->timeline), 0);
	expect_all(b->timeline, 0);
	assert_int_equal(timeline_read(b->timeline, 0, 1, &record), -EINVAL);
	assert_int_equal(timeline_kinds_with_stack(b->timeline, STACK_ID(0)), 0);
	assert_int_equal(timeline_kinds_with_stack(b->timeline, STACK_ID(UINT32_MAX)), 0);
	assert_null(timeline_shape(b->timeline, 0));
	assert_null(timeline_shape(b->timeline, 1));
	assert_null(timeline_shape(b->timeline, UINT32_MAX));
}

/* More than fit into the buffer of the writer, and many times that of a reader. */
static void records_read_back_unchanged(void **state)
{
	enum { COUNT = 50000 };
	struct bench *b = *state;
	struct prng p = prng_round(0);
	struct timeline_record record, several[9];

	begin_timeline(b, NULL);
	add_events(b->timeline, 0, COUNT);
	assert_int_equal(timeline_stats(b->timeline).records, COUNT);
	assert_int_equal(timeline_finish(b->timeline), 0);
	expect_all(b->timeline, COUNT);
	for (int i = 0; i < 1000; i++) {
		uint64_t number = prng_below(&p, COUNT);

		assert_int_equal(timeline_read(b->timeline, number, 1, &record), 0);
		assert_true(has_number(b->timeline, &record, number));
	}
	assert_int_equal(timeline_read(b->timeline, COUNT - 9, 9, several), 0);
	for (uint32_t i = 0; i < 9; i++)
		assert_true(has_number(b->timeline, &several[i], COUNT - 9 + i));
	assert_int_equal(timeline_read(b->timeline, COUNT, 0, several), 0);
	assert_int_equal(timeline_read(b->timeline, COUNT - 8, 9, several), -EINVAL);
	assert_int_equal(timeline_read(b->timeline, UINT64_MAX, 2, several), -EINVAL);
	assert_int_equal(timeline_read(b->timeline, COUNT, 1, &record), -EINVAL);
	assert_int_equal(timeline_read(b->timeline, UINT64_MAX, 1, &record), -EINVAL);
	assert_int_equal(timeline_stats(b->timeline).lost, 0);
	assert_int_equal(timeline_stats(b->timeline).lost_shapes, 0);
	assert_int_equal(timeline_stats(b->timeline).error, 0);
}

/* Each once, from 1 on. */
static void shapes_are_kept_once(void **state)
{
	static const struct timeline_shape none;
	enum { SHAPES = 3000, ROUNDS = 3 };
	struct bench *b = *state;

	begin_timeline(b, NULL);
	for (uint32_t i = 0; i < SHAPES * ROUNDS; i++) {
		struct timeline_shape shape = {.registers = 1 + i % SHAPES};

		assert_int_equal(timeline_number_shape(b->timeline, &shape), 1 + i % SHAPES);
	}
	assert_int_equal(timeline_number_shape(b->timeline, &none), 0);
	assert_int_equal(timeline_finish(b->timeline), 0);
	for (uint32_t i = 1; i <= SHAPES; i++)
		assert_int_equal(timeline_shape(b->timeline, i)->registers, i);
	assert_null(timeline_shape(b->timeline, 0));
	assert_null(timeline_shape(b->timeline, SHAPES + 1));
	assert_int_equal(timeline_stats(b->timeline).lost_shapes, 0);
}

/* A timeline knows its stacks, by kind: only stacks in use get names. */
static void stacks_in_use_are_known(void **state)
{
	enum { STACKS = 5000 };
	struct bench *b = *state;
	uint32_t expected[STACKS] = {0};
	struct prng p = prng_round(0);

	begin_timeline(b, NULL);
	for (int i = 0; i < STACKS; i++) {
		uint32_t stack = (uint32_t)prng_bits(&p, 12);
		uint8_t kind = (uint8_t)prng_below(&p, TIMELINE_KINDS);

		expected[stack] |= 1u << kind;
		assert_int_equal(
			timeline_add(b->timeline,
				     &(struct timeline_record){.stack = {stack}, .kind = kind}),
			0);
	}
	assert_int_equal(timeline_finish(b->timeline), 0);
	for (uint32_t i = 0; i < STACKS; i++)
		assert_int_equal(timeline_kinds_with_stack(b->timeline, STACK_ID(i)), expected[i]);
}

static void readers_do_not_disturb_each_other(void **state)
{
	enum { COUNT = 20000, READERS = 4 };
	struct bench *b = *state;
	struct timeline_reader *readers[READERS];
	uint64_t at[READERS] = {0};
	struct prng p = prng_round(0);

	begin_timeline(b, NULL);
	add_events(b->timeline, 0, COUNT);
	assert_int_equal(timeline_finish(b->timeline), 0);
	for (int i = 0; i < READERS; i++) {
		readers[i] = timeline_reader_new(b->timeline);
		assert_non_null(readers[i]);
	}
	for (int step = 0; step < 2 * COUNT; step++) {
		uint64_t i = prng_below(&p, READERS);
		const struct timeline_record *record;

		EXPECT(&p, timeline_reader_next(readers[i], &record) == (at[i] < COUNT));
		if (at[i] < COUNT)
			EXPECT(&p, has_number(b->timeline, record, at[i]++));
	}
	for (int i = 0; i < READERS; i++) {
		expect_rest(b->timeline, readers[i], at[i], COUNT - at[i]);
		timeline_reader_free(readers[i]);
	}
}

static void nothing_is_added_afterwards(void **state)
{
	struct bench *b = *state;
	struct event e = event_of(0);

	begin_timeline(b, NULL);
	add_events(b->timeline, 0, 5);
	assert_int_equal(timeline_finish(b->timeline), 0);
	assert_int_equal(add_event(b->timeline, &e), -ESHUTDOWN);
	assert_int_equal(timeline_finish(b->timeline), 0);
	expect_all(b->timeline, 5);
	assert_int_equal(timeline_stats(b->timeline).lost, 1);
}

/* ---- limits ---- */

static void records_are_bounded(void **state)
{
	struct bench *b = *state;
	struct event e = event_of(0);

	begin_timeline(b, &(struct timeline_limits){.records = 20000, .shapes = 1000});
	add_events(b->timeline, 0, 20000);
	for (int i = 0; i < 7; i++)
		assert_int_equal(add_event(b->timeline, &e), -E2BIG);
	assert_int_equal(timeline_finish(b->timeline), 0);
	expect_all(b->timeline, 20000);
	assert_int_equal(timeline_stats(b->timeline).lost, 7);
	assert_int_equal(timeline_stats(b->timeline).error, -E2BIG);
}

/* Without its shape a record is still of use. */
static void shapes_are_bounded(void **state)
{
	struct bench *b = *state;

	begin_timeline(b, &(struct timeline_limits){.records = 100, .shapes = 2});
	for (uint32_t i = 0; i < 10; i++) {
		struct event e = {.shape = {.grid = {1 + i % 5}}, .record = {.correlation = i}};

		assert_int_equal(add_event(b->timeline, &e), 0);
	}
	assert_int_equal(timeline_finish(b->timeline), 0);
	assert_int_equal(timeline_stats(b->timeline).records, 10);
	assert_int_equal(timeline_stats(b->timeline).lost, 0);
	assert_int_equal(timeline_stats(b->timeline).lost_shapes, 6);
	assert_int_equal(timeline_stats(b->timeline).error, -E2BIG);
	for (uint32_t i = 0; i < 10; i++) {
		struct timeline_record record;

		assert_int_equal(timeline_read(b->timeline, i, 1, &record), 0);
		assert_int_equal(record.correlation, i);
		assert_int_equal(record.shape, i % 5 < 2 ? i % 5 + 1 : 0);
	}
}

/* ---- the file ---- */

/* Returns the timeline's descriptor, the only one of a file in its folder, or an invalid one. */
static int find_file(const struct bench *b)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd = -1;

	if (!folder)
		return -1;
	while ((entry = readdir(folder))) {
		char target[256] = "";
		int number = (int)strtol(entry->d_name, NULL, 10);

		if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) < 0 ||
		    strncmp(target, b->folder, strlen(b->folder)) != 0)
			continue;
		fd = fd < 0 ? number : INT_MAX;
	}
	closedir(folder);
	return fd;
}

/* Returns true if the file is private: nobody else reads it, started programs do not inherit it,
 * and it has no name. */
static bool is_private(int fd)
{
	struct stat file;

	return fd >= 0 && fstat(fd, &file) == 0 && file.st_nlink == 0 &&
	       (file.st_mode & 07777) == 0600 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static void the_file_has_no_name(void **state)
{
	struct bench *b = *state;
	char file[40], name[80];

	begin_timeline(b, NULL);
	assert_true(is_private(find_file(b)));
	/* nor can it be given one */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", find_file(b));
	snprintf(name, sizeof(name), "%s/named", b->folder);
	assert_int_equal(linkat(AT_FDCWD, file, AT_FDCWD, name, AT_SYMLINK_FOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

static void a_folder_that_takes_no_file(void **state)
{
	struct bench *b = *state;
	char nowhere[80];

	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", b->folder);
	assert_null(timeline_new(nowhere, NULL));
	assert_int_equal(errno, ENOENT);
	assert_null(timeline_new("/proc/self", NULL));
	assert_int_not_equal(errno, 0);
}

/* Makes this process unable to create files without a name, as on some file systems. */
static bool refuse_unnamed_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CHILD_OK, CHILD_FAILED, CHILD_SKIPS };

/*
 * Runs `body` in a separate child, for irreversible changes; it returns one of the above and
 * asserts nothing, since that would continue with the next test in the child.
 */
static int run_child(int (*body)(struct bench *), struct bench *b)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(body(b));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int use_named_files(struct bench *b)
{
	struct timeline_record record;
	struct event e = event_of(3);
	bool ok;

	if (!refuse_unnamed_files())
		return CHILD_SKIPS;
	if (open(b->folder, O_TMPFILE | O_RDWR, 0600) >= 0)
		return CHILD_FAILED;
	b->timeline = timeline_new(b->folder, NULL);
	ok = b->timeline && add_event(b->timeline, &e) == 0 && timeline_finish(b->timeline) == 0 &&
	     timeline_read(b->timeline, 0, 1, &record) == 0 &&
	     has_number(b->timeline, &record, 3) && is_private(find_file(b));
	timeline_free(b->timeline);
	/* and an empty folder */
	return ok && rmdir(b->folder) == 0 && mkdir(b->folder, 0700) == 0 ? CHILD_OK : CHILD_FAILED;
}

static void a_file_system_without_unnamed_files(void **state)
{
	int result = run_child(use_named_files, *state);

	if (result == CHILD_SKIPS)
		SKIP("seccomp filters are not permitted here");
	assert_int_equal(result, CHILD_OK);
}

/* Returns true if kept records can be read, others are counted, and both together are all. */
static bool holds_what_it_could(struct timeline *t, uint64_t added, uint64_t most, int error)
{
	struct timeline_stats stats = timeline_stats(t);
	struct timeline_reader *r = timeline_reader_new(t);
	const struct timeline_record *record;
	uint64_t i = 0;
	int result;

	if (!r || stats.error != error || stats.lost == 0 || stats.records + stats.lost != added ||
	    stats.records == 0 || stats.records > most)
		return false;
	while ((result = timeline_reader_next(r, &record)) == 1 && has_number(t, record, i))
		i++;
	timeline_reader_free(r);
	return result == 0 && i == stats.records;
}

/* Adds until it fails twice for lack of room. Returns the number of attempts. */
static uint64_t fill(struct timeline *t, uint64_t most, int error)
{
	uint64_t added = 0;
	int refused = 0;

	while (refused < 2 && added < most) {
		struct event e = event_of(added++);
		int err = add_event(t, &e);

		if (err && err != error)
			return 0;
		refused += err != 0;
	}
	return added;
}

enum { DISK = 3 << 20, MOST = 200000 };

/* Runs in namespaces of the child, on a disk that is too small. */
static int fill_disk(struct bench *b)
{
	uint64_t added;
	bool ok;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", b->folder, "tmpfs", 0, "size=3m") != 0)
		return CHILD_SKIPS;
	b->timeline = timeline_new(b->folder, NULL);
	if (!b->timeline)
		return CHILD_FAILED;
	added = fill(b->timeline, MOST, -ENOSPC);
	ok = timeline_finish(b->timeline) == 0 &&
	     holds_what_it_could(b->timeline, added, DISK / RECORD / 2, -ENOSPC) &&
	     timeline_stats(b->timeline).records > DISK / RECORD / 3;
	timeline_free(b->timeline);
	return ok ? CHILD_OK : CHILD_FAILED;
}

static void a_full_disk(void **state)
{
	int result = run_child(fill_disk, *state);

	if (result == CHILD_SKIPS)
		SKIP("mounting a small file system is not permitted here");
	assert_int_equal(result, CHILD_OK);
}

/* Room is given back on the file system that needs it. The first records stay readable. */
static void room_is_given_back(void **state)
{
	struct bench *b = *state;
	int fd, elsewhere = open("/proc/self/status", O_RDONLY);
	struct stat st;

	begin_timeline(b, NULL);
	add_events(b->timeline, 0, 100);
	assert_int_equal(timeline_finish(b->timeline), 0);
	fd = find_file(b);
	assert_false(timeline_give_room(b->timeline, elsewhere));
	assert_false(timeline_give_room(b->timeline, -1));
	assert_int_equal(timeline_stats(b->timeline).lost, 0);
	assert_true(timeline_give_room(b->timeline, fd));
	assert_true(holds_what_it_could(b->timeline, 100, 25, -ENOSPC));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 25 * RECORD);
	for (uint64_t left = 6;; left /= 4) {
		assert_true(timeline_give_room(b->timeline, fd));
		assert_int_equal(timeline_stats(b->timeline).records, left);
		assert_int_equal(timeline_stats(b->timeline).lost, 100 - left);
		if (left == 0)
			break;
	}
	assert_false(timeline_give_room(b->timeline, fd));
	close(fd);
	close(elsewhere);
}

/* Checks that a write past the limit is cut inside a record, and that later ones fail. */
static int reach_file_size(struct bench *b)
{
	const struct rlimit limit = {DISK + 10, DISK + 10};
	uint64_t added;
	bool ok;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return CHILD_SKIPS;
	b->timeline = timeline_new(b->folder, NULL);
	if (!b->timeline)
		return CHILD_FAILED;
	added = fill(b->timeline, MOST, -EFBIG);
	ok = timeline_finish(b->timeline) == 0 &&
	     holds_what_it_could(b->timeline, added, DISK / RECORD, -EFBIG) &&
	     timeline_stats(b->timeline).records == (DISK + 10) / RECORD;
	timeline_free(b->timeline);
	return ok ? CHILD_OK : CHILD_FAILED;
}

static void the_largest_file_that_may_be(void **state)
{
	assert_int_equal(run_child(reach_file_size, *state), CHILD_OK);
}

/* Checks that finish reports last records that do not fit. */
static int fail_at_the_end(struct bench *b)
{
	const struct rlimit limit = {10 * RECORD, 10 * RECORD};
	uint64_t added;
	bool ok;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return CHILD_SKIPS;
	b->timeline = timeline_new(b->folder, NULL);
	if (!b->timeline)
		return CHILD_FAILED;
	added = fill(b->timeline, 100, -EFBIG);
	ok = added == 100 && timeline_finish(b->timeline) == -EFBIG &&
	     holds_what_it_could(b->timeline, added, 10, -EFBIG) &&
	     timeline_stats(b->timeline).records == 10;
	timeline_free(b->timeline);
	return ok ? CHILD_OK : CHILD_FAILED;
}

static void no_room_for_the_last_ones(void **state)
{
	assert_int_equal(run_child(fail_at_the_end, *state), CHILD_OK);
}

/* Returns the first stack that no record of this kind has. */
static uint32_t find_unused_stack(const struct timeline *t, uint8_t kind)
{
	uint32_t stack = 0;

	while (timeline_kinds_with_stack(t, STACK_ID(stack)) & 1u << kind)
		stack++;
	return stack;
}

/* Others may open our file. They can make it useless, not dangerous. */
static void a_file_that_others_changed(void **state)
{
	struct bench *b = *state;
	struct timeline_record record, bad;
	const struct timeline_record *next;
	struct timeline_reader *r;
	int fd;

	begin_timeline(b, NULL);
	add_events(b->timeline, 0, 10);
	assert_int_equal(timeline_finish(b->timeline), 0);
	fd = find_file(b);
	assert_int_equal(timeline_read(b->timeline, 4, 1, &record), 0);
	for (int i = 0; i < 5; i++) {
		bad = record;
		if (i == 0)
			bad.place = PLACE_ID(UINT32_MAX);
		else if (i == 1)
			bad.shape = UINT32_MAX;
		else if (i == 2)
			bad.stack = STACK_ID(UINT32_MAX);
		else if (i == 3)
			bad.stack = STACK_ID(find_unused_stack(b->timeline, record.kind));
		else
			bad.kind = TIMELINE_KINDS;
		assert_int_equal(pwrite(fd, &bad, RECORD, 4 * RECORD), RECORD);
		assert_int_equal(timeline_read(b->timeline, 4, 1, &bad), -EIO);
		assert_int_equal(timeline_read(b->timeline, 3, 1, &bad), 0);
		r = timeline_reader_new(b->timeline);
		assert_non_null(r);
		assert_int_equal(timeline_reader_next(r, &next), -EIO);
		timeline_reader_free(r);
	}
	assert_int_equal(pwrite(fd, &record, RECORD, 4 * RECORD), RECORD);
	expect_all(b->timeline, 10);
	assert_int_equal(ftruncate(fd, 4 * RECORD + 1), 0);
	assert_int_equal(timeline_read(b->timeline, 3, 1, &bad), 0);
	assert_int_equal(timeline_read(b->timeline, 4, 1, &bad), -EIO);
	assert_int_equal(timeline_read(b->timeline, 9, 1, &bad), -EIO);
}

/* ---- a listener ---- */

struct heard {
	struct timeline_record records[20];
	uint64_t launched_ns[20];
	uint32_t count;
};

static void hear(void *context, const struct timeline_record *record, uint64_t launched_ns)
{
	struct heard *heard = context;

	assert_true(heard->count < 20);
	heard->records[heard->count] = *record;
	heard->launched_ns[heard->count++] = launched_ns;
}

static void a_listener_hears_all_records(void **state)
{
	const struct timeline_limits few = {.records = 4, .shapes = 1};
	const struct timeline_shape shape = {.registers = 7};
	struct bench *b = *state;

	for (int keeps = 0; keeps < 2; keeps++) {
		struct timeline *t = timeline_new(keeps ? b->folder : NULL, keeps ? &few : NULL);
		struct heard heard = {.count = 0};
		struct timeline_stats stats;

		assert_non_null(t);
		assert_int_equal(timeline_keeps(t), keeps);
		timeline_listen(t, hear, &heard);
		for (uint64_t i = 0; i < 9; i++) {
			const struct timeline_record record = event_of(i).record;
			int err = timeline_add_launched(t, &record, i);

			assert_int_equal(err, keeps && i >= 4 ? -E2BIG : 0);
			assert_memory_equal(&heard.records[i], &record, sizeof(record));
			assert_int_equal(heard.launched_ns[i], i);
		}
		timeline_listen(t, NULL, NULL);
		timeline_add(t, &heard.records[0]);
		assert_int_equal(heard.count, 9);
		assert_int_equal(timeline_number_shape(t, &shape), 1);
		assert_int_equal(timeline_part(t, b->folder), 0);
		assert_int_equal(timeline_finish(t), 0);
		stats = timeline_stats(t);
		assert_int_equal(stats.records, keeps ? 4 : 0);
		assert_int_equal(stats.lost, keeps ? 6 : 0);
		assert_int_equal(stats.error, keeps ? -E2BIG : 0);
		assert_int_equal(timeline_shape(t, 1)->registers, 7);
		timeline_free(t);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_a_timeline_too),
		TEST(records_read_back_unchanged),
		TEST(shapes_are_kept_once),
		TEST(stacks_in_use_are_known),
		TEST(readers_do_not_disturb_each_other),
		TEST(nothing_is_added_afterwards),
		TEST(records_are_bounded),
		TEST(shapes_are_bounded),
		TEST(the_file_has_no_name),
		TEST(a_folder_that_takes_no_file),
		TEST(a_file_system_without_unnamed_files),
		TEST(a_full_disk),
		TEST(room_is_given_back),
		TEST(the_largest_file_that_may_be),
		TEST(no_room_for_the_last_ones),
		TEST(a_file_that_others_changed),
		TEST(a_listener_hears_all_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
