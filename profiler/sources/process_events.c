// SPDX-License-Identifier: MIT
#include "profiler/sources/process_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/measure.h"
#include "profiler/sources/sample_ticks.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

/*
 * Bytes of a ring without the header page. 1 MiB holds about 6,000 mappings, which any process of
 * the machine may make.
 */
#define RING_BYTES (1u << 20)
#define SAMPLES_RING_BYTES (4u << 20)
#define RING_BYTES_MIN (256u << 10)
#define RING_BYTES_LOCKED_MIN (32u << 10) /* limit for users that may not lock more */
#define ALL_RINGS_BYTES (24u << 20)       /* unless there are more than 96 CPUs */
#define ALL_SAMPLES_RINGS_BYTES (48u << 20)

#define TICKS_HZ 500 /* minimum tick rate */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;
	struct sample_ticks ticks;
};

struct process_events {
	struct cpu_ring *rings;
	int ring_count;
	size_t page_size, ring_bytes;
	uint32_t stack_bytes;        /* stack bytes of a sample */
	uint64_t sample_ns, tick_ns; /* 0: no samples; mean tick */
	struct process_event *queue; /* queue[next..count), sorted by time */
	uint32_t next, count, capacity;
	char *returned_path; /* path of the last returned event */
	struct stack_snapshot *returned_snapshot;
	uint64_t lost;
	unsigned char record[65536]; /* a record that wraps around the ring's end */
};

/* Bits of perf's register numbers (asm/perf_regs.h): ax bx cx dx si di bp sp ip, r8 to r15. */
#define SAMPLE_REGISTERS 0xff01ffu
#define SAMPLE_REGISTER_COUNT 17
static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, struct cpu_ring *ring,
		      size_t map_bytes)
{
	void *map;
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		int err = errno == EPERM ? -ENOBUFS : -errno;

		close(fd);
		return err;
	}
	ring->fd = fd;
	ring->page = map;
	return 0;
}

/* Returns the attributes of all our events: side records, no samples. */
static struct perf_event_attr side_records(const struct process_events *e)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.watermark = 1,
		.wakeup_watermark = (__u32)(e->ring_bytes / 2),
		.clockid = CLOCK_MONOTONIC,
	};
}

static void add_samples(struct process_events *e, struct perf_event_attr *attr)
{
	e->stack_bytes = sample_ticks_stack_bytes(e->ring_bytes, e->tick_ns);
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = SAMPLE_REGISTERS;
	attr->sample_stack_user = e->stack_bytes;
	attr->inherit = 1;
	attr->disabled = 1;
	attr->enable_on_exec = 1;
}

/* Opens a ring per CPU. Returns 0, or -errno. */
static int open_rings(struct process_events *e, pid_t pid, long cpus)
{
	struct perf_event_attr attr = side_records(e);
	uint32_t random = 0;
	int err = -ENODEV;

	if (e->sample_ns)
		add_samples(e, &attr);
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)getpid();
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct cpu_ring *ring = &e->rings[e->ring_count];

		if (e->sample_ns) {
			sample_ticks_begin(&ring->ticks, e->sample_ns, e->tick_ns,
					   random + (uint32_t)cpu);
			attr.sample_period = ring->ticks.tick_ns;
		}
		err = open_event(&attr, pid, cpu, ring, e->ring_bytes + e->page_size);
		if (err == 0)
			e->ring_count++;
		else if (err != -ENODEV &&
			 err != -ENXIO) /* -ENODEV and -ENXIO mean an offline CPU */
			return err;
	}
	return e->ring_count > 0 ? 0 : err;
}

static void close_rings(struct process_events *e)
{
	for (int i = 0; i < e->ring_count; i++) {
		munmap(e->rings[i].page, e->ring_bytes + e->page_size);
		close(e->rings[i].fd);
		sample_ticks_release(&e->rings[i].ticks);
	}
	e->ring_count = 0;
}

struct process_events *process_events_open(pid_t pid, uint32_t sample_hz)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct process_events *e = calloc(1, sizeof(*e));
	size_t all_bytes;
	int err = -ENOMEM;

	if (!e)
		return NULL;
	e->page_size = (size_t)sysconf(_SC_PAGESIZE);
	e->rings = calloc((size_t)cpus, sizeof(*e->rings));
	e->ring_bytes = sample_hz ? SAMPLES_RING_BYTES : RING_BYTES;
	all_bytes = sample_hz ? ALL_SAMPLES_RINGS_BYTES : ALL_RINGS_BYTES;
	while (e->ring_bytes > RING_BYTES_MIN && e->ring_bytes * (size_t)cpus > all_bytes)
		e->ring_bytes /= 2;
	if (sample_hz) {
		e->sample_ns = measure_sample_ns(sample_hz);
		e->tick_ns = measure_sample_ns(sample_hz > TICKS_HZ ? sample_hz : TICKS_HZ);
	}
	/* the limit of locked memory is shared by all profilers of a user */
	while (e->rings && (err = open_rings(e, pid, cpus)) == -ENOBUFS &&
	       e->ring_bytes > (sample_hz ? RING_BYTES : RING_BYTES_LOCKED_MIN)) {
		close_rings(e);
		e->ring_bytes /= 2;
	}
	if (err == -ENOBUFS && sample_hz)
		err = -EPERM;
	if (!err)
		return e;
	process_events_close(e);
	errno = -err;
	return NULL;
}

