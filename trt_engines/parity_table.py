"""What a bundle's manifest says about how exactly its graphs compute, as a Markdown table."""

from trt_engines.manifest import Manifest

_HEADINGS = ("graph", "backend", "case", "worst", "allowed")


def parity_table(manifest: Manifest) -> str:
    """Return one line per result of verification, under a heading; or a sentence if there is none."""
    if not manifest.verification:
        return f"{manifest.id} was never verified: its manifest has no results."
    rows = [
        (item.graph, item.backend, item.case, f"{item.worst_error:.3g}", f"{item.tolerance:.3g}")
        for item in manifest.verification
    ]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    lines = [_line(_HEADINGS, widths), _line(tuple("-" * width for width in widths), widths)]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
