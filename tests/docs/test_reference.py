"""Everything that the reference lists is explained: parameters, what comes back, an example; and the pages show it."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODES = {
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS03": "a summary without full stop",
    "PR01": "a parameter without words",
    "PR02": "words about a parameter that is not there",
    "PR07": "a parameter without description",
    "RT01": "no Returns",
    "RT03": "Returns without description",
    "YD01": "no Yields",
    "EX01": "no example",
}
"""Checks of ``numpydoc.validate`` that every function and method must pass."""


def _load():
    spec = importlib.util.spec_from_file_location("reference_page", ROOT / "scripts" / "reference_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


pytest.importorskip("numpydoc")
reference = _load()


@functools.cache
def listed() -> dict[str, object]:
    """Everything that a page shows with a signature: functions, classes and their methods."""
    found: dict[str, object] = {}
    for package, entries in reference.pages().items():
        for entry in entries:
            if not entry.is_code:
                continue
            found[f"{package}.{entry.name}"] = entry.value
            if inspect.isclass(entry.value):
                members = reference.methods(entry.value)
                found |= {f"{package}.{entry.name}.{name}": value for name, value in members.items()}
    return found


@functools.cache
def made_pages() -> dict[str, str]:
    return reference.all_pages()


def _documented(doc, *sections: str) -> list[str]:
    return [name.strip("* ") for section in sections for item in doc[section] for name in item.name.split(",")]


def _class_faults(name: str, cls: type) -> list[str]:
    """A record may explain its fields as attributes, which ``numpydoc.validate`` does not take for parameters."""
    from numpydoc.docscrape import NumpyDocString

    doc = NumpyDocString(inspect.getdoc(cls) or "")
    if issubclass(cls, BaseException):
        return [] if doc["Summary"] else [f"{name}: no summary"]
    wanted = [p.name for p in inspect.signature(cls).parameters.values()]
    said = _documented(doc, "Parameters", "Attributes")
    faults = [f"{name}: no words about {item!r}" for item in wanted if item not in said]
    faults += [f"{name}: words about {item!r}" for item in _documented(doc, "Parameters") if item not in wanted]
    faults += [
        f"{name}: {item.name!r} without description"
        for item in (*doc["Parameters"], *doc["Attributes"])
        if not "".join(item.desc).strip()
    ]
    if not doc["Summary"]:
        faults.append(f"{name}: no summary")
    if not any(line.startswith(">>>") for line in doc["Examples"]):
        faults.append(f"{name}: no example")
    return faults


def _faults(name: str, value: object) -> list[str]:
    from numpydoc.validate import validate

    if inspect.isclass(value):
        return _class_faults(name, value)
    if reference.is_attribute(value):
        return [] if inspect.getdoc(value) else [f"{name}: no docstring"]
    plain = inspect.unwrap(getattr(value, "__func__", value))
    path = f"{plain.__module__}.{plain.__qualname__}"
    # numpydoc takes a first parameter called cls for that of a class method, also where it is a decorator's.
    errors = [item for item in validate(path)["errors"] if item != ("PR02", "Unknown parameters {'cls'}")]
    found = {code for code, _ in errors} & CODES.keys()
    if getattr(plain, "__isabstractmethod__", False):
        found -= {"EX01"}  # there is nothing to run
    returns = str(inspect.signature(plain).return_annotation)
    has = re.search(r"^(Returns|Yields)\n-----", inspect.getdoc(plain) or "", re.MULTILINE)
    faults = [f"{name}: {CODES[code]}" for code in sorted(found - {"RT01", "YD01"})]
    if returns not in ("None", "<class 'NoneType'>") and not has:
        faults.append(f"{name}: no Returns")
    if "EX01" not in found and not getattr(plain, "__isabstractmethod__", False) and ">>>" not in (plain.__doc__ or ""):
        faults.append(f"{name}: an Examples section without code")
    return faults


def test_every_listed_name_is_explained():
    faults = [fault for name, value in listed().items() for fault in _faults(name, value)]
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults)


def test_the_list_is_not_empty_by_accident():
    names = listed()
    assert len(names) > 200
    for known in ("graphnetz.stats.paired_test", "graphnetz.run_benchmark", "graphnetz.rings.SeparabilityStudy.record"):
        assert known in names


def test_every_listed_constant_says_what_it_is():
    constants = [entry for entries in reference.pages().values() for entry in entries if not entry.is_code]
    assert len(constants) > 20
    silent = [f"{entry.package}.{entry.name}" for entry in constants if not reference._constant_words(entry)]
    assert silent == []


def test_the_check_finds_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "badly_explained.py").write_text(
        'def silent(a, b):\n    """Add."""\n    return a + b\n\n\n'
        'class Bare:\n    """A thing."""\n\n    def __init__(self, size: int) -> None:\n        self.size = size\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    import badly_explained

    found = _faults("silent", badly_explained.silent)
    assert {"silent: a parameter without words", "silent: no Returns", "silent: no example"} <= set(found)
    assert _faults("Bare", badly_explained.Bare) == ["Bare: no words about 'size'", "Bare: no example"]


def test_pages_show_methods_options_and_settings():
    made = made_pages()
    assert {"reference/index.md", "reference/graphnetz.md", "reference/cli.md", "reference/configuration.md"} <= set(
        made
    )
    report = made["reference/report.md"]
    from graphnetz import BenchmarkReport

    public = [name for name, value in inspect.getmembers(BenchmarkReport, inspect.isfunction) if name[0] != "_"]
    assert len(public) >= 30
    inherited = {name for base in (dict, list) for name in dir(base)} | {"get", "items", "keys", "values"}
    assert [name for name in public if f"### BenchmarkReport.{name} " not in report and name not in inherited] == []
    study = made["reference/rings.md"]
    assert "### SeparabilityStudy.record" in study
    assert "### Perturbation.at" in study
    assert "### GCN." not in made["reference/models.md"]  # what every model must have is in the guide, once
    assert "| `run` | Names fold and seed; runs with the same name are paired across modes. |" in study
    assert "```pycon\n>>> from graphnetz.rings import SeparabilityStudy" in study
    assert re.search(r"^## run$", made["reference/cli.md"], re.MULTILINE)
    assert "--hidden-channels" in made["reference/cli.md"]


def test_every_setting_has_a_row_with_words():
    from graphnetz.records import RunConfig

    page = made_pages()["reference/configuration.md"]
    keys = list(RunConfig.model_fields)
    assert [key for key in keys if f"| `{key}` |" not in page] == []
    silent = [key for key in keys if not re.search(rf"^\| `{key}` \| .* \| \S[^|]+ \|$", page, re.MULTILINE)]
    assert silent == []


def test_a_name_stands_on_one_page_and_the_root_points_there():
    found = reference.pages()
    homes: dict[int, list[str]] = {}
    for package, entries in found.items():
        for entry in entries:
            if entry.is_code:
                homes.setdefault(id(entry.value), []).append(f"{package}.{entry.name}")
    assert [names for names in homes.values() if len(names) > 1] == []
    assert "[graphnetz.models](models.md#gcn)" in made_pages()["reference/graphnetz.md"]


def test_code_in_pages_is_closed():
    for path, text in made_pages().items():
        assert text.count("\n```") % 2 == 0, path
