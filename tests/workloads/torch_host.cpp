/* SPDX-License-Identifier: MIT */
/*
 * torch_host LIBRARY CASES [late]: calls run_operators of libtorch_operators.so. late: launches a
 * kernel `early` of 1000 ns before it loads the library, and with it PyTorch. Then it waits until
 * operators are followed, for 60 s at most.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <unistd.h>

GPU_KERNEL(early)

int main(int argc, char **argv)
{
	void (*run)(const char *);
	bool (*are_followed)();
	void *library;

	if (argc < 3)
		return 2;
	if (argc > 3) {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, early));
		GPU_CHECK(cudaDeviceSynchronize());
	}
	library = dlopen(argv[1], RTLD_NOW);
	run = library ? (void (*)(const char *))dlsym(library, "run_operators") : nullptr;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	are_followed = (bool (*)())dlsym(library, "operators_are_followed");
	for (int i = 0; argc > 3 && i < 6000 && !are_followed(); i++)
		usleep(10000);
	run(argv[2]);
	return 0;
}
