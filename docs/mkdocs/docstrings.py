"""Docstrings of the house, as Markdown: a line ``name: what it is`` is an item of a list."""

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Rewrites what functions and classes say of their parameters."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """A function's parameters."""
        _listed(func, [one.name for one in func.parameters])

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """A record's fields."""
        _listed(cls, list(cls.attributes))


def _listed(told: griffe.Object, names: list[str]) -> None:
    if told.docstring is None or not names:
        return
    # Several may stand in a line: "model: as in `get_grads`. x: float pixels".
    known = "|".join(re.escape(name.lstrip("*")) for name in names)
    text = re.sub(
        rf"(?:^|(?<=[.,;] ))(?P<name>{known}): ",
        r"\n- **\g<name>**: ",
        told.docstring.value.replace("``", "`"),
        flags=re.MULTILINE,
    )
    told.docstring.value = re.sub(r"(?<!\n)\n(?=(Returns|Raises|Source)\b)", "\n\n", text)
