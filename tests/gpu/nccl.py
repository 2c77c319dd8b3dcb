# SPDX-License-Identifier: MIT
"""Collectives of known sizes through PyTorch, for tests/gpu/nccl.

usage: nccl.py run FILE                       runs them as RANK of WORLD_SIZE; writes what it did to FILE
       nccl.py compare FILE ANSWER TIMES      compares that with an answer to `--query collectives`, of as many merged ranks,
                                              prints "right expected"; wrong ones go to stderr
       nccl.py bandwidth FILE ANSWER          prints "own_GB/s answer_GB/s" of the large AllGather

One rank alone has no work of its own for collectives in place, so these are not expected there.
"""
import json
import os
import sys

KIB, MIB = 1 << 10, 1 << 20
LARGE = 512 * MIB


class Program:
    """Calls collectives and notes what it called."""

    def __init__(self):
        self.expected = []
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))

    def expect(self, operations, size, executions, reduction=None):
        self.expected.append({"operations": operations, "bytes": size, "executions": executions, "reduction": reduction})


def bytes_on_gpu(size):
    import torch

    return torch.ones(size, dtype=torch.uint8, device="cuda")


def reductions(p, dist):
    import torch

    for size, times, operation, name in ((4 * MIB, 5, dist.ReduceOp.SUM, "sum"), (49380, 3, dist.ReduceOp.MAX, "max")):
        numbers = torch.ones(size // 4, device="cuda")
        for _ in range(times):
            dist.all_reduce(numbers, op=operation)
        if p.world > 1:
            p.expect(["AllReduce"], size, times, name)
    for _ in range(3):
        dist.reduce_scatter_tensor(torch.empty(MIB // 4, device="cuda"), torch.ones(p.world * MIB // 4, device="cuda"))
    if p.world > 1:  # PyTorch copies
        p.expect(["ReduceScatter"], MIB, 3, "sum")


def gathers(p, dist):
    for size, times in ((2 * MIB, 4), (12345, 2)):
        for _ in range(times):
            dist.all_gather_into_tensor(bytes_on_gpu(p.world * size), bytes_on_gpu(size))
        p.expect(["AllGather"], size, times)


def exchanges(p, dist):
    """All to all, whose calls differ by the versions of PyTorch and NCCL; uneven splits are a group of sends and receives."""
    size = p.world * 64 * KIB
    splits = [64 * KIB] * p.world
    for _ in range(3):
        dist.all_to_all_single(bytes_on_gpu(size), bytes_on_gpu(size), splits, splits)
    calls = "" if p.world == 1 else f"{p.world} x "
    p.expect([f"{calls}Send 64 KiB + {calls}Recv 64 KiB"], size, 3)


def between_two(p, dist):
    if p.world < 2:
        return
    for _ in range(4):
        dist.broadcast(bytes_on_gpu(3 * MIB), src=0)
    p.expect(["Broadcast"], 3 * MIB, 4)
    for _ in range(2):
        if p.rank == 0:
            dist.send(bytes_on_gpu(5 * MIB), dst=1)
        elif p.rank == 1:
            dist.recv(bytes_on_gpu(5 * MIB), src=0)
    if p.rank < 2:
        p.expect(["Recv" if p.rank else "Send"], 5 * MIB, 2)


def groups(p, dist):
    import torch

    if p.world == 1:
        return  # such calls are copies at once, each in its own range
    device = torch.device("cuda", torch.cuda.current_device())
    for _ in range(3):
        tensors = [torch.ones(96 * KIB, device=device) for _ in range(2)]
        with dist._coalescing_manager(device=device):
            for tensor in tensors:
                dist.all_reduce(tensor)
    p.expect(["2 x AllReduce 384 KiB sum"], 768 * KIB, 3)


def in_graph(p, dist):
    import torch

    out, piece = bytes_on_gpu(p.world * 256 * KIB), bytes_on_gpu(256 * KIB)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.all_gather_into_tensor(out, piece)
    for _ in range(10):
        graph.replay()
    p.expect(["AllGather"], 256 * KIB, 10)


def large(p, dist):
    """Returns the algorithm bandwidth of a large AllGather, in GB/s."""
    import torch

    out, piece = bytes_on_gpu(p.world * LARGE), bytes_on_gpu(LARGE)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    dist.all_gather_into_tensor(out, piece)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(10):
        dist.all_gather_into_tensor(out, piece)
    end.record()
    torch.cuda.synchronize()
    p.expect(["AllGather"], LARGE, 11)
    return p.world * LARGE * 10 / (begin.elapsed_time(end) * 1e6)


def run(path):
    import torch
    import torch.distributed as dist

    p = Program()
    torch.cuda.set_device(p.rank)
    address = f"tcp://127.0.0.1:{os.environ.get('MASTER_PORT', '29517')}"
    dist.init_process_group("nccl", init_method=address, rank=p.rank, world_size=p.world)
    print("PyTorch", torch.__version__, "NCCL", ".".join(map(str, torch.cuda.nccl.version())), flush=True)
    result = {"world": p.world}
    for case in (reductions, gathers, exchanges, between_two, groups, in_graph):
        try:
            case(p, dist)
            torch.cuda.synchronize()
        except Exception as error:  # the others still count
            print(f"{case.__name__}: {error!r}", flush=True)
            p.expect([f"{case.__name__} did not run"], 0, 1)
    result["gb_per_s"] = large(p, dist)
    result["expected"] = p.expected
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file)
    dist.destroy_process_group()


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_right(expected, rows, world, times):
    found = [
        r
        for r in rows
        if r["operation"] in expected["operations"]
        and r.get("reduction") == expected["reduction"]
        and r.get("bytes") == expected["bytes"]
        and r.get("ranks") == world
    ]
    return sum(r.get("executions", 0) for r in found) == expected["executions"] * times


def compare(path, answer, times):
    result, rows = read(path), read(answer)["rows"]
    wrong = [e for e in result["expected"] if not is_right(e, rows, result["world"], times)]
    for expected in wrong:
        print("not found:", json.dumps(expected), file=sys.stderr)
    if wrong:
        for row in rows:
            print("answer:", json.dumps({k: v for k, v in row.items() if k != "look"}), file=sys.stderr)
    print(len(result["expected"]) - len(wrong), len(result["expected"]))


def bandwidth(path, answer):
    rows = [r for r in read(answer)["rows"] if r["operation"] == "AllGather" and r.get("bytes") == LARGE]
    print(f"{read(path)['gb_per_s']:.1f}", f"{rows[0].get('algorithm_gb_per_s', 0):.1f}" if rows else 0)


def main():
    if sys.argv[1] == "run":
        run(sys.argv[2])
    elif sys.argv[1] == "compare":
        compare(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        bandwidth(sys.argv[2], sys.argv[3])


main()
