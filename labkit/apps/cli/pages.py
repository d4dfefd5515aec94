"""The commands that open pages."""

from __future__ import annotations

import argparse

from labkit.apps.cli.console import say
from labkit.apps.cli.fields import whole

START = "--LabApp.default_url"
REACH = """The server listens on this machine only and asks for a token. To reach it from another machine:
  - Start it here with --no-browser --port 8888. On your own machine, open an SSH tunnel, then the address printed here:
        ssh -N -L 8888:127.0.0.1:8888 USER@THIS_MACHINE
    To reach a compute node through a login node: ssh -N -J USER@LOGIN -L 8888:127.0.0.1:8888 USER@NODE
  - Or use your site's JupyterHub: open notebooks/explorer.ipynb there, select labkit's Python as the kernel, and run
    all cells."""


def jupyter(options: argparse.Namespace) -> int:
    """Open JupyterLab on the notebooks, at the start page unless another page is named."""
    from labkit.io import extras, project

    extras.need("jupyterlab")  # before the start page, which needs more
    from labkit.apps.cli import jupyterlab, start

    folder = project.to_edit()
    if any(word.startswith(START) for word in options.rest):
        return jupyterlab.run(folder, options.rest)
    return jupyterlab.run(folder, [f"{START}=/lab/tree/{start.write(folder).as_posix()}", *options.rest])


def explore_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit explore`."""
    verb.add_argument("campaign", nargs="*", help="campaign to open: a folder, or a name in data/campaigns")
    verb.add_argument("--port", type=whole, help="port of the server (default: the first free one, 8888 or above)")
    verb.add_argument("--no-browser", action="store_true", help="open no browser")
    verb.add_argument(
        "--view", default="", metavar="NAME", help="show a view that was saved in the Explorer, or its file"
    )


def explore(options: argparse.Namespace) -> int:
    """Open the Explorer."""
    from labkit.io import extras

    extras.need("tornado", "ipywidgets", "anywidget", "plotly")
    from labkit.apps.explorer import server

    browser = not options.no_browser
    return server.explore(options.campaign, say, view=options.view, port=options.port, browser=browser)