void process_events_close(struct process_events *e)
{
	if (!e)
		return;
	close_rings(e);
	for (; e->next < e->count; e->next++) {
		free((char *)e->queue[e->next].mapping.path);
		free(e->queue[e->next].snapshot);
	}
	free(e->returned_path);
	free(e->returned_snapshot);
	free(e->rings);
	free(e->queue);
	free(e);
}

int process_events_watch(struct process_events *e, int epoll, uint32_t tag)
{
	for (int i = 0; i < e->ring_count; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = tag};

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, e->rings[i].fd, &event) != 0)
			return -errno;
	}
	return 0;
}

static struct process_event *add(struct process_events *e)
{
	if (!array_make_room(&e->queue, e->count, &e->capacity, sizeof(*e->queue)))
		return NULL;
	memset(&e->queue[e->count], 0, sizeof(e->queue[0]));
	return &e->queue[e->count++];
}

/* Layouts of perf_event_open(2), each followed by sample_id { u32 pid, tid; u64 time; }. */
struct record_mmap2 {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 address, length, offset;
	__u32 major, minor;
	__u64 inode, inode_generation;
	__u32 protection, flags;
	char path[];
};

struct record_task {
	struct perf_event_header header;
	__u32 pid, parent;
	__u32 tid, parent_tid;
	__u64 time;
};

struct record_comm {
	struct perf_event_header header;
	__u32 pid, tid;
	char comm[]; /* ends with a NUL, padded to 8 bytes */
};

struct record_lost {
	struct perf_event_header header;
	__u64 id, lost;
};

static int take_mapping(struct process_events *e, const struct record_mmap2 *r, size_t size,
			uint64_t time_ns)
{
	size_t room = size - sizeof(*r) - 16;
	struct process_event *event = add(e);

	if (!event)
		return -ENOMEM;
	event->time_ns = time_ns;
	event->type = PROCESS_MAP;
	event->pid = (pid_t)r->pid;
	event->mapping = (struct code_mapping){
		.start = r->address,
		.end = r->address + r->length,
		.file_offset = r->offset,
		.dev_major = r->major,
		.dev_minor = r->minor,
		.inode = r->inode,
		.path = strndup(r->path, room),
	};
	if (event->mapping.path)
		return 0;
	e->count--;
	return -ENOMEM;
}

static int take_plain(struct process_events *e, const struct process_event *plain)
{
	struct process_event *event = add(e);

	if (!event)
		return -ENOMEM;
	*event = *plain;
	return 0;
}

static int take_comm(struct process_events *e, const struct record_comm *r, size_t size,
		     uint64_t time_ns)
{
	struct process_event event = {
		.time_ns = time_ns,
		.type = r->header.misc & PERF_RECORD_MISC_COMM_EXEC ? PROCESS_EXEC : PROCESS_COMM,
		.pid = (pid_t)r->pid,
		.tid = (pid_t)r->tid};

	if (size < sizeof(*r) + 16)
		return 0;
	snprintf(event.comm, sizeof(event.comm), "%.*s", (int)(size - sizeof(*r) - 16), r->comm);
	return take_plain(e, &event);
}

/* TID, TIME, REGS_USER and STACK_USER, in this order. STACK_USER is size, bytes, valid bytes. */
struct record_sample {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 time;
	__u64 abi; /* 0: no user registers, and none follow */
	__u64 registers[SAMPLE_REGISTER_COUNT];
	__u64 stack_size;
	/*
	 * followed by stack_size bytes and a __u64 with the number of valid ones, unless stack_size
	 * is 0
	 */
};

/* DWARF numbers of perf's registers (asm/perf_regs.h). */
static const uint8_t dwarf_register[SAMPLE_REGISTER_COUNT] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
							      8, 9, 10, 11, 12, 13, 14, 15};

static int take_sample(struct process_events *e, const struct record_sample *r, size_t size,
		       uint32_t count)
{
	struct process_event *event;
	struct stack_snapshot *s;
	__u64 bytes = 0;

	if (size < sizeof(*r) || r->abi == 0 || r->stack_size > size - sizeof(*r))
		return 0;
	if (r->stack_size && r->stack_size + sizeof(bytes) <= size - sizeof(*r))
		memcpy(&bytes, (const char *)(r + 1) + r->stack_size, sizeof(bytes));
	if (bytes > r->stack_size || bytes > STACK_SNAPSHOT_BYTES)
		return 0;
	s = malloc(sizeof(*s) + bytes);
	event = s ? add(e) : NULL;
	if (!event) {
		free(s);
		return -ENOMEM;
	}
	memset(s, 0, sizeof(*s));
	s->event.time_ns = r->time;
	s->event.pid = r->pid;
	s->event.tid = r->tid;
	s->event.kind = STACK_EVENT_CPU_SNAPSHOT;
	for (int i = 0; i < SAMPLE_REGISTER_COUNT; i++)
		s->registers[dwarf_register[i]] = r->registers[i];
	s->kernel_at = s->stack_at = sizeof(*s);
	s->stack_above = STACK_ABOVE_UNKNOWN;
	s->stack_bytes = (__u32)bytes;
	memcpy(s + 1, r + 1, bytes);
	event->time_ns = r->time;
	event->type = PROCESS_SAMPLE;
	event->pid = (pid_t)r->pid;
	event->snapshot = s;
	event->repeats = count - 1;
	return 0;
}

