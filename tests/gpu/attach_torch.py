# SPDX-License-Identifier: MIT
"""
attach_torch.py train|infer SECONDS [count]: steps of a training loop, or of inference compiled by
torch.compile, each followed by a pause of 2 ms.

Prints "ready", then "step BEFORE AFTER" for each step, in ns since 1970; for SECONDS. With `count`:
"kernels N", the kernels of a step by PyTorch's own profiler, and ends.
"""
import sys
import time

import torch


def make_train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(64, 256, device="cuda"), torch.randint(10, (64,), device="cuda")

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def make_infer():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda().eval()
    x = torch.randn(64, 256, device="cuda")
    compiled = torch.compile(model)

    def step():
        with torch.inference_mode():
            compiled(x)

    return step


def count(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
        step()
        torch.cuda.synchronize()
    kernels = [e for e in p.events() if not e.name.startswith(("Memcpy", "Memset", "cuda", "Activity"))]
    print("kernels", len([e for e in kernels if e.device_type == torch.autograd.DeviceType.CUDA]))


def main():
    step = make_train() if sys.argv[1] == "train" else make_infer()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    if len(sys.argv) > 3:
        count(step)
        return
    print("ready", flush=True)
    until = time.time() + float(sys.argv[2])
    while time.time() < until:
        before = time.time_ns()
        step()
        torch.cuda.synchronize()
        print("step", before, time.time_ns(), flush=True)
        time.sleep(0.002)


main()
