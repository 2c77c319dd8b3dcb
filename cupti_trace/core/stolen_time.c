// SPDX-License-Identifier: MIT
#include "cupti_trace/core/stolen_time.h"

#include <cpuid.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"

static _Atomic uint64_t next_ns;  /* time of the next read */
static _Atomic uint64_t until_ns; /* until then, stolen time counts as seen */
static _Atomic uint64_t last;     /* last value read */

/*
 * Returns whether a hypervisor is present. Intel SDM, CPUID leaf 1: ECX bit 31 is 0 in real
 * processors, and hypervisors set it.
 */
static bool is_virtual(void)
{
	unsigned a, b, c, d;

	return !__get_cpuid(1, &a, &b, &c, &d) || c >> 31;
}

struct start {
	char text[256];
};

static void read_start(void *data)
{
	/* O_NONBLOCK: a root folder of the program's own may have anything there */
	int fd = guest_open("/proc/stat", O_RDONLY | O_NONBLOCK);
	struct start *start = data;
	ssize_t size;

	if (fd < 0)
		return;
	size = read(fd, start->text, sizeof(start->text) - 1);
	close(fd);
	start->text[size > 0 ? size : 0] = '\0';
}

/* Returns the stolen time in units of USER_HZ; UINT64_MAX: unknown. */
static uint64_t read_stolen(void)
{
	struct start start = {""};
	unsigned long long stolen;

	guest_run_with_files(read_start, &start);
	if (sscanf(start.text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1)
		return UINT64_MAX;
	return stolen;
}

static void look(uint64_t now_ns)
{
	uint64_t stolen = is_virtual() ? read_stolen() : 0;

	if (stolen == UINT64_MAX || stolen != atomic_exchange(&last, stolen))
		atomic_store(&until_ns, now_ns + STOLEN_TIME_LASTS_NS);
}

bool stolen_time_seen(uint64_t now_ns)
{
	uint64_t due = atomic_load_explicit(&next_ns, memory_order_relaxed);
	struct guest guest;

	if (now_ns >= due &&
	    atomic_compare_exchange_strong(&next_ns, &due, now_ns + STOLEN_TIME_EVERY_NS)) {
		guest_enter(&guest);
		look(now_ns);
		guest_leave(&guest);
	}
	return now_ns < atomic_load_explicit(&until_ns, memory_order_relaxed);
}
