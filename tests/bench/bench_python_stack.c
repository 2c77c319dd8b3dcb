/* SPDX-License-Identifier: MIT */
/*
 * python_stack [DEPTH=30] [ROUNDS=300000]: the cost of a launch stack below DEPTH Python functions,
 * in ns: native frames alone, and with Python frames. Embeds the interpreter it is linked with and
 * captures as the injection library does, without CUDA and without a profiler.
 */
#include <Python.h>
#include <stdio.h>
#include <time.h>
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/python/python_stack.h"
#include "cupti_trace/unwind/unwind_thread.h"

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};
static long rounds = 300000;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void native_only(struct unwind_stack *stack)
{
	unwind_own_stack(stack, NULL, UNWIND_MAX_FRAMES);
}

static PyObject *measure(PyObject *self, PyObject *none)
{
	struct python_stack python;
	struct unwind_stack stack;
	double start, native, read, all;

	(void)self;
	(void)none;
	launch_stack_capture(launch_stack_thread(), &sink, "bench", __builtin_frame_address(0), 1);
	start = now_ns();
	for (long i = 0; i < rounds; i++)
		native_only(&stack);
	native = (now_ns() - start) / (double)rounds;
	start = now_ns();
	for (long i = 0; i < rounds; i++)
		python_stack_read(&sink, &python);
	read = (now_ns() - start) / (double)rounds;
	start = now_ns();
	for (long i = 0; i < rounds; i++)
		launch_stack_capture(launch_stack_thread(), &sink, "bench",
				     __builtin_frame_address(0), 1);
	all = (now_ns() - start) / (double)rounds;
	printf("Python %s: %u native frames %.0f ns, %u Python frames %.0f ns, capture %.0f ns\n",
	       PY_VERSION, stack.count, native, python.count, read, all);
	Py_RETURN_NONE;
}

static PyMethodDef method = {"measure", measure, METH_NOARGS, NULL};

int main(int argc, char **argv)
{
	static const char text[] = "def descend(depth):\n"
				   "    return measure() if depth <= 2 else descend(depth - 1)\n"
				   "descend(%ld)\n";
	long depth = argc > 1 ? strtol(argv[1], NULL, 10) : 30;
	char script[512];
	PyObject *module;

	if (argc > 2)
		rounds = strtol(argv[2], NULL, 10);
	Py_Initialize();
	module = PyImport_AddModule("__main__");
	PyObject_SetAttrString(module, "measure", PyCFunction_New(&method, NULL));
	launch_stack_check_code(&sink);
	snprintf(script, sizeof(script), text, depth);
	return PyRun_SimpleString(script) ? 1 : 0;
}
