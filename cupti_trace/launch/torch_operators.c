// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/torch_operators.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/layers.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/recorded_range.h"
#include "cupti_trace/unwind/unwind_thread.h"

#define LIBRARY "/libtorch_cpu.so"
#define ENGINE "autograd::engine::evaluate_function: "
#define OPTIMIZER "Optimizer." /* "Optimizer.step#AdamW.step", "Optimizer.zero_grad#..." */
#define TABLE (1u << 16)       /* forward operators of the process that are known */
#define NAME_BITS 16           /* bits of an entry that hold a name */

/* ---- PyTorch's interface (ATen/record_function.h) ---- */

/* at::RecordScope. Other kinds repeat these, or are of other interpreters. */
enum scope {
	SCOPE_FUNCTION = 0,
	SCOPE_BACKWARD = 1,
	SCOPE_TORCHSCRIPT = 2,
	SCOPE_USER = 7,
	SCOPES = 10
};

/* Returns a std::unique_ptr<ObserverContext>, at `context`, and `context`. */
typedef void **(*begin_function)(void **context, const void *operation);
typedef void (*end_function)(const void *operation, void *context);

/* at::RecordFunctionCallback */
struct callback {
	begin_function begin;
	end_function end;
	double probability;
	bool scopes[SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
};
typedef uint64_t (*add_function)(struct callback callback);
typedef const char *(*name_function)(const void *operation);
typedef uint64_t (*thread_function)(void);

/* Offsets of members in an at::RecordFunction, in bytes. */
struct layout {
	unsigned int major, first_minor, last_minor; /* versions that have it */
	bool has_new_strings;                        /* std::string of C++11: 32 bytes, not 8 */
	uint32_t thread, scope, sequence, forward_thread;
};

/*
 * From the members' declarations, on x86-64 with libstdc++. PyTorch up to 2.6 was built with either
 * string. 2.11 was run: tests/gpu/operators compares its headers.
 */
static const struct layout layouts[] = {
	{2, 2, 11, true, .thread = 88, .scope = 96, .sequence = 200, .forward_thread = 304},
	{2, 2, 6, false, .thread = 88, .scope = 96, .sequence = 176, .forward_thread = 280},
};

/* ---- state ---- */

static struct {
	pthread_mutex_t lock;   /* protects the notice */
	atomic_bool is_decided; /* followed, or not to be */
	atomic_bool is_on;
	char notice[128];
	atomic_bool has_notice; /* it is to be sent */
	struct torch_operators_options wanted;
	const struct layout *layout;
	name_function name;
	thread_function thread;
	/* by thread and sequence number of a forward operator: whose it is, and a name */
	_Atomic uint64_t forward[TABLE]; /* the operator's */
	_Atomic uint64_t layers[TABLE];  /* its layer's, or 0 */
} torch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Notes why operators are not shown. */
static __attribute__((format(printf, 1, 2))) void give_up(const char *format, ...)
{
	struct guest guest;
	va_list arguments;

	guest_enter_briefly(&guest);
	pthread_mutex_lock(&torch.lock);
	va_start(arguments, format);
	vsnprintf(torch.notice, sizeof(torch.notice), format, arguments);
	va_end(arguments);
	atomic_store(&torch.has_notice, true);
	pthread_mutex_unlock(&torch.lock);
	guest_leave(&guest);
}

void torch_operators_follow(const struct torch_operators_options *options)
{
	torch.wanted = *options;
}

#ifdef __x86_64__

/* ---- operators ---- */

static uint64_t read_member(const void *operation, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)operation + offset, sizeof(value));
	return value;
}

/*
 * Returns a table's entry for an operator, and sets the part of its value that says whose it is.
 * Neighbours in a sequence have entries side by side.
 */
static _Atomic uint64_t *forward_entry(_Atomic uint64_t *names, uint64_t thread, uint64_t sequence,
				       uint64_t *owner)
{
	uint64_t mixed = sequence + thread * UINT64_C(0x9e3779b97f4a7c15);

	*owner = (mixed ^ thread << 32) / TABLE << NAME_BITS;
	return &names[mixed % TABLE];
}

