/* SPDX-License-Identifier: MIT */
/*
 * moves_text HOW MS [child]: moves its text to memory that is not its file's, as programs do that
 * want it in huge pages; prints "moved", and then uses MS of CPU time in it and launches from it,
 * or has a child of fork do so. HOW:
 *
 *   fixed	new memory is mapped over the text, which is copied into it
 *   mremap	a copy is moved over the text
 *   named	the same, where that memory has a name
 *   memfd, shared	a file without a name, or shared memory, is mapped over the text
 *   pieces	one page at a time, by turns as with mremap and memfd
 *   segment, segment_memfd	not only a part of the text, but all of the segment
 *   jit	other code is generated in the place of a part of the text
 */
#include "host.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* The part that is moved: whole pages, with code around them that stays. */
#define HOT __attribute__((section("hot_text"), noinline, noclone))
#define UNUSED_CODE ".rept 3 * 4096 / 8\nlea 0x12345678(%rax, %rcx), %rdx\n.endr\n"
asm(".section hot_text, \"ax\", @progbits\n"
    ".balign 4096\n"
    "unused_code:\n" UNUSED_CODE ".previous\n"
    ".section hot_text_end, \"ax\", @progbits\n"
    ".balign 4096\n"
    "code_that_stays:\n" UNUSED_CODE ".previous\n");

extern "C" char __start_hot_text[], __start_hot_text_end[];

enum { PAGE = 4096, SLICE_MS = 10 };

GPU_KERNEL(from_moved)
GPU_KERNEL(from_generated)

static long launches;

static uint64_t used_ns()
{
	struct timespec used = {};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

HOT static void burn_moved(uint64_t until_ns)
{
	volatile uint64_t sum = 0;

	while (used_ns() < until_ns)
		for (int i = 0; i < 100000; i++)
			sum = sum + (uint64_t)i;
}

HOT static void launch_moved()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_moved));
	launches++;
	asm volatile("");
}

HOT static void work_moved(long ms)
{
	for (long done = 0; done < ms; done += SLICE_MS) {
		burn_moved(used_ns() + SLICE_MS * 1000000u);
		launch_moved();
	}
	asm volatile("");
}

struct part {
	char *start;
	size_t size;
};

static int take_segment(struct dl_phdr_info *info, size_t, void *data)
{
	part *found = (part *)data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_filesz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		start &= ~(uint64_t)(PAGE - 1);
		end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		*found = {(char *)start, (size_t)(end - start)};
	}
	return 1; /* of the program, which is the first */
}

static part find_part(const std::string &how)
{
	part found = {__start_hot_text, (size_t)(__start_hot_text_end - __start_hot_text)};

	if (how.compare(0, 7, "segment") == 0)
		dl_iterate_phdr(take_segment, &found);
	return found;
}

static void *map(void *at, size_t size, int protection, int flags, int fd)
{
	void *memory = mmap(at, size, protection, flags, fd, 0);

	HOST_CHECK(memory != MAP_FAILED);
	return memory;
}

static void move_fixed(part text)
{
	void *copy =
		map(nullptr, text.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memcpy(copy, text.start, text.size);
	map(text.start, text.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	    -1);
	memcpy(text.start, copy, text.size);
	HOST_CHECK(mprotect(text.start, text.size, PROT_READ | PROT_EXEC) == 0);
	munmap(copy, text.size);
}

static void move_copy(part text, int flags, const char *name)
{
	void *copy = map(nullptr, text.size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1);

	memcpy(copy, text.start, text.size);
	if (name) /* kernels before 5.17, or without the option, have no names */
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, copy, text.size, name);
	HOST_CHECK(mprotect(copy, text.size, PROT_READ | PROT_EXEC) == 0);
	HOST_CHECK(mremap(copy, text.size, text.size, MREMAP_MAYMOVE | MREMAP_FIXED, text.start) ==
		   text.start);
}

static void move_memfd(part text)
{
	int fd = memfd_create("", MFD_CLOEXEC);

	HOST_CHECK(fd >= 0 && write(fd, text.start, text.size) == (ssize_t)text.size);
	map(text.start, text.size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd);
	close(fd);
}

static void move_pieces(part text)
{
	for (size_t at = 0; at < text.size; at += PAGE) {
		part piece = {text.start + at, PAGE};

		if (at / PAGE % 2)
			move_memfd(piece);
		else
			move_copy(piece, MAP_PRIVATE, nullptr);
	}
}

static void move_text(const std::string &how)
{
	part text = find_part(how);

	if (how == "fixed")
		move_fixed(text);
	else if (how == "mremap" || how == "segment")
		move_copy(text, MAP_PRIVATE, nullptr);
	else if (how == "named")
		move_copy(text, MAP_PRIVATE, "hot text");
	else if (how == "shared")
		move_copy(text, MAP_SHARED, nullptr);
	else if (how == "memfd" || how == "segment_memfd")
		move_memfd(text);
	else if (how == "pieces")
		move_pieces(text);
	else
		HOST_CHECK(!"a way to move");
}

/* Other code in the place of unused_code. */
enum { CALLS_AT = 64 };

static void generate()
{
	static const unsigned char counts_down[] = {
		0x55, 0x48, 0x89, 0xe5,             /* push %rbp; mov %rsp, %rbp */
		0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, /* dec %rdi; jnz; pop %rbp */
		0xc3,
	};
	static const unsigned char calls[] = {
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3, /* call *%rdi */
	};

	map(__start_hot_text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	memcpy(__start_hot_text, counts_down, sizeof(counts_down));
	memcpy(__start_hot_text + CALLS_AT, calls, sizeof(calls));
}

NOINLINE static void launch_by_generated()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, from_generated));
	launches++;
	asm volatile("");
}

static void run_generated(long ms)
{
	char *code = __start_hot_text;
	void (*count_down)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	void (*call)(void (*)()) = (void (*)(void (*)()))(uintptr_t)(code + CALLS_AT);

	call(launch_by_generated);
	for (uint64_t until_ns = used_ns() + (uint64_t)ms * 1000000u; used_ns() < until_ns;)
		count_down(1000000);
	call(launch_by_generated);
	GPU_CHECK(cudaDeviceSynchronize());
}

/* A library can be loaded where a thread sleeps. */
static void *sleep_on(void *)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	std::string how = argc > 1 ? argv[1] : "";
	long ms = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 3)
		return 1;
	HOST_CHECK(pthread_create(&thread, nullptr, sleep_on, nullptr) == 0);
	if (how == "jit")
		generate();
	else
		move_text(how);
	puts("moved");
	fflush(stdout);
	if (argc > 3) {
		pid_t child = fork();
		int status = 1;

		if (child == 0) {
			burn_moved(used_ns() + (uint64_t)ms * 1000000u);
			_exit(0);
		}
		HOST_CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	} else if (how == "jit") {
		run_generated(ms);
	} else {
		work_moved(ms);
		GPU_CHECK(cudaDeviceSynchronize());
	}
	printf("launches %ld\n", launches);
	return 0;
}
