"""The verbs that open pages."""

from __future__ import annotations

import argparse

from labkit.cli.console import say

REACH = """The server listens on this machine only and asks for a token. From elsewhere, either
  - make a tunnel, and open the address it printed on your own machine (the port is the one in that address):
        ssh -N -L 8888:127.0.0.1:8888 USER@THIS_MACHINE        (start it here with --no-browser --port 8888)
    through a login node to a compute node: ssh -N -J USER@LOGIN -L 8888:127.0.0.1:8888 USER@NODE
  - or use your site's JupyterHub: open notebooks/explorer.ipynb there, with labkit's Python as its kernel, and run all
    cells; the hub asks for the password, and no further server is needed."""


def lab(options: argparse.Namespace) -> int:
    """Open JupyterLab on the notebooks."""
    from labkit.batch import NOTEBOOKS
    from labkit.explorer import server

    return server.lab(NOTEBOOKS, options.rest)


def explore_options(verb: argparse.ArgumentParser) -> None:
    """Words of `labkit explore`."""
    verb.add_argument("campaign", nargs="*", help="on show from the start: a folder, or a name in data/campaigns")


def explore(options: argparse.Namespace) -> int:
    """Open the Explorer."""
    from labkit.explorer import server

    return server.explore(options.campaign, options.rest, say)
