"""Trains the talker on aligned examples: cross-entropy of the advance and of every code, teacher forced.

Batches hold utterances of like length, about `batch_frames` frames each. The rate warms up, stays, and falls
linearly to zero over the last part of the run; the averaged weights (EMA) are saved beside the raw ones.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from build_engines.networks.pointer_talker import END_ADVANCE, PointerTalker, PointerTalkerConfig
from training import checkpoint
from training.dataset import read_shards
from training.tokens import Example, read_examples

PEAK_RATE = 1.5e-3
WARM_UP_STEPS = 150
SHORT_ONLY_STEPS, SHORT_FRAMES = 300, 64
VALIDATION_COUNT = 64
POOL = 800
REPORT_EVERY, SAVE_EVERY, VALIDATE_EVERY = 50, 100, 200
Batch = dict[str, Tensor]


def collate(examples: list[Example]) -> Batch:
    """Pad a list of examples to tensors, repeating the last row of each."""

    def padded(arrays: list[np.ndarray]) -> Tensor:
        longest = max(len(array) for array in arrays)
        rows = [np.concatenate([array, np.repeat(array[-1:], longest - len(array), 0)]) for array in arrays]
        return torch.from_numpy(np.stack(rows))

    return {
        "prompt": padded([item.prompt for item in examples]),
        "rows": padded([item.rows for item in examples]),
        "advances": padded([item.advances for item in examples]),
        "pointers": padded([item.pointers for item in examples]),
        "codes": padded([item.codes for item in examples]),
        "prompt_count": torch.tensor([len(item.prompt) for item in examples]),
        "row_count": torch.tensor([len(item.rows) for item in examples]),
    }


def slow_hidden(talker: PointerTalker, batch: Batch) -> Tensor:
    """Run the slow transformer over [phonemes][frames] and return the frames' hidden states [batch, rows, width]."""
    phonemes = talker.phoneme(batch["prompt"])
    frames = talker.embed_frames(batch["rows"], batch["prompt"], batch["prompt_count"])
    counts = batch["prompt_count"][:, None]
    time_axis = torch.arange(int((batch["prompt_count"] + batch["row_count"]).max()))[None]
    size, width = len(counts), frames.shape[-1]
    frame_at = (time_axis - counts).clamp(0, frames.shape[1] - 1)[..., None].expand(size, -1, width)
    phoneme_at = time_axis.clamp(0, phonemes.shape[1] - 1)[..., None].expand(size, -1, width)
    is_frame = (time_axis >= counts)[..., None]
    hidden = torch.where(is_frame, frames.gather(1, frame_at), phonemes.gather(1, phoneme_at))
    hidden = talker.slow_norm(talker.slow(hidden))
    back = (counts + torch.arange(frames.shape[1])[None]).clamp(max=hidden.shape[1] - 1)
    return hidden.gather(1, back[..., None].expand(-1, -1, width))


