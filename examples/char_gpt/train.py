"""Train CharGPT, on one device or with torchrun on many.

    torchrun --nproc_per_node=8 train.py --config configs/small.yaml --steps 2000
"""

import argparse
import contextlib
import os
import time

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import Windows
from model import CharGPT, ModelConfig


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/small.yaml")
    parser.add_argument("--train-file", default="train.bin")
    parser.add_argument("--valid-file", default="valid.bin")
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--eval-every", type=int, default=500)
    parser.add_argument("--eval-batches", type=int, default=50)
    parser.add_argument("--log-every", type=int, default=10)
    parser.add_argument("--save-every", type=int, default=1000)
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    return parser.parse_args()


def batches(loader, sampler=None):
    """The loader's batches without end."""
    epoch = 0
    while True:
        if sampler is not None:
            sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


@torch.no_grad()
def evaluate(model, loader, device, count):
    model.eval()
    total = torch.zeros((), device=device)
    for index, (tokens, targets) in enumerate(loader):
        if index == count:
            break
        tokens, targets = tokens.to(device, non_blocking=True), targets.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            _, loss = model(tokens, targets)
        total += loss
    model.train()
    return (total / count).item()


def main():
    args = parse_args()
    distributed = "RANK" in os.environ
    if distributed:
        dist.init_process_group("nccl")
        rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    else:
        rank = local_rank = 0
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)

    with open(args.config) as file:
        config = ModelConfig(**yaml.safe_load(file))
    model = CharGPT(config).to(device)
    raw_model = model
    if args.compile:
        model = torch.compile(model)
    if distributed:
        model = DDP(model, device_ids=[local_rank])

    train_set = Windows(args.train_file, config.context)
    sampler = DistributedSampler(train_set) if distributed else None
    train = DataLoader(
        train_set,
        batch_size=args.batch_size,
        sampler=sampler,
        shuffle=sampler is None,
        num_workers=args.workers,
        pin_memory=True,
        drop_last=True,
    )
    valid = DataLoader(Windows(args.valid_file, config.context), batch_size=args.batch_size, pin_memory=True)

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    stream = batches(train, sampler)
    started = time.time()
    for step in range(args.steps):
        for micro_step in range(args.accumulate):
            tokens, targets = next(stream)
            tokens, targets = tokens.to(device, non_blocking=True), targets.to(device, non_blocking=True)
            last = micro_step == args.accumulate - 1
            with contextlib.nullcontext() if last or not distributed else model.no_sync():
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    _, loss = model(tokens, targets)
                    loss = loss / args.accumulate
                loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)

        if step % args.log_every == 0:
            if distributed:
                dist.all_reduce(loss, op=dist.ReduceOp.AVG)
            if rank == 0:
                print(f"step {step} loss {loss.item() * args.accumulate:.3f} {time.time() - started:.1f} s")
        if step % args.eval_every == 0 and rank == 0:
            print(f"step {step} validation loss {evaluate(raw_model, valid, device, args.eval_batches):.3f}")
        if step % args.save_every == 0 and rank == 0:
            torch.save({"model": raw_model.state_dict(), "step": step}, "checkpoint.pt")
    if distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
