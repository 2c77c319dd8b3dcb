/* SPDX-License-Identifier: MIT */
/*
 * Compiled against the headers of an installed Python by python.bats: are
 * symbolize/python_offsets.c's offsets those of its structures? With -DPy_GIL_DISABLED=1 those of a
 * build without the GIL. Prints what differs; exit status 1 if anything does.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_debug_offsets.h>
#elif PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_ceval.h>
#include <internal/pycore_runtime_init.h>
#endif
#include "symbolize/python_frames.h"
#include "symbolize/python_offsets.h"

/* The beginning of _PyRuntime, as the headers make it. */
#if PY_VERSION_HEX >= 0x030e0000
static const struct {
	_Py_DebugOffsets offsets;
	char rest[PYTHON_RUNTIME_BYTES];
} runtime = {_Py_DebugOffsets_INIT(_Py_Debug_Cookie)};
#elif PY_VERSION_HEX >= 0x030d0000
static _PyRuntimeState runtime = _PyRuntimeState_INIT(runtime, _Py_Debug_Cookie);
#else
static const char runtime[PYTHON_RUNTIME_BYTES];
#endif

static int wrong;

static void check(const char *what, unsigned long got, unsigned long wanted)
{
	if (got == wanted)
		return;
	printf("%s: %s is %lu, in the headers %lu\n", PY_VERSION, what, got, wanted);
	wrong = 1;
}

#define CHECK(field, type, member) check(#field, o.field, offsetof(type, member))
#define CHECK_VALUE(field, value) check(#field, o.field, value)

/* The members that symbolize/python_threads.c derives from the size of what objects begin with. */
static void check_objects(unsigned long head)
{
	check("a type's size", head + 16, offsetof(PyTypeObject, tp_basicsize));
	check("a type's flags", head + 152, offsetof(PyTypeObject, tp_flags));
	check("a type's place of attributes", head + 272, offsetof(PyTypeObject, tp_dictoffset));
	check("the keys of a dictionary", head + 16, offsetof(PyDictObject, ma_keys));
	check("the values of a dictionary", head + 24, offsetof(PyDictObject, ma_values));
#if PY_VERSION_HEX >= 0x030c0000
	check("the size of an int", head, offsetof(PyLongObject, long_value.lv_tag));
	check("the digits of an int", head + 8, offsetof(PyLongObject, long_value.ob_digit));
#else
	check("the digits of an int", head + 8, offsetof(PyLongObject, ob_digit));
#endif
#if PY_VERSION_HEX >= 0x030d0000
	check("the place of values", 8, offsetof(struct _dictvalues, values));
#ifdef Py_GIL_DISABLED
	check("the place of attributes", -8ul, MANAGED_DICT_OFFSET);
#else
	check("the place of attributes", -24ul, MANAGED_DICT_OFFSET);
#endif
#endif
#if PY_VERSION_HEX >= 0x030b0000
	check("the bytes of indices", 9, offsetof(PyDictKeysObject, dk_log2_index_bytes));
	check("the kind of keys", 10, offsetof(PyDictKeysObject, dk_kind));
	check("the number of keys", 24, offsetof(PyDictKeysObject, dk_nentries));
	check("the indices of keys", 32, offsetof(PyDictKeysObject, dk_indices));
	check("a key with its hash", 24, sizeof(PyDictKeyEntry));
	check("a key", 16, sizeof(PyDictUnicodeEntry));
#endif
}