def losses(talker: PointerTalker, batch: Batch) -> Tensor:
    """Return float32 [1 + codebooks]: the cross-entropies in nats of the advance and of each code."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = slow_hidden(talker, batch)
        valid = torch.arange(hidden.shape[1])[None] < batch["row_count"][:, None]
        advance_logits = talker.advance_head(hidden[valid])
        start = talker.fast_start(hidden, batch["prompt"], batch["prompt_count"], batch["pointers"], batch["advances"])
        spoken = valid & (batch["advances"] != END_ADVANCE)
        codes = batch["codes"][spoken]
        code_logits = talker.code_logits(start[spoken], codes)
    advance_loss = F.cross_entropy(advance_logits.float(), batch["advances"][valid])
    code_losses = [F.cross_entropy(logits.float(), codes[:, k]) for k, logits in enumerate(code_logits)]
    return torch.stack([advance_loss, *code_losses])


def batches(examples: list[Example], batch_frames: int, seed: int, *, short_only: bool) -> Iterator[Batch]:
    """Yield one epoch of length-bucketed batches in random order."""
    rng = np.random.default_rng(seed)
    short = [index for index, item in enumerate(examples) if len(item.rows) <= SHORT_FRAMES]
    order = short if short_only and short else list(range(len(examples)))
    rng.shuffle(order)
    groups: list[list[int]] = []
    for first in range(0, len(order), POOL):
        group: list[int] = []
        for index in sorted(order[first : first + POOL], key=lambda i: len(examples[i].rows)):
            if group and len(examples[index].rows) * (len(group) + 1) > batch_frames:
                groups.append(group)
                group = []
            group.append(index)
        groups.append(group)
    rng.shuffle(groups)
    for group in groups:
        yield collate([examples[index] for index in group])


@torch.no_grad()
def validate(talker: PointerTalker, examples: list[Example]) -> str:
    """Return the mean losses on held-out examples as text."""
    talker.eval()
    parts = [losses(talker, collate(examples[at : at + 16])) for at in range(0, len(examples), 16)]
    talker.train()
    return _text(torch.stack(parts).mean(0))


class Run:
    """One resumable training run: talker, averaged talker, optimizer and step count."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.talker = PointerTalker(PointerTalkerConfig())
        matrices = [p for p in self.talker.parameters() if p.ndim == 2]
        others = [p for p in self.talker.parameters() if p.ndim != 2]
        groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, PEAK_RATE, betas=(0.9, 0.95), fused=True)
        self.step = 0
        if state := checkpoint.load(out):
            self.talker.load_state_dict(state["raw"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]
        self.average = {
            name: tensor.clone() for name, tensor in (state["talker"] if state else self.talker.state_dict()).items()
        }

    def save(self) -> None:
        """Write the checkpoint; `talker` holds the averaged weights."""
        state = {"talker": self.average, "raw": self.talker.state_dict(), "optimizer": self.optimizer.state_dict()}
        checkpoint.save(self.out, {**state, "step": self.step})

    def learn(self, batch: Batch, rate: float) -> Tensor:
        """Take one optimizer step and return the losses."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        parts = losses(self.talker, batch)
        self.optimizer.zero_grad(set_to_none=True)
        parts.sum().backward()
        torch.nn.utils.clip_grad_norm_(self.talker.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        decay = min(0.998, (self.step + 1) / (self.step + 20))
        for name, tensor in self.talker.state_dict().items():
            if tensor.is_floating_point():
                self.average[name].lerp_(tensor, 1 - decay)
        return parts.detach()


def rate_at(step: int, steps: int, decay_share: float) -> float:
    """Warm up, stay at the peak, fall linearly to zero over the last `decay_share` of the run."""
    return PEAK_RATE * min(1.0, (step + 1) / WARM_UP_STEPS, (steps - step) / (steps * decay_share))


def train(
    tokens: Path, out: Path, steps: int, batch_frames: int, decay_share: float, held_out_count: int = VALIDATION_COUNT
) -> None:
    """Train until `steps`, saving and validating now and then."""
    examples = [item for path in read_shards(tokens) for item in read_examples(path)]
    held_out, examples = examples[:held_out_count], examples[held_out_count:]
    run, validation = Run(out), ""
    recent: list[Tensor] = []
    with tqdm(total=steps, initial=run.step, desc="talker", unit="step") as progress:
        while run.step < steps:
            short_only = run.step < SHORT_ONLY_STEPS
            for batch in batches(examples, batch_frames, run.step, short_only=short_only):
                recent = [*recent, run.learn(batch, rate_at(run.step, steps, decay_share))][-REPORT_EVERY:]
                progress.update()
                if run.step % VALIDATE_EVERY == 0:
                    validation = validate(run.talker, held_out)
                if run.step % REPORT_EVERY == 0:
                    progress.set_postfix_str(f"loss {_text(torch.stack(recent).mean(0))} validation {validation}")
                if run.step % SAVE_EVERY == 0 or run.step == steps:
                    run.save()
                if run.step in (steps, SHORT_ONLY_STEPS):
                    break


def _text(values: Tensor) -> str:
    return " ".join(f"{value:.3f}" for value in values.tolist())
