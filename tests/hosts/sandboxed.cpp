/* SPDX-License-Identifier: MIT */
/*
 * sandboxed [HOW [closed | first]]: once CUDA has started and a thread has launched it forbids
 * itself, by seccomp(2), to open files and to make threads or processes: that fails with EPERM, or
 * kills it if HOW is "kill". Or it changes its root to an empty folder, if HOW is that folder.
 * "closed": before, it lets all be sent and closes all descriptors (not on a GPU: the driver does
 * not survive that). "first": nothing is launched before. Then it launches from stacks that are
 * new, in code that was mapped only now.
 */
#include "host.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

GPU_KERNEL(before)
GPU_KERNEL(inside)

static long launches;

NOINLINE static void launch_before()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, before));
	launches++;
}

NOINLINE static void launch_inside(int depth)
{
	if (depth > 0) {
		launch_inside(depth - 1);
	} else {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, inside));
		launches++;
	}
	asm volatile("");
}

static void *launch_in_thread(void *)
{
	for (int i = 0; i < 99; i++)
		launch_before();
	launch_inside(0); /* CUDA may load it now */
	return nullptr;
}

static void launch_inside_without_depth()
{
	launch_inside(0);
}

static void enter_sandbox(bool kills)
{
	static const int forbidden[] = {SYS_open,  SYS_openat, SYS_openat2, SYS_creat,
					SYS_clone, SYS_clone3, SYS_fork,    SYS_vfork};
	enum { COUNT = sizeof(forbidden) / sizeof(forbidden[0]) };
	struct sock_filter filter[COUNT + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	for (int i = 0; i < COUNT; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							     (unsigned int)forbidden[i],
							     (unsigned char)(COUNT - i), 0);
	filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[COUNT + 2] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
	HOST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	/* for all threads, those of others too */
	HOST_CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			   &program) == 0);
	errno = 0;
	HOST_CHECK(kills || (open("/dev/null", O_RDONLY) == -1 && errno == EPERM));
}

/* void (void (*function)(void)): with a frame pointer */
static const unsigned char code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd7,       /* call *%rdi */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};

static void launch_in_new_code()
{
	void *page =
		mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	HOST_CHECK(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	HOST_CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
	((void (*)(void (*)()))page)(launch_inside_without_depth);
}

int main(int argc, char **argv)
{
	bool kills = argc > 1 && strcmp(argv[1], "kill") == 0;
	bool closes = argc > 2 && strcmp(argv[2], "closed") == 0;
	bool is_first = argc > 2 && strcmp(argv[2], "first") == 0;
	pthread_t thread;

	GPU_CHECK(cudaDeviceSynchronize());

	/* in another thread: the main one has not launched yet when the sandbox begins */
	if (!is_first) {
		HOST_CHECK(pthread_create(&thread, nullptr, launch_in_thread, nullptr) == 0);
		pthread_join(thread, nullptr);
		GPU_CHECK(cudaDeviceSynchronize());
	}
	if (closes) {
		await_flush();
		HOST_CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
	}
	if (argc > 1 && !kills)
		HOST_CHECK(chroot(argv[1]) == 0 && chdir("/") == 0);
	else
		enter_sandbox(kills);
	for (int i = 0; i < 100; i++)
		launch_inside(i);
	for (int i = 0; i < 100; i++)
		launch_in_new_code();
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
