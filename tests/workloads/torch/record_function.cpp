// SPDX-License-Identifier: MIT
/*
 * The stand-in for libtorch_cpu.so. As strict as PyTorch: a callback takes effect at each thread's
 * next operator, its begin and end come in pairs with one context, and that context is deleted.
 *
 * FAKE_TORCH_THREADS=odd: thread numbers are not those in operators, as in another memory layout.
 */
#include "record_function.h"

#include <atomic>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !_GLIBCXX_USE_CXX11_ABI
namespace c10::detail
{

/* Its symbol tells that strings are those before C++11. */
void torchCheckFail(const char *, const char *, uint32_t, const std::string &)
{
	abort();
}

} // namespace c10::detail
#endif

namespace at
{

static std::mutex lock;
static RecordFunctionCallback added;
static std::atomic<bool> is_added;

uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
	std::lock_guard<std::mutex> guard(lock);

	if (is_added || callback.sampling_prob_ != 1.0 || callback.needs_inputs_ ||
	    callback.needs_outputs_ || callback.needs_ids_) {
		fprintf(stderr, "addGlobalCallback: a wrong callback\n");
		abort();
	}
	added = callback;
	is_added = true;
	return 1;
}

bool hasGlobalCallbacks()
{
	return is_added;
}

static uint64_t own_thread()
{
	static std::atomic<uint64_t> next{1};
	static thread_local uint64_t own = next++;

	return own;
}

uint64_t RecordFunction::currentThreadId()
{
	const char *threads = getenv("FAKE_TORCH_THREADS");

	return own_thread() + (threads && strcmp(threads, "odd") == 0 ? 1000 : 0);
}

RecordFunction::RecordFunction(RecordScope scope, const char *name, int64_t sequence,
			       uint64_t forward_thread)
    : step_callbacks_{{}, own_thread(), scope, false, false, false}, fn_(std::string(name)),
      sequence_nr_(sequence), fwd_thread_id_(forward_thread)
{
	if (!is_added || !added.scopes_[static_cast<size_t>(scope)])
		return;
	called_start_callbacks_ = true;
	new (ctx_.room) std::unique_ptr<ObserverContext>(added.start_(*this));
	ctx_.count = 1;
}

RecordFunction::~RecordFunction()
{
	using context = std::unique_ptr<ObserverContext>;

	if (!called_start_callbacks_)
		return;
	context *own = reinterpret_cast<context *>(ctx_.room);
	added.end_(*this, own->get());
	own->~context();
}

const char *RecordFunction::name() const
{
	return std::get<std::string>(fn_).c_str();
}

} // namespace at
