/* SPDX-License-Identifier: MIT */
/*
 * The part of PyTorch's interface for observers of operators (ATen/record_function.h) that a
 * profiler uses: the same names, members and calling convention, so the same symbols and offsets.
 * record_function.cpp is the stand-in for libtorch_cpu.so.
 */
#ifndef TESTS_WORKLOADS_TORCH_RECORD_FUNCTION_H
#define TESTS_WORKLOADS_TORCH_RECORD_FUNCTION_H

#include <array>
#include <functional>
#include <memory>
#include <stdint.h>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace at
{

enum class RecordScope : uint8_t {
	FUNCTION = 0,
	BACKWARD_FUNCTION = 1,
	USER_SCOPE = 7,
	NUM_SCOPES = 10,
};

struct ObserverContext {
	virtual ~ObserverContext() = default;
};

struct RecordFunction;

class RecordFunctionCallback
{
      public:
	using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction &);
	using EndCallback = void (*)(const RecordFunction &, ObserverContext *);

	StartCallback start_;
	EndCallback end_;
	double sampling_prob_;
	std::array<bool, static_cast<size_t>(RecordScope::NUM_SCOPES)> scopes_;
	bool needs_inputs_, needs_outputs_, needs_ids_;
};

/* Adds a callback, once a process. */
uint64_t addGlobalCallback(RecordFunctionCallback callback);
bool hasGlobalCallbacks();

/* A list with room for four in itself, as c10::SmallVector. */
template <typename T> struct SmallList {
	void *begin = room;
	uint32_t count = 0, capacity = 4;
	alignas(T) char room[4 * sizeof(T)];
};

struct RecordFunction {
	RecordFunction(RecordScope scope, const char *name, int64_t sequence = -1,
		       uint64_t forward_thread = 0);
	virtual ~RecordFunction();
	RecordFunction(const RecordFunction &) = delete;
	RecordFunction &operator=(const RecordFunction &) = delete;

	const char *name() const;
	static uint64_t currentThreadId();

      private:
	struct Pair {
		RecordFunctionCallback::StartCallback start;
		RecordFunctionCallback::EndCallback end;
	};
	struct StepCallbacks {
		SmallList<Pair> callbacks_;
		uint64_t thread_id_;
		RecordScope scope_;
		bool needs_inputs_, needs_outputs_, needs_ids_;
	};
	StepCallbacks step_callbacks_;
	bool called_start_callbacks_ = false;
	SmallList<std::unique_ptr<ObserverContext>> ctx_;
	std::variant<std::string, std::reference_wrapper<const std::string>> fn_;
	int64_t sequence_nr_;
	const void *inputs_[2] = {};
	std::unordered_map<std::string, void *> kwinputs_;
	std::vector<void *> outputs_;
	uint64_t fwd_thread_id_;
	uint64_t handle_ = 0;
};

} // namespace at

#endif
