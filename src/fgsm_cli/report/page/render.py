"""The page itself: parts, how to run them again, and the policy that keeps it to itself."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from ... import __version__
from ...config import Options, SectionOptions, command_line, command_of
from ...experiment import config_text
from ...files import whole_file
from ...results import Transfer, versions
from ..plain import as_csv, as_json
from ..views import Shown
from .blocks import Block, Cell, Download, Downloads, Section, Source, Table, Text
from .charts import BOTTOM, LEFT, RIGHT, TOP
from .records import TELLERS

# A record, the options that it came of, and what the experiment calls it.
Told = tuple[str, Options, Shown]

_ASSETS = files("fgsm_cli") / "assets" / "report"


def write_report(
    paths: Sequence[str],
    told: Sequence[Told],
    document: Mapping[str, Any],
    run: Options | None = None,
) -> None:
    """Write the report of one command, or of a run with all its sections.

    document: the results, as results.json has them. run: the options of ``fgsm run``.
    Raises FgsmError if a file cannot be written.
    """
    text = page(told, document, run)
    for path in paths:
        with whole_file(path) as temporary:
            # Names on Linux are any bytes; what is no text in them is shown as stdout shows it.
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def page(told: Sequence[Told], document: Mapping[str, Any], run: Options | None = None) -> str:
    """The whole page as text."""
    import jinja2  # here, as a result on the screen needs none

    parts = [TELLERS[type(record)](name, record) for name, _, record in told]
    style, script = (_read(name) for name in ("style.css", "script.js"))
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["close"] = _close
    return environment.get_template("page.html").render(
        parts=parts,
        again=_again(told, document, run),
        version=__version__,
        style=style,
        script=script,
        policy=_policy(style, script),
        field={"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    )


def _close(text: str) -> str:
    """Text whose numbers are not parted from their percent sign at the end of a line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Content security policy: nothing from anywhere, the page's own style and script by digest."""
    own = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("style-src", style), ("script-src", script))
    }
    allowed = [f"{name} 'sha256-{digest}'" for name, digest in own.items()]
    return "; ".join(
        ["default-src 'none'", "img-src data:", *allowed, "base-uri 'none'", "form-action 'none'"]
    )


def _again(told: Sequence[Told], document: Mapping[str, Any], run: Options | None) -> Section:
    sections = {name: options for name, options, _ in told}
    if run is not None:
        sections = {"run": run, **sections}
    resolved = config_text(sections)
    commands = "\n".join(command_line(command_of(name), options) for name, options, _ in told)
    blocks: list[Block] = [
        Text(
            "The commands below ask for exactly these options; the file of resolved options, every "
            "default written out, does the same with fgsm run."
        ),
        Source("The command" if len(told) == 1 else "The commands", commands),
        Source("Resolved options, config.yaml", resolved, folded=True),
        Downloads(
            [
                _download(
                    "results.json",
                    "every count and rate, the command's own JSON document",
                    "application/json",
                    as_json(document),
                ),
                _download(
                    "results.csv",
                    "the same as a table",
                    "text/csv",
                    as_csv([(name, record) for name, _, record in told]),
                ),
                _download("config.yaml", "the resolved options", "application/yaml", resolved),
            ]
        ),
        Table(
            "What it was made of and with",
            ("", "what", "version or sha256"),
            [[Cell(text) for text in row] for row in _origins(told)],
            words=True,
        ),
    ]
    return Section("Run it again", blocks)


def _download(name: str, what: str, kind: str, text: str) -> Download:
    content = base64.b64encode(text.encode(errors="backslashreplace")).decode()
    return Download(name, what, f"data:{kind};base64,{content}")


def _origins(told: Sequence[Told]) -> Iterator[tuple[str, str, str]]:
    """Models and images with their digests, seeds, versions; each once."""
    seen: dict[tuple[str, str, str], None] = {}
    for _, options, record in told:
        models = (
            record.models if isinstance(record, Transfer) else (getattr(record, "model", None),)
        )
        named = [("model", one) for one in models]
        named += [
            ("images", getattr(record, "data", None)),
            ("test images", getattr(record, "test", None)),
        ]
        for what, source in named:
            if source is not None:
                detail = f" ({source.detail})" if what != "model" else ""
                seen[what, f"{source.path}{detail}", source.sha256 or "-"] = None
        if isinstance(options, SectionOptions):
            seen["seed", "of everything random", str(options.seed)] = None
    for library, version in versions().items():
        seen["version", library, version] = None
    yield from seen
