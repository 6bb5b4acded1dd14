"""Mistakes that people really made, and what a perfect checker says of them.

Each case is a file written after a public report (`source` names it).  An expected error names one of the flags in
its message, help or labels; a case without a fault raises no error, and no warning about what must not be reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import preflight

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent.parent / "fixtures" / "cases" / "cases.jsonl")
    .read_text("utf-8")
    .splitlines()
]
WAITING = {
    "ckpt-tp-change-torch": "what a checkpoint holds is outside of what a static check may read",
    "ckpt-pos-emb-mismatch": "what a checkpoint holds is outside of what a static check may read",
    "port-busy": "who listens on a port is for the node to say",
    "launch-local-rank": "an error only where torch's version is known too; a warning until then",
    "nccl-ifname-missing": "which network interfaces exist is for the node to say",
    "nproc8-on-4gpu-node": "an error on the node, by preflight node; nothing in the script says it",
    "unequal-gpu-nodes": "an error of the fleet, by preflight fleet; nothing in the script says it",
    "v100-grouped-gemm": "an error with --gpu v100; nothing in the script says it",
    "ep-across-nvl72": "what the segment of a job spans is for the fleet to say",
    "oom-7b-a100-40": "memory is not estimated yet",
    "oom-13b-4x40": "memory is not estimated yet",
    "oom-lora-30b-4090": "memory is not estimated yet",
    "dsv3-too-few-gpus": "memory is not estimated yet",
    "flash-attn-too-new": "which packages are installed is for the node to say",
    "maxconn-subshell": "an export in parentheses counts as one that may reach the ranks",
    "case-fallthrough": "what only an arm that is not taken assigns may come from the caller",
    "vp-3": "a recipe that is not read may lay the layers out unevenly",
    "bridge-odd-batch": "a recipe that is not read may ramp the batch up",
    "pretrained-path-typo": "what a checkpoint's folder holds is for the node to say",
}
"""Cases that are not right yet, each with its reason; one that becomes right has to leave this list."""
SEVERE = {"error": ("error",), "warning": ("error", "warning")}


def name_file(case: dict[str, Any]) -> str:
    """The name that the input would have."""
    text = case["input"].lstrip()
    head = text.splitlines()[0] if text else ""
    if head.startswith("#!"):
        return "train.py" if "python" in head else "train.sh"
    if case["kind"] == "python-config" or text.startswith(("import ", "from ", '"""')):
        return "config.yaml" if head.endswith(":") else "train.py"
    return "train.sh"


def mentions(finding: dict[str, Any], flag: str) -> bool:
    texts = [finding["message"], finding["help"] or "", *(label["text"] for label in finding["labels"])]
    texts += finding["marked"]
    plain = flag.strip().lstrip("-").replace("-", "_").lower()
    return any(plain in text.replace("-", "_").lower() for text in texts)


def check_case(case: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    path = folder / name_file(case)
    path.write_text(case["input"], "utf-8")
    options = ["--isolated"]
    document = preflight.check(str(path), target=case["target"], options=options)
    assert all(file["error"] is None for file in document["files"])
    lines = case["input"].splitlines()
    findings: list[dict[str, Any]] = document["findings"]
    for finding in findings:
        finding["marked"] = [
            "\n".join(lines[label["line"] - 1 : label["end_line"]]) for label in finding["labels"]
        ]
    return findings


def complain(case: dict[str, Any], findings: list[dict[str, Any]]) -> str | None:
    expected = case["expected"]
    shown = "\n".join(f"{f['severity']} {f['rule']}: {f['message']}" for f in findings) or "nothing"
    if expected["severity"] == "none":
        errors = [f for f in findings if f["severity"] == "error"]
        return f"a false error\n{shown}" if errors else None
    severe = [f for f in findings if f["severity"] in SEVERE[expected["severity"]]]
    if not any(mentions(f, flag) for f in severe for flag in expected["flags"] or [""]):
        return f"should name {expected['flags']} as {expected['severity']}: {expected['message']}\n{shown}"
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_verdict_is_right(case: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if case["id"] in WAITING:
        request.applymarker(pytest.mark.xfail(strict=True, reason=WAITING[case["id"]]))
    complaint = complain(case, check_case(case, tmp_path))
    assert complaint is None, complaint
