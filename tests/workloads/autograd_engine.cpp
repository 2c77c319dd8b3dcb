// SPDX-License-Identifier: MIT
/*
 * libautograd_engine.so: hands work to threads of its own, as PyTorch's autograd does. Called by
 * ctypes, which gives up the GIL.
 *
 *	start_engine("scale=1000\n...")          kernels, and how long each takes in ns
 *	run_backward("k:scale@0 burn:30@0 call:recompute@1", function)
 *
 * The second does the tasks in this order, each on the thread pt_autograd_N of its device N, and
 *returns when all are done: launches the kernel of that name, computes for so many milliseconds,
 *calls the function with the name. Where one of these threads calls it itself, it does its tasks
 *meanwhile.
 */
#define DRIVER_FUNCTIONS(X) X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel)
#include "driver.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <sstream>
#include <string>
#include <thread>
#include "burn.h"

extern "C" {
int start_engine(const char *kernels);
int run_backward(const char *tasks, void (*function)(const char *name));
}

namespace torch
{
namespace autograd
{

constexpr int DEVICES = 8;

struct GraphTask {
	std::deque<std::pair<std::string, int>> left; /* what to do, on which device */
	void (*function)(const char *name);
	bool is_done = false;
	std::condition_variable done; /* the thread that waits for it */
};

/* never destroyed: threads wait for work beyond the program's end */
static std::mutex &lock = *new std::mutex;
static std::condition_variable *changed = new std::condition_variable[DEVICES];
static std::deque<GraphTask *> ready[DEVICES];
static bool has_thread[DEVICES];
static thread_local int own_device = -1;
static CUcontext context;
static CUmodule module_of_kernels;

/* Where there are fewer devices, all work is on the first. */
static void use_device(int device)
{
	CUcontext own = context;

	if (cu.cuDevicePrimaryCtxRetain(&own, device) != 0)
		own = context;
	DRIVER_CHECK(cu.cuCtxSetCurrent(own));
}

struct Engine {
	static void execute(GraphTask *graph);

      private:
	static void thread_init(int device);
	static void thread_main(GraphTask *own);
	static void evaluate_function(const GraphTask *graph, const std::string &what);
	static void push(GraphTask *graph);
};

__attribute__((noinline)) void Engine::evaluate_function(const GraphTask *graph,
							 const std::string &what)
{
	std::string name = what.substr(what.find(':') + 1);
	CUfunction function;

	switch (what[0]) {
	case 'k':
		DRIVER_CHECK(cu.cuModuleGetFunction(&function, module_of_kernels, name.c_str()));
		DRIVER_CHECK(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
					       nullptr));
		break;
	case 'b':
		burn(std::stoull(name) * 1000000);
		break;
	case 'c':
		graph->function(name.c_str());
		break;
	}
}

/* For whom it is next; the lock is held. */
void Engine::push(GraphTask *graph)
{
	int device = graph->left.front().second;

	if (!has_thread[device]) {
		has_thread[device] = true;
		std::thread(thread_init, device).detach();
	}
	ready[device].push_back(graph);
	changed[device].notify_all();
}

/* Until `own` is done; forever without one. */
__attribute__((noinline)) void Engine::thread_main(GraphTask *own)
{
	std::unique_lock<std::mutex> held(lock);

	while (!own || !own->is_done) {
		GraphTask *graph;
		std::string what;

		if (ready[own_device].empty()) {
			changed[own_device].wait(held);
			continue;
		}
		graph = ready[own_device].front();
		ready[own_device].pop_front();
		what = graph->left.front().first;
		held.unlock();
		evaluate_function(graph, what);
		held.lock();
		graph->left.pop_front();
		if (!graph->left.empty()) {
			push(graph);
		} else {
			graph->is_done = true;
			graph->done.notify_all();
			for (int device = 0; device < DEVICES; device++)
				changed[device].notify_all(); /* another worker may wait for it */
		}
	}
}

void Engine::thread_init(int device)
{
	std::string name = "pt_autograd_" + std::to_string(device);

	pthread_setname_np(pthread_self(), name.c_str());
	own_device = device;
	use_device(device);
	thread_main(nullptr);
}

__attribute__((noinline)) void Engine::execute(GraphTask *graph)
{
	std::unique_lock<std::mutex> held(lock);

	push(graph);
	if (own_device >= 0) {
		held.unlock();
		thread_main(graph);
		return;
	}
	while (!graph->is_done)
		graph->done.wait(held);
}

} // namespace autograd
} // namespace torch

using namespace torch::autograd;

int start_engine(const char *kernels)
{
	std::string image = std::string("FAKE_CUDA_MODULE\n") + kernels;

	context = start_driver();
	DRIVER_CHECK(cu.cuModuleLoadData(&module_of_kernels, image.c_str()));
	return 0;
}

int run_backward(const char *tasks, void (*function)(const char *name))
{
	std::istringstream words(tasks);
	std::string word;
	auto *graph = new GraphTask; /* outlives this thread, should it be cancelled here */

	graph->function = function;
	while (words >> word) {
		size_t at = word.find('@');

		graph->left.emplace_back(word.substr(0, at),
					 std::stoi(word.substr(at + 1)) % DEVICES);
	}
	if (!graph->left.empty())
		Engine::execute(graph);
	delete graph;
	return 0;
}
