# SPDX-License-Identifier: MIT
"""Collectives of known sizes through PyTorch, for tests/gpu/nccl.

usage: nccl.py run FILE                       runs them as RANK of WORLD_SIZE; writes what it did to FILE
       nccl.py compare FILE ANSWER            compares that with an answer to `--query collectives`,
                                              prints "right expected"; wrong ones go to stderr
       nccl.py bandwidth FILE ANSWER          prints lines "operation bus|algorithm own_GB/s answered_GB/s" of large ones
       nccl.py train ddp|fsdp|fsdp2 FILE STEPS trains a model as RANK of WORLD_SIZE; writes the median step to FILE
       nccl.py log LOG ANSWER FOLDED          compares NCCL's own log with an answer, prints "right all" of kinds of calls
                                              and "right all" of communicators

One rank alone has no work of its own for collectives in place, so these are not expected there.
"""
import collections
import json
import os
import re
import sys

KIB, MIB = 1 << 10, 1 << 20
LARGE, LARGE_TIMES = 512 * MIB, 20


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
    """Each kind of call, captured once and replayed ten times."""
    import torch

    device = torch.device("cuda", torch.cuda.current_device())
    whole, piece = bytes_on_gpu(p.world * 256 * KIB), bytes_on_gpu(256 * KIB)
    sums, scattered = torch.ones(320 * KIB // 4, device=device), torch.ones(192 * KIB // 4, device=device)
    unscattered, sent = torch.ones(p.world * 192 * KIB // 4, device=device), bytes_on_gpu(160 * KIB)
    pair = [torch.ones(112 * KIB, device=device) for _ in range(2)]
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.all_gather_into_tensor(whole, piece)
        if p.world > 1:
            dist.all_reduce(sums)
            dist.reduce_scatter_tensor(scattered, unscattered)
            with dist._coalescing_manager(device=device):
                for numbers in pair:
                    dist.all_reduce(numbers)
        if p.world == 2:
            if p.rank == 0:
                dist.send(sent, dst=1)
            else:
                dist.recv(sent, src=0)
    for _ in range(10):
        graph.replay()
    p.expect(["AllGather"], 256 * KIB, 10)
    if p.world > 1:
        p.expect(["AllReduce"], 320 * KIB, 10, "sum")
        p.expect(["ReduceScatter"], 192 * KIB, 10, "sum")
        p.expect(["2 x AllReduce 448 KiB sum"], 896 * KIB, 10)
    if p.world == 2:
        p.expect(["Recv" if p.rank else "Send"], 160 * KIB, 10)


def large(p, dist):
    """Returns the bandwidths of large calls by operation, in GB/s: of the algorithm, and of the bus."""
    import torch

    whole, piece = (torch.ones(n * LARGE // 4, device="cuda") for n in (p.world, 1))
    calls = {"AllGather": (lambda: dist.all_gather_into_tensor(whole, piece), None, p.world, p.world - 1)}
    if p.world > 1:
        calls["AllReduce"] = (lambda: dist.all_reduce(piece), "sum", 1, 2 * (p.world - 1) / p.world)
        calls["ReduceScatter"] = (lambda: dist.reduce_scatter_tensor(piece, whole), "sum", p.world, p.world - 1)
    if p.world == 2:
        name, call = ("Recv", lambda: dist.recv(piece, src=0)) if p.rank else ("Send", lambda: dist.send(piece, dst=1))
        calls[name] = (call, None, 1, 1)
    result = {}
    for name, (call, reduction, algorithm, bus) in calls.items():
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        dist.barrier()
        call()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(LARGE_TIMES):
            call()
        end.record()
        torch.cuda.synchronize()
        p.expect([name], LARGE, LARGE_TIMES + 1, reduction)
        once = LARGE * LARGE_TIMES / (begin.elapsed_time(end) * 1e6)
        result[name] = {"algorithm": algorithm * once, "bus": bus * once}
    return result


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


def is_right(expected, rows, world):
    found = [
        r
        for r in rows
        if r["operation"] in expected["operations"]
        and r.get("reduction") == expected["reduction"]
        and r.get("bytes") == expected["bytes"]
        and r.get("ranks") == world
    ]
    return sum(r.get("executions", 0) for r in found) == expected["executions"]


def compare(path, answer):
    result, rows = read(path), read(answer)["rows"]
    wrong = [e for e in result["expected"] if not is_right(e, rows, result["world"])]
    for expected in wrong:
        print("not found:", json.dumps(expected), file=sys.stderr)
    if wrong:
        for row in rows:
            print("answer:", json.dumps({k: v for k, v in row.items() if k != "look"}), file=sys.stderr)
    print(len(result["expected"]) - len(wrong), len(result["expected"]))


def bandwidth(path, answer):
    """Prints for each large operation its name, the program's bandwidth and the answered one."""
    result, rows = read(path), read(answer)["rows"]
    kind = "bus" if result["world"] > 1 else "algorithm"
    for name, own in result["gb_per_s"].items():
        answered = [r.get(f"{kind}_gb_per_s", 0) for r in rows if r["operation"] == name and r.get("bytes") == LARGE]
        print(name, kind, f"{own[kind]:.1f}", f"{answered[0] if answered else 0:.1f}")


# NCCL's log (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL) has each call: ncclDataType_t, ncclRedOp_t
TYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
REDUCTIONS = ("sum", "prod", "max", "min", "avg")
CALL = re.compile(r"NCCL INFO (\w+): opCount .* count (\d+) datatype (\d+) op (\d+) .*\[nranks=(\d+)\]")


def log(path, answer, folded):
    """Compares NCCL's own log of a process with the answer, and its communicators with the frames."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    logged = collections.Counter()
    for call in filter(None, map(CALL.search, lines)):
        count, kind, reduction, ranks = map(int, call.groups()[1:])
        named = call[1] in ("AllReduce", "Reduce", "ReduceScatter")
        logged[call[1], count * TYPE_BYTES[kind], REDUCTIONS[reduction] if named else None, ranks] += 1
    answered = {
        (r["operation"], r.get("bytes"), r.get("reduction"), r.get("ranks")): r.get("executions", 0) for r in read(answer)["rows"]
    }
    right = sum(answered.get(call) == times for call, times in logged.items())
    for call in sorted(set(logged) | set(answered), key=str):
        print(call, "logged", logged.get(call, 0), "answered", answered.get(call, 0), file=sys.stderr)
    ids = {found[1].zfill(16)[:8] for found in map(re.compile(r"commId 0x([0-9a-f]+) .*Init COMPLETE").search, lines) if found}
    with open(folded, encoding="utf-8", errors="replace") as file:
        shown = set(re.findall(r"nvtx:NCCL:[^;]*, comm ([0-9a-f]{8})", file.read()))
    print("communicators: logged", sorted(ids), "shown", sorted(shown), file=sys.stderr)
    print(right, len(set(logged) | set(answered)), len(shown & ids), len(shown | ids))


def train(how, path, steps="60"):
    """Trains under DDP or FSDP; writes the median step of the second half in ms."""
    import time

    import torch
    import torch.distributed as dist

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank) if how != "ddp" else None)
    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda()
    if how == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    elif how == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}), device_id=rank)
    else:
        from torch.distributed.fsdp import fully_shard

        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    numbers = torch.randn(1024, 2048, device="cuda")
    times = []
    for _ in range(int(steps)):
        start = time.perf_counter()
        optimizer.zero_grad()
        model(numbers).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    times = sorted(times[len(times) // 2 :])
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"world": world, "ms": round(times[len(times) // 2], 2)}, file)
    dist.destroy_process_group()


def main():
    commands = {"run": run, "compare": compare, "bandwidth": bandwidth, "log": log, "train": train}
    commands[sys.argv[1]](*sys.argv[2:])


main()
