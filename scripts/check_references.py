"""Hold licences and citations of dataset cards, and the bibliographies, against sources outside this package.

``python scripts/check_references.py DATA PAPERS [WHEELS]`` reads the notes on the copies in DATA (``README.md``: from
which repository a copy was taken, and its licence), texts of papers in PAPERS and the licences that wheels in WHEELS
carry (without wheels: as they were read before). What these do not speak of was read on public pages and is kept in
``scripts/looked_up.csv``: where, and what is said there. It writes ``scripts/references.csv``, from which the page of
``scripts/card_pages.py`` is made. What nobody was found to speak of is marked as not checked; a licence of a
repository need not cover the data in it, and a reference list is not the work itself.
"""

from __future__ import annotations

import csv
import functools
import importlib.util
import re
import sys
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from graphnetz.datasets import CARDS

ROOT = Path(__file__).resolve().parents[1]
OUT = Path(__file__).with_name("references.csv")
PUBLIC = Path(__file__).with_name("looked_up.csv")
BIBLIOGRAPHIES = ("src/graphnetz/report/references.bib", "docs/paper/references.bib")
NOT = "not checked"
PAPERS = {"000": "da Costa and Modenesi, GraphNetz", "001": "Dwivedi et al., 2023", "002": "Coupette et al., 2025",
          "004": "Park et al., 2023"}  # fmt: skip
"""Whose texts the files are, by the number they begin with."""
Row = tuple[str, str, str, str]


def licence_rows(readme: str, wheels: Path | None) -> Iterator[Row]:
    """One row for every source and licence that cards state together."""
    for source, licence, name in sorted({(c.source, c.licence, _copy(c)) for c in CARDS.values()}):
        what = f"{source.replace('<name>', name)}: {licence}" if name else f"{source}: {licence}"
        if wheel := re.match(r"the wheel ([\w-]+) (\S+) \(PyPI\)", source):
            before = next((row[2:] for row in stored() if row[1] == what), (NOT, ""))
            yield "licence", what, *(before if wheels is None else _wheel(wheel[1], licence, wheels))
        else:
            found = _licence(source, licence, name, readme)
            yield "licence", what, *(looked_up().get(("licence", what), found) if found[0] == NOT else found)


@functools.cache
def looked_up() -> Mapping[tuple[str, str], tuple[str, str]]:
    """What public pages say of a licence, of a work that cards cite, or of an entry of a bibliography."""
    with PUBLIC.open(encoding="utf-8", newline="") as stream:
        return {
            (row["kind"], row["what"]): (row["status"], f"{row['where']}: {row['fact']}")
            for row in csv.DictReader(stream)
        }


def _wheel(name: str, licence: str, wheels: Path) -> tuple[str, str]:
    """What a wheel says of its own licence: in its metadata, or at the head of its licence file."""
    file = next(iter(wheels.glob(f"{name.replace('-', '_')}-*.whl")), None)
    if file is None:
        return NOT, ""
    with zipfile.ZipFile(file) as archive:
        inside = {Path(path).name: path for path in archive.namelist() if ".dist-info/" in path}
        metadata = archive.read(inside["METADATA"]).decode("utf-8").partition("\n\n")[0]
        said = re.findall(r"(?m)^(?:License-Expression|License|Classifier: License ::.*) ?(?:: |:: )(.+)$", metadata)
        said = [words.strip() for words in said if words.strip() != "UNKNOWN"]
        if not said:
            text = next(path for path in archive.namelist() if re.search(r"dist-info/.*LICEN[CS]E", path))
            said = [" ".join(archive.read(text).decode("utf-8", "replace").split())[:60]]
    stated = licence.removeprefix("code: ").partition(";")[0]
    families = [word for word in ("LGPL", "GPL", "BSD", "MIT", "Apache") if word in stated]
    agrees = families and all(any(word in words for words in said) for word in families)
    words = f"the wheel says of its code: {'; '.join(dict.fromkeys(said))}; the licence of the data was not checked"
    return ("package" if agrees else "differs"), words


def _copy(card: object) -> str:
    """Name of the copy of a card whose licence is that of a copy, else nothing."""
    name, licence = str(getattr(card, "name", "")), str(getattr(card, "licence", ""))
    return COPIES.get(name, name) if licence == "see the source of the copy" else ""


COPIES = {"sp_infectious_in_time": "sp_infectious", "dnc_emails_in_time": "dnc"}
"""Cards that are read from a copy of another name."""


def _licence(source: str, licence: str, copy: str, readme: str) -> tuple[str, str]:
    if licence.startswith("generated"):
        return "ours", "made by a generator of this package"
    if copy:
        line = next(
            (line for line in readme.splitlines() if re.match(rf"\| {re.escape(copy)}(\.csv\.gz)? \|", line)), ""
        )
        cells = [cell.strip() for cell in line.split("|")]
        return ("copy", f"the copy at hand comes from {cells[-3]}") if line else (NOT, "")
    repository = REPOSITORIES.get(source) or next(iter(re.findall(r"github\.com/([\w.-]+/[\w.-]+)", source)), "")
    stated = re.search(rf"{re.escape(repository)}[^|();]*\(([^)]*)\)", readme) if repository else None
    if stated is None:
        return NOT, ""
    said, ours = _plain(stated[1]), _plain(licence)
    agrees = said in ours or ours in said or {said, ours} == {"no licence file", "none stated"}
    return ("repository" if agrees else "differs"), f"{repository} says {stated[1]!r}, by the notes on its copy"


