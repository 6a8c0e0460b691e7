"""The table of sections, and options built from what a user gave."""

import difflib
import functools
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ..errors import FgsmError
from ..validation import explain
from .certifying import CertifyOptions
from .judging import AttackOptions, AuditOptions, CurveOptions, EvalOptions, TransferOptions
from .options import Options, RunOptions
from .training import TrainOptions

SECTIONS: dict[str, type[Options]] = {
    "train": TrainOptions,
    "attack": AttackOptions,
    "eval": EvalOptions,
    "curve": CurveOptions,
    "audit": AuditOptions,
    "transfer": TransferOptions,
    "certify": CertifyOptions,
    "run": RunOptions,
}


AnyOptions = TypeVar("AnyOptions", bound=Options)


def build(
    command: type[AnyOptions],
    values: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
    *,
    whole: bool = True,
) -> AnyOptions:
    """The options of a command from what its user gave; the rest are defaults.

    names: how the user calls a field, for the error message; by default its own name.
    whole: whether that is all, so that options that do not go together are refused, too.
    Raises FgsmError, one sentence, for an unknown key or a value that does not fit.
    """
    for key in values:
        if key not in keys(command):
            raise FgsmError(f"unknown option {key!r}{near(key, keys(command))}")
    try:
        options = command(**values)
    except ValidationError as error:
        raise FgsmError(explain(error, schema_of(command), names or {})) from None
    if whole:
        options.check()
    return options


@functools.cache
def schema_of(command: type[Options]) -> Mapping[str, Any]:
    """What values a command's options take, as a JSON schema."""
    return command.model_json_schema(mode="serialization")


def keys(command: type[Options]) -> dict[str, FieldInfo]:
    """A command's options by the names that files and flags give them."""
    return {
        field.alias or name: field
        for name, field in command.model_fields.items()
        if name not in command.without
    }


def near(word: str, known: Mapping[str, Any]) -> str:
    """What to say after an unknown word: the nearest known one, or all of them."""
    begins = [name for name in known if word and name.startswith(word)]
    close = sorted(begins, key=len) or difflib.get_close_matches(word, known, n=1)
    return f". Did you mean {close[0]}?" if close else f". Known: {', '.join(known)}"
