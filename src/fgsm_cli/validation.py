"""Values with bounds, and a failed check told in one sentence.

Each bound is written once, on a type; the command line's help, the YAML's JSON schema and
every error message read it from there.

    >>> expected({"type": "integer", "minimum": 1})
    'a whole number, at least 1'
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from .errors import listed


def number(value: Any) -> Any:
    """Refuse True and False, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a truth value is not a number")
    return value


def _fraction(value: Any) -> Any:
    """Read '8/255' as a number, as papers write epsilon."""
    if isinstance(value, str) and value.count("/") == 1:
        over, under = (float(part) for part in value.split("/"))
        if not under:
            raise ValueError("division by zero")
        return over / under
    return value


def _seconds(value: Any) -> Any:
    """Read '60s', '5m' or '1h' as seconds."""
    if isinstance(value, str) and (found := re.fullmatch(r"\s*([\d.]+)\s*([smh])\s*", value)):
        return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
    return value


_FAR = 1e9


def _ends(value: Any) -> Any:
    """Read '0,255', '0:255', '0 255' or [0, 255] as two numbers, the lower first."""
    if isinstance(value, list | tuple) and len(value) == 1:
        [value] = value
    parts = re.split(r"[,:\s]\s*", value.strip()) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(
        isinstance(p, str | float | int) for p in parts
    ):
        raise ValueError("not two numbers")
    low, high = (float(number(part)) for part in parts)
    if not (low < high and abs(low) < _FAR and abs(high) < _FAR):
        raise ValueError("too far, or not in order")
    return low, high


# The bounds stand next to the type, innermost, or the JSON schema would not show them.
Epsilon = Annotated[
    float,
    Field(ge=0, le=1_000_000, allow_inf_nan=False),
    BeforeValidator(number),
    BeforeValidator(_fraction, json_schema_input_type=float | str),
]
Count = Annotated[int, Field(ge=1, le=2_000_000_000), BeforeValidator(number)]
Skipped = Annotated[int, Field(ge=0, le=2_000_000_000), BeforeValidator(number)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1), BeforeValidator(number)]
Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(number)]
Share = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False), BeforeValidator(number)]
StepSize = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False), BeforeValidator(number)]
Decay = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False), BeforeValidator(number)]
Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False), BeforeValidator(number)]
Epochs = Annotated[int, Field(ge=0, le=10_000), BeforeValidator(number)]
Replays = Annotated[int, Field(ge=1, le=100), BeforeValidator(number)]
LearningRate = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False), BeforeValidator(number)]

Seconds = Annotated[
    float,
    Field(gt=0, le=2_000_000_000, allow_inf_nan=False),
    BeforeValidator(number),
    BeforeValidator(_seconds, json_schema_input_type=float | str),
]

Ends = Annotated[
    tuple[float, float],
    BeforeValidator(_ends, json_schema_input_type=str | tuple[float, float]),
]

Target = Annotated[
    Annotated[int, Field(ge=0), BeforeValidator(number)]
    | Literal["next", "least-likely", "random"],
    Field(union_mode="left_to_right"),
]

_OVERFLOW = (1_000_000, 2_000_000_000)
_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text without control characters",
}
_BOUNDS = {
    "minimum": "at least {:g}",
    "exclusiveMinimum": "above {:g}",
    "maximum": "at most {:.12g}",
    "exclusiveMaximum": "below {:g}",
}


def expected(schema: Mapping[str, Any], *, every_limit: bool = False) -> str:
    """What a value must be, in words, from its JSON schema.

    An upper limit that only keeps numbers from overflowing is told where it was the fault.
    """
    if "anyOf" in schema:
        kinds = (one for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(expected(one, every_limit=every_limit) for one in kinds)
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if "const" in schema:
        return f"{schema['const']}"
    if schema["type"] == "boolean":
        return "true or false"
    if "prefixItems" in schema:
        return "two finite numbers, the lower first"
    if schema["type"] == "array":
        return expected(schema["items"], every_limit=every_limit) + " (or a list of such)"
    bounds = [
        text.format(schema[key])
        for key, text in _BOUNDS.items()
        if key in schema and (every_limit or schema[key] not in _OVERFLOW)
    ]
    return ", ".join([_KINDS[schema["type"]], *bounds])


def explain(error: ValidationError, schema: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The first fault of a failed validation as one sentence.

    schema: the JSON schema of the model that refused (mode "serialization").
    names: how the user calls each field, such as ``--epsilon`` or ``attack.epsilon``.
    """
    fault = error.errors()[0]
    field = str(fault["loc"][0])
    received = fault["input"]
    every_limit = fault["type"] == "less_than_equal"
    wanted = expected(schema["properties"][field], every_limit=every_limit)
    return (
        f"{names.get(field, field)} must be {wanted}. "
        f"Received: {'nothing' if received is None else listed([repr(received)])}"
    )
