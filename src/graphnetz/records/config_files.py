"""Settings in files: those that a user wrote, and those of a run folder, which may be a stranger's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphnetz._core.errors import UsageError
from graphnetz._core.readers import read_toml
from graphnetz.records import config as settings
from graphnetz.records.config import TO_REPEAT, RunConfig
from graphnetz.records.references import is_reference, refuse_inside, repeated


def load_config(path: str | Path | None, flags: Mapping[str, Any]) -> RunConfig:
    """Read a TOML file, let flags win, and validate; the error names the key.

    Examples
    --------
    >>> load_config(None, {"task": ["cora"], "epochs": "20"}).epochs
    20
    """
    values = {} if path is None else read_toml(path, what="the configuration")
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    folder = None if path is None else Path(path).parent
    if folder is not None and any((folder / name).exists() for name in ("store.sqlite", "results.json")):
        _refuse_code(values, given, folder, command="run")  # settings of a run folder, which may be a stranger's
    return settings.RunConfig.read(values | given)


def _refuse_code(values: dict[str, Any], given: Mapping[str, Any], folder: Path, *, command: str) -> None:
    """Leave no model of a folder's settings that is code, unless it was given again from outside that folder."""
    if isinstance(values.get("search"), str) and values["search"] != "default":
        raise UsageError(f"The search of {str(folder)!r} is no table, as a run writes it. Give --search again.")
    named = values.get("model") or []
    named = [named] if isinstance(named, str) else [str(name) for name in named]
    asked = given.get("model") or []
    if command == "run" and asked:
        values.pop("model", None)  # the user's own list counts, none of the folder's
        named = []
    else:
        values["model"] = named = repeated(named, asked, folder=str(folder), command=command)
    for text in [*named, *asked]:
        if is_reference(text):
            refuse_inside(text, folder)


def resumed_config(folder: str | Path, flags: Mapping[str, Any]) -> tuple[RunConfig, list[str]]:
    r"""Read the settings of a run folder to go on with it.

    Parameters
    ----------
    folder
        The run folder.
    flags
        Settings that were given again; those of `TO_REPEAT` count only here.

    Returns
    -------
    config, left
        The settings, and the options that the folder names and that were not obeyed.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "config.toml").write_text('task = ["cora"]\nroot = "/elsewhere"\nout = "x"\n')
    >>> config, left = resumed_config(place, {"out": str(place)})
    >>> config.root, left
    ('data/benchmark', ['--root', '/elsewhere'])
    """
    values = read_toml(Path(folder) / "config.toml", what="the configuration")
    if "out" not in values:  # what a run writes always has one
        raise UsageError(
            f"{str(Path(folder) / 'config.toml')!r} does not say what was run: it is empty or not what 'graphnetz run' "
            "wrote. Restore it, or start again with 'graphnetz run'."
        )
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    foreign = {key: values.pop(key) for key in TO_REPEAT if key in values and key not in given}
    _refuse_code(values, given, Path(folder), command="resume")
    config = settings.RunConfig.read(values | {key: value for key, value in given.items() if key != "model"})
    try:
        left = settings.RunConfig.read({"task": ["any"], **foreign}).to_repeat()
    except UsageError:
        left = []
    return config, left
