"""Flags from fields: an option's name, help, range and default, as typer parameters.

Values stay text on their way through typer: the field's own type reads them, as it does in YAML.
"""

import inspect
import keyword as reserved
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..config import IMAGE_SETS, Options, flag, keys, schema_of
from ..errors import FgsmError
from ..validation import expected

# The words of a command that are no flags, in their order.
ARGUMENTS = {"set": "SET", "model": "MODEL", "models": "MODEL ..."}
PANELS = (
    "Attack",
    "Certificate",
    "Model",
    "Training",
    "Adversarial training",
    "Data",
    "Computation",
    "Output",
)


def _parameter(name: str, field: Any, schema: Mapping[str, Any]) -> inspect.Parameter:
    """A field as a typer parameter. Values stay text: the field's own type reads them."""
    flags = [flag(name)]
    if short := field.json_schema_extra["short"]:
        flags.append(short)
    if schema.get("type") == "boolean":
        annotation: Any = bool | None
    else:
        annotation = list[str] | None  # so that a flag given twice is seen, not the first one lost
    if name in ARGUMENTS:
        annotation = annotation if _takes_several(schema) else str | None
        default = f" [dim](default: {field.default})[/dim]" if field.default else ""
        declared: Any = typer.Argument(
            help=f"{field.description}{default}", show_default=False, metavar=ARGUMENTS[name]
        )
    else:
        declared = typer.Option(
            *flags,
            help=_help(field, schema),
            show_default=False,
            metavar=_metavar(schema),
            rich_help_panel=field.json_schema_extra["group"],
            autocompletion=_completion(name, schema),
        )
    return inspect.Parameter(
        f"{name}_" if reserved.iskeyword(name) else name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation, declared],
    )


def _completion(name: str, schema: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """What a shell offers for a flag: the names that it takes; without any, the shell's files."""
    names = IMAGE_SETS if name == "data" else _choices(schema)

    def complete(incomplete: str) -> list[str]:
        return [one for one in names if one.startswith(incomplete)]

    return complete


def _choices(schema: Mapping[str, Any]) -> Sequence[str]:
    """The words that a value may be, in a list or where it may also be something else."""
    inner = [*schema.get("anyOf", ()), schema.get("items", {})]
    own = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    return [*own, *(word for one in inner if one for word in _choices(one))]


def once(options: type[Options], given: dict[str, Any]) -> dict[str, Any]:
    """What was given, each flag that takes one value once. Raises FgsmError for one given twice."""
    schema = schema_of(options)["properties"]
    values = {}
    for name, value in given.items():
        values[name] = value
        if isinstance(value, list) and name in schema and not _takes_several(schema[name]):
            if len(value) > 1:
                hint = "; fgsm eval takes several" if name in ("attack", "epsilon") else ""
                raise FgsmError(
                    f"{flag(name)} must be given once{hint}. Received: {', '.join(value)}"
                )
            [values[name]] = value
    return values


def _takes_several(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" and "prefixItems" not in schema


def _takes_two(schema: Mapping[str, Any]) -> bool:
    return any("prefixItems" in one for one in (schema, *schema.get("anyOf", ())))


def command_class(options: type[Options]) -> type[TyperCommand]:
    """A typer command that also reads the two numbers of a range as two words.

    ``--data-range -1 1`` is ``--data-range=-1,1``, however many other words follow.
    """
    schema = schema_of(options)["properties"]
    flags = {flag(name) for name, field in schema.items() if _takes_two(field)}

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, _pairs_joined(args, flags))

    return Command


def _pairs_joined(words: Sequence[str], flags: set[str]) -> list[str]:
    """The words, with ``--flag A B`` as ``--flag=A,B`` where A and B are numbers."""
    joined: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, _, low = word.partition("=")
        numbers = ([low] if low else []) + left[: 1 if low else 2]
        if name in flags and len(numbers) == 2 and all(map(_is_number, numbers)):
            joined.append(f"{name}={','.join(numbers)}")
            del left[: 1 if low else 2]
        else:
            joined.append(word)
    return joined


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


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
    notes = [bounds, f"default: {default}" if default not in (None, "") else ""]
    shown = "; ".join(note for note in notes if note)
    return f"{text} [dim]({shown})[/dim]" if shown else text


def _metavar(schema: Mapping[str, Any]) -> str | None:
    if "anyOf" in schema:
        return _metavar(next(one for one in schema["anyOf"] if one["type"] != "null"))
    if "prefixItems" in schema:
        return "LOW HIGH"
    if schema["type"] == "array":
        return _metavar(schema["items"])
    if "enum" in schema:
        return "|".join(schema["enum"])
    return {"integer": "N", "number": "X", "string": "TEXT", "boolean": None}[schema["type"]]


def signature(options: type[Options], *more: inspect.Parameter) -> inspect.Signature:
    """The parameters of a command: a flag for each field by panel, and those given."""
    schema = schema_of(options)["properties"]
    fields = sorted(
        keys(options).items(),
        key=lambda item: _place(*item),
    )
    return inspect.Signature(
        [*(_parameter(name, field, schema[name]) for name, field in fields), *more]
    )


def _place(name: str, field: Any) -> tuple[int, int, bool]:
    """Where an option stands in the help: arguments, then panels, those with a short name first."""
    argument = [*ARGUMENTS, name].index(name)
    extra = field.json_schema_extra
    return argument, PANELS.index(extra["group"]), extra["short"] is None


def keyword(name: str, annotation: Any) -> inspect.Parameter:
    """A parameter that is no option of an experiment, such as --config."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )
