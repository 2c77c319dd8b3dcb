# SPDX-License-Identifier: MIT
"""What PyTorch programs do on a GPU, one thing at a time.

torch_work.py graph | triton | profiler | nvtx | reduce
  graph     torch.cuda.graph, replayed 200 times
  triton    a Triton kernel (driver API), launched 500 times
  profiler  torch.profiler used inside; prints how many CUDA events it saw
  nvtx      matrix products in an NVTX range, 100 times, within a second one
  reduce    for torchrun: products and sums over all processes (NCCL), 50 times, a GPU each
"""
import os
import sys

import torch


def capture_step(model, batch):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(batch)
    return graph, out


def replay(graph, times):
    for _ in range(times):
        graph.replay()


def with_graph():
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda()
    batch = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(batch)
    torch.cuda.current_stream().wait_stream(side)
    with torch.no_grad():
        graph, out = capture_step(model, batch)
    replay(graph, 200)
    torch.cuda.synchronize()
    print("replayed", 200, float(out.sum()) == float(out.sum()))


def with_triton():
    import triton
    import triton.language as tl

    @triton.jit
    def add_kernel(x, y, out, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

    n = 1 << 16
    x = torch.rand(n, device="cuda")
    out = torch.empty_like(x)

    def launch_add():
        add_kernel[(n // 1024,)](x, x, out, n, block=1024)

    for _ in range(500):
        launch_add()
    torch.cuda.synchronize()
    print("launched", 500, bool(torch.equal(out, x + x)))


def in_ranges():
    x = torch.randn(512, 512, device="cuda")
    torch.cuda.nvtx.range_push("training")
    for _ in range(100):
        torch.cuda.nvtx.range_push("product")
        x = (x @ x).softmax(0)
        torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    print("in ranges", 100)


def with_profiler():
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(512, 512, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for _ in range(10):
            x = (x @ x).softmax(0)
        torch.cuda.synchronize()
    seen = sum(1 for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA)
    print("profiler saw", seen, "CUDA events")


def reduce_step(x):
    y = x @ x
    torch.distributed.all_reduce(y)
    return y / y.norm()


def with_reduce():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    x = torch.ones(512, 512, device="cuda")
    for _ in range(50):
        x = reduce_step(x)
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    print("reduced", 50, "rank", rank)


{"graph": with_graph, "triton": with_triton, "profiler": with_profiler,
 "nvtx": in_ranges, "reduce": with_reduce}[sys.argv[1]]()
