"""What a bundle's manifest says about how exactly its graphs compute, as Markdown tables."""

from collections.abc import Sequence

from trt_engines.manifest import Manifest

Row = tuple[str, ...]


def parity_table(manifest: Manifest) -> str:
    """Return a line per result of verification, or a sentence if there is none; then what rounding cost, if it did."""
    if not manifest.verification:
        return f"{manifest.id} was never verified: its manifest has no results."
    results = [
        (item.graph, item.backend, item.case, f"{item.worst_error:.3g}", f"{item.tolerance:.3g}")
        for item in manifest.verification
    ]
    proof = _table(("graph", "backend", "case", "worst", "allowed"), results)
    costs = [(item.part, item.measure, f"{item.value:.4g}") for item in manifest.quality]
    return f"{proof}\n\n{_table(('rounded', 'against float32', 'value'), costs)}" if costs else proof


def _table(headings: Row, rows: Sequence[Row]) -> str:
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    lines = [_line(headings, widths), _line(tuple("-" * width for width in widths), widths)]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
