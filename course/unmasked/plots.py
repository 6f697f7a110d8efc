"""The figures of the course: few functions, one look, and a description for everyone who cannot see them.

Each function draws into an axes that the notebook made, so a notebook decides what stands beside what.
`show` ends a figure: it stores the picture together with its description. Curves differ in colour, marker and
line style at once, and heat maps use one hue from white to dark, so no figure needs colour vision.
"""

import io

import numpy as np

# Okabe and Ito's palette: told apart with every common kind of colour blindness.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#595959"
CURVE_STYLES = ((BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", "-."), (PINK, "D", ":"))
WEIGHTS_MAP = "Blues"  # one hue; white is zero, so an empty triangle looks empty
QUERY_LABEL, KEY_LABEL = "query: token that looks", "key: token looked at"


def attention_heatmap(ax, weights, tokens, title="", *, numbers=None, highest=1.0):
    """Draw attention weights (time, time) as a map: one row a query, one column a key.

    numbers: write each weight into its cell; by default only where there are at most 8 tokens.
    highest: the weight that gets the darkest colour; None takes the largest one found.
    Returns the image, for `colour_bar`.
    """
    return heatmap(
        ax,
        weights,
        tokens,
        tokens,
        title,
        numbers=numbers,
        highest=highest,
        xlabel=KEY_LABEL,
        ylabel=QUERY_LABEL,
    )


def heatmap(
    ax,
    values,
    row_labels,
    column_labels,
    title="",
    *,
    numbers=None,
    lowest=0.0,
    highest=1.0,
    xlabel="",
    ylabel="",
):
    """Draw a matrix (rows, columns) with a label at every row and column; returns the image.

    Raises:
        ValueError: the labels do not fit the matrix.
    """
    values = to_numpy(values)
    if values.shape != (len(row_labels), len(column_labels)):
        raise ValueError(
            f"The matrix has shape {values.shape}, but there are {len(row_labels)} row labels and "
            f"{len(column_labels)} column labels. Give one label for each row and each column."
        )
    highest = float(values.max()) if highest is None else highest
    image = ax.imshow(values, cmap=WEIGHTS_MAP, vmin=lowest, vmax=highest)
    ax.set_xticks(range(len(column_labels)), column_labels, rotation=90 if _are_long(column_labels) else 0)
    ax.set_yticks(range(len(row_labels)), row_labels)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    ax.set_xticks(np.arange(-0.5, len(column_labels)), minor=True)
    ax.set_yticks(np.arange(-0.5, len(row_labels)), minor=True)
    ax.grid(which="minor", color="#d9d9d9", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    if numbers if numbers is not None else max(values.shape) <= 8:
        _write_numbers(ax, values, dark_from=lowest + 0.55 * (highest - lowest))
    return image


def colour_bar(image, axes, label):
    """Add one colour bar, with its label, for all the axes given."""
    axes = np.atleast_1d(axes)
    return axes.flat[0].figure.colorbar(image, ax=list(axes.flat), label=label, shrink=0.8)


def curves(ax, x, series, xlabel, ylabel, title=""):
    """Draw each of `series` (name -> values) over x, told apart by colour, marker and line style."""
    for (name, values), (colour, marker, line) in zip(series.items(), CURVE_STYLES, strict=False):
        ax.plot(x, to_numpy(values), color=colour, marker=marker, linestyle=line, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(alpha=0.3)
    ax.legend()


def bars(ax, labels, series, xlabel, ylabel, title=""):
    """Draw each of `series` (name -> values) as a group of bars, one group a label.

    A bar of height zero is drawn as a thin line, so that nothing is taken for missing.
    """
    places, width = np.arange(len(labels)), 0.8 / len(series)
    for index, (name, values) in enumerate(series.items()):
        colour, hatch = CURVE_STYLES[index][0], ("", "///", "...", "xx")[index]
        ax.bar(
            places + (index - (len(series) - 1) / 2) * width,
            to_numpy(values),
            width * 0.92,
            color=colour,
            hatch=hatch,
            edgecolor=colour if not hatch else "white",
            linewidth=0.5,
            label=name,
        )
        ax.hlines(
            to_numpy(values),
            places + (index - len(series) / 2 + 0.04) * width,
            places + (index - len(series) / 2 + 0.96) * width,
            color=colour,
            linewidth=1.5,
        )
    ax.set_xticks(places, labels)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
    if len(series) > 1:
        ax.margins(y=0.3)  # room for the legend
        ax.legend(loc="upper right", ncols=len(series))


def arrows(ax, vectors, xlabel, ylabel, title="", *, dashed=()):
    """Draw two-dimensional vectors (name -> (x, y)) from the origin; those named in `dashed` are dashed."""
    reach = max(float(np.abs(to_numpy(v)).max()) for v in vectors.values())
    for index, (name, vector) in enumerate(vectors.items()):
        x, y = to_numpy(vector)
        colour = (BLUE, ORANGE, GREEN, PINK, GREY)[index % 5]
        ax.annotate(
            "",
            xy=(x, y),
            xytext=(0, 0),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 2,
                "shrinkA": 0,
                "shrinkB": 0,
                "linestyle": "--" if name in dashed else "-",
            },
        )
        ax.annotate(name, (x, y), xytext=(5, 5), textcoords="offset points", color=colour, weight="bold")
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title, aspect="equal")
    ax.set(xlim=(-0.1 * reach, 1.35 * reach), ylim=(-0.1 * reach, 1.25 * reach))
    ax.grid(alpha=0.3)


def show(figure, description):
    """Put a figure into the notebook with `description` as its alt text, and close it.

    The description is stored twice: in the picture's metadata as `alt`, where tools that make pages of
    notebooks look for it (nbconvert's classic template does), and as the output's plain-text form, which is
    what programs without pictures show.
    """
    from IPython.display import display
    from matplotlib import pyplot

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="white", metadata={"Software": None})
    pyplot.close(figure)
    display(
        {"image/png": buffer.getvalue(), "text/plain": description},
        raw=True,
        metadata={"image/png": {"alt": description}},
    )


def to_numpy(values):
    """A NumPy array of anything array-like: lists, arrays, and tensors with or without a gradient."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _are_long(labels):
    return sum(len(str(label)) for label in labels) > 30


def _write_numbers(ax, values, dark_from):
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value > dark_from else "black"
        text = f"{value:.2f}" if value else "0"  # only an exact zero is written as one
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
