// SPDX-License-Identifier: MIT
#include "cupti_trace/python/python_stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/readable.h"
#include "cupti_trace/python/loaded_python.h"
#include "cupti_trace/python/python_thread.h"
#include "cupti_trace/unwind/unwind_thread.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/text.h"

#define LIBRARY_PATH_MAX 4096
#define MERGED_MAX (UNWIND_MAX_FRAMES + PYTHON_FRAMES_MAX)

struct known_code {
	struct code_key {
		uint64_t code, mark;
	} key;
	bool is_internal; /* see struct python_code */
};

#define CODE_INTERNAL UINT32_MAX

/* One for the process. Written before the state is PYTHON_FOUND, except for the thread's key. */
_Atomic int python_stack_state HOT_PATH_DATA;
static struct {
	/* used by launches, on two cache lines */
	_Alignas(64) struct python_thread thread;
	struct python_stack_options options;
	struct python_interpreter interpreter;
	struct python_methods methods;

	pthread_mutex_t lock; /* held while looking and while reporting failures */
	struct python_loop loop;
	int (*is_finalizing)(void); /* Py_IsFinalizing, for comparison; NULL: not exported */
	char pending_notice[200];   /* a notice that waits for a sink */
	_Atomic bool has_pending_notice;
} python HOT_PATH_DATA = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Code objects whose names were sent, from id 1 on; the caller of python_stack_merge locks. */
static RECORD_SET(struct known_code) known;

void python_stack_start_over(void)
{
	record_set_clear(&known.set);
}

void python_stack_init(const struct python_stack_options *options)
{
	python.options = *options;
}

/* ---- memory ---- */

#define PAGE 4096u

/* Reads memory that the calling thread alone changes; not by memcpy, which sanitizers watch. */
static size_t read_readable(uint64_t address, unsigned char *buffer, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t at = address + i;

		if ((i == 0 || at % PAGE == 0) && !is_readable(at & ~UINT64_C(7)))
			return i;
		buffer[i] = *(const volatile unsigned char *)(uintptr_t)at;
	}
	return size;
}

/*
 * Returns how much of it is mapped, up to where a plain load would crash. Does not let the kernel
 * copy where a seccomp filter may end the program for that. Then only a thread's own stack is read
 * (python_waiters.c).
 */
static size_t read_mapped(uint64_t address, void *buffer, size_t size)
{
	const struct iovec piece = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	ssize_t count;

	if (guest_is_sandboxed())
		return read_readable(address, buffer, size);
	count = read_own_memory(buffer, size, &piece, 1);
	return count > 0 ? (size_t)count : 0;
}

static bool read_safely(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	return read_mapped(address, buffer, size) == size;
}

static const struct python_memory safe_memory = {.read = read_safely};
static const struct python_memory own_memory = {.read = NULL};

/* ---- finding the interpreter ---- */

static int match_library(struct dl_phdr_info *info, size_t size, void *data)
{
	size_t length = strlen(info->dlpi_name);

	(void)size;
	if (!starts_with(base_name(info->dlpi_name), "libpython3") || length >= LIBRARY_PATH_MAX)
		return 0;
	memcpy(data, info->dlpi_name, length + 1);
	return 1;
}

/*
 * Returns a handle to look symbols up in, or NULL. A library's handle is kept, so that the library
 * stays: its data are used until the process ends.
 */
static void *find_interpreter(void)
{
	char path[LIBRARY_PATH_MAX];
	void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	Dl_info info;

	if (runtime && dladdr(runtime, &info) && info.dli_fname) {
		void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

		return handle ? handle : dlopen(NULL, RTLD_LAZY); /* the executable's own symbols */
	}
	if (!runtime && dl_iterate_phdr(match_library, path) == 1)
		return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	return NULL;
}

/* Converts "3.10.13 (main, ...)" or "3.9.0rc1+" to PY_VERSION_HEX; 0 if the text is no version. */
static uint32_t parse_version(const char *text)
{
	uint32_t part[3] = {0}, level = 0xf;

	for (int i = 0; i < 3; i++) {
		if (*text < '0' || *text > '9')
			return 0;
		while (*text >= '0' && *text <= '9' && part[i] < 100)
			part[i] = part[i] * 10 + (uint32_t)(*text++ - '0');
		if (i < 2 && *text++ != '.')
			return 0;
	}
	if (*text == 'a' || *text == 'b' || *text == 'r')
		level = *text == 'a' ? 0xa : *text == 'b' ? 0xb : 0xc;
	return part[0] << 24 | part[1] << 16 | part[2] << 8 | level << 4;
}

static uint32_t find_version(void *handle)
{
	const unsigned long *number = dlsym(handle, "Py_Version"); /* since 3.11 */
	const char *(*function)(void) = (const char *(*)(void))dlsym(handle, "Py_GetVersion");

	if (number)
		return (uint32_t)*number;
	return function ? parse_version(function()) : 0;
}

