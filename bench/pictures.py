"""Draw the pictures of the start page, from the recorded examples where they have the data.

``python bench/pictures.py [NAME …]``
"""

import argparse
import tempfile
from pathlib import Path

from labkit import figures, studies
from labkit.io import project
from labkit.store.derived import EXAMPLES

TARGET = project.SHIPPED / "templates" / "start"
SIZE = {"width": 380, "height": 250}  # px; the page shows 240 of them
TICKS = 6  # to the right; of more, every second one
PICTURES: dict[str, tuple[str, str, str, dict[str, object]]] = {
    # file → campaign (empty: measured now), study, its figure and what that takes
    "messages": ("two-cores", "latency", "latency_figure", {}),
    "bandwidth": ("two-cores", "bandwidth", "bandwidth_figure", {}),
    "collectives": ("two-cores", "overlap", "forms_figure", {}),
    "storage": ("two-cores", "storage", "heat_map", {"test": "read", "sync": True}),
    "verbs": ("two-cores", "verbs_latency_bandwidth", "bandwidth_figure", {}),
    "hosts": ("virtual-cluster", "interference_and_qos", "pairs_figure", {}),
    "programs": ("", "nas_kernels", "split_figure", {}),
    "explain": ("two-cores", "loggp", "fit_figure", {"transport": "shm"}),
    "compare": ("two-cores", "compare", "figure", {}),
}


def drawn(folder: str, study: str, figure: str, how: dict[str, object]) -> dict[str, object]:
    """Return a figure of a study over an example, without what is too small to read in a picture of 240 px."""
    if folder:
        one = studies.get(study)(campaign=str(EXAMPLES / folder), measure=False)
    else:
        one = studies.get(study)(campaign=str(Path(tempfile.mkdtemp()) / "new"), launches=1)
        one.run()
    made = getattr(one, figure)
    made = made(**how) if callable(made) else made
    made.update_layout(showlegend=False, margin={"l": None, "r": 10, "t": 20, "b": None}, **SIZE)
    for axis in (*made.select_xaxes(), *made.select_yaxes()):
        title, _, unit = (axis.title.text or "").partition("<br>")[0].partition(" (")
        short = title.partition(", ")[0]
        axis.title.text = f"{short} ({unit}" if unit else short
    for axis in made.select_xaxes():
        if axis.tickvals is not None and len(axis.tickvals) > TICKS:
            axis.tickvals, axis.ticktext = axis.tickvals[::2], axis.ticktext[::2]
    return dict(made.to_plotly_json())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"pictures to draw: {', '.join(PICTURES)} (default: all)"
    )
    names = parser.parse_args().names or list(PICTURES)
    if unknown := set(names) - set(PICTURES):
        parser.error(f"there is no picture {', '.join(sorted(unknown))}; choose from {', '.join(PICTURES)}")
    TARGET.mkdir(exist_ok=True)
    pictures = figures.svgs([drawn(*PICTURES[name]) for name in names])
    for name, picture in zip(names, pictures, strict=True):
        assert picture, name
        Path(TARGET / f"{name}.svg").write_text(picture + "\n")
        print(f"{TARGET / name}.svg: {len(picture) / 1e3:.0f} kB")
