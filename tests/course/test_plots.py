"""The figure helpers: what they write on the axes, and that a description travels with the picture."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from unmasked import plots


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_heat_map_says_which_axis_looks_and_which_is_looked_at(ax):
    plots.attention_heatmap(ax, np.eye(3), ["a", "b", "c"], "title")
    assert (ax.get_xlabel(), ax.get_ylabel()) == (plots.KEY_LABEL, plots.QUERY_LABEL)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_title() == "title"


def test_weights_are_drawn_on_a_scale_from_zero_to_one_unless_told(ax):
    weights = np.full((2, 2), 0.25)
    assert plots.attention_heatmap(ax, weights, "ab").get_clim() == (0.0, 1.0)
    assert plots.attention_heatmap(ax, weights, "ab", highest=None).get_clim() == (0.0, 0.25)


def test_small_maps_carry_their_numbers_and_large_ones_do_not(ax):
    plots.attention_heatmap(ax, np.full((2, 2), 0.5), "ab")
    assert texts(ax) == ["0.50"] * 4
    figure, large = pyplot.subplots()
    plots.attention_heatmap(large, np.zeros((9, 9)), "abcdefghi")
    assert texts(large) == []
    pyplot.close(figure)


def test_numbers_can_be_read_on_their_cell(ax):
    plots.attention_heatmap(ax, [[1.0, 0.0], [0.0, 1.0]], "ab")
    assert [text.get_color() for text in ax.texts] == ["white", "black", "black", "white"]


def test_tensors_that_need_a_gradient_are_drawn_too(ax):
    plots.attention_heatmap(ax, torch.eye(2, requires_grad=True), "ab")
    assert texts(ax)[0] == "1.00"


def test_labels_that_do_not_fit_are_named(ax):
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but there are 3 row labels"):
        plots.attention_heatmap(ax, np.eye(2), ["a", "b", "c"])


def test_curves_differ_in_more_than_colour(ax):
    plots.curves(ax, [1, 2], {"one": [1, 2], "two": [2, 1]}, "layer", "cosine")
    first, second = ax.get_lines()
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert first.get_linestyle() != second.get_linestyle()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_the_colours_differ_in_lightness_so_grey_prints_can_be_read():
    def lightness(colour):
        red, green, blue = to_rgb(colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert abs(lightness(plots.BLUE) - lightness(plots.ORANGE)) > 0.05


def test_bars_label_their_groups_and_hatch_the_second_series(ax):
    plots.bars(ax, ["x", "y"], {"one": [1, 0], "two": [2, 3]}, "token", "change")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
    assert {patch.get_hatch() or "" for patch in ax.patches} == {"", "///"}


def test_arrows_are_named_and_all_inside(ax):
    plots.arrows(ax, {"river": (2, 0), "loan": (0, 2)}, "water", "money", dashed=("loan",))
    assert {"river", "loan"} <= set(texts(ax))
    assert ax.get_xlim()[1] > 2 and ax.get_ylim()[1] > 2


def test_show_stores_the_description_beside_the_picture_and_closes_the_figure(monkeypatch):
    import IPython.display

    stored = {}
    monkeypatch.setattr(
        IPython.display, "display", lambda data, raw, metadata: stored.update(data=data, metadata=metadata)
    )
    figure, _ = pyplot.subplots()
    plots.show(figure, "two dots")
    assert stored["data"]["text/plain"] == "two dots"
    assert stored["metadata"] == {"image/png": {"alt": "two dots"}}
    assert stored["data"]["image/png"].startswith(b"\x89PNG")
    assert not pyplot.fignum_exists(figure.number)


def test_only_an_exact_zero_is_written_as_zero(ax):
    plots.attention_heatmap(ax, [[1.0, 0.0], [0.999, 0.001]], "ab")
    assert texts(ax) == ["1.00", "0", "1.00", "0.00"]