static void send_pending_notice(struct sink *sink)
{
	struct gpu_event event = {
		.type = GPU_EVENT_NOTICE,
		.notice = {.code = GPU_NOTICE_NO_PYTHON, .detail = python.pending_notice}};

	if (sink && atomic_exchange(&python.has_pending_notice, false))
		sink_put(sink, &event);
}

/* Reports "Python 3.15.0 <what>", once a process. */
static void report_unreadable(struct sink *sink, uint32_t hex, const char *what)
{
	snprintf(python.pending_notice, sizeof(python.pending_notice), "Python %u.%u.%u %s",
		 hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff, what);
	atomic_store(&python.has_pending_notice, true);
	send_pending_notice(sink);
}

/* Reads the offsets, and checks that memory which each launch loads directly is mapped. */
static int read_offsets(uint32_t hex, uint64_t runtime)
{
	uint64_t words[PYTHON_RUNTIME_BYTES / 8], finalizing;
	size_t size = read_mapped(runtime, words, sizeof(words));
	int err = python_offsets_read(hex, words, size, &python.interpreter.offsets);

	finalizing = runtime + python.interpreter.offsets.runtime_finalizing;
	if (!err && !read_safely(NULL, finalizing, words, sizeof(void *)))
		err = -EBADMSG;
	python.thread.finalizing = (void *const volatile *)(uintptr_t)finalizing;
	return err;
}

static enum python_state inspect(struct sink *sink, void *handle)
{
	const void *runtime = dlsym(handle, "_PyRuntime");
	void *loop = dlsym(handle, "_PyEval_EvalFrameDefault");
	uint32_t hex = find_version(handle);
	int err;

	python.interpreter.runtime = (uint64_t)(uintptr_t)runtime;
	python.thread.this_thread = (void *(*)(void))dlsym(handle, "PyGILState_GetThisThreadState");
	python.is_finalizing = (int (*)(void))dlsym(handle, "Py_IsFinalizing"); /* since 3.13 */
	if (!python.is_finalizing)
		python.is_finalizing = (int (*)(void))dlsym(handle, "_Py_IsFinalizing");
	python.interpreter.types.code = (uint64_t)(uintptr_t)dlsym(handle, "PyCode_Type");
	python.interpreter.types.text = (uint64_t)(uintptr_t)dlsym(handle, "PyUnicode_Type");
	if (!runtime || !hex || !python.thread.this_thread || !python.interpreter.types.code ||
	    !python.interpreter.types.text) {
		report_unreadable(sink, hex, "lacks required symbols");
		return PYTHON_UNUSABLE;
	}
	err = read_offsets(hex, python.interpreter.runtime);
	if (!err &&
	    (!loaded_python_find_loop((uint64_t)(uintptr_t)runtime, (uint64_t)(uintptr_t)loop,
				      &python.loop) ||
	     (python.loop.count == 0 && !python_offsets_have_anchors(&python.interpreter.offsets))))
		err = -EBADMSG;
	if (err) {
		report_unreadable(sink, hex,
				  err == -ENOTSUP ? "is not known"
						  : "has an unexpected memory layout");
		return PYTHON_UNUSABLE;
	}
	return PYTHON_FOUND;
}

void python_stack_look(struct sink *sink)
{
	void *handle;

	pthread_mutex_lock(&python.lock);
	if (atomic_load(&python_stack_state) == PYTHON_NONE) {
		handle = find_interpreter();
		if (handle)
			atomic_store(&python_stack_state, inspect(sink, handle));
	}
	send_pending_notice(sink);
	pthread_mutex_unlock(&python.lock);
}

/* ---- reading ---- */

/* Reads with care and checks that everything is as expected. */
static bool check(uint64_t thread, struct python_stack *stack)
{
	struct python_code code;

	python_frames_read(&safe_memory, &python.interpreter.offsets, thread, stack);
	for (uint32_t i = 0; i < stack->count; i++)
		if (python_code_read(&safe_memory, &python.interpreter.offsets,
				     &python.interpreter.types, stack->frames[i].code, &code) != 0)
			return false;
	return stack->is_whole || stack->count == PYTHON_FRAMES_MAX;
}

/*
 * Returns whether `finalizing` is where expected. Its neighbours are never NULL while Python runs.
 */
static bool is_finalizing_in_place(void)
{
	return !python.is_finalizing || !python.is_finalizing() == !*python.thread.finalizing;
}