int main(void)
{
	union {
		PyASCIIObject object;
		unsigned char bytes[sizeof(PyASCIIObject)];
	} text = {.object.state.kind = 1};
	struct python_offsets o = {0};
	unsigned int state;

	if (python_offsets_read(PY_VERSION_HEX, &runtime, PYTHON_RUNTIME_BYTES, &o)) {
		printf("%s is not known\n", PY_VERSION);
		return 1;
	}
	CHECK_VALUE(version, PY_VERSION_HEX >> 16);
	CHECK(runtime_interpreters, _PyRuntimeState, interpreters.head);
	CHECK(interpreter_next, PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
	CHECK(interpreter_threads, PyInterpreterState, threads.head);
#else
	CHECK(interpreter_threads, PyInterpreterState, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	CHECK(interpreter_modules, PyInterpreterState, imports.modules);
#else
	CHECK(interpreter_modules, PyInterpreterState, modules);
#endif
	CHECK(thread_next, PyThreadState, next);
	CHECK(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030b0000
	CHECK(thread_anchor, PyThreadState, cframe);
	CHECK(anchor_previous, CFrame, previous);
#elif PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
	CHECK(thread_anchor, PyThreadState, cframe);
	CHECK(anchor_previous, _PyCFrame, previous);
#else
	CHECK_VALUE(thread_anchor, PYTHON_NO_OFFSET);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
	CHECK(frame_copy, _PyInterpreterFrame, tlbc_index);
	CHECK(code_copies, PyCodeObject, co_tlbc);
	check("a list of copies", 8, offsetof(_PyCodeArray, entries));
#else
	CHECK_VALUE(frame_copy, PYTHON_NO_OFFSET);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	CHECK(thread_frame, PyThreadState, current_frame);
	CHECK_VALUE(cframe_frame, PYTHON_NO_OFFSET);
	CHECK(frame_code, _PyInterpreterFrame, f_executable);
	CHECK(frame_place, _PyInterpreterFrame, instr_ptr);
	CHECK(frame_locals, _PyInterpreterFrame, localsplus);
#elif PY_VERSION_HEX >= 0x030b0000
	CHECK(thread_frame, PyThreadState, cframe);
	CHECK(cframe_frame, _PyCFrame, current_frame);
	CHECK(frame_code, _PyInterpreterFrame, f_code);
	CHECK(frame_place, _PyInterpreterFrame, prev_instr);
	CHECK(frame_locals, _PyInterpreterFrame, localsplus);
#else
	CHECK(thread_frame, PyThreadState, frame);
	CHECK_VALUE(cframe_frame, PYTHON_NO_OFFSET);
	CHECK(frame_code, PyFrameObject, f_code);
	CHECK(frame_place, PyFrameObject, f_lasti);
	CHECK(frame_locals, PyFrameObject, f_localsplus);
	CHECK(frame_previous, PyFrameObject, f_back);
	CHECK_VALUE(frame_owner, PYTHON_NO_OFFSET);
	CHECK_VALUE(code_qualname, PYTHON_NO_OFFSET);
	CHECK_VALUE(code_instructions, PYTHON_NO_OFFSET);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	CHECK(frame_previous, _PyInterpreterFrame, previous);
	CHECK(code_qualname, PyCodeObject, co_qualname);
	CHECK(code_instructions, PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	CHECK(frame_owner, _PyInterpreterFrame, owner);
	CHECK_VALUE(owner_of_shim, 3);
#elif PY_VERSION_HEX >= 0x030b0000
	CHECK(frame_owner, _PyInterpreterFrame, is_entry);
#endif
	CHECK(code_filename, PyCodeObject, co_filename);
	CHECK(code_name, PyCodeObject, co_name);
	CHECK(code_first_line, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030c0000
	CHECK(code_version, PyCodeObject, co_version);
#else
	CHECK_VALUE(code_version, PYTHON_NO_OFFSET);
#endif
#if PY_VERSION_HEX >= 0x030a0000
	CHECK(code_lines, PyCodeObject, co_linetable);
#else
	CHECK(code_lines, PyCodeObject, co_lnotab);
#endif
	CHECK_VALUE(object_bytes, sizeof(PyObject));
	CHECK(object_type, PyObject, ob_type);
	CHECK(type_keys, PyHeapTypeObject, ht_cached_keys);
	check_objects(o.object_bytes);
	CHECK(text_length, PyASCIIObject, length);
	check("hash of a str", o.text_length + 8u, offsetof(PyASCIIObject, hash));
	check("hash of bytes", o.bytes_length + 8u, offsetof(PyBytesObject, ob_shash));
	CHECK(text_state, PyASCIIObject, state);
	CHECK_VALUE(text_ascii_data, sizeof(PyASCIIObject));
	CHECK_VALUE(text_wide_data, sizeof(PyCompactUnicodeObject));
	CHECK(bytes_length, PyBytesObject, ob_base.ob_size);
	CHECK(bytes_data, PyBytesObject, ob_sval);
	memcpy(&state, text.bytes + offsetof(PyASCIIObject, state), sizeof(state));
	check("1 << text_kind_bit", 1u << o.text_kind_bit, state);
	return wrong;
}
