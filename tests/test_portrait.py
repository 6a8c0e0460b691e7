"""What a report shows beyond the counts agrees with them."""

from itertools import pairwise

import numpy as np
import pytest

from fgsm_cli.backend import tf
from fgsm_cli.config import (
    AttackOptions,
    CurveOptions,
    EvalOptions,
    TrainOptions,
    TransferOptions,
    build,
    command_line,
)
from fgsm_cli.data import load_images
from fgsm_cli.evaluation import judge
from fgsm_cli.experiment import Watch, attack, curve, evaluate
from fgsm_cli.family import attack_named
from fgsm_cli.norms import NORMS
from fgsm_cli.portrait import bound, course_grid, evenly, portray, room_for

N = 300


def portrayed(classifier, images, *contest, **options):
    """The portrait, and every adversarial image of the run that it is of."""
    x_adv = np.zeros_like(images.pixels())

    def keep(_, indices, moved):
        x_adv[indices] = moved

    settings = {"batch_size": 128, "seed": 3, "progress": lambda *_: None}
    judged = judge(classifier, images, [contest], keep=keep, **settings)
    return portray(classifier, images, contest, judged, **settings, **options), judged, x_adv


@pytest.fixture(scope="module")
def few():
    return load_images("mnist", "test", limit=N)


CONTESTS = {
    "fgsm": (attack_named(epsilon=0.1),),
    "fgm": (attack_named("fgm", epsilon=1.0),),
    "pgd with restarts": (attack_named("pgd", epsilon=0.08, steps=5, restarts=2),),
    "worst": (attack_named(epsilon=0.08), attack_named("rfgsm", epsilon=0.08)),
}


@pytest.mark.parametrize("contest", CONTESTS.values(), ids=CONTESTS)
def test_classes_and_flows_add_up_to_the_counts(classifier, few, contest):
    portrait, judged, _ = portrayed(classifier, few, *contest)
    [result] = judged.results
    assert sum(one.n for one in portrait.tallies) == N
    assert sum(one.clean_correct for one in portrait.tallies) == result.clean_correct
    assert sum(one.adversarial_correct for one in portrait.tallies) == result.adversarial_correct
    assert sum(one.n for one in portrait.flows) == N
    assert sum(one.n for one in portrait.flows if one.before != one.after) == result.changed


@pytest.mark.parametrize("contest", CONTESTS.values(), ids=CONTESTS)
def test_the_gallery_holds_the_images_of_the_run(classifier, few, contest):
    """Random starts, too: they are drawn by an image's place, not by who else is attacked."""
    portrait, judged, x_adv = portrayed(classifier, few, *contest)
    assert len({one.index for one in portrait.gallery}) == len(portrait.gallery) == 24
    for one in portrait.gallery:
        np.testing.assert_array_equal(one.x, few.pixels()[one.index])
        np.testing.assert_allclose(one.x_adv, x_adv[one.index], atol=1e-6)
        assert one.clean.label == judged.answers[one.index]
        assert one.adversarial.label == judged.given[0, one.index]


def test_the_course_of_a_direct_attack_meets_its_count(classifier, few):
    portrait, judged, _ = portrayed(classifier, few, attack_named(epsilon=0.1))
    at = dict(zip(portrait.course.epsilons, portrait.course.correct, strict=True))
    assert at[0.1] == judged.results[0].adversarial_correct
    assert at[0.0] == judged.clean_correct
    assert sum(portrait.course.fallen) + portrait.course.never == judged.clean_correct


def test_every_picture_goes_its_way_at_the_length_of_epsilon(classifier, few):
    for contest in (CONTESTS["fgsm"], CONTESTS["fgm"]):
        portrait, _, _ = portrayed(classifier, few, *contest)
        size = NORMS[portrait.course.attack.norm].size
        for one in portrait.gallery:
            assert float(size(tf.constant(one.direction[np.newaxis]))[0]) == pytest.approx(
                1, abs=1e-5
            )
            assert one.along[0].label == one.clean.label
            place = portrait.course.epsilons.index(contest[0].epsilon)
            assert one.along[place].label == one.adversarial.label


def test_the_easiest_turn_before_the_random_and_the_hardest_after(classifier, few):
    portrait, _, _ = portrayed(classifier, few, attack_named(epsilon=0.1))
    turns = {group: [] for group in ("easiest", "random", "hardest")}
    for one in portrait.gallery:
        turns[one.group].append(np.inf if one.smallest is None else one.smallest)
    right = [one for one in turns["random"] if one > 0]
    assert max(turns["easiest"]) <= min(right)
    assert max(right) <= min(turns["hardest"])