static bool read_first(struct sink *sink, uint64_t thread, struct python_stack *stack)
{
	int expected = PYTHON_FOUND;
	struct guest guest;
	bool good;

	guest_enter(&guest);
	good = check(thread, stack) && is_finalizing_in_place();
	if (good && stack->count > 0)
		atomic_store(&python.thread.key,
			     python_thread_find_key(python.interpreter.runtime,
						    python.interpreter.offsets.version, thread));
	if (good && stack->count == 0)
		; /* nothing was seen yet that could be wrong */
	else if (atomic_compare_exchange_strong(&python_stack_state, &expected,
						good ? PYTHON_CHECKED : PYTHON_UNUSABLE) &&
		 !good)
		report_unreadable(sink, (uint32_t)python.interpreter.offsets.version << 16,
				  "has its frames at an unexpected place");
	guest_leave(&guest);
	return good && stack->count > 0;
}

bool python_stack_read(struct sink *sink, struct python_stack *stack)
{
	int state = atomic_load_explicit(&python_stack_state, memory_order_acquire);
	uint64_t thread;

	stack->count = 0;
	if (!python_stack_is_there())
		return false;
	thread = python_thread_own(&python.thread);
	if (!thread)
		return false;
	if (state == PYTHON_FOUND && !read_first(sink, thread, stack)) {
		stack->count = 0;
		return false;
	}
	if (state == PYTHON_CHECKED)
		python_frames_read(&own_memory, &python.interpreter.offsets, thread, stack);
	return stack->count > 0;
}

HOT_PATH uint64_t python_stack_innermost(void)
{
	uint64_t thread = python_thread_own(&python.thread), frame;

	if (!thread)
		return 0;
	if (unlikely(atomic_load_explicit(&python_stack_state, memory_order_acquire) !=
		     PYTHON_CHECKED))
		return PYTHON_STACK_UNKNOWN;
	frame = python_frames_innermost(&python.interpreter.offsets, thread);
	__builtin_prefetch((const void *)(uintptr_t)frame);
	return frame;
}

HOT_PATH uint64_t python_stack_hash_from(uint64_t innermost, uint64_t hash, bool has_places)
{
	if (unlikely(innermost == PYTHON_STACK_UNKNOWN))
		return 0;
	if (unlikely(python.options.modules))
		return python_frames_hash_calls(&python.interpreter.offsets, innermost,
						python.options.lines || has_places, &python.methods,
						hash);
	return python_frames_hash(&python.interpreter.offsets, innermost,
				  python.options.lines || has_places, hash);
}

const struct python_interpreter *python_stack_interpreter(void)
{
	return python_stack_is_there() && !*python.thread.finalizing ? &python.interpreter : NULL;
}

uint64_t python_stack_thread(void)
{
	return (uint64_t)(uintptr_t)python.thread.this_thread();
}

uint64_t python_stack_hash(uint64_t hash, const struct python_stack *stack)
{
	bool lines = python.options.lines;

	for (uint32_t i = 0; i < stack->count; i++)
		hash = python_frame_hash(hash, &stack->frames[i], lines);
	return hash;
}

uint64_t python_stack_hash_numbers(uint64_t hash, const struct python_stack *stack, bool has_places)
{
	has_places |= python.options.lines;
	for (uint32_t i = 0; i < stack->count; i++)
		hash = python_frame_hash_number(hash, &stack->frames[i], has_places);
	return hash;
}

/* ---- calls of modules ---- */

uint32_t python_stack_calls(struct python_call *list, uint32_t max)
{
	uint64_t innermost;

	if (python_stack_methods() == 0)
		return 0;
	innermost = python_stack_innermost();
	return innermost && innermost != PYTHON_STACK_UNKNOWN
		       ? python_frames_calls(&python.interpreter.offsets, innermost,
					     &python.methods, list, max)
		       : 0;
}

uint32_t python_stack_methods(void)
{
	uint32_t count = 0;

	while (count < PYTHON_METHODS_MAX &&
	       atomic_load_explicit(&python.methods.codes[count], memory_order_relaxed))
		count++;
	return count;
}

/* Notes a code object if it is torch.nn.Module._wrapped_call_impl (since PyTorch 2.1). */
static void note_method(uint64_t address, const struct python_code *code)
{
	static const char file[] = "torch/nn/modules/module.py";
	size_t length = strlen(code->path), suffix = sizeof(file) - 1;

	if (!python.options.modules || strcmp(code->name, "_wrapped_call_impl") != 0 ||
	    length < suffix || strcmp(code->path + length - suffix, file) != 0)
		return;
	for (uint32_t i = 0; i < PYTHON_METHODS_MAX; i++) {
		uint64_t free = 0;

		if (atomic_compare_exchange_strong(&python.methods.codes[i], &free, address) ||
		    free == address)
			return;
	}
}

