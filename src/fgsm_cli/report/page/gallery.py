"""The gallery: pictures of a portrait with the slider's way over its course, or of a saved set."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from ...family import Attack
from ...results import Answer, Exhibit, Group, Picture, Portrait
from ...results import Gallery as Exhibition
from ..text import percent
from .blocks import Gallery, Shown, Slider, Wall
from .pictures import as_grid, change, picture, steps

# More epsilons than a hand can set apart are thinned out.
STOPS = 61

_GROUPS: tuple[tuple[Group, str, str], ...] = (
    ("hardest", "Hardest to turn", "Right at epsilon 0, and turned last or never."),
    ("easiest", "Easiest to turn", "Right at epsilon 0, and turned by the smallest epsilons."),
    ("random", "Drawn at random", "From all the others, right or wrong to begin with."),
)


def gallery(portrait: Portrait) -> Gallery | None:
    """The gallery; None where the images cannot be shown as pictures."""
    if not portrait.gallery or as_grid(portrait.gallery[0].x) is None:
        return None
    names = portrait.classes
    walls = []
    for group, title, told in _GROUPS:
        shown = [_shown(one, names) for one in portrait.gallery if one.group == group]
        if shown:
            walls.append(Wall(title, told, shown))
    attack = portrait.attack
    name = attack.row.title if isinstance(attack, Attack) else attack.title
    return Gallery(
        told=(
            f"Each image, what {name} at epsilon {attack.epsilon:.4g} adds to it, and the result. "
            "The change is stretched in contrast to its own largest pixel."
        ),
        walls=walls,
        colour=_grid(portrait.gallery[0].x).ndim == 3,
        slider=_slider(portrait),
    )


def of_set(shown: Exhibition) -> Gallery:
    """Images of a saved set whose clean images are known, with the answers of the model."""
    return Gallery(
        told=(
            "Each image, what the set adds to it, and the result. The change is stretched in "
            "contrast to its own largest pixel."
        ),
        walls=[
            Wall(
                "The first images of the set",
                "With the answers of the model that is judged.",
                [_hung(one, shown) for one in shown.images],
            )
        ],
        colour=_grid(shown.images[0].clean).ndim == 3,
    )


def _hung(one: Exhibit, shown: Exhibition) -> Shown:
    [moved] = one.moved
    assert one.clean is not None
    stretched, size = change(_grid(moved.pixels - one.clean))
    right = one.label if one.label is not None else one.answer and one.answer.label
    label = f"label {shown.name(one.label)}" if one.label is not None else "no label"
    return Shown(
        name=f"Image {one.index:,}, {label}",
        original=picture(_grid(one.clean)),
        change=stretched,
        adversarial=picture(_grid(moved.pixels)),
        scale=f"±{size:.3g}",
        before=_told(one.answer, shown),
        after=_told(moved.answer, shown),
        turns=f"moved by {moved.l2:.4g} in L2",
        fooled=moved.answer is None or moved.answer.label != right,
    )


def _told(answer: Answer | None, shown: Exhibition) -> str:
    return f"{shown.name(answer.label)}, {percent(answer.confidence)}" if answer else "no number"


def _grid(image: Any) -> NDArray[Any]:
    grid = as_grid(image)
    assert grid is not None
    return grid


def _said(answer: Answer, names: tuple[str, ...]) -> str:
    return f"{names[answer.label]}, {percent(answer.confidence)}"


def _shown(one: Picture, names: tuple[str, ...]) -> Shown:
    original, adversarial, moved = (_grid(image) for image in (one.x, one.x_adv, one.x_adv - one.x))
    stretched, size = change(moved)
    label = f"label {names[one.label]}" if one.label is not None else "no label"
    turns = "wrong to begin with" if one.smallest == 0 else "never turned on this course"
    if one.smallest:
        turns = f"turned at epsilon {one.smallest:.4f}"
    right = one.clean.label if one.label is None else one.label
    return Shown(
        name=f"Image {one.index:,}, {label}",
        original=picture(original),
        change=stretched,
        adversarial=picture(adversarial),
        scale=f"±{size:.3g}",
        before=_said(one.clean, names),
        after=_said(one.adversarial, names),
        turns=turns,
        fooled=one.adversarial.label != right,
    )


def _slider(portrait: Portrait) -> Slider:
    course, names = portrait.course, portrait.classes
    every = -(-len(course.epsilons) // STOPS)
    asked = portrait.attack.epsilon
    nearest = min(
        range(len(course.epsilons)), key=lambda place: abs(course.epsilons[place] - asked)
    )
    stops = sorted({*range(0, len(course.epsilons), every), nearest, len(course.epsilons) - 1})
    own = course.attack.row.title
    follows = (
        f"These images are x + epsilon · {_direction(course.attack)}, clipped to 0..1, computed in "
        "this page; the answers came with the run."
    )
    if not (isinstance(portrait.attack, Attack) and portrait.attack.is_direct):
        follows += (
            f" This is the single step of {own} from the same model, not the attack above, whose "
            "way is not straight."
        )
    return Slider(
        told=follows,
        start=stops.index(nearest),
        data={
            "norm": course.attack.norm.capitalize(),
            "n": course.n,
            "labelled": portrait.labelled,
            "epsilons": [course.epsilons[stop] for stop in stops],
            "correct": [course.correct[stop] for stop in stops],
            "noise": [course.noise_correct[stop] for stop in stops],
            "classes": list(names),
            "pictures": list(_moving(portrait, stops)),
        },
    )


def _direction(attack: Attack) -> str:
    away = "(-1) · " if attack.target is not None else ""
    return {
        "linf": f"{away}sign(gradient)",
        "l2": f"{away}gradient / |gradient|₂",
        "l1": f"{away}the gradient's largest pixel",
    }[attack.norm]


def _moving(portrait: Portrait, stops: list[int]) -> Iterator[dict[str, object]]:
    groups = list(dict.fromkeys(one.group for one in portrait.gallery))
    for one in portrait.gallery:
        direction, size = steps(_grid(one.direction))
        yield {
            "wall": groups.index(one.group),
            "index": one.index,
            "label": one.label,
            "direction": direction,
            "size": size,
            "answers": [one.along[stop].label for stop in stops],
            "confidences": [round(one.along[stop].confidence, 4) for stop in stops],
        }
