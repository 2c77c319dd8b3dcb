/* SPDX-License-Identifier: MIT */
/*
 * A tracer of USDT probes that needs no privilege: preloaded (LD_PRELOAD) into a program that has
 * CUDA_INJECTION64_PATH, it does what the kernel does for bpftrace. It loads that library, reads
 *the notes of its probes from the file, counts itself in their semaphores and puts a breakpoint on
 *each.
 *
 * Each time one is hit it writes a line to the file PROBE_TRACER (appends; one write each):
 *
 *	NAME THREAD ARGUMENT...
 *
 * Strings are shown as such, in the places that docs/probes.md gives, cut after 60 bytes, spaces as
 * "_". With PROBE_TRACER_STACKS the functions of the stack that the frame pointer leads to follow
 * behind " < ". PROBE_TRACER_ONLY: a comma-separated list of probes. PROBE_TRACER_LATE: after so
 * many ms instead of at once. PROBE_TRACER_AGAIN: leaves after so many ms, comes again after as
 * many more, and writes a line "again".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#define PROBES_MOST 32
#define NOP_BYTES 5

static struct probe {
	const char *name;
	uintptr_t at;
	volatile uint16_t *semaphore;
	int arguments;
} probes[PROBES_MOST];
static int probe_count, output = -1, with_stacks;

static int is_string(const char *probe, int argument)
{
	if (strcmp(probe, "notice") == 0)
		return argument == 0;
	if (strcmp(probe, "kernel_done") == 0 || strcmp(probe, "memcpy_done") == 0)
		return argument == 1;
	if (strcmp(probe, "memset_done") == 0)
		return 0;
	return argument == 1 || (strcmp(probe, "launch") == 0 && argument == 2);
}

static size_t add_stack(char *line, size_t size, size_t used, const uint64_t *frame)
{
	for (int i = 0; frame && i < 40 && used < size - 100;
	     i++, frame = (const uint64_t *)frame[0]) {
		Dl_info info;
		const char *name = "?";

		if (dladdr((void *)(uintptr_t)(frame[1] - 1), &info) && info.dli_sname)
			name = info.dli_sname;
		used += (size_t)snprintf(line + used, size - used, " %s %.60s", i ? "" : "<", name);
	}
	return used;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)registers[REG_RIP] - 1;
	const uint64_t *values = (const uint64_t *)registers[REG_RDI];
	char line[4096];
	size_t used;
	int i = 0;

	(void)info;
	while (i < probe_count && probes[i].at != at)
		i++;
	if (i == probe_count) {
		signal(number, SIG_DFL);
		return;
	}
	registers[REG_RIP] = (greg_t)(at + NOP_BYTES);
	used = (size_t)snprintf(line, sizeof(line), "%s %ld", probes[i].name, syscall(SYS_gettid));
	for (int a = 0; a < probes[i].arguments; a++) {
		if (is_string(probes[i].name, a)) {
			const char *text = (const char *)(uintptr_t)values[a];

			used += (size_t)snprintf(line + used, sizeof(line) - used, " %.60s",
						 *text ? text : "-");
		} else {
			used += (size_t)snprintf(line + used, sizeof(line) - used, " %lu",
						 values[a]);
		}
	}
	if (with_stacks)
		used = add_stack(line, sizeof(line), used, (const uint64_t *)registers[REG_RBP]);
	line[used++] = '\n';
	if (write(output, line, used) != (ssize_t)used)
		_exit(99);
}

/* The library's own thread holds all signals back, and must not this one. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t mine;

	if (set) {
		mine = *set;
		if (how != SIG_UNBLOCK)
			sigdelset(&mine, SIGTRAP);
		set = &mine;
	}
	return syscall(SYS_rt_sigprocmask, how, set, old, 8) == 0 ? 0 : errno;
}

static int is_asked_for(const char *name)
{
	const char *only = getenv("PROBE_TRACER_ONLY");
	size_t length = strlen(name);

	for (; only && *only; only += strcspn(only, ","), only += *only == ',')
		if (strncmp(only, name, length) == 0 && (only[length] == ',' || !only[length]))
			return 1;
	return !only;
}

static void trace(const char *note, uintptr_t base)
{
	uint64_t place[3];
	const char *name;
	char *page;

	memcpy(place, note, sizeof(place));
	name = note + sizeof(place);
	name += strlen(name) + 1; /* the provider */
	if (probe_count == PROBES_MOST || !is_asked_for(name))
		return;
	probes[probe_count].name = name;
	probes[probe_count].at = base + place[0];
	for (const char *text = name + strlen(name) + 1; (text = strchr(text, '@')); text++)
		probes[probe_count].arguments++;
	page = (char *)((base + place[0]) & ~(uintptr_t)4095);
	/* a no-op of five bytes, in one cache line */
	if (memcmp((void *)(base + place[0]), "\x0f\x1f\x44\0\0", NOP_BYTES) != 0 ||
	    (base + place[0]) / 64 != (base + place[0] + NOP_BYTES - 1) / 64)
		_exit(98);
	mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	*(volatile char *)(base + place[0]) = (char)0xcc;
	probes[probe_count].semaphore = (volatile uint16_t *)(base + place[2]);
	++*probes[probe_count++].semaphore;
}

static void read_notes(const char *file, uintptr_t base)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
	const char *names = file + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++) {
		const char *at = file + sections[i].sh_offset, *end = at + sections[i].sh_size;

		if (strcmp(names + sections[i].sh_name, ".note.stapsdt") != 0)
			continue;
		while (at < end) {
			const Elf64_Nhdr *note = (const void *)at;
			const char *owner = at + sizeof(*note);
			const char *text = owner + (note->n_namesz + 3) / 4 * 4;

			if (note->n_type == 3 && strcmp(owner, "stapsdt") == 0)
				trace(text, base);
			at = text + (note->n_descsz + 3) / 4 * 4;
		}
	}
}

static void attach(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct link_map *map;
	struct stat st;
	void *library, *file;
	int fd;

	library = dlopen(path, RTLD_NOW);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!library || fd < 0 || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
	    fstat(fd, &st) != 0)
		_exit(97);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	sigaction(SIGTRAP, &action, NULL);
	read_notes(file, map->l_addr);
}

static void *attach_late(void *ms)
{
	usleep((useconds_t)(uintptr_t)ms * 1000);
	attach();
	return NULL;
}

/* The breakpoints stay: where nobody counts himself, nothing comes to them. */
static void *attach_again(void *ms)
{
	usleep((useconds_t)(uintptr_t)ms * 1000);
	for (int i = 0; i < probe_count; i++)
		--*probes[i].semaphore;
	usleep((useconds_t)(uintptr_t)ms * 1000);
	if (write(output, "again\n", 6) != 6)
		_exit(96);
	for (int i = 0; i < probe_count; i++)
		++*probes[i].semaphore;
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("PROBE_TRACER"), *late = getenv("PROBE_TRACER_LATE");
	const char *again = getenv("PROBE_TRACER_AGAIN");
	pthread_t thread;

	if (!path || !getenv("CUDA_INJECTION64_PATH"))
		return;
	with_stacks = getenv("PROBE_TRACER_STACKS") != NULL;
	output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!late)
		attach();
	else
		pthread_create(&thread, NULL, attach_late, (void *)(uintptr_t)atol(late));
	if (again)
		pthread_create(&thread, NULL, attach_again, (void *)(uintptr_t)atol(again));
}
