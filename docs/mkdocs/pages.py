"""What MkDocs asks while it builds the site: the pages that are made of the code, and the links.

Commands, their options and the keys of an experiment file are told by the same fields that parse
them, so that the reference cannot fall behind.
"""

import re
from pathlib import Path
from typing import Any

import typer.main
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from fgsm_cli.cli import application
from fgsm_cli.config import SECTIONS, schema_of
from fgsm_cli.config.sections import keys
from fgsm_cli.validation import expected

HERE = Path(__file__).parent
TEMPLATES = Environment(
    loader=FileSystemLoader(HERE), undefined=StrictUndefined, trim_blocks=True, autoescape=False
)
# Text that says "see the code" by a link out of docs/: [name](../path).
OUTWARD = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>\.\./[^)#\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference that no file holds."""
    commands = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    pages = {
        "reference/commands.md": _render("commands", commands=commands),
        "reference/experiment-file.md": _render("experiment-file", sections=_sections()),
        "reference/python.md": _render("python"),
    }
    for name, command in commands.items():
        pages[f"reference/{name}.md"] = _render(
            "command",
            name=name,
            usage=_usage(name, command),
            summary=_plain(command.help),
            panels=_panels(command),
            examples=_examples(command.epilog),
        )
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Links to the code lead to the repository where one is configured, else they are its path."""

    def outward(link: re.Match[str]) -> str:
        path = (Path(page.file.src_uri).parent / link["path"]).as_posix().removeprefix("../")
        if config.repo_url:
            return f"[{link['text']}]({config.repo_url.rstrip('/')}/blob/main/{path})"
        text = link["text"].strip("`")
        return f"`{path}`" if path.endswith(text.rstrip("/")) else f"{link['text']} (`{path}`)"

    return OUTWARD.sub(outward, markdown)


def _render(template: str, **values: Any) -> str:
    return TEMPLATES.get_template(f"{template}.md.j2").render(values)


def _plain(text: str | None) -> str:
    """The help without the marks that colour it in a terminal, fit for a cell of a table."""
    return re.sub(r"\[/?dim\]", "", text or "").replace("|", "\\|")


def _examples(epilog: str | None) -> list[str]:
    return [line for line in (epilog or "").split("\n\n") if line.startswith("fgsm ")]


def _usage(name: str, command: Any) -> str:
    words = [
        one.metavar if one.required else f"[{one.metavar}]"
        for one in command.params
        if _is_argument(one)
    ]
    return " ".join(["fgsm", name, *words, "[OPTIONS]"])


def _is_argument(parameter: Any) -> bool:
    return parameter.param_type_name == "argument"


def _panels(command: Any) -> dict[str, list[dict[str, str]]]:
    """The parameters as the help groups them: what each is called, takes and means."""
    panels: dict[str, list[dict[str, str]]] = {}
    for one in command.params:
        panel = "Arguments" if _is_argument(one) else one.rich_help_panel or "Options"
        takes = "" if getattr(one, "is_flag", False) or _is_argument(one) else one.metavar or ""
        names = [one.metavar or one.name.upper()] if _is_argument(one) else one.opts
        panels.setdefault(panel, []).append(
            {
                "names": "<br>".join(f'<code class="flag">{name}</code>' for name in names),
                "takes": ", ".join(f"`{word}`" for word in takes.split("|") if word),
                "help": _plain(one.help),
            }
        )
    return panels


def _sections() -> dict[str, list[dict[str, str]]]:
    """What a key of each section takes, and its default."""
    return {
        name: [
            {
                "key": key,
                "takes": expected(schema_of(options)["properties"][key]).replace("|", "\\|"),
                "default": _yaml(field.default),
                "help": _plain(field.description),
            }
            for key, field in keys(options).items()
        ]
        for name, options in SECTIONS.items()
    }


def _yaml(value: Any) -> str:
    """A default as YAML writes it; nothing where there is none."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{list(value)}`" if isinstance(value, tuple) else f"`{value}`"
