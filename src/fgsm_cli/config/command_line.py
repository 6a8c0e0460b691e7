"""Resolved options as the command that gives them.

>>> command_line("attack", build(AttackOptions, {"epsilon": "0.2"}))
'fgsm attack --epsilon 0.2'
"""

import shlex
from typing import Any

from .fields import flag
from .options import Options
from .sections import keys


def command_line(command: str, options: Options) -> str:
    """The shell command that asks for these options; what is a default is left out."""
    words, flags = ["fgsm", command], []
    for key, field in keys(type(options)).items():
        value = getattr(options, key if hasattr(options, key) else f"{key}_")
        if value == field.default:
            continue
        if key in ("model", "models"):
            words += [value] if key == "model" else value
        elif isinstance(value, bool):
            flags.append(flag(key))
        elif key in ("attack", "epsilon", "import") and isinstance(value, tuple):
            flags += [word for one in value for word in _given(flag(key), one)]
        else:
            flags += _given(flag(key), value)
    return shlex.join([*words, *flags])


def _given(name: str, value: Any) -> list[str]:
    """A flag and its value, held together where the value would look like a flag."""
    text = ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
    return [f"{name}={text}"] if text.startswith("-") else [name, text]
