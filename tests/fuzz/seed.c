/* SPDX-License-Identifier: MIT */
/* A small library for fuzzers to begin with: functions, inlined ones, several shapes of frames. */
#define INLINE __attribute__((always_inline)) static inline

volatile int sink;
int other(int *x);

INLINE int inner(int x)
{
	for (int i = 0; i < x; i++)
		sink += i * x;
	return sink;
}

INLINE int middle(int x)
{
	return x & 1 ? inner(x + 1) + sink : inner(x);
}

int leaf(int x)
{
	sink = 1;
	return middle(x);
}

int many_registers(int a, int b, int c, int d, int e, int f)
{
	int x = other(&a) + other(&b) * c;

	return leaf(x) + other(&d) * e + other(&f) + b * c + e;
}

int with_frame_pointer(int n)
{
	int *array = __builtin_alloca((unsigned long)n * 4);

	return other(array) + leaf(n);
}
