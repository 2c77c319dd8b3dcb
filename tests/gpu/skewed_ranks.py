# SPDX-License-Identifier: MIT
"""Two ranks, each on its GPU, that sum in 200 rounds; in the second half rank 1 comes 5 ms late.

To be started by torchrun. Each rank prints "rank R waited MS": how long that half's collectives took it.
"""
import time

import torch
import torch.distributed as dist

ROUNDS, LATE_S = 200, 0.005


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    numbers = torch.ones(1 << 20, device="cuda")
    factor = torch.randn(1024, 1024, device="cuda")
    waited = 0.0
    for _ in range(5):
        dist.all_reduce(numbers)
    torch.cuda.synchronize()
    for i in range(ROUNDS):
        is_late = i >= ROUNDS // 2
        factor @ factor
        torch.cuda.synchronize()
        if is_late and rank == 1:
            time.sleep(LATE_S)
        start = time.perf_counter()
        dist.all_reduce(numbers)
        torch.cuda.synchronize()
        waited += (time.perf_counter() - start) * is_late
    print(f"rank {rank} waited {waited * 1e3:.1f}", flush=True)
    dist.destroy_process_group()


main()
