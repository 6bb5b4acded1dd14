"""Outcomes that the report tests write: made by hand, so that each form of a finding is there."""

from __future__ import annotations

from preflight.diagnostics import Diagnostic, Edit, Fix, Label, Severity, Undecided
from preflight.execution import Condition
from preflight.outcome import FileOutcome, Outcome, RulePage
from preflight.source import Source, Span
from preflight.values import Assumption

SCRIPT = Source(
    "train.sh",
    b"""#!/bin/bash
source common.sh
TP=${TP:-8}
export WANDB_API_KEY=abcdef123
if [ $SIZE = 7B ]; then HEADS=30; fi
torchrun pretrain_gpt.py \\
\t--tensor-model-parallel-size $TP \\
    --num-attention-heads 30 --lr 1 \\
    --tokenizer-model "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e/m" --micro-batch-size x
""",
)
COMMON = Source("lib/common.sh", b"# shared\nLAYERS=32\n")


def span(text: str, source: Source = SCRIPT, nth: int = 0) -> Span:
    """The place of a text."""
    data, at = text.encode(), -1
    for _ in range(nth + 1):
        at = source.data.index(data, at + 1)
    return source.span(at, at + len(data))


def finding(rule: str, severity: Severity, message: str, *labels: Label, **more: object) -> Diagnostic:
    """A finding of the script."""
    plain = Diagnostic(
        rule=rule,
        family="attention",
        severity=severity,
        fails_at="start" if severity == "error" else None,
        message=message,
        path="train.sh",
        labels=labels,
        fingerprint=f"{rule:0<32}"[:32].replace("-", "0"),
    )
    return plain._replace(**more)  # type: ignore[arg-type]


HEADS = finding(
    "heads-not-divisible-by-tp",
    "error",
    "30 attention heads cannot be split over 8 tensor-parallel ranks",
    Label(span("--tensor-model-parallel-size $TP"), "resolves to 8", primary=True),
    Label(span("8", nth=0), "8 comes from this default"),
    Label(span("--num-attention-heads 30"), "30"),
    Label(span("LAYERS=32", COMMON), "32 layers"),
    Label(span("torchrun"), "", hidden=True),
    help="use a tensor-parallel size that divides the head count: 1, 2, 3, 5, 6, 10, 15, 30",
    assumptions=(Assumption("TP", "8", span("8")),),
    conditions=(Condition(span("[ $SIZE = 7B ]"), "$SIZE = 7B", True),),
    facts={"num_attention_heads": 30, "tensor_model_parallel_size": 8},
    fix=Fix("use 6", "unsafe", (Edit(span("8"), "6"),)),
    releases="core_v0.19.0",
    launch=0,
)
TYPE = finding(
    "wrong-type",
    "warning",
    "--micro-batch-size wants a whole number, not 'x'",
    Label(span("--micro-batch-size x"), "not a number", primary=True),
    Label(span('--tokenizer-model "日本語/m"'), "wide characters"),
)
SECRET = finding(
    "secret-seen",
    "note",
    "the key abcdef123, 100% sure\nsecond line",
    Label(span("WANDB_API_KEY=abcdef123"), "abcdef123 is set here", primary=True),
)
WHOLE = finding("whole-file", "note", "about the whole file")
NODE = finding("gpu-lost", "error", "7 of 8 GPUs answer", family="node", path="", node="node7")
IGNORED = finding("quiet", "error", "ignored", Label(span("torchrun"), "", primary=True), ignored="a reason")
WAITING = Undecided(
    "world-size", "train.sh", span("torchrun"), (("nnodes", "environment", "$NNODES", "--env NNODES=..."),)
)

PAGES = {
    rule: RulePage(
        rule, "attention", f"summary of {rule}", "error", "Why it matters.", "", ("arguments.py:validate",)
    )
    for rule in ("heads-not-divisible-by-tp", "wrong-type", "secret-seen", "whole-file", "gpu-lost")
}
FULL = Outcome(
    "0.1.0",
    (
        FileOutcome(
            "train.sh",
            launches=1,
            diagnostics=(WHOLE, SECRET, HEADS, TYPE, IGNORED),
            undecided=(WAITING,),
            target="core_v0.19.0",
            rules=212,
            sources=(SCRIPT,),
        ),
        FileOutcome("absent file.sh", error="no such file"),
    ),
    target="core_v0.19.0",
    pages=PAGES,
    secrets=frozenset({"abcdef123"}),
    node=(NODE,),
)
CLEAN = Outcome(
    "0.1.0", (FileOutcome("train.sh", launches=1, rules=212, target="core_v0.19.0"),), target="core_v0.19.0"
)
EMPTY = Outcome("0.1.0", ())
OUTCOMES = {"full": FULL, "clean": CLEAN, "empty": EMPTY}
