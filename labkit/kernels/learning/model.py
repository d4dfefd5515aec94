"""A small transformer that predicts the next token, and its data: the same for every run of a seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

TOKENS = 256


def layer(width: int, heads: int) -> Any:
    """One layer as in GPT-2: attention and a perceptron of four times the width, normalised before; no dropout."""
    return nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)


def layers(width: int, heads: int, count: int) -> Any:
    """Embedding, layers and output, in turn; the same weights on every rank."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Embedding(TOKENS, width), *(layer(width, heads) for _ in range(count)), nn.Linear(width, TOKENS)
    )


def tokens(seed: int, rank: int, batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of a rank and the token that follows each place, both (batch, length)."""
    source = torch.Generator().manual_seed(1000 * seed + rank)
    drawn = torch.randint(TOKENS, (batch, length + 1), generator=source)
    return drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()


def loss_of(output: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the predicted tokens."""
    return nn.functional.cross_entropy(output.reshape(-1, TOKENS), wanted.reshape(-1))


def far(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Largest difference of two tensors over the largest value of the second."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-12))
