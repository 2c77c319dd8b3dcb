# SPDX-License-Identifier: MIT
# As chain.c.
def inner = 100_000.times.sum
def middle(finish) = (inner while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish)
def outer(seconds) = middle(Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds)
outer(ARGV[0].to_f)