def test_random_noise_hurts_less_than_the_gradient(classifier, few):
    course = portrayed(classifier, few, attack_named(epsilon=0.1))[0].course
    assert course.noise_correct[0] == course.correct[0]
    assert course.noise_correct[10] > course.correct[10] + N / 4


def test_a_portrait_is_the_same_again_and_of_no_batch(classifier, few):
    first, *_ = portrayed(classifier, few, attack_named(epsilon=0.1))
    again, *_ = portrayed(classifier, few, attack_named(epsilon=0.1))
    assert first.course == again.course
    assert [one.index for one in first.gallery] == [one.index for one in again.gallery]


def test_a_grid_holds_zero_and_all_that_was_asked_for():
    for asked, norm in (([0.1], "linf"), ([8 / 255, 0.3], "linf"), ([2.0], "l2"), ([0.0], "linf")):
        grid = course_grid(asked, norm)
        assert grid[0] == 0
        assert set(asked) <= set(grid)
        assert all(before < after for before, after in pairwise(grid))
    assert course_grid([0.9], "linf")[-1] == 1


def test_large_images_are_fewer():
    assert bound((28, 28)) >= 10_000 > bound((64, 64, 3)) > bound((224, 224, 3)) == 100
    assert room_for((28, 28)) == 24
    assert room_for((224, 224, 3)) == 3
    assert room_for((2000, 2000, 3)) == 1
    np.testing.assert_array_equal(evenly(10, 4), [0, 2, 5, 7])
    np.testing.assert_array_equal(evenly(3, 4), [0, 1, 2])


def test_images_without_labels_are_as_before_or_not(model_file, tmp_path, few):
    np.save(tmp_path / "bare.npy", few.images)
    options = {"model": str(model_file), "data": str(tmp_path / "bare.npy")}
    record = attack(build(AttackOptions, options), Watch(wants_portrait=True))
    portrait = record.portrait
    assert not portrait.labelled
    assert portrait.course.correct[0] == N
    assert {one.label for one in portrait.gallery} == {None}
    moved = sum(one.n for one in portrait.flows if one.before != one.after)
    assert moved == record.results[0].changed


def test_nothing_is_drawn_where_nothing_is_looked_at(model_file):
    options = {"model": str(model_file), "limit": 20}
    assert attack(build(AttackOptions, options), Watch()).portrait is None
    assert curve(build(CurveOptions, options), Watch()).portrait is None


def test_the_strongest_attack_is_portrayed(model_file):
    options = {"model": str(model_file), "limit": 100, "epsilon": [0.02, 0.1]}
    portrait = evaluate(build(EvalOptions, options), Watch(wants_portrait=True)).portrait
    assert portrait.attack.epsilon == 0.1
    assert {0.02, 0.1} < set(portrait.course.epsilons)


@pytest.mark.parametrize(
    ("name", "options", "values"),
    [
        ("attack", AttackOptions, {}),
        ("attack", AttackOptions, {"model": "a b.keras", "epsilon": "8/255", "balanced": True}),
        ("attack", AttackOptions, {"data_range": [-1, 1], "only": "3,7", "import": ["a", "b"]}),
        ("attack", AttackOptions, {"mean": "0.1,0.2,0.3", "std": "1,1,1", "target": "next"}),
        ("eval", EvalOptions, {"attack": ["fgsm", "pgd"], "epsilon": [0.1, 0.2], "seeds": 3}),
        ("transfer", TransferOptions, {"models": ["a.keras", "$b.keras"], "ensemble": True}),
        ("train", TrainOptions, {"hidden": "none", "adversarial": "pgd", "label_smoothing": 0.1}),
    ],
)
def test_the_command_asks_for_the_same_options(name, options, values):
    import shlex

    import typer

    from fgsm_cli.cli import application
    from fgsm_cli.cli.flags import once

    wanted = build(options, values)
    words = shlex.split(command_line(name, wanted))
    assert words[:2] == ["fgsm", name]
    command = typer.main.get_command(application()).commands[name]
    parsed = command.make_context(name, words[2:]).params
    given = {key.rstrip("_"): one for key, one in parsed.items() if one not in (None, [], ())}
    assert build(options, once(options, given)) == wanted