REPOSITORIES = {
    "MoleculeNet (DeepChem)": "deepchem/deepchem",
    "AqSolDB, github.com/mcsorkun/AqSolDB": "mcsorkun/AqSolDB",
}


def _plain(licence: str) -> str:
    return licence.lower().split(" (")[0].split(";")[0].removeprefix("data ").strip()


def citation_rows(texts: Mapping[str, str]) -> Iterator[Row]:
    """One row for every citation of a card."""
    for citation in sorted({card.citation for card in CARDS.values() if card.citation}):
        parts = re.split(r"; |\. (?=[A-Z])", citation.rstrip("."))
        works = [work for work in parts if re.search(r"\d{4}", work)] or parts[:1]
        yield "citation", citation, *_found([(("work", work), _work(work)) for work in works], texts)


def _work(words: str) -> tuple[str, str, str]:
    """Surname, title and year of a work as cards cite it."""
    year = re.findall(r"\b(1[789]\d\d|20\d\d)\b", words)
    head, _, rest = re.sub(r"^.*?(?:after|of|split of|subset of) (?=[A-Z])", "", words).partition(",")
    surname = re.split(r" et al\.| and ", head)[0].split()[-1] if head.split() else ""
    title = re.sub(r"(,? ?(\b(JMLR|ICML|NeurIPS|Table) )?[\d()–-]+)*$", "", rest.strip()).strip(" ,.")
    return surname, title, year[-1] if year else ""


def bibliography_rows(texts: Mapping[str, str]) -> Iterator[Row]:
    """One row for every entry of a bibliography."""
    for file in BIBLIOGRAPHIES:
        for key, body in re.findall(r"@\w+\{(\w+),(.*?)\n\}", (ROOT / file).read_text(encoding="utf-8"), re.S):
            fields = {name: re.sub(r"\\v\{(\w)\}|[{}]", r"\1", value).replace("\n", " ")
                      for name, value in re.findall(r"(\w+) = \{(.*?)\}(?:,\n|$|\n)", body + "\n", re.S)}  # fmt: skip
            work = fields.get("author", "").split(",")[0].strip(), fields.get("title", ""), fields.get("year", "")
            what = f"{Path(file).parent.name}: {key}"
            yield "reference", what, *_found([(("reference", what), work)], texts)


WEAKEST = (NOT, "in part", "bibliography", "listed", "page")
"""Of several works, the status of the one that is least sure holds; where some were not found at all: in part."""


def _found(works: list[tuple[tuple[str, str], tuple[str, str, str]]], texts: Mapping[str, str]) -> tuple[str, str]:
    """Where all works are named: in a text at hand with surname, year and most words of the title, or on a page."""
    found = []
    for name, work in works:
        where = _where(*work, texts)
        found.append(("listed", where) if where else looked_up().get(name, (NOT, "")))
    status = min((status for status, _ in found), key=WEAKEST.index)
    said = "; ".join(dict.fromkeys(where for _, where in found if where))
    return ("in part" if status == NOT and said else status), said


def _where(surname: str, title: str, year: str, texts: Mapping[str, str]) -> str:
    wanted = set(re.findall(r"[a-z]{4,}", _ascii(title)))
    for paper, text in texts.items():
        titled = sum(word in text[:TITLE] for word in wanted) >= 0.8 * len(wanted)
        named = titled if wanted else paper == f"{surname} et al., {year}"  # cards may leave the title out
        if named and surname and _ascii(surname) in text[:HEAD]:
            return f"the work itself ({paper})"
    for paper, text in texts.items() if len(wanted) > 1 and surname else ():
        lines = text.splitlines()
        for first in (i for i, line in enumerate(lines) if _ascii(surname) in line):
            entry = " ".join(lines[first : first + ENTRY])  # some lists are broken into short lines
            if year in entry and sum(word in entry for word in wanted) >= 0.8 * len(wanted):
                return paper if paper.startswith("what ") else f"the list of {paper}"
    return ""


HEAD, TITLE, ENTRY = 800, 300, 4
"""Letters that hold authors and title of a paper, and lines that hold one entry of its reference list."""


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^\S\n]+", " ", plain.lower())


DESCRIBED = {"scikit-learn": ("sklearn", "datasets/descr/*.rst"), "networkx": ("networkx", "generators/social.py")}
"""Packages that say whose data they bring along."""


def described() -> dict[str, str]:
    """What installed packages say of their datasets."""
    found = {}
    for name, (module, files) in DESCRIBED.items():
        spec = importlib.util.find_spec(module)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        paths = [path for folder in folders for path in sorted(Path(folder).glob(files))]
        found[f"what {name} says of the data it brings"] = _ascii(
            "\n".join(path.read_text(encoding="utf-8") for path in paths)
        )
    return found


def check(data: Path, papers: Path, wheels: Path | None = None) -> list[Row]:
    """All rows."""
    files = [path for path in sorted(papers.glob("*.txt")) if path.name[:3] in PAPERS]
    texts = {PAPERS[path.name[:3]]: _ascii(path.read_text(encoding="utf-8")) for path in files} | described()
    readme = (data / "README.md").read_text(encoding="utf-8")
    return [*licence_rows(readme, wheels), *citation_rows(texts), *bibliography_rows(texts)]


def stored() -> list[Row]:
    """The rows that were written."""
    with OUT.open(encoding="utf-8", newline="") as stream:
        return [(row[0], row[1], row[2], row[3]) for row in list(csv.reader(stream))[1:]]


if __name__ == "__main__":
    found = check(*map(Path, sys.argv[1:]))
    with OUT.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("kind", "what", "status", "against"))
        writer.writerows(found)
