"""The table of `antiphon bundle report`."""

import dataclasses

from tests.trt_engines.small_bundle import small_manifest
from trt_engines.manifest import QualitySpec
from trt_engines.parity_table import parity_table


def test_every_result_is_a_line() -> None:
    """Graph, backend, case, error and limit stand in columns of equal width."""
    heading, rule, line = parity_table(small_manifest()).splitlines()
    assert ["graph", "backend", "case", "worst", "allowed"] == [cell.strip() for cell in heading.split("|")[1:-1]]
    assert set(rule) == {"|", " ", "-"}
    assert line == "| graphs/step.onnx | onnxruntime | 2 rows | 1e-06 | 0.0001  |"


def test_what_rounding_cost_is_a_table_of_its_own() -> None:
    """It follows the proof, where the manifest has it."""
    cost = QualitySpec("talker", "token logits: cosine", 0.99942)
    proof, costs = parity_table(dataclasses.replace(small_manifest(), quality=(cost,))).split("\n\n")
    assert parity_table(small_manifest()) == proof
    assert costs.splitlines()[2] == "| talker  | token logits: cosine | 0.9994 |"


def test_a_bundle_without_results_says_so() -> None:
    """No table is better than an empty one."""
    manifest = dataclasses.replace(small_manifest(), verification=())
    assert parity_table(manifest) == "small was never verified: its manifest has no results."
