"""Transforms models by passes, and offers the tools to write passes.

This package exports the base classes of passes, the patterns, the rewriter, and the manager that
runs passes; they are the public API for passes in other packages. Operation classes are in
`irloop.dialects`. `irloop.passes.common` holds irloop's own passes, one file for each.
"""

from __future__ import annotations

from irloop.graph.rewriter import Rewriter
from irloop.passes.base import ModelPass, Pass, PassConfig
from irloop.passes.graph_rewrite import BackwardGraphRewrite, GraphRewrite, MatcherPass, NodePass
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.manager import Manager, Observer
from irloop.passes.match_rewriter import MatchRewriter, copy_info
from irloop.passes.node_writer import NodeWriter
from irloop.passes.options import build, option, parse_request
from irloop.passes.pattern import (
    Match,
    Pattern,
    any_input,
    either,
    explain_match,
    optional,
    wrap_type,
)
from irloop.passes.predicates import (
    Predicate,
    attributes,
    consumers,
    dims,
    element_is,
    output_index,
    rank_is,
    shape_is,
    static_dims,
    static_rank,
    static_shape,
)
from irloop.passes.profile import PassRecord, Profile

__all__ = [
    "BackwardGraphRewrite",
    "GraphRewrite",
    "LoopPass",
    "LoopWires",
    "Manager",
    "Match",
    "MatchRewriter",
    "MatcherPass",
    "ModelPass",
    "NodePass",
    "NodeWriter",
    "Observer",
    "Pass",
    "PassConfig",
    "PassRecord",
    "Pattern",
    "Predicate",
    "Profile",
    "Rewriter",
    "any_input",
    "attributes",
    "build",
    "consumers",
    "copy_info",
    "dims",
    "either",
    "element_is",
    "explain_match",
    "option",
    "optional",
    "output_index",
    "parse_request",
    "rank_is",
    "shape_is",
    "static_dims",
    "static_rank",
    "static_shape",
    "wrap_type",
]
