"""Loss layers."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.layers.rows import Bound, Buffers, LayerRow, layer

OLD = "size_average=None, reduce=None, reduction='mean'"


def _reduction(b: Bound) -> dict[str, Value]:
    """The old flags decide where given."""
    average, reduce = b.get("size_average"), b.get("reduce")
    if average is None and reduce is None:
        return {"reduction": b["reduction"]}
    if isinstance(average, Unknown) or isinstance(reduce, Unknown):
        return {"reduction": Unknown("reduction", "parameter")}
    if reduce is False:
        return {"reduction": "none"}
    return {"reduction": "sum" if average is False else "mean"}


def _weight(b: Bound) -> Buffers:
    found: Buffers = {}
    for name in ("weight", "pos_weight"):
        if name in b:
            value = b[name]
            found[name] = (value.shape, value.dtype or "float32") if isinstance(value, TensorValue) else None
    return found


# class, constructor before the old flags, after them, op, forward's parameters, arguments, weighted, example
LOSSES: list[tuple[str, str, str, str, str, str, bool, str]] = [
    ("L1Loss", "", "", "l1_loss", "input, target", "", False, "f32[2,3], f32[2,3]"),
    ("MSELoss", "", "", "mse_loss", "input, target", "", False, "f32[2,3], f32[2,3]"),
    ("SmoothL1Loss", "", "beta=1.0", "smooth_l1_loss", "input, target", "beta=beta", False, "f32[2,3], f32[2,3]"),
    ("SoftMarginLoss", "", "", "soft_margin_loss", "input, target", "", False, "f32[2,3], f32[2,3]"),
    ("NLLLoss", "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'", "-", "nll_loss", "input, target",
     "weight=weight, ignore_index=ignore_index", True, "f32[2,9], i64[2]"),
    ("CrossEntropyLoss", "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0", "-",
     "cross_entropy", "input, target", "weight=weight, ignore_index=ignore_index, label_smoothing=label_smoothing", True, "f32[2,9], i64[2]"),
    ("KLDivLoss", "", "log_target=False", "kl_div", "input, target", "log_target=log_target", False, "f32[2,3], f32[2,3]"),
    ("BCELoss", "weight=None", "", "binary_cross_entropy", "input, target", "weight=weight", True, "f32[2,3], f32[2,3]"),
    ("BCEWithLogitsLoss", "weight=None", "pos_weight=None", "binary_cross_entropy_with_logits", "input, target",
     "weight=weight, pos_weight=pos_weight", True, "f32[2,3], f32[2,3]"),
    ("HingeEmbeddingLoss", "margin=1.0", "", "hinge_embedding_loss", "input, target", "margin=margin", False, "f32[2,3], f32[2,3]"),
    ("MultiLabelMarginLoss", "", "", "multilabel_margin_loss", "input, target", "", False, "f32[2,3], i64[2,3]"),
    ("MultiLabelSoftMarginLoss", "weight=None", "", "multilabel_soft_margin_loss", "input, target", "weight=weight", True, "f32[2,3], f32[2,3]"),
    ("MultiMarginLoss", "p=1, margin=1.0, weight=None", "", "multi_margin_loss", "input, target", "p=p, margin=margin, weight=weight", True,
     "f32[2,3], i64[2]"),
    ("CosineEmbeddingLoss", "margin=0.0", "", "cosine_embedding_loss", "input1, input2, target", "margin=margin", False,
     "f32[2,3], f32[2,3], f32[2]"),
    ("MarginRankingLoss", "margin=0.0", "", "margin_ranking_loss", "input1, input2, target", "margin=margin", False, "f32[3], f32[3], f32[3]"),
    ("TripletMarginLoss", "margin=1.0, p=2.0, eps=1e-06, swap=False", "", "triplet_margin_loss", "anchor, positive, negative",
     "margin=margin, p=p, eps=eps, swap=swap", False, "f32[2,3], f32[2,3], f32[2,3]"),
    ("PoissonNLLLoss", "log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'", "-", "poisson_nll_loss",
     "input, target", "log_input=log_input, full=full, eps=eps", False, "f32[2,3], f32[2,3]"),
    ("HuberLoss", "reduction='mean', delta=1.0", "-", "huber_loss", "input, target", "delta=delta", False, "f32[2,3], f32[2,3]"),
    ("GaussianNLLLoss", "*, full=False, eps=1e-06, reduction='mean'", "-", "gaussian_nll_loss", "input, target, var", "full=full, eps=eps", False,
     "f32[2,3], f32[2,3], f32[2,3]"),
    ("TripletMarginWithDistanceLoss", "*, distance_function=None, margin=1.0, swap=False, reduction='mean'", "-",
     "triplet_margin_with_distance_loss", "anchor, positive, negative", "margin=margin, swap=swap", False, "f32[2,3], f32[2,3], f32[2,3]"),
    ("CTCLoss", "blank=0, reduction='mean', zero_infinity=False", "-", "ctc_loss", "log_probs, targets, input_lengths, target_lengths",
     "blank=blank", False, "f32[9,2,5], i64[2,4], i64[2], i64[2]"),
]  # fmt: skip


def _loss(item: tuple[str, str, str, str, str, str, bool, str]) -> LayerRow:
    name, before, after, op, takes, arguments, weighted, example = item
    signature = before if after == "-" else ", ".join(filter(None, (before, OLD, after)))
    bases = "_WeightedLoss _Loss" if weighted and name != "BCEWithLogitsLoss" else "_Loss"
    return layer(name, "loss", signature, f"() : {example} -> f32[]", op=f"F.{op}", takes=takes,
                 arguments=", ".join(filter(None, (takes, arguments, "reduction=reduction"))), bases=bases, stored=_reduction,
                 kept=_weight if weighted else None, dropped=("size_average", "reduce"))  # fmt: skip


ROWS: list[LayerRow] = [
    *(_loss(item) for item in LOSSES),
    layer("torch.nn.modules.loss._Loss", "loss", OLD, "", stored=_reduction, dropped=("size_average", "reduce")),
    layer("torch.nn.modules.loss._WeightedLoss", "loss", f"weight=None, {OLD}", "", bases="_Loss", stored=_reduction, kept=_weight,
          dropped=("size_average", "reduce")),
]  # fmt: skip
