"""Transformations, after nGraph's: passes, patterns, one rewriter, a manager that times and checks.

`common` holds the library, one file a pass.
"""

from __future__ import annotations

from irloop.passes.base import MatcherPass, ModelPass, Pass, PassConfig
from irloop.passes.graph_rewrite import BackwardGraphRewrite, GraphRewrite
from irloop.passes.manager import Manager, Observer
from irloop.passes.match_rewriter import MatchRewriter, copy_info
from irloop.passes.options import option
from irloop.passes.pattern import (
    Match,
    Pattern,
    any_input,
    either,
    explain_match,
    optional,
    wrap_type,
)
from irloop.passes.predicates import Predicate
from irloop.passes.profile import PassRecord, Profile

__all__ = [
    "BackwardGraphRewrite",
    "GraphRewrite",
    "Manager",
    "Match",
    "MatchRewriter",
    "MatcherPass",
    "ModelPass",
    "Observer",
    "Pass",
    "PassConfig",
    "PassRecord",
    "Pattern",
    "Predicate",
    "Profile",
    "any_input",
    "copy_info",
    "either",
    "explain_match",
    "option",
    "optional",
    "wrap_type",
]
