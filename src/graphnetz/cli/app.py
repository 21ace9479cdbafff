"""The application: commands by file, one place for errors and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from graphnetz import __version__
from graphnetz._core.errors import GraphnetzError, want_of_memory
from graphnetz._core.text import printable, shorten

OK, FAILED_CELLS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


ORDER = (
    "check", "run", "resume", "status", "serve", "report", "compare", "baseline", "merge", "leaderboard", "plan",
    "doctor", "train", "predict", "select", "rings", "submit", "verify", "reproduce", "replicate", "published", "list",
    "guide",
)  # fmt: skip
"""Commands as somebody meets them; those that are not named come last."""


class WholeGroup(TyperGroup):
    """A group of commands whose help shows the first sentence of each whole, not its first words."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order in which help shows them."""
        place = {name: i for i, name in enumerate(ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: place.get(name, len(place)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write names and sentences."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, _first_sentence(command.help or "")) for name, command in found if command and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _first_sentence(text: str) -> str:
    plain = " ".join(text.partition("\n\n")[0].split())
    return plain.rstrip(".") if plain else ""


app = typer.Typer(
    cls=WholeGroup,
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
    from graphnetz.cli import (  # noqa: F401
        cells,
        check,
        cluster,
        convert,
        data,
        decide,
        export,
        inspect,
        replicate,
        rings,
        run,
        runs,
        select,
        use,
        verify,
    )


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
    shown, warnings.showwarning = warnings.showwarning, _show_warning
    try:
        code = _call(arguments)
        sys.stdout.flush()  # a full disk behind a pipe shows here, not after the last line
        return code
    except typer.Exit as error:
        return int(error.exit_code)
    except GraphnetzError as error:
        say(str(error))
        return WRONG_USAGE
    except (KeyboardInterrupt, typer.Abort):
        say(resume_hint())
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: not an error of ours
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        say(_about_files(error))
        return WRONG_USAGE
    except Exception as error:
        if want_of_memory(error):
            say(
                f"There is not enough memory for this ({error or 'none left'}). Ask for less, take fewer workers, or "
                f"use a larger machine. {kept()}".rstrip()
            )
            return WRONG_USAGE
        # Parser errors come from click or from typer's own copy of it, depending on the version: both can
        # format themselves. Anything else is a fault of ours and keeps its traceback.
        if not hasattr(error, "format_message"):
            error.add_note(FAULT)
            raise
        say(f"{error.format_message()} See 'graphnetz --help'.")
        return WRONG_USAGE
    finally:
        warnings.showwarning = shown


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
    line: str | None = None,
) -> None:  # fmt: skip
    """Warnings of ours are sentences; those of others keep the line that they come from."""
    if category.__module__.startswith("graphnetz."):
        say(str(message))
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


FAULT = (
    "This is a fault of graphnetz, not of what you gave it: no bad input should end in a traceback. Please report the "
    "lines above, with the command, the version (graphnetz --version) and the smallest input that shows it."
)


def _call(arguments: Sequence[str] | None) -> int:
    code = app(args=with_aliases(list(sys.argv[1:] if arguments is None else arguments)), standalone_mode=False)
    if code == INTERRUPTED:  # newer versions of typer turn Ctrl-C into this value
        say(resume_hint())
    return int(code or OK)


def _drop_output() -> None:
    """Let what is left of the output go nowhere: the interpreter would try to write it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _about_files(error: OSError) -> str:
    """Return a sentence about a file that cannot be read or written."""
    what = "the output" if error.filename is None else repr(shorten(os.fsdecode(error.filename), 80))
    return f"Cannot read or write {what}: {error.strerror or error}. Check the name, the disk and who may use it."


_current_folder: list[str] = []


def remember_folder(folder: str, options: Sequence[str] = ()) -> None:
    """Note the run folder and the options it needs again, so that an interruption can say how to go on."""
    _current_folder[:] = [folder, *options]


def resume_hint() -> str:
    """Return the sentence printed after Ctrl-C."""
    return f"Interrupted. {kept()}".rstrip()


def kept() -> str:
    """Say how to go on with the run of this process, where there is one."""
    if not _current_folder:
        return ""
    return f"Finished cells are kept; go on with: graphnetz resume {shlex.join(_current_folder)}"


def answer(as_json: bool, data: Callable[[], Any], words: Callable[[], object]) -> int:
    """Print ``data`` as JSON where it was asked for, else let ``words`` print; every command answers in both forms."""
    if as_json:
        put(json.dumps(data(), indent=1))
    else:
        words()
    return OK


def put(text: object = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print a result; nothing in it reaches the terminal as an escape sequence, and no password is shown."""
    print(printable(text), end=end, flush=flush)


def say(text: object) -> None:
    """Print to standard error, as `put` does."""
    with suppress(OSError):  # a full device behind standard error must not hide how the command ended
        print(printable(text), file=sys.stderr, flush=True)
