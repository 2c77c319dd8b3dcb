// SPDX-License-Identifier: MIT
#include "cupti_trace/core/thread_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"

#define PAGE 4096u

static int open_of(uint32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	return guest_open(path, O_RDONLY | O_NONBLOCK);
}

/*
 * Returns whether a thread is off the CPU, in a system call or a page fault. proc_pid_syscall(5):
 * the kernel waits until it is, or says that it runs. The state S would not do: it is set before
 * the thread leaves the CPU, which it then may not do.
 */
struct sleeper {
	uint32_t tid;
	bool is_asleep;
};

static void look_at(void *data)
{
	struct sleeper *sleeper = data;
	int fd = open_of(sleeper->tid, "syscall");
	char text[128];
	ssize_t size;

	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text));
	close(fd);
	sleeper->is_asleep = size > 0 && text[0] != 'r';
}

static bool is_asleep(uint32_t tid)
{
	struct sleeper sleeper = {.tid = tid};

	guest_run_with_files(look_at, &sleeper);
	return sleeper.is_asleep;
}

/* ---- events ---- */

/*
 * Returns a word that is 0 in children made by fork, which do not get the events' pages. NULL:
 * there is none, and no event is used.
 */
static const volatile uint32_t *alive(void)
{
	static _Atomic(uint32_t *) word;
	uint32_t *known = atomic_load_explicit(&word, memory_order_acquire), *made;

	if (known)
		return known;
	made = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	*made = 1;
	if (madvise(made, PAGE, MADV_WIPEONFORK) == 0 &&
	    atomic_compare_exchange_strong(&word, &known, made))
		return made;
	munmap(made, PAGE);
	return known;
}

static bool is_child(void)
{
	const volatile uint32_t *word = alive();

	return !word || !*word;
}

struct made_event {
	uint32_t tid;
	void *page; /* MAP_FAILED: none */
};

static void make_event(void *data)
{
	struct stat st;
	struct perf_event_attr attr = {.size = PERF_ATTR_SIZE_VER0,
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1,
				       .context_switch = 1};
	struct made_event *event = data;
	int fd = (int)syscall(SYS_perf_event_open, &attr, event->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return;
	/* another thread may have closed it, and opened a file: an event has no file type */
	if (fstat(fd, &st) != 0 || st.st_mode & S_IFMT)
		return;
	/* read-only, so that new records overwrite old ones */
	event->page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd); /* the mapping keeps the event */
}

static bool open_event(struct thread_runs *runs, uint32_t tid)
{
	struct made_event event = {.tid = tid, .page = MAP_FAILED};

	if (is_child() || guest_has_filter() || !guest_has_standard())
		return false;
	guest_run_with_files(make_event, &event);
	if (event.page == MAP_FAILED)
		return false;
	runs->page = event.page;
	return true;
}

/*
 * Returns whether the thread was asleep when `*head` bytes had been recorded. The last record must
 * say that it left the CPU, and not because others run (distinguished since Linux 4.17). Asks the
 * kernel while there is no record.
 */
static bool was_asleep(const struct thread_runs *runs, uint64_t *head)
{
	const volatile struct perf_event_mmap_page *page = runs->page;
	const volatile struct perf_event_header *records;
	struct perf_event_header last;

	*head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (*head == 0)
		return is_asleep(runs->tid);
	records = (const volatile void *)((const volatile char *)page + PAGE);
	last = records[(*head / sizeof(last) - 1) % (PAGE / sizeof(last))];
	return last.type == PERF_RECORD_SWITCH && last.size == sizeof(last) &&
	       last.misc & PERF_RECORD_MISC_SWITCH_OUT &&
	       !(last.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
}

/* ---- files ---- */

static bool is_own(const struct thread_runs *runs)
{
	return guest_still_has(runs->fd, runs->device, runs->inode);
}

static bool open_file(struct thread_runs *runs, uint32_t tid)
{
	struct stat st;

	/* the descriptor would stay open */
	runs->fd = guest_is_isolated() ? -1 : open_of(tid, "schedstat");
	if (runs->fd < 0 || fstat(runs->fd, &st) != 0) {
		runs->fd = -1;
		return false;
	}
	runs->device = st.st_dev;
	runs->inode = st.st_ino;
	return true;
}

static bool read_file(const struct thread_runs *runs, char *text, uint32_t *length)
{
	ssize_t size = pread(runs->fd, text, sizeof(runs->text) - 1, 0);

	*length = size > 0 ? (uint32_t)size : 0;
	text[*length] = '\0';
	return size > 0;
}

/* ---- both ---- */

void thread_runs_close(struct thread_runs *runs)
{
	int saved_errno = errno;

	if (runs->page && !is_child())
		munmap((void *)(uintptr_t)runs->page, 2 * PAGE);
	if (is_own(runs))
		close(runs->fd);
	*runs = (struct thread_runs)THREAD_RUNS_NONE;
	errno = saved_errno;
}

static bool is_open(const struct thread_runs *runs, uint32_t tid)
{
	return runs->tid == tid && (runs->page ? !is_child() : is_own(runs));
}

static bool note_event(struct thread_runs *runs)
{
	runs->length = 1;
	return was_asleep(runs, &runs->head) && thread_runs_sleeps(runs);
}

static bool note(struct thread_runs *runs, uint32_t tid, bool may_read_file)
{
	unsigned long long count = 0;

	if (!is_open(runs, tid) || !(runs->page || may_read_file)) {
		thread_runs_close(runs);
		if (!open_event(runs, tid) && !(may_read_file && open_file(runs, tid)))
			return false;
		runs->tid = tid;
	}
	if (runs->page)
		return note_event(runs);
	if (!read_file(runs, runs->text, &runs->length) ||
	    sscanf(runs->text, "%*u %*u %llu", &count) != 1 || count == 0) {
		return false; /* 0: the kernel does not count */
	}
	/* asleep now, and without a CPU between both reads */
	return is_asleep(tid) && thread_runs_sleeps(runs);
}

bool thread_runs_note(struct thread_runs *runs, uint32_t tid, bool may_read_file)
{
	struct guest guest;
	bool is_noted;

	runs->length = 0;
	if (!tid)
		return false;
	if (runs->page && is_open(runs, tid) && runs->page->data_head) {
		is_noted = note_event(runs); /* without a system call */
	} else {
		guest_enter(&guest);
		is_noted = note(runs, tid, may_read_file);
		guest_leave(&guest);
	}
	if (!is_noted)
		runs->length = 0;
	return is_noted;
}

bool thread_runs_sleeps(const struct thread_runs *runs)
{
	char text[sizeof(runs->text)];
	int saved_errno = errno;
	uint32_t length;
	bool sleeps;

	if (!runs->length)
		return false;
	if (runs->page)
		return !is_child() && runs->page->data_head == runs->head;
	sleeps = read_file(runs, text, &length) && length == runs->length &&
		 memcmp(text, runs->text, length) == 0;
	errno = saved_errno;
	return sleeps;
}