static void note_forward(_Atomic uint64_t *names, uint64_t thread, uint64_t sequence, uint32_t name)
{
	uint64_t owner;
	_Atomic uint64_t *entry = forward_entry(names, thread, sequence, &owner);

	atomic_store_explicit(entry, owner | name, memory_order_relaxed);
}

/* Returns the name that was noted for a forward operator; 0: unknown. */
static uint32_t find_forward(_Atomic uint64_t *names, uint64_t thread, uint64_t sequence)
{
	uint64_t owner;
	uint64_t value = atomic_load_explicit(forward_entry(names, thread, sequence, &owner),
					      memory_order_relaxed);

	return value >> NAME_BITS == owner >> NAME_BITS
		       ? (uint32_t)(value & ((1u << NAME_BITS) - 1))
		       : 0;
}

_Static_assert(NVTX_TOO_MANY < 1u << NAME_BITS, "each name fits");

/*
 * An ObserverContext: PyTorch hands it from an operator's begin to its end, and deletes it by the
 * second function of its table.
 */
struct scope_context {
	void (*const *functions)(void *self);
	uint64_t layer, range; /* 0: none */
};

static void destroy(void *self)
{
	(void)self;
}

static void (*const scope_functions[])(void *self) = {destroy, free};

/* The ranges of an operator, the outermost first. 0: none. */
struct names {
	uint32_t layer, forward, domain, name;
};

/*
 * Opens ranges for a scope of the heap, which any thread may end. Returns its context; NULL: it is
 * not followed.
 */
static struct scope_context *open_scope(const struct names *n)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	struct scope_context *context = malloc(sizeof(*context));

	if (!context)
		return NULL;
	context->functions = scope_functions;
	context->layer = n->layer ? nvtx_start(NVTX_LAYERS, n->layer, sp) : 0;
	context->range = n->name ? nvtx_start(n->domain, n->name, sp) : 0;
	return context;
}

/* Finds the forward operator of a function of the backward pass, or notes one. */
static void look_forward(const void *operation, enum scope scope, struct names *n)
{
	uint64_t sequence = read_member(operation, torch.layout->sequence);
	uint64_t thread =
		read_member(operation, scope == SCOPE_BACKWARD ? torch.layout->forward_thread
							       : torch.layout->thread);

	if (sequence == UINT64_MAX)
		return;
	if (scope == SCOPE_FUNCTION && torch.wanted.operators)
		note_forward(torch.forward, thread, sequence, n->name);
	if (scope == SCOPE_FUNCTION && torch.wanted.layers)
		note_forward(torch.layers, thread, sequence, layers_current());
	if (scope == SCOPE_BACKWARD && torch.wanted.operators)
		n->forward = find_forward(torch.forward, thread, sequence);
	if (scope == SCOPE_BACKWARD && torch.wanted.layers)
		n->layer = find_forward(torch.layers, thread, sequence);
}

/* Returns an operator's names; no layer and no name: nothing is to be shown. */
static struct names names_of(const void *operation, enum scope scope)
{
	struct names n = {.domain = scope == SCOPE_USER ? 0 : NVTX_OPERATORS};
	const char *text =
		torch.wanted.operators || scope == SCOPE_USER ? torch.name(operation) : NULL;

	/* around each function of the backward pass, with its name: says nothing more */
	if (text && strncmp(text, ENGINE, sizeof(ENGINE) - 1) == 0)
		return n;
	if (text && torch.wanted.operators)
		n.name = nvtx_name(n.domain, text, 0);
	if (text && torch.wanted.layers && scope == SCOPE_USER &&
	    strncmp(text, OPTIMIZER, sizeof(OPTIMIZER) - 1) == 0)
		n.layer = nvtx_name(NVTX_LAYERS, "optimizer", 0);
	if (text || !torch.wanted.operators)
		look_forward(operation, scope, &n);
	return n;
}

