"""The tree of errors is as it is drawn, and every class has a reason of its own."""

import re
from collections.abc import Iterator

from server import errors
from server.errors import AntiphonError


def tree(root: type[AntiphonError] = AntiphonError) -> Iterator[type[AntiphonError]]:
    """Every class of the tree, in the order in which a drawing lists them."""
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def test_the_drawing_is_the_tree() -> None:
    """The module's docstring names every class, at its depth, in order."""
    drawn = re.findall(r"^([ │├└─]*)([A-Z]\w+Error)\b", errors.__doc__ or "", re.MULTILINE)

    assert [name for _, name in drawn] == [kind.__name__ for kind in tree()]
    assert [len(indent) // 4 for indent, _ in drawn[1:]] == [len(kind.__mro__) - 4 for kind in list(tree())[1:]]


def test_every_class_has_its_own_reason() -> None:
    """Clients tell errors apart by their reason, in UPPER_SNAKE."""
    reasons = [kind.reason for kind in tree()]

    assert sorted(set(reasons)) == sorted(reasons)
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)*", reason) for reason in reasons)
