"""Flags from fields: an option's name, help, range and default, as typer parameters.

Values stay text on their way through typer: the field's own type reads them, as it does in YAML.
"""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..config import Options
from ..errors import FgsmError
from ..validation import expected

PANELS = ("Attack", "Model", "Training", "Adversarial training", "Data", "Computation", "Output")


def flag(name: str) -> str:
    """How a field is called on the command line."""
    return "--" + name.replace("_", "-")


def _parameter(name: str, field: Any, schema: Mapping[str, Any]) -> inspect.Parameter:
    """A field as a typer parameter. Values stay text: the field's own type reads them."""
    flags = [flag(name)]
    if short := field.json_schema_extra["short"]:
        flags.append(short)
    if schema.get("type") == "boolean":
        annotation: Any = bool | None
    else:
        annotation = list[str] | None  # so that a flag given twice is seen, not the first one lost
    if name == "model":
        annotation = str | None
        declared: Any = typer.Argument(
            help=f"{field.description} [dim](default: {field.default})[/dim]",
            show_default=False,
            metavar="MODEL",
        )
    else:
        declared = typer.Option(
            *flags,
            help=_help(field, schema),
            show_default=False,
            metavar=_metavar(schema),
            rich_help_panel=field.json_schema_extra["group"],
        )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation, declared],
    )


def once(options: type[Options], given: dict[str, Any]) -> dict[str, Any]:
    """What was given, each flag that takes one value once. Raises FgsmError for one given twice."""
    schema = options.model_json_schema(mode="serialization")["properties"]
    values = {}
    for name, value in given.items():
        values[name] = value
        if (
            isinstance(value, list)
            and schema.get(name, {}).get("type", "") != "array"
            and name in schema
        ):
            if len(value) > 1:
                hint = "; fgsm eval takes several" if name in ("attack", "epsilon") else ""
                raise FgsmError(
                    f"{flag(name)} must be given once{hint}. Received: {', '.join(value)}"
                )
            [values[name]] = value
    return values


def _help(field: Any, schema: Mapping[str, Any]) -> str:
    """The field's help, its range and its default."""
    text = str(field.description)
    if schema.get("type") == "boolean":
        return text
    kind = expected(schema)
    bounds = kind.partition(", ")[2] if kind.startswith(("a number", "a whole")) else ""
    bounds = bounds.removesuffix(" (or a list of such)")
    default = field.default
    if isinstance(default, tuple):
        default = ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in default)
    notes = [bounds, f"default: {default}" if default is not None else ""]
    shown = "; ".join(note for note in notes if note)
    return f"{text} [dim]({shown})[/dim]" if shown else text


def _metavar(schema: Mapping[str, Any]) -> str | None:
    if "anyOf" in schema:
        return _metavar(next(one for one in schema["anyOf"] if one["type"] != "null"))
    if schema["type"] == "array":
        return _metavar(schema["items"])
    if "enum" in schema:
        return "|".join(schema["enum"])
    return {"integer": "N", "number": "X", "string": "TEXT", "boolean": None}[schema["type"]]


def signature(options: type[Options], *more: inspect.Parameter) -> inspect.Signature:
    """The parameters of a command: a flag for each field by panel, and those given."""
    schema = options.model_json_schema(mode="serialization")["properties"]
    fields = sorted(
        options.model_fields.items(),
        key=lambda item: _place(item[1].json_schema_extra),
    )
    return inspect.Signature(
        [*(_parameter(name, field, schema[name]) for name, field in fields), *more]
    )


def _place(extra: Any) -> tuple[int, bool]:
    """Where an option stands in the help: by panel, those with a short name first."""
    return PANELS.index(extra["group"]), extra["short"] is None


def keyword(name: str, annotation: Any) -> inspect.Parameter:
    """A parameter that is no option of an experiment, such as --config."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )
