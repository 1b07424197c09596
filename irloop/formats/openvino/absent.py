"""Attributes that a file should have and OpenVINO fills in where it does not.

OpenVINO 2026.4 was measured to read and compile files without them, with these values. IRL103
warns of each.
Others, such as `pooled_h` or `levels`, become a 0 that no model means; they stay mandatory.
"""

from __future__ import annotations

__all__ = ["ABSENT"]

#: Operation type and attribute, and the text that stands for an absent one.
ABSENT: dict[tuple[str, str], str] = {
    ("BatchNormInference", "epsilon"): "0",
    ("Clamp", "max"): "0",
    ("Clamp", "min"): "0",
    ("Concat", "axis"): "0",
    ("DepthToSpace", "mode"): "blocks_first",
    ("DetectionOutput", "nms_threshold"): "0",
    ("Elu", "alpha"): "0",
    ("ExperimentalDetectronDetectionOutput", "nms_threshold"): "0",
    ("ExperimentalDetectronDetectionOutput", "score_threshold"): "0",
    ("ExperimentalDetectronGenerateProposalsSingleImage", "min_size"): "0",
    ("ExperimentalDetectronGenerateProposalsSingleImage", "nms_threshold"): "0",
    ("ExperimentalDetectronROIFeatureExtractor", "sampling_ratio"): "0",
    ("GRN", "bias"): "1",
    ("GatherElements", "axis"): "0",
    ("GenerateProposals", "min_size"): "0",
    ("GenerateProposals", "nms_threshold"): "0",
    ("GroupNormalization", "epsilon"): "0",
    ("ISTFT", "center"): "false",
    ("ISTFT", "normalized"): "false",
    ("MVN", "normalize_variance"): "false",
    ("MaxPool", "dilations"): "",
    ("Multinomial", "log_probs"): "false",
    ("Multinomial", "with_replacement"): "false",
    ("NormalizeL2", "eps"): "0",
    ("OneHot", "axis"): "0",
    ("Proposal", "feat_stride"): "1",
    ("Proposal", "nms_thresh"): "0",
    ("ROIAlign", "mode"): "avg",
    ("ROIAlign", "sampling_ratio"): "0",
    ("ROIAlignRotated", "clockwise_mode"): "false",
    ("ROIAlignRotated", "sampling_ratio"): "0",
    ("Reverse", "mode"): "index",
    ("STFT", "transpose_frames"): "false",
    ("SegmentMax", "fill_mode"): "zero",
    ("SpaceToDepth", "mode"): "blocks_first",
    ("TopK", "axis"): "0",
    ("TopK", "mode"): "max",
    ("TopK", "sort"): "none",
}
