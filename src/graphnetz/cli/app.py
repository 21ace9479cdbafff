"""The application: commands by file, one place for errors and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from graphnetz import __version__
from graphnetz._core.errors import GraphnetzError

OK, FAILED_CELLS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="graphnetz",
    help="Honest evaluation of graph learning: which model is better, is the dataset fit to say so, what to try next.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"graphnetz {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Honest evaluation of graph learning."""


def load_commands() -> None:
    """Import the files that hang commands on `app`."""
    from graphnetz.cli import cluster, data, decide, inspect, rings, run, runs, select  # noqa: F401


DEFAULTS = {
    "rings": ("evaluate", ("evaluate", "complementarity", "diversity", "separability", "table"), False),
    "select": ("recommend", ("recommend", "features", "collect", "testbed"), True),
}
"""Groups whose bare form ``graphnetz GROUP NAME`` means one of their commands; last: also without a name."""


def with_aliases(arguments: list[str]) -> list[str]:
    """Insert the default command of a group that was called without one."""
    if not arguments or arguments[0] not in DEFAULTS:
        return arguments
    default, known, nameless = DEFAULTS[arguments[0]]
    first = arguments[1] if len(arguments) > 1 else ""
    if first in known or first == "--help" or (not nameless and (not first or first.startswith("-"))):
        return arguments
    return [arguments[0], default, *arguments[1:]]


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; users see sentences, not tracebacks."""
    load_commands()
    try:
        code = app(args=with_aliases(list(sys.argv[1:] if arguments is None else arguments)), standalone_mode=False)
        if code == INTERRUPTED:  # newer versions of typer turn Ctrl-C into this value
            say(resume_hint())
        return int(code or OK)
    except typer.Exit as error:
        return int(error.exit_code)
    except GraphnetzError as error:
        say(str(error))
        return WRONG_USAGE
    except (KeyboardInterrupt, typer.Abort):
        say(resume_hint())
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        # Parser errors come from click or from typer's own copy of it, depending on the version: both can
        # format themselves. Anything else is a fault of ours and keeps its traceback.
        if not hasattr(error, "format_message"):
            raise
        say(f"{error.format_message()} See 'graphnetz --help'.")
        return WRONG_USAGE


_current_folder: list[str] = []


def remember_folder(folder: str) -> None:
    """Note the run folder, so that an interruption can say how to go on."""
    _current_folder[:] = [folder]


def resume_hint() -> str:
    """Return the sentence printed after Ctrl-C."""
    if not _current_folder:
        return "Interrupted."
    return f"Interrupted. Finished cells are kept; go on with: graphnetz resume {shlex.quote(_current_folder[0])}"


def answer(as_json: bool, data: Callable[[], Any], words: Callable[[], object]) -> int:
    """Print ``data`` as JSON where it was asked for, else let ``words`` print; every command answers in both forms."""
    if as_json:
        print(json.dumps(data(), indent=1))
    else:
        words()
    return OK


def say(text: str) -> None:
    """Print to standard error."""
    print(text, file=sys.stderr, flush=True)