/* Opens the ranges of an operator. Returns a context for its end, or NULL. */
static struct scope_context *open_operator(const void *operation)
{
	enum scope scope = (enum scope)(read_member(operation, torch.layout->scope) & 0xff);
	uint64_t address = (uint64_t)(uintptr_t)operation;
	struct names n = names_of(operation, scope);

	if (!n.name && !n.layer)
		return NULL;
	if (scope == SCOPE_USER && !unwind_is_on_stack(address))
		return open_scope(&n);
	nvtx_close_at(address);
	if (n.layer)
		nvtx_open_at(NVTX_LAYERS, n.layer, address);
	if (n.forward)
		nvtx_open_at(NVTX_OPERATORS, n.forward, address);
	if (n.name)
		nvtx_open_at(n.domain, n.name, address);
	return NULL;
}

static void **begin_operator(void **context, const void *operation)
{
	*context = NULL;
	if (!atomic_load_explicit(&torch.is_on, memory_order_relaxed))
		return context;
	if (read_member(operation, torch.layout->thread) == torch.thread()) {
		*context = open_operator(operation);
		return context;
	}
	if (!atomic_exchange(&torch.is_on, false))
		return context;
	give_up("PyTorch's operators have an unexpected memory layout: they are not shown any "
		"more");
	return context;
}

static void end_operator(const void *operation, void *context)
{
	const struct scope_context *scope = context;

	if (!scope) {
		nvtx_close_at((uint64_t)(uintptr_t)operation);
		return;
	}
	nvtx_end(scope->range);
	nvtx_end(scope->layer);
}

/* ---- finding PyTorch ---- */

#define COPIES_MAX 4u /* libraries of that name in a process */

struct found {
	uint32_t count;
	char paths[COPIES_MAX][PATH_MAX];
};

static int find_libraries(struct dl_phdr_info *info, size_t size, void *data)
{
	size_t length = strlen(info->dlpi_name), suffix = sizeof(LIBRARY) - 1;
	struct found *found = data;

	(void)size;
	if (length >= suffix && length < PATH_MAX && found->count < COPIES_MAX &&
	    strcmp(info->dlpi_name + length - suffix, LIBRARY) == 0)
		memcpy(found->paths[found->count++], info->dlpi_name, length + 1);
	return 0;
}

/* Reads the beginning of a file beside the library's folder. Returns false if there is none. */
static bool read_beside(const char *library, const char *name, char *text, size_t size)
{
	char path[PATH_MAX + 32];
	struct stat file = {.st_dev = 0};
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.*s/../%s", (int)(strlen(library) - (sizeof(LIBRARY) - 1)),
		 library, name);
	fd = guest_open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return false;
	fstat(fd, &file);
	n = S_ISREG(file.st_mode) ? read(fd, text, size - 1) : -1;
	guest_close(fd, &file);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * Reads PyTorch's version, "2.11.0+cu130": of the package for Python from version.py, of that for
 * C++ from build-version. Returns false if it is unknown.
 */
static bool read_version(const char *library, unsigned int *major, unsigned int *minor)
{
	static const char assignment[] = "__version__ = '";
	char text[512];
	const char *at = text;

	if (read_beside(library, "version.py", text, sizeof(text))) {
		at = strstr(text, assignment);
		if (!at)
			return false;
		at += sizeof(assignment) - 1;
	} else if (!read_beside(library, "build-version", text, sizeof(text))) {
		return false;
	}
	return *at >= '0' && *at <= '9' && sscanf(at, "%3u.%3u.", major, minor) == 2;
}

/* Returns the layout of a library's objects; NULL after noting why there is none. */
static const struct layout *find_layout(const char *path, void *handle)
{
	static const char old_strings[] = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs";
	bool is_new = !dlsym(handle, old_strings);
	unsigned int major, minor;

	if (!read_version(path, &major, &minor)) {
		give_up("the version of PyTorch is unknown: its operators are not shown");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].major == major && layouts[i].first_minor <= minor &&
		    minor <= layouts[i].last_minor && layouts[i].has_new_strings == is_new)
			return &layouts[i];
	give_up("the operators of PyTorch %u.%u%s are not shown: known are 2.%u to 2.%u", major,
		minor, is_new ? "" : " with strings before C++11",
		layouts[is_new ? 0 : 1].first_minor, layouts[is_new ? 0 : 1].last_minor);
	return NULL;
}

