/* SPDX-License-Identifier: MIT */
/*
 * Declares the kernel structures that the BPF programs read, with only the members used. CO-RE
 * (preserve_access_index) relocates each access to the running kernel's layout from its BTF. So the
 * build needs neither kernel headers nor a generated vmlinux.h. Names are the kernel's:
 * include/linux/sched.h, mm_types.h, uprobes.h, pid.h and pid_namespace.h;
 * kernel/events/uprobes.c; arch/x86/include/asm/ptrace.h.
 *
 * Pointers in these structures are read by BPF_CORE_READ, or from a structure that was cast
 * (bpf_rdonly_cast). Direct loads from a structure that newer kernels trust are slow to verify. The
 * verifier then searches up to four types by name among all of the kernel's, for some 10 ms
 * (btf_nested_type_is_trusted in kernel/bpf/btf.c).
 */
#ifndef BPF_KERNEL_TYPES_H
#define BPF_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int bool;

#define BPF_CORE_TYPE __attribute__((preserve_access_index))

struct upid {
	int nr;
} BPF_CORE_TYPE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} BPF_CORE_TYPE;

struct signal_struct {
	struct {
		int counter;
	} live;
	int nr_threads;
	int group_exit_code; /* 0: no thread has ended the whole group */
	unsigned long long sum_sched_runtime;
} BPF_CORE_TYPE;

/* The run queue of a CPU. */
struct rq {
	__u64 clock; /* time of its last update, such as a switch */
	struct task_struct *curr;
} BPF_CORE_TYPE;

struct cfs_rq {
	struct rq *rq;
} BPF_CORE_TYPE;

struct sched_entity {
	unsigned long long sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* its CPU's, whatever the thread's policy */
} BPF_CORE_TYPE;

/* Times by the clocks of the CPUs for which the thread waited. */
struct sched_info {
	unsigned long long run_delay;    /* total wait, until last_queued */
	unsigned long long last_queued;  /* start of the current wait; 0: none */
	unsigned long long last_arrival; /* time at which it last got a CPU, by that CPU's clock */
} BPF_CORE_TYPE;

struct thread_struct {
	unsigned long fsbase;
} BPF_CORE_TYPE;

struct xol_area {
	unsigned long vaddr;
} BPF_CORE_TYPE;

struct uprobes_state {
	struct xol_area *xol_area;
} BPF_CORE_TYPE;

/* A pending return of a function with a return probe; the most recent comes first. */
struct return_instance {
	unsigned long stack;          /* address of the return address */
	unsigned long orig_ret_vaddr; /* the replaced return address */
	struct return_instance *next;
} BPF_CORE_TYPE;

struct uprobe_task {
	struct return_instance *return_instances;
} BPF_CORE_TYPE;

/* Ids and capability sets are structures with one number. */
typedef struct {
	__u32 val;
} kernel_id_t;

typedef struct {
	__u64 val; /* two 32-bit numbers before Linux 6.3 */
} kernel_cap_t;

struct user_namespace {
	struct user_namespace *parent;
	kernel_id_t owner;
} BPF_CORE_TYPE;

struct cred {
	kernel_id_t uid, gid, suid, sgid, euid, egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
} BPF_CORE_TYPE;

typedef struct {
	__u64 bits;
} mm_flags_t;

struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
	struct user_namespace *user_ns; /* namespace whose capabilities apply */
	mm_flags_t flags;               /* since Linux 6.18 */
} BPF_CORE_TYPE;

struct mm_struct___with_number {
	unsigned long flags;
} BPF_CORE_TYPE;

/* Used for its first member, a number. */
struct timespec64 {
	__s64 tv_sec;
} BPF_CORE_TYPE;

struct thread_info {
	unsigned int status;
} BPF_CORE_TYPE;

struct seq_file;

/* Context of programs that iterate over all threads. */
struct bpf_iter_meta {
	struct seq_file *seq;
} BPF_CORE_TYPE;

struct task_struct;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} BPF_CORE_TYPE;

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev; /* device number: major << 20 | minor */
} BPF_CORE_TYPE;

struct file {
	struct inode *f_inode;
	const struct cred *f_cred; /* credentials of the thread that opened it; referenced */
} BPF_CORE_TYPE;

struct fdtable {
	unsigned int max_fds; /* a multiple of the bits in a word */
	struct file **fd;
	unsigned long *open_fds; /* one bit per descriptor */
} BPF_CORE_TYPE;

struct files_struct {
	struct fdtable *fdt;
} BPF_CORE_TYPE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	struct thread_struct thread;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *real_cred; /* for access by others */
	const struct cred *cred; /* for access to others; shared by threads, but not by children */
	struct signal_struct *signal;
	struct files_struct *files;
	struct uprobe_task *utask; /* NULL before its first uprobe */
	/* alternate signal stack (sigaltstack) as set by the program: untrusted */
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	unsigned int flags;
	unsigned long jobctl;
	void *bpf_storage;
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	int on_cpu;
	int exit_code;
	void *stack; /* kernel stack; unique until the task is released */
	char comm[16];
} BPF_CORE_TYPE;

/* User-visible register layout of x86-64: kernel ABI, not relocated. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

/* UAPI, linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

/* UAPI, linux/bpf.h: the parts in use */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#endif
