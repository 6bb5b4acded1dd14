"""A node drawn for people: one row for each GPU, the matrix of connections, the NVLink domains.

In: a `Node` and its topology.  Out: text; with `colour`, rich draws the tables.  The matrix is written as
`nvidia-smi topo -m` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.node.model import Gpu, Node
from preflight.node.nvml import fold_numbers
from preflight.node.topology import LEGEND, Domain, Topology
from preflight.record import NamedTuple

GIB = 1 << 30
SLOWDOWNS = 0x08 | 0x20 | 0x40 | 0x80
KINDS = {"fabric": "NVLink fabric", "switch": "NVSwitch", "mesh": "direct links", "alone": "no NVLink"}


class Table(NamedTuple):
    """Rows under headings; `right` are the columns that are aligned to the right."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


def write_node(node: Node, topology: Topology, colour: bool = False, width: int | None = None) -> str:
    """The whole picture."""
    head = describe_node(node)
    if node.silence is not None:
        return f"{head}\n"
    gpus = list_gpus(node, topology)
    if width is not None:
        gpus = narrow(gpus, width)
    parts = [head, *write_tables([gpus, list_matrix(node, topology)], colour, width)]
    parts.append("\n".join([*list_domains(node, topology), *explain_labels(topology)]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def describe_node(node: Node) -> str:
    """One line on the machine, one on where the words come from."""
    if node.silence is not None:
        return f"node {node.host}: {node.silence.text}"
    counts: dict[str, int] = {}
    for gpu in node.present:
        counts[gpu.name or "unknown GPU"] = counts.get(gpu.name or "unknown GPU", 0) + 1
    gpus = ", ".join(f"{count} x {name}" for name, count in counts.items()) or "no GPU"
    driver = f", driver {node.driver}" if node.driver else ""
    cuda = f" for CUDA up to {node.cuda // 1000}.{node.cuda % 1000 // 10}" if node.cuda else ""
    line = f"node {node.host}: {gpus}{driver}{cuda}"
    visible = node.scheduler.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        line += f"\nCUDA_VISIBLE_DEVICES={visible or '(empty)'}"
    if not node.measured:
        line += "\na plausible profile, not measured on a machine"
    return line


def list_gpus(node: Node, topology: Topology) -> Table:
    """One row for each GPU."""
    rows = []
    for gpu in node.gpus:
        up = sum(link.state == 1 for link in gpu.links)
        domain = topology.domain_of(gpu.number)
        number = "?" if topology.domains is None or domain is None else letter(topology.domains.index(domain))
        rows.append(
            (
                str(gpu.number),
                gpu.name or "?",
                amount(gpu.memory_total),
                amount(gpu.memory_used),
                ".".join(map(str, gpu.capability)) if gpu.capability else "?",
                gpu.bus_id or "?",
                gpu.numa_nodes or "-",
                gpu.cpus or "-",
                f"{up}/{len(gpu.links)}" if gpu.links else "-",
                number,
                state_of(gpu),
            )
        )
    headings = (
        "GPU", "product", "GiB", "used", "capability", "bus id", "NUMA", "CPUs", "NVLinks", "domain", "state",
    )  # fmt: skip
    return Table(headings, tuple(rows), frozenset({0, 2, 3, 4, 8}))


EXPENDABLE = ("CPUs", "capability", "used", "NUMA", "bus id", "GiB")
"""Columns that a narrow terminal does without, in this order."""


def narrow(table: Table, width: int) -> Table:
    """Leave columns out until the table fits."""
    for heading in EXPENDABLE:
        lines = [table.headings, *table.rows]
        if sum(max(len(line[at]) for line in lines) + 2 for at in range(len(table.headings))) - 2 <= width:
            break
        at = table.headings.index(heading)
        rows = tuple(row[:at] + row[at + 1 :] for row in table.rows)
        right = frozenset(column - (column > at) for column in table.right if column != at)
        table = Table(table.headings[:at] + table.headings[at + 1 :], rows, right)
    return table


def amount(size: int | None) -> str:
    return "?" if size is None else f"{size / GIB:.1f}"


def letter(number: int) -> str:
    """A, B, ... for domains."""
    return chr(ord("A") + number) if number < 26 else str(number)


def state_of(gpu: Gpu) -> str:
    """The worst that can be said of a GPU in a word or two."""
    if gpu.forbidden:
        return "not ours"
    if gpu.lost:
        return "lost"
    if "handle" in gpu.errors:
        return f"error {gpu.errors['handle']}"
    words = [
        word
        for word, holds in (
            ("recover", gpu.recovery_action),
            ("bad memory", gpu.remap_pending or gpu.remap_failure or gpu.retired_pending),
            (
                "fabric",
                gpu.fabric is not None and gpu.fabric.state in (1, 2, 3) and not gpu.fabric.registered,
            ),
            ("links down", any(link.state == 0 for link in gpu.links)),
            ("MIG", gpu.mig),
            ("slowed", (gpu.clock_reasons or 0) & SLOWDOWNS),
            ("in use", any(not process.own for process in gpu.processes or ())),
            ("errors", gpu.errors),
        )
        if holds
    ]
    return ", ".join(words) or "ok"


def list_matrix(node: Node, topology: Topology) -> Table:
    """How each two GPUs are connected."""
    names = tuple(f"GPU{gpu.number}" for gpu in node.gpus)
    rows = tuple((name, *cells) for name, cells in zip(names, topology.matrix, strict=True))
    return Table(("", *names), rows, frozenset(range(1, len(names) + 1)))


def list_domains(node: Node, topology: Topology) -> list[str]:
    """A line for each NVLink domain; those of one GPU share a line."""
    if topology.domains is None:
        return [f"NVLink domains are not known: {topology.doubt}"]
    alone = [domain.members[0] for domain in topology.domains if domain.kind == "alone"]
    lines = [
        f"NVLink domain {letter(topology.domains.index(domain))}: {describe_domain(domain)}"
        for domain in topology.domains
        if domain.kind != "alone"
    ]
    if alone:
        lines.append(f"without NVLink: GPU {fold_numbers(sorted(alone))}")
    return lines


def describe_domain(domain: Domain) -> str:
    text = f"GPU {fold_numbers(sorted(domain.members))}, {KINDS[domain.kind]}"
    if domain.key is not None:
        cluster, _, clique = domain.key.partition(":")
        text += f", clique {clique} of cluster {cluster[:8]}, which may span nodes"
    return text if domain.complete else text + ", not every pair directly"


def explain_labels(topology: Topology) -> list[str]:
    """The legend of what occurs."""
    used = {"NV#" if cell.startswith("NV") else cell for row in topology.matrix for cell in row}
    shown = [f"{label} = {text}" for label, text in LEGEND.items() if label in used and label != "X"]
    return ["; ".join(shown)] if shown else []


def write_tables(tables: Sequence[Table], colour: bool, width: int | None) -> list[str]:
    """Tables as text: with rich on a terminal, else in plain columns."""
    if not colour:
        return [write_plain(table) for table in tables]
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    written = []
    for table in tables:
        stream = StringIO()
        console = Console(file=stream, force_terminal=True, width=max(width or 0, 160), highlight=False)
        drawn = RichTable(box=None, pad_edge=False, header_style="bold")
        for at, heading in enumerate(table.headings):
            drawn.add_column(heading, justify="right" if at in table.right else "left", no_wrap=True)
        for row in table.rows:
            drawn.add_row(
                *(
                    Text(cell, style=style_of(cell, at, len(row), table.headings[-1]))
                    for at, cell in enumerate(row)
                )
            )
        console.print(drawn)
        written.append(stream.getvalue())
    return written


def style_of(cell: str, at: int, size: int, last: str) -> str:
    """Green for NVLink and for a good state, red for a bad one."""
    if cell.startswith("NV") and cell[2:].isdigit():
        return "green"
    if last == "state" and at == size - 1:
        return "green" if cell == "ok" else "bold red"
    return "dim" if cell in ("X", "-") else ""


def write_plain(table: Table) -> str:
    """Columns with two blanks between them."""
    lines = [table.headings, *table.rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table.headings))]
    return "\n".join(
        "  ".join(
            cell.rjust(widths[at]) if at in table.right else cell.ljust(widths[at])
            for at, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