static void in_child(void)
{
	torch_operators_stop();
	pthread_mutex_init(&torch.lock, NULL);
}

/* PyTorch's functions in a library. */
struct functions {
	add_function add;
	name_function name;
	thread_function thread;
};

/* Follows the operators of a library that is loaded, or notes why not. */
static void follow(const struct functions *f, const struct layout *layout)
{
	torch.name = f->name;
	torch.thread = f->thread;
	torch.layout = layout;
	nvtx_follow(true, recorded_range_has_nvtx());
	pthread_atfork(NULL, NULL, in_child);
	atomic_store(&torch.is_on, true);
	f->add((struct callback){.begin = begin_operator,
				 .end = end_operator,
				 .probability = 1,
				 .scopes = {[SCOPE_FUNCTION] = true,
					    [SCOPE_BACKWARD] = true,
					    [SCOPE_TORCHSCRIPT] = true,
					    [SCOPE_USER] = true}});
}

/* Finds PyTorch's functions in a library. Returns its handle; NULL if it lacks one. */
static void *find_functions(const char *path, struct functions *f)
{
	void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);

	if (!handle)
		return NULL;
	f->add = (add_function)dlsym(handle,
				     "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	f->name = (name_function)dlsym(handle, "_ZNK2at14RecordFunction4nameEv");
	f->thread = (thread_function)dlsym(handle, "_ZN2at14RecordFunction15currentThreadIdEv");
	if (f->add && f->name && f->thread)
		return handle;
	give_up("this PyTorch has no interface to follow its operators: they are not shown");
	dlclose(handle);
	return NULL;
}

/*
 * Follows the first library that has the functions. Holds no lock, because dlopen waits for the
 * loader's: another thread may hold that one, and wait for ours.
 */
static void choose(const struct found *found)
{
	const struct layout *layout;
	struct functions functions;
	void *handle = NULL;
	uint32_t i = 0;

	while (i < found->count && !(handle = find_functions(found->paths[i], &functions)))
		i++;
	if (!handle || atomic_exchange(&torch.is_decided, true))
		return; /* a later library may have them */
	atomic_store(&torch.has_notice, false);
	layout = find_layout(found->paths[i], handle);
	if (layout)
		follow(&functions, layout);
}

void torch_operators_look(void)
{
	struct found *found;

	if (atomic_load(&torch.is_decided) || !(torch.wanted.operators || torch.wanted.layers))
		return;
	found = calloc(1, sizeof(*found)); /* large */
	if (!found)
		return;
	dl_iterate_phdr(find_libraries, found);
	choose(found);
	free(found);
}

#else

void torch_operators_look(void)
{
	if (!(torch.wanted.operators || torch.wanted.layers) ||
	    atomic_exchange(&torch.is_decided, true))
		return;
	give_up("PyTorch's operators are shown on x86-64 only");
}

#endif

void torch_operators_tell(struct sink *sink)
{
	char notice[sizeof(torch.notice)];
	struct gpu_event event = {.type = GPU_EVENT_NOTICE,
				  .notice = {.code = GPU_NOTICE_OTHER, .detail = notice}};
	bool has_notice;

	if (!atomic_load(&torch.has_notice))
		return;
	pthread_mutex_lock(&torch.lock);
	memcpy(notice, torch.notice, sizeof(notice));
	has_notice = atomic_exchange(&torch.has_notice, false);
	pthread_mutex_unlock(&torch.lock);
	if (has_notice)
		sink_put(sink, &event); /* may wait for the profiler */
}

void torch_operators_stop(void)
{
	atomic_store(&torch.is_on, false);
}