/* Forgets the ticks of a thread that starts or has ended. */
static void forget_thread(struct process_events *e, uint32_t tid)
{
	for (int i = 0; i < e->ring_count && e->sample_ns; i++)
		sample_ticks_forget(&e->rings[i].ticks, tid);
}

/* Takes a record, which stands for `count` samples. */
static int take_record(struct process_events *e, const void *record, size_t size, uint32_t count)
{
	const struct perf_event_header *header = record;
	const struct record_task *task = record;
	uint64_t time_ns;

	memcpy(&time_ns, (const char *)record + size - sizeof(time_ns), sizeof(time_ns));
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(e, record, size, count);
	case PERF_RECORD_MMAP2:
		if (size < sizeof(struct record_mmap2) + 16)
			return 0;
		return take_mapping(e, record, size, time_ns);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		if (size < sizeof(*task))
			return 0;
		forget_thread(e, task->tid);
		return take_plain(e,
				  &(struct process_event){.time_ns = time_ns,
							  .type = header->type == PERF_RECORD_FORK
									  ? PROCESS_FORK
									  : PROCESS_EXIT,
							  .pid = (pid_t)task->pid,
							  .tid = (pid_t)task->tid,
							  .parent = (pid_t)task->parent});
	case PERF_RECORD_COMM:
		return take_comm(e, record, size, time_ns);
	case PERF_RECORD_LOST:
		e->lost += ((const struct record_lost *)record)->lost;
		return 0;
	default:
		return 0;
	}
}

/* Copies `size` bytes at `position` of a ring, which may wrap. */
static void copy_out(const struct process_events *e, const struct cpu_ring *ring, uint64_t position,
		     void *to, size_t size)
{
	const unsigned char *data = (const unsigned char *)ring->page + e->page_size;
	size_t bytes = e->ring_bytes, at = position % bytes;
	size_t head = size < bytes - at ? size : bytes - at;

	memcpy(to, data + at, head);
	memcpy((unsigned char *)to + head, data, size - head);
}

static uint32_t count_samples(const struct process_events *e, struct cpu_ring *ring,
			      uint64_t position)
{
	struct {
		struct perf_event_header header;
		__u32 pid, tid;
	} head;

	copy_out(e, ring, position, &head, sizeof(head));
	return sample_ticks_count(&ring->ticks, head.tid);
}

static int read_ring(struct process_events *e, struct cpu_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int err = 0;

	while (tail < head && !err) {
		struct perf_event_header header;
		uint32_t count = 1;

		copy_out(e, ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break; /* cannot happen; prevents an endless loop */
		if (header.type == PERF_RECORD_SAMPLE)
			count = count_samples(e, ring, tail);
		if (header.size >= sizeof(header) + 16 && count > 0) {
			copy_out(e, ring, tail, e->record, header.size);
			err = take_record(e, e->record, header.size, count);
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct process_event *x = a, *y = b;

	return compare_numbers(x->time_ns, y->time_ns);
}

int process_events_read(struct process_events *e)
{
	int err = 0;

	if (e->next > 0) {
		memmove(e->queue, e->queue + e->next, (e->count - e->next) * sizeof(*e->queue));
		e->count -= e->next;
		e->next = 0;
	}
	for (int i = 0; i < e->ring_count && !err; i++)
		err = read_ring(e, &e->rings[i]);
	/* a process that moves between CPUs leaves records in several rings */
	if (e->count > 0)
		qsort(e->queue, e->count, sizeof(*e->queue), by_time);
	return err;
}

const struct process_event *process_events_next(struct process_events *e, uint64_t until_ns)
{
	struct process_event *event;

	free(e->returned_path);
	free(e->returned_snapshot);
	e->returned_path = NULL;
	e->returned_snapshot = NULL;
	if (e->next == e->count || e->queue[e->next].time_ns > until_ns)
		return NULL;
	event = &e->queue[e->next];
	if (event->repeats > 0) {
		event->repeats--;
		return event;
	}
	e->next++;
	e->returned_path = (char *)event->mapping.path;
	e->returned_snapshot = event->snapshot;
	return event;
}

uint64_t process_events_lost(const struct process_events *e)
{
	return sample_ticks_samples(e->lost, e->sample_ns, e->tick_ns);
}
