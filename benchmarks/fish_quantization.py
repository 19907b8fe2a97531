"""What rounding the weights of a Fish Speech checkpoint costs: the report of sizes and errors for every storage.

    python -m benchmarks.fish_quantization build/fish-full/checkpoint

For the talker: mean squared error, cosine and divergence of the logits of token and codes over a random prompt, beside
the share of most likely ids that stay. For the codec: distance of log-mel spectra of decoded random frames, and the
share of codes that encoding noise gives again. Speed and memory of a storage tells `benchmarks.fish_full_size`.
"""

import argparse
import copy
import json
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from build_engines.fish_speech.causal import Past
from build_engines.fish_speech.checkpoint import load_checkpoint
from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.talker import FishTalker
from build_engines.graph.quantization import BLOCK_SIZE, ZERO_POINT, quantize_blocks
from build_engines.graph.storage import Storage

_ROWS = 64
_FRAMES = 12
_SAMPLES = 44_100

Network = TypeVar("Network", bound=nn.Module)


def main() -> None:
    """Print the report as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    checkpoint = load_checkpoint(parser.parse_args().checkpoint)
    report = {
        storage.value: {
            "talker": talker_errors(checkpoint.talker, rounded(checkpoint.talker, storage)),
            "codec": codec_errors(checkpoint.codec, rounded(checkpoint.codec, storage)),
        }
        for storage in (Storage.FLOAT16, Storage.PACKED, Storage.INT8)
    }
    print(json.dumps(report, indent=2))


def rounded(network: Network, storage: Storage) -> Network:
    """Return a copy whose weights are what is left of them in a storage; see `GraphBuilder.weight` and `project`."""
    result = copy.deepcopy(network)
    linear = {f"{name}.weight" for name, module in network.named_modules() if isinstance(module, nn.Linear)}
    for name, parameter in result.named_parameters():
        if parameter.ndim < 2:
            continue
        in_blocks = storage is Storage.PACKED or (storage is Storage.INT8 and name in linear)
        if in_blocks and parameter.shape[-1] >= BLOCK_SIZE:
            parameter.data = _through_blocks(parameter.data)
        else:
            parameter.data = parameter.data.half().float()
    return result


def _through_blocks(weight: Tensor) -> Tensor:
    matrix = weight.reshape(-1, weight.shape[-1]).numpy()
    packed, scales = quantize_blocks(matrix)
    values = (packed.astype(np.float32) - ZERO_POINT) * scales[..., None]
    return torch.from_numpy(values.reshape(len(matrix), -1)[:, : matrix.shape[1]]).reshape(weight.shape)


@torch.no_grad()
def talker_errors(exact: FishTalker, other: FishTalker) -> dict[str, dict[str, float]]:
    """Compare logits over one random prompt of text and speech."""
    torch.manual_seed(0)
    config, ids = exact.config, exact.ids
    rows = torch.zeros(1, _ROWS, 1 + config.codebook_count, dtype=torch.long)
    rows[..., 0] = torch.randint(0, ids.end, (1, _ROWS))
    rows[:, _ROWS // 2 :, 1:] = torch.randint(0, 1000, (1, _ROWS // 2, config.codebook_count))
    rows[:, _ROWS // 2 :, 0] = ids.semantic_begin + rows[:, _ROWS // 2 :, 1]
    spoken = slice(ids.semantic_begin, ids.semantic_begin + config.codebook_size)
    outputs = []
    for talker in (exact, other):
        hidden, logits = talker(rows)
        codes = talker.code_logits(hidden[0, _ROWS // 2 - 1 : -1], rows[0, _ROWS // 2 :, 1:-1])
        outputs.append((logits[0, :, spoken], codes[:, 1:].flatten(0, 1)))
    (exact_token, exact_codes), (token, codes) = outputs
    return {"token": _distance(exact_token, token), "codes": _distance(exact_codes, codes)}


def _distance(exact: Tensor, other: Tensor) -> dict[str, float]:
    divergence = functional.kl_div(other.log_softmax(-1), exact.log_softmax(-1), log_target=True, reduction="batchmean")
    return {
        "mean_squared_error": float((exact - other).square().mean()),
        "relative_error": float((exact - other).norm() / exact.norm()),
        "cosine": float(functional.cosine_similarity(exact, other).mean()),
        "divergence_nats": float(divergence),
        "same_likeliest_share": float((exact.argmax(-1) == other.argmax(-1)).float().mean()),
    }


@torch.no_grad()
def codec_errors(exact: FishCodec, other: FishCodec) -> dict[str, Any]:
    """Compare spectra of decoded frames, and the codes of noise."""
    torch.manual_seed(0)
    codes = torch.randint(0, exact.config.code_count, (1, _FRAMES, exact.config.codebook_count))
    noise = 0.1 * torch.randn(1, _SAMPLES)
    spectra = [exact.mel(codec.decode(codes, Past())) for codec in (exact, other)]
    encoded = [codec.encode(noise) for codec in (exact, other)]
    decibels = 20 / float(np.log(10))
    return {
        "mel_distance_db": decibels * float((spectra[0] - spectra[1]).abs().mean()),
        "same_code_share": float((encoded[0] == encoded[1]).float().mean()),
    }


if __name__ == "__main__":
    main()
