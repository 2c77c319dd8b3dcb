// SPDX-License-Identifier: MIT
/* Prints where an at::RecordFunction of the installed PyTorch has what `profile --ops` reads. */
#include <sstream>
#define private public
#include <ATen/record_function.h>
#undef private
#include <cstddef>
#include <cstdio>

int main()
{
	using operation = at::RecordFunction;

	printf("%zu %zu %zu %zu %zu\n", offsetof(operation, step_callbacks_.thread_id_),
	       offsetof(operation, step_callbacks_.scope_), offsetof(operation, sequence_nr_),
	       offsetof(operation, fwd_thread_id_), sizeof(at::RecordFunctionCallback));
}
