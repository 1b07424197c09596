"""Decoders that search in a loop: a token-and-duration transducer, and a reader of tables."""

from __future__ import annotations

from pathlib import Path

import torch

from benchmarks.wild.exporting import Recipe, export

__all__ = ["RECIPES"]


class TokenAndDuration(torch.nn.Module):  # type: ignore[misc]  # torch is in another environment
    """A greedy TDT decoder: each step emits a token or none, and how many frames it skips."""

    def __init__(self, vocabulary: int = 12, size: int = 16, durations: int = 4) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, size)
        self.cell = torch.nn.LSTMCell(size, size)
        self.joint = torch.nn.Linear(2 * size, vocabulary + durations)
        self.size = size
        self.vocabulary = vocabulary

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The tokens of the frames [T, size], the frame of each, and the last state."""
        h = torch.zeros(1, self.size)
        c = torch.zeros(1, self.size)
        token = torch.zeros(1, dtype=torch.int64)
        found = torch.zeros(0, dtype=torch.int64)
        places = torch.zeros(0, dtype=torch.int64)
        at = torch.zeros(1, dtype=torch.int64)
        count = 0
        while bool((at < frames.shape[0]).all()):
            next_h, next_c = self.cell(self.embedding(token), (h, c))
            logits = self.joint(torch.cat([frames.index_select(0, at), next_h], 1))
            best = logits[:, : self.vocabulary].argmax(1)
            skipped = logits[:, self.vocabulary :].argmax(1)
            if bool((best > 0).all()):
                h, c, token = next_h, next_c, best
                found = torch.cat([found, best])
                places = torch.cat([places, at])
                count += 1
            else:
                skipped = torch.clamp(skipped, min=1)
                count = 0
            if count > 3:
                skipped = torch.clamp(skipped, min=1)
                count = 0
            at = at + skipped
        return found, places, h


class TableReader(torch.nn.Module):  # type: ignore[misc]
    """The decoder of a table's structure: attention and a GRU, until every row has ended."""

    def __init__(self, vocabulary: int = 10, size: int = 16, steps: int = 20) -> None:
        super().__init__()
        self.keys = torch.nn.Linear(size, size)
        self.query = torch.nn.Linear(size, size)
        self.score = torch.nn.Linear(size, 1)
        # The exporter refuses a scripted GRUCell.
        self.gates = torch.nn.Linear(2 * size + vocabulary, 2 * size)
        self.fresh = torch.nn.Linear(2 * size + vocabulary, size)
        self.structure = torch.nn.Linear(size, vocabulary)
        self.places = torch.nn.Linear(size, 8)
        self.vocabulary = vocabulary
        self.size = size
        self.steps = steps

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Structure and boxes of each step from the features [B, N, size]."""
        batch = features.shape[0]
        h = torch.zeros(batch, self.size)
        token = torch.zeros(batch, dtype=torch.int64)
        ended = torch.zeros(batch, dtype=torch.bool)
        structures = torch.zeros(batch, self.steps, self.vocabulary)
        boxes = torch.zeros(batch, self.steps, 8)
        keys = self.keys(features)
        numbers = torch.arange(self.steps)
        step = 0
        while step < self.steps and not bool(ended.all()):
            weights = torch.softmax(self.score(torch.tanh(keys + self.query(h).unsqueeze(1))), 1)
            context = (weights * features).sum(1)
            word = torch.nn.functional.one_hot(token, self.vocabulary).to(context.dtype)
            seen = torch.cat([context, word], 1)
            reset, kept = torch.sigmoid(self.gates(torch.cat([seen, h], 1))).chunk(2, 1)
            fresh = torch.tanh(self.fresh(torch.cat([seen, reset * h], 1)))
            h = kept * h + (1 - kept) * fresh
            logits = self.structure(h)
            here = (numbers == step).unsqueeze(0).unsqueeze(2)
            structures = torch.where(here, torch.softmax(logits, 1).unsqueeze(1), structures)
            boxes = torch.where(here, torch.sigmoid(self.places(h)).unsqueeze(1), boxes)
            token = logits.argmax(1)
            ended = ended | (token == self.vocabulary - 1)
            step += 1
        return structures, boxes


def transducer(path: Path) -> None:
    """The TDT decoder, scripted."""
    module = TokenAndDuration()
    # Weights that are larger than usual, for tokens that change.
    module.joint.weight.data *= 4
    given = {"frames": torch.randn(6, 16)}
    axes = {"frames": {0: "time"}}
    export(torch.jit.script(module.eval()), given, path, axes=axes, dynamo=False)


def table_reader(path: Path) -> None:
    """The decoder of tables, scripted."""
    module = TableReader()
    # With these, some tables end at once, and others never.
    module.structure.weight.data *= 8
    module.structure.bias.data[-1] += 0.4
    given = {"features": torch.randn(2, 9, 16)}
    axes = {"features": {0: "batch", 1: "places"}}
    export(torch.jit.script(module.eval()), given, path, axes=axes, dynamo=False)


RECIPES: dict[str, Recipe] = {
    "searches/tdt-greedy-script": transducer,
    "searches/table-reader-script": table_reader,
}
