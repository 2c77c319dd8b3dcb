#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch programs for tests/gpu/operators.

usage: operators.py run CASE            runs it
       operators.py witness CASE FILE   runs it under torch.profiler; writes the kernels of its last steps to
                                        FILE, in the order of launches: name, operator, forward operator
       operators.py compare FILE TRACE  compares these with a trace of `profile --ops`, prints
                                        "kernels right_operators backward right_forwards GPU_share"
       operators.py price               prints the ns that a small operator on the CPU takes

A capture of CUDA graphs has the operators of its eager run, so that is their witness.
"""
import json
import sys
import time

SKIPPED = "autograd::engine::evaluate_function: "
STEPS = 5


def setup(case):
    import torch
    from torch import nn

    torch.manual_seed(0)
    if case == "train":
        layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.1)
        model = nn.TransformerEncoder(layer, 4).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        batch = torch.randn(8, 64, 256, device="cuda")

        def step():
            optimizer.zero_grad()
            with torch.profiler.record_function("loss"):
                loss = (model(batch) ** 2).mean()
            loss.backward()
            optimizer.step()
        return step, step

    if case == "checkpointed":
        from torch.utils.checkpoint import checkpoint

        blocks = nn.ModuleList([nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU()) for _ in range(6)]).cuda()
        x = torch.randn(64, 256, device="cuda", requires_grad=True)

        def step():
            y = x
            for block in blocks:
                y = checkpoint(block, y, use_reentrant=False)
            y.square().sum().backward()
        return step, step

    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()) for _ in range(6)]).cuda()
    x = torch.randn(64, 512, device="cuda")

    def forward():
        with torch.no_grad():
            return model(x).softmax(-1)

    graph = torch.cuda.CUDAGraph()
    for _ in range(3):
        forward()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        forward()
    return graph.replay, forward


def run(case, is_witness=False):
    import torch

    replay, eager = setup(case)
    step = eager if is_witness else replay
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    return step, torch


def run_steps(step, torch):
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()


def is_kernel(event):
    return event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")


def witness(case, file):
    step, torch = run(case, True)
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        run_steps(step, torch)
    p.export_chrome_trace(file + ".json")
    events = json.load(open(file + ".json"))["traceEvents"]
    operators, forwards, heads = {}, {}, {}
    at = {}
    for e in events:
        if e.get("cat") == "cpu_op":
            operators[e["args"]["External id"]] = e
            at[e["tid"], e["ts"]] = e
        elif e.get("cat") == "fwdbwd":
            heads.setdefault(e["id"], {})[e["ph"]] = (e["tid"], e["ts"])
    for ends in heads.values():
        if "s" in ends and "f" in ends and ends["s"] in at:
            forwards[ends["f"]] = at[ends["s"]]["name"]
    by_thread = {}
    for e in operators.values():
        by_thread.setdefault(e["tid"], []).append(e)

    def forward_of(inner):
        """The forward operator of the function of the backward pass that `inner` is in."""
        around = [e for e in by_thread[inner["tid"]]
                  if e["ts"] <= inner["ts"] and e["ts"] + e["dur"] >= inner["ts"] + inner["dur"]]
        for e in sorted(around, key=lambda e: e["dur"]):
            if (e["tid"], e["ts"]) in forwards and not e["name"].startswith(SKIPPED):
                return forwards[e["tid"], e["ts"]]
        return None

    kernels = sorted((e for e in events if is_kernel(e)), key=lambda e: e["ts"])
    rows = []
    for e in kernels:
        operator = operators.get(e["args"].get("External id"))
        rows.append([e["name"], operator and operator["name"], operator and forward_of(operator)])
    json.dump(rows, open(file, "w"))


def compare(file, trace):
    rows = json.load(open(file))
    data = json.load(open(trace))
    frames = data["stackFrames"]

    def operators_of(event):
        names, at = [], event.get("sf")
        while at is not None:
            frame = frames[str(at)]
            if frame["name"].startswith("op:"):
                names.append(frame["name"][3:])
            at = frame.get("parent")
        return names  # innermost first

    kernels = sorted((e for e in data["traceEvents"] if is_kernel(e)), key=lambda e: e["ts"])
    all_ns = sum(e["dur"] for e in kernels)
    known_ns = sum(e["dur"] for e in kernels if operators_of(e))
    kernels = kernels[-len(rows):]
    right = backward = forward_right = 0
    wrong = {}
    for (name, operator, forward), event in zip(rows, kernels):
        ours = operators_of(event)
        mine = ours[0] if ours else None
        if mine == operator:
            right += 1
        else:
            wrong[operator, mine, name[:60]] = wrong.get((operator, mine, name[:60]), 0) + 1
        if forward:
            backward += 1
            found = next((ours[i + 1] for i in range(len(ours) - 1) if "Backward" in ours[i]), None)
            forward_right += found == forward
            if found != forward:
                wrong["forward", forward, str(ours)] = wrong.get(("forward", forward, str(ours)), 0) + 1
    for what, count in sorted(wrong.items(), key=lambda w: -w[1])[:12]:
        print(count, *what, file=sys.stderr)
    print(len(rows), right, backward, forward_right, round(known_ns / max(all_ns, 1e-9), 4))


def price():
    import torch

    torch.cuda.synchronize()
    torch.ones(1, device="cuda")
    x = torch.ones(1)
    best = 1e18
    for _ in range(7):
        begin = time.perf_counter_ns()
        for _ in range(50000):
            x.add_(1)
        best = min(best, (time.perf_counter_ns() - begin) / 50000)
    print(round(best))


what = sys.argv[1]
if what == "run":
    run_steps(*run(sys.argv[2]))
elif what == "witness":
    witness(*sys.argv[2:])
elif what == "compare":
    compare(*sys.argv[2:])
else:
    price()
