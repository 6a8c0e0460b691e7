"""A record in a notebook: its view as an HTML table, and its images.

    html(record)

Importing this room gives every record a ``_repr_html_``, which is what a notebook asks for.
"""

import base64
import io
from collections.abc import Iterator
from html import escape
from typing import Any

from ..results import Gallery, Judgement
from .screen import warnings_of
from .views import VIEWS, Shown


def html(record: Shown) -> str:
    """A fragment that needs nothing from anywhere; every name in it is shown, and not run."""
    return "".join(_parts(record))


def _parts(record: Shown) -> Iterator[str]:
    view = VIEWS[type(record)](record)
    header, *rows = view.rows
    yield f"<p><strong>{escape(view.title)}</strong><br>{escape(view.subject)}</p><table><tr>"
    yield "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    yield "</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table>"
    yield "".join(f"<p>{escape(sentence)}</p>" for sentence in view.sentences)
    yield "".join(f"<p>Warning: {escape(warning)}</p>" for warning in warnings_of(record))
    gallery = record.gallery if isinstance(record, Judgement) else record
    if isinstance(gallery, Gallery):
        yield "".join(_images(gallery))


def _images(gallery: Gallery) -> Iterator[str]:
    from ..images import levels, stretched

    for one in gallery.images:
        for moved in one.moved:
            parts = [("adversarial", levels(moved.pixels))]
            if one.clean is not None:
                change = stretched(moved.pixels - one.clean)
                parts = [("original", levels(one.clean)), ("perturbation", change), *parts]
            answers = " to ".join(
                f"{gallery.name(answer.label)} ({100 * answer.confidence:.1f} %)"
                for answer in (one.answer, moved.answer)
                if answer
            )
            told = f"image {one.index}, {moved.title}: {answers}"
            yield f"<figure><figcaption>{escape(told)}</figcaption>"
            for name, picture in parts:
                yield (
                    f'<img alt="{escape(name)} of image {one.index}" width="112" style="image-'
                    f'rendering:pixelated;margin-right:8px" src="{_data_uri(picture)}">'
                )
            yield "</figure>"


def _data_uri(levels: Any) -> str:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(levels).save(content, "png")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


for _kind in VIEWS:
    _kind._repr_html_ = html
