/* SPDX-License-Identifier: MIT */
/*
 * handover [DEPTH=30] [ROUNDS=100000]: what it costs a launch to stand below the Python thread that
 * waits for it, in ns, medians: of a thread that works for nobody; one behind the other; each after
 * a pause; each after the waiting thread has run. Embeds the interpreter it is linked with.
 */
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "cupti_trace/launch/async_parent.h"
#include "cupti_trace/launch/launch_stack.h"

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};
static long rounds = 100000;
static pthread_barrier_t turn;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pause_longer_than_believed(void)
{
	double until = now_ns() + 1.5 * ASYNC_PARENT_STILL_NS;

	while (now_ns() < until)
		;
}

static double capture(void)
{
	double start = now_ns();

	launch_stack_capture(launch_stack_thread(), &sink, "bench", __builtin_frame_address(0), 1);
	return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, long count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

static __attribute__((noinline)) void *work(void *name)
{
	double *took = malloc((size_t)rounds * sizeof(*took)), close, apart;
	long few = rounds / 100;

	pthread_setname_np(pthread_self(), name);
	capture();
	for (long i = 0; i < rounds; i++)
		took[i] = capture();
	close = median(took, rounds);
	for (long i = 0; i < rounds / 10; i++) {
		pause_longer_than_believed();
		took[i] = capture();
	}
	apart = median(took, rounds / 10);
	for (long i = 0; i < few; i++) {
		pthread_barrier_wait(&turn); /* the other one runs */
		pause_longer_than_believed();
		pause_longer_than_believed();
		took[i] = capture();
	}
	printf("%-14s close %.0f ns, after a pause %.0f ns, after the other has run %.0f ns\n",
	       (const char *)name, close, apart, median(took, few));
	free(took);
	return NULL;
}

static PyObject *run(PyObject *self, PyObject *name)
{
	pthread_t thread;

	(void)self;
	Py_BEGIN_ALLOW_THREADS;
	pthread_create(&thread, NULL, work, (void *)(uintptr_t)PyUnicode_AsUTF8(name));
	for (long i = 0; i < rounds / 100; i++)
		pthread_barrier_wait(&turn);
	pthread_join(thread, NULL);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

static PyObject *launch(PyObject *self, PyObject *none)
{
	(void)self;
	(void)none;
	launch_stack_capture(launch_stack_thread(), &sink, "bench", __builtin_frame_address(0), 1);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"run", run, METH_O, NULL}, {"launch", launch, METH_NOARGS, NULL}};

int main(int argc, char **argv)
{
	static const char text[] =
		"exec(compile('def _engine_run_backward(name):\\n    run(name)\\n',"
		" '/x/torch/autograd/graph.py', 'exec'))\n"
		"def descend(depth, name):\n"
		"    return _engine_run_backward(name) if depth <= 2 else descend(depth - 1, "
		"name)\n"
		"launch()\n"
		"descend(%ld, 'other')\n"
		"descend(%ld, 'pt_autograd_0')\n";
	long depth = argc > 1 ? strtol(argv[1], NULL, 10) : 30;
	char script[1024];
	PyObject *module;

	if (argc > 2)
		rounds = strtol(argv[2], NULL, 10);
	pthread_barrier_init(&turn, NULL, 2);
	Py_Initialize();
	module = PyImport_AddModule("__main__");
	for (int i = 0; i < 2; i++)
		PyObject_SetAttrString(module, methods[i].ml_name,
				       PyCFunction_New(&methods[i], NULL));
	launch_stack_check_code(&sink);
	snprintf(script, sizeof(script), text, depth, depth);
	return PyRun_SimpleString(script) ? 1 : 0;
}
