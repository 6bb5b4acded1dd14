"""The junit report: test results for servers that show nothing else.

In: an outcome.  Out: JUnit XML with a suite for each file and a failure for each error or warning; a note is a
test that passes, with its words as output, and a file that could not be checked is an error.
"""

from __future__ import annotations

from xml.etree import ElementTree

from preflight.diagnostics import Diagnostic
from preflight.outcome import Outcome
from preflight.patterns import pattern
from preflight.report.concise import line_of
from preflight.report.mask import Mask

_FORBIDDEN = pattern("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(outcome: Outcome) -> str:
    mask = Mask(outcome.secrets)
    root = ElementTree.Element("testsuites", name="preflight")
    for file in outcome.files:
        _add_suite(root, file.path, [d for d in file.diagnostics if d.ignored is None], file.error, mask)
    node = [d for d in outcome.node if d.ignored is None]
    if node or outcome.node_error is not None:
        _add_suite(root, "node", node, outcome.node_error, mask)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _add_suite(
    root: ElementTree.Element, path: str, diagnostics: list[Diagnostic], error: str | None, mask: Mask
) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(path))
    failures = sum(d.severity != "note" for d in diagnostics)
    suite.set("tests", str(max(len(diagnostics) + (error is not None), 1)))
    suite.set("failures", str(failures))
    suite.set("errors", str(int(error is not None)))
    for diagnostic in diagnostics:
        case = ElementTree.SubElement(
            suite, "testcase", name=diagnostic.rule, classname=_clean(path), file=_clean(path)
        )
        if diagnostic.labels:
            case.set("line", str(diagnostic.labels[0].span.position.line))
        words = _clean(mask.text(diagnostic.message))
        details = [line_of(diagnostic)] + ([f"help: {diagnostic.help}"] if diagnostic.help else [])
        body = _clean(mask.text("\n".join(details)))
        if diagnostic.severity == "note":
            ElementTree.SubElement(case, "system-out").text = body
        else:
            ElementTree.SubElement(case, "failure", message=words, type=diagnostic.severity).text = body
    if error is not None:
        case = ElementTree.SubElement(suite, "testcase", name="readable", classname=_clean(path))
        ElementTree.SubElement(case, "error", message=_clean(mask.text(error)))
    elif not diagnostics:
        ElementTree.SubElement(suite, "testcase", name="preflight", classname=_clean(path))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