void python_stack_find_methods(struct python_stack *room)
{
	struct python_code code;

	if (python_stack_methods() > 0 || !python_stack_read(NULL, room))
		return;
	for (uint32_t i = 0; i < room->count; i++)
		if (python_code_read(&safe_memory, &python.interpreter.offsets,
				     &python.interpreter.types, room->frames[i].code, &code) == 0)
			note_method(room->frames[i].code, &code);
}

bool python_stack_reader(struct python_reader *reader)
{
	*reader = (struct python_reader){&safe_memory, &python.interpreter.offsets,
					 &python.interpreter.types};
	return python_stack_interpreter() && !guest_is_sandboxed();
}

/* ---- code objects ---- */

/*
 * Returns the id of a frame's code, which is sent first if it is new. Returns 0 if the code cannot
 * be read, and CODE_INTERNAL if it is not to be shown.
 */
static uint32_t code_id(struct sink *sink, const struct python_frame *f)
{
	struct python_code code;
	struct gpu_event event = {.type = GPU_EVENT_PYCODE};
	struct known_code new = {.key = {f->code, f->mark}};
	uint32_t at = record_find(&known, &new.key);

	if (at != RECORD_NONE)
		return known.list[at].is_internal ? CODE_INTERNAL : at + 1;
	if (known.count + 1 >= GPU_PYCODE_MAX_ID ||
	    python_code_read(&safe_memory, &python.interpreter.offsets, &python.interpreter.types,
			     f->code, &code) != 0)
		return 0;
	note_method(f->code, &code);
	new.is_internal = code.is_internal;
	if (record_add(&known, &new.key, &new) == RECORD_NONE)
		return 0;
	event.pycode = (struct gpu_event_pycode){.id = known.count,
						 .name = code.name,
						 .qualname = code.qualname,
						 .path = code.path,
						 .first_line = code.first_line};
	sink_put(sink, &event);
	return new.is_internal ? CODE_INTERNAL : known.count;
}

/* ---- merging ---- */

static enum python_native kind_of(uint64_t pc)
{
	if (pc <= python.loop.module_start || pc > python.loop.module_end)
		return unwind_is_trampoline(pc) ? PYTHON_NATIVE_TRAMPOLINE : PYTHON_NATIVE_OTHER;
	return python_loop_holds(&python.loop, pc) ? PYTHON_NATIVE_LOOP : PYTHON_NATIVE_INTERPRETER;
}

/* Marks evaluators, including the interpreter's function that calls trampolines. */
static void mark_evaluators(const uint64_t *pcs, uint8_t *kinds, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (kinds[i - 1] == PYTHON_NATIVE_TRAMPOLINE &&
		    kinds[i] == PYTHON_NATIVE_INTERPRETER &&
		    unwind_calls_trampoline(pcs[i], python.loop.parts[0].start))
			kinds[i] = PYTHON_NATIVE_TRAMPOLINE;
}

uint32_t python_stack_merge(struct sink *sink, const struct python_stack_natives *natives,
			    const struct python_stack *stack, struct gpu_event_frame *out,
			    struct python_merged *origins, uint32_t max, bool *is_cut,
			    bool *is_ordered)
{
	/* not on the program's stacks, which may be small */
	static struct python_merged merged[MERGED_MAX];
	static uint8_t kinds[UNWIND_MAX_FRAMES];
	struct python_merge_input in = {.natives = kinds,
					.sps = natives->sps,
					.native_count = natives->count,
					.native_is_whole = natives->is_whole,
					.keeps_native = python.options.keeps_native,
					.has_handlers = python_loop_has_handlers(&python.loop),
					.python = stack};
	uint32_t n, to = 0;

	for (uint32_t i = 0; i < natives->count; i++)
		kinds[i] = stack->count ? (uint8_t)kind_of(natives->pcs[i]) : PYTHON_NATIVE_OTHER;
	if (stack->count)
		mark_evaluators(natives->pcs, kinds, natives->count);
	n = python_merge(&in, merged, MERGED_MAX, is_ordered);
	*is_cut = n > max || (stack->count > 0 && !stack->is_whole);
	n = n < max ? n : max;
	for (uint32_t i = 0; i < n; i++) {
		const struct python_frame *f = &stack->frames[merged[i].index];
		uint32_t id;

		if (merged[i].is_python) {
			id = code_id(sink, f);
			if (id == CODE_INTERNAL)
				continue;
			out[to] = (struct gpu_event_frame){.kind = GPU_FRAME_PYTHON, .value = id};
			if (python.options.lines)
				out[to].line =
					python_line(&safe_memory, &python.interpreter.offsets, f);
		} else {
			out[to] = (struct gpu_event_frame){.value = natives->pcs[merged[i].index],
							   .kind = GPU_FRAME_RETURN};
		}
		if (origins)
			origins[to] = merged[i];
		to++;
	}
	return to;
}
