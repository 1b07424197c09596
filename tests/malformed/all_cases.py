"""All malformed models, and the file with the recorded reactions of engines."""

from __future__ import annotations

from pathlib import Path

from tests.malformed import file_cases, ir_cases, onnx_cases

__all__ = ["CASES", "RECORD"]

CASES = [*file_cases.CASES, *ir_cases.CASES, *onnx_cases.CASES]
RECORD = Path(__file__).parent / "engines.json"
