/* SPDX-License-Identifier: MIT */
/*
 * no_frame_pointers [CPU_MS=2000]: CPU time in six places that are hard to unwind, in equal shares.
 *
 * Built with -O2 -fomit-frame-pointer and without debug information (rules.mk). Each part ends in a
 * leaf of its own: in_template, in_virtual, in_function, in_catch, in_handler, in_recursion (60
 * deep), below main.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include "burn.h"

#define NOINLINE __attribute__((noinline, noclone))

static long part_ms;

/* Work after the call keeps the compiler from turning calls into jumps. */
static volatile unsigned long sink;

/* Each a little different, or the compiler makes them one function. */
#define LEAF(name, number)                         \
	NOINLINE static void name()                \
	{                                          \
		burn((uint64_t)part_ms * 1000000); \
		sink = sink + number;              \
	}

LEAF(in_template, 1)
LEAF(in_virtual, 2)
LEAF(in_function, 3)
LEAF(in_catch, 4)
LEAF(in_handler, 5)
LEAF(in_recursion, 6)

template <typename T, int N> struct Nested {
	NOINLINE static void call(T value)
	{
		char room[N * 16];

		room[value % sizeof(room)] = 1;
		Nested<T, N - 1>::call(value);
		sink = sink + (unsigned long)room[value % sizeof(room)];
	}
};

template <typename T> struct Nested<T, 0> {
	NOINLINE static void call(T)
	{
		in_template();
		sink = sink + 1;
	}
};

struct Shape {
	virtual ~Shape() = default;
	virtual void draw() = 0;
};

struct Circle : Shape {
	NOINLINE void draw() override
	{
		in_virtual();
		sink = sink + 1;
	}
};

NOINLINE static void thrower()
{
	sink = sink + 1;
	throw std::runtime_error("expected");
}

NOINLINE static void catcher()
{
	try {
		thrower();
	} catch (const std::exception &) {
		in_catch();
	}
	sink = sink + 1;
}

static void on_signal(int)
{
	in_handler();
	sink = sink + 1;
}

NOINLINE static void recurse(int depth)
{
	volatile char room[48];

	room[depth % 48] = 1;
	if (depth == 0)
		in_recursion();
	else
		recurse(depth - 1);
	sink = sink + (unsigned long)room[depth % 48];
}

int main(int argc, char **argv)
{
	Shape *shape = new Circle;
	std::function<void()> function = [] {
		in_function();
		sink = sink + 1;
	};

	part_ms = (argc > 1 ? strtol(argv[1], nullptr, 10) : 2000) / 6;
	Nested<unsigned, 8>::call(3);
	shape->draw();
	function();
	catcher();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	recurse(60);
	delete shape;
	return sink == 0;
}
