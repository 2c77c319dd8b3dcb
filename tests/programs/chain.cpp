// SPDX-License-Identifier: MIT
// As chain.c, with virtual calls, templates and lambdas between.
#include <cstdlib>
#include <ctime>
#include <functional>

volatile unsigned long sink;

struct Work {
	virtual ~Work() = default;
	virtual void inner() = 0;
};

template <typename T> struct Sum : Work {
	[[gnu::noinline]] void inner() override
	{
		for (T i = 0; i < 1000000; i++)
			sink += i;
	}
};

[[gnu::noinline]] static void middle(const std::function<void()> &work, std::clock_t end)
{
	while (std::clock() < end) {
		work();
		sink = sink + 1;
	}
}

[[gnu::noinline]] static unsigned long outer(Work *work, double seconds)
{
	middle([work] { work->inner(); }, std::clock() + std::clock_t(seconds * CLOCKS_PER_SEC));
	return sink;
}

int main(int argc, char **argv)
{
	Sum<unsigned long> sum;

	return outer(&sum, argc > 1 ? atof(argv[1]) : 1) == 1;
}
