# SPDX-License-Identifier: MIT
"""Two functions whose work can be told apart, to check what a profile puts under each.

right_work.py eager|compile|triton|jax [SECONDS=4]

left() and right() take turns. left's kernels have "tanh" in their names, right's "sigmoid" or
"exponential"; those of a way back may have neither. Both also compute on the CPU, right twice as
long. Prints "cpu_left NS" and "cpu_right NS", the CPU time of the main thread in each.
"""
import sys
import time

MODE = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 4


def torch_pair():
    import torch

    x = torch.rand(1 << 20, device="cuda", requires_grad=True)

    def tanh():
        y = torch.tanh(x)
        y.sum().backward()
        x.grad = None

    def sigmoid():
        y = torch.sigmoid(x)
        y.sum().backward()
        x.grad = None

    if MODE == "compile":
        return torch.compile(tanh), torch.compile(sigmoid), torch.cuda.synchronize
    return tanh, sigmoid, torch.cuda.synchronize


def triton_pair():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def tanh_kernel(x, out, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, 2 * tl.sigmoid(2 * tl.load(x + at)) - 1)

    @triton.jit
    def sigmoid_kernel(x, out, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, tl.sigmoid(tl.load(x + at)))

    x = torch.rand(1 << 20, device="cuda")
    out = torch.empty_like(x)
    grid = ((1 << 20) // 1024,)
    return (lambda: tanh_kernel[grid](x, out, block=1024),
            lambda: sigmoid_kernel[grid](x, out, block=1024), torch.cuda.synchronize)


def jax_pair():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def tanh_of(x):
        return jnp.tanh(x)

    @jax.jit
    def exponential_of(x):
        return jnp.exp(x)

    x = jnp.ones(1 << 20)
    last = [x, x]

    def tanh():
        last[0] = tanh_of(x)

    def sigmoid():
        last[1] = exponential_of(x)

    return tanh, sigmoid, lambda: jax.block_until_ready(last)


def compute(steps):
    total = 0
    for i in range(steps):
        total += i * i
    return total


def left():
    for _ in range(10):
        left_work()
    compute(10000)


def right():
    for _ in range(10):
        right_work()
    compute(20000)


left_work, right_work, wait = {"eager": torch_pair, "compile": torch_pair,
                               "triton": triton_pair, "jax": jax_pair}[MODE]()
spent = [0, 0]
end = time.monotonic() + SECONDS
while time.monotonic() < end or 0 in spent:
    for i, function in enumerate((left, right)):
        start = time.thread_time_ns()
        function()
        spent[i] += time.thread_time_ns() - start
    wait()
print("cpu_left", spent[0])
print("cpu_right", spent[1])
