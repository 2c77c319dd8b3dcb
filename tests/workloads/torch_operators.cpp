/* SPDX-License-Identifier: MIT */
/*
 * libtorch_operators.so: run_operators("CASE...") launches kernels of 1000 ns in operators of
 * PyTorch (torch/, a stand-in). Cases: forward | backward | engine | optimizer | scope |
 * elsewhere | thrown | graph | deep | frame | coroutine | small | child. torch_host loads it.
 */
#include "gpu.h"
#include "torch/record_function.h"

#include <limits.h>
#include <memory>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

using at::RecordFunction;
using at::RecordScope;

GPU_KERNEL(gemm)
GPU_KERNEL(gemm_backward)
GPU_KERNEL(unknown_backward)
GPU_KERNEL(scaled)
GPU_KERNEL(layered)
GPU_KERNEL(moved)
GPU_KERNEL(plain)
GPU_KERNEL(captured)
GPU_KERNEL(buried)
GPU_KERNEL(framed)
GPU_KERNEL(outside)
GPU_KERNEL(updated)
GPU_KERNEL(in_coroutine)

static cudaStream_t stream;
static uint64_t forward_thread;

NOINLINE static void addmm()
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::addmm", 11);

	GPU_CHECK(GPU_LAUNCH(stream, 1000, gemm));
}

NOINLINE static void linear()
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::linear", 10);

	addmm();
}

NOINLINE static void run_forward()
{
	forward_thread = RecordFunction::currentThreadId();
	linear();
	GPU_CHECK(GPU_LAUNCH(stream, 1000, plain));
}

NOINLINE static void mm(int64_t sequence)
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::mm");

	if (sequence == 11)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, gemm_backward));
	else
		GPU_CHECK(GPU_LAUNCH(stream, 1000, unknown_backward));
}

NOINLINE static void call_node(int64_t sequence)
{
	RecordFunction node(RecordScope::BACKWARD_FUNCTION, "AddmmBackward0", sequence,
			    forward_thread);

	mm(sequence);
}

NOINLINE static void run_engine()
{
	pthread_setname_np(pthread_self(), "pt_autograd_0");
	call_node(11);
	call_node(999);
}

NOINLINE static void run_backward()
{
	run_forward();
	std::thread(run_engine).join();
}

/* The backward pass alone, of what `forward` ran before. */
NOINLINE static void run_backward_only()
{
	std::thread(run_engine).join();
}

NOINLINE static void run_optimizer()
{
	auto scope = std::make_unique<RecordFunction>(RecordScope::USER_SCOPE,
						      "Optimizer.step#AdamW.step");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, updated));
}

NOINLINE static void mul()
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::mul");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, scaled));
}

NOINLINE static void run_scope()
{
	auto scope = std::make_unique<RecordFunction>(RecordScope::USER_SCOPE, "layer 1");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, layered));
	mul();
	scope.reset();
	GPU_CHECK(GPU_LAUNCH(stream, 1000, layered));
}

/* Ends a scope on another thread. */
NOINLINE static void run_elsewhere()
{
	auto scope = std::make_unique<RecordFunction>(RecordScope::USER_SCOPE, "future");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, moved));
	std::thread([&] { scope.reset(); }).join();
	GPU_CHECK(GPU_LAUNCH(stream, 1000, moved));
}

static jmp_buf before;

NOINLINE static void leave_at_once()
{
	char room[4096]; /* so that this operator is deeper than the next one */
	RecordFunction operation(RecordScope::FUNCTION, "aten::left");

	asm volatile("" : : "r"(room) : "memory");
	longjmp(before, 1);
}

/* Leaves an operator without its end: the next one closes it. */
NOINLINE static void run_thrown()
{
	if (setjmp(before) == 0)
		leave_at_once();
	mul();
}

NOINLINE static void capture()
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::relu");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, captured));
}

NOINLINE static void run_graph()
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture();
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

/* Operators in operators, more than are kept. */
NOINLINE static void run_deep(int depth)
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::nested");

	if (depth > 0)
		run_deep(depth - 1);
	else
		GPU_CHECK(GPU_LAUNCH(stream, 1000, buried));
}

/* Two operators whose objects are in one function, the later one further out. */
NOINLINE static void run_frame()
{
	RecordFunction both[2] = {{RecordScope::FUNCTION, "aten::first"},
				  {RecordScope::FUNCTION, "aten::second"}};

	asm volatile("" : : "r"(both) : "memory");
	GPU_CHECK(GPU_LAUNCH(stream, 1000, framed));
}

static ucontext_t outer, inner;

NOINLINE static void in_coroutine_function()
{
	RecordFunction operation(RecordScope::FUNCTION, "aten::suspended");

	swapcontext(&inner, &outer);
	GPU_CHECK(GPU_LAUNCH(stream, 1000, in_coroutine));
}

/* An operator of a coroutine, which waits while another stack launches. */
NOINLINE static void run_coroutine()
{
	static char stack[1 << 18];

	getcontext(&inner);
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = sizeof(stack);
	inner.uc_link = &outer;
	makecontext(&inner, in_coroutine_function, 0);
	swapcontext(&outer, &inner);
	GPU_CHECK(GPU_LAUNCH(stream, 1000, outside));
	swapcontext(&outer, &inner);
}

static void *use_scope(void *)
{
	delete new RecordFunction(RecordScope::USER_SCOPE, "small");
	return nullptr;
}

/* A scope on the smallest stack that a thread may have. */
NOINLINE static void run_small()
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN));
	pthread_create(&thread, &attributes, use_scope, nullptr);
	pthread_join(thread, nullptr);
}

/* A child of fork goes on with operators. */
NOINLINE static void run_child()
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		RecordFunction operation(RecordScope::FUNCTION, "aten::in_child");

		use_scope(nullptr);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
}

extern "C" bool operators_are_followed()
{
	return at::hasGlobalCallbacks();
}

extern "C" void run_operators(const char *cases)
{
	GPU_CHECK(cudaStreamCreate(&stream));
	if (strstr(cases, "forward"))
		run_forward();
	if (strstr(cases, "backward"))
		run_backward();
	if (strstr(cases, "engine"))
		run_backward_only();
	if (strstr(cases, "optimizer"))
		run_optimizer();
	if (strstr(cases, "scope"))
		run_scope();
	if (strstr(cases, "elsewhere"))
		run_elsewhere();
	if (strstr(cases, "thrown"))
		run_thrown();
	if (strstr(cases, "graph"))
		run_graph();
	if (strstr(cases, "deep"))
		run_deep(99);
	if (strstr(cases, "frame"))
		run_frame();
	if (strstr(cases, "coroutine"))
		run_coroutine();
	if (strstr(cases, "small"))
		run_small();
	if (strstr(cases, "child"))
		run_child();
	GPU_CHECK(cudaStreamSynchronize(stream));
}
