"""Numbers printed in the RINGS paper, to stand beside ours.

Source: C. Coupette, J. Wayland, E. Simons and B. Rieck, "No Metric to Rule Them All: Toward
Principled Evaluations of Graph-Learning Datasets", ICML 2025. Scores: Tables 6, 7, 13, 15, 16;
relations and judgements: Tables 1 and 14; verdicts: Section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from graphnetz.metrics import label_of
from graphnetz.records import Table
from graphnetz.records.suite import read_published, read_rows
from graphnetz.rings.rules import Verdict, assess
from graphnetz.rings.tables import COMPARISONS, as_table
from graphnetz.rings.taxonomy_table import score_words

if TYPE_CHECKING:
    from graphnetz.rings.evaluation import DatasetEvaluation


@dataclass(frozen=True)
class PublishedJudgement:
    """Relations by metric, and the verdict where the paper gives one."""

    relations: dict[str, str]
    verdict: Verdict | None


def _judgements() -> dict[str, PublishedJudgement]:
    found: dict[str, PublishedJudgement] = {}
    for row in read_rows(__package__, "judgements.csv"):
        judged = found.setdefault(row["task"], PublishedJudgement({}, cast("Verdict", row["verdict"]) or None))
        judged.relations[row["metric"]] = row["relation"]
    return found


JUDGEMENTS = _judgements()
"""Tables 1 and 14, and Section 4.3, by the paper's name of a dataset."""

_ALIASES = {
    "imdbbinary": "IMDB-B",
    "imdbmulti": "IMDB-M",
    "redditbinary": "Reddit-B",
    "redditmulti5k": "Reddit-M",
    "ogbgmolhiv": "MolHIV",
    "peptidesfunc": "Peptides",
    "proteinsfull": "Proteins",
    "zinc": "ZINC-12k",
}


WIDTHS = {"AIDS": 42, "DD": 89, "Enzymes": 21, "MUTAG": 7, "NCI1": 37, "Proteins": 32}
"""Columns of the node features of the paper's data: node labels and, where there are any, continuous attributes."""
_PLAIN_TWINS = ("enzymes", "proteins")
"""Names under which data without the continuous attributes go; those are not the paper's."""


def paper_name(dataset: str, *, width: int = 0) -> str | None:
    """Return the paper's name of a dataset or task, None when it is not in the paper.

    Parameters
    ----------
    dataset
        Its name, ours or the paper's.
    width
        Columns of its node features, 0 when not known: data of one name and other features are other data.

    Returns
    -------
    str or None
        The name in the paper's tables.

    Examples
    --------
    >>> paper_name("IMDB-BINARY"), paper_name("mutag_graph_cls"), paper_name("Cora")
    ('IMDB-B', 'MUTAG', None)
    >>> paper_name("enzymes", width=3), paper_name("ENZYMES", width=21)
    (None, 'Enzymes')
    """
    if dataset in JUDGEMENTS and not width:
        return dataset
    plain = "".join(char for char in dataset.lower() if char.isalnum())
    for suffix in ("graphcls", "graphreg"):
        plain = plain.removesuffix(suffix)
    names = {"".join(c for c in name.lower() if c.isalnum()): name for name in JUDGEMENTS} | _ALIASES
    found = names.get(plain)
    if (plain in _PLAIN_TWINS and not width) or (width and found in WIDTHS and WIDTHS[found] != width):
        return None
    return found


def published_scores(dataset: str | None = None, *, width: int = 0) -> pd.DataFrame:
    """Return the means and standard deviations that the RINGS paper prints.

    Parameters
    ----------
    dataset
        Name of a dataset or task; None returns all.
    width
        Columns of its node features, as in `paper_name`.

    Returns
    -------
    DataFrame
        Columns table, metric, dataset, model, mode, mean, std.

    Examples
    --------
    >>> from graphnetz.rings import published_scores
    >>> sorted(published_scores("mutag")["metric"].unique())
    ['acc', 'auc']
    """
    rows = [
        (int(row.table), row.metric, row.task, row.model, row.more["mode"], row.mean, row.sd)
        for row in read_published(__package__)
        if dataset is None or row.task == paper_name(dataset, width=width)
    ]
    return pd.DataFrame(rows, columns=["table", "metric", "dataset", "model", "mode", "mean", "std"])


MAIN, FINER = (6, 7, 13), (15, 16)
"""Tables of the main experiments, and of those with seeds crossed as in Table 12 (where GPS is)."""


def compare_paper(evaluation: DatasetEvaluation) -> pd.DataFrame:
    """Return our scores beside the paper's.

    Parameters
    ----------
    evaluation
        Result of `evaluate` on a dataset of the paper.

    Returns
    -------
    DataFrame
        One row per metric, model and mode. ``paper_mean`` and ``paper_std`` are those of Tables 6, 7
        and 13, ``finer_mean`` and ``finer_std`` those of Tables 15 and 16; NaN where nothing is printed.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import pandas as pd
    >>> from graphnetz.rings import compare_paper
    >>> row = {"metric": "acc", "model": "GCN", "mode": "o", "mean": 0.8, "std": 0.1, "count": 20}
    >>> ours = SimpleNamespace(name="mutag", to_frame=lambda: pd.DataFrame([row]))  # stands for a real evaluation
    >>> compare_paper(ours).columns[-2:].tolist()
    ['finer_mean', 'finer_std']
    """
    keys = ["metric", "model", "mode"]
    out = evaluation.to_frame().rename(columns={"count": "runs"})
    out["model"] = out["model"].str.removeprefix("rings.")  # the paper's own architectures under the paper's names
    printed = published_scores(evaluation.name, width=getattr(evaluation, "width", 0))
    for prefix, tables in (("paper", MAIN), ("finer", FINER)):
        chosen = printed[printed["table"].isin(tables)]
        chosen = chosen.rename(columns={"mean": f"{prefix}_mean", "std": f"{prefix}_std"})
        out = out.merge(chosen[[*keys, f"{prefix}_mean", f"{prefix}_std"]], on=keys, how="left")
    return out


def compare_judgement(evaluation: DatasetEvaluation) -> pd.DataFrame | None:
    """Return relations, informativeness, score and verdict beside the paper's.

    Parameters
    ----------
    evaluation
        Result of `evaluate`.

    Returns
    -------
    DataFrame or None
        Columns "", ours, paper; None when the dataset is not in the paper.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from graphnetz.rings import compare_judgement
    >>> compare_judgement(SimpleNamespace(name="not in the paper")) is None
    True
    """
    name = paper_name(evaluation.name, width=getattr(evaluation, "width", 0))
    if name is None:
        return None
    printed = JUDGEMENTS[name]
    theirs, ours = assess(printed.relations), evaluation.assessment
    rows = [(f"relation ({m})", evaluation.relations.get(m, ""), text) for m, text in printed.relations.items()]
    rows += [
        ("structure", ours.structure, theirs.structure),
        ("features", ours.features, theirs.features),
        ("score", score_words({"scores": ours.scores}), f"{theirs.score:g} ({theirs.symbol})"),
        ("verdict", evaluation.verdict, printed.verdict or "none given"),
    ]
    return pd.DataFrame(rows, columns=["", "ours", "paper"])


def published_judgements(facts: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, str]]:
    """Return score and verdict of the paper for those datasets of a taxonomy that it treats."""
    out: dict[str, tuple[float, str]] = {}
    for fact in facts:
        name = paper_name(fact["dataset"], width=int(fact.get("width") or 0))
        if name is not None:
            out[fact["dataset"]] = (assess(JUDGEMENTS[name].relations).score, JUDGEMENTS[name].verdict or "")
    return out


@COMPARISONS.register("rings")
def paper_tables(evaluation: DatasetEvaluation) -> tuple[Table, ...]:
    """Return what the paper printed about this dataset beside ours; nothing for datasets that are not in it."""
    judged = compare_judgement(evaluation)
    if judged is None:
        return ()
    scores = compare_paper(evaluation).sort_values("metric", kind="stable")
    scores["metric"] = [label_of(metric) for metric in scores["metric"]]
    captions = "Scores beside Coupette et al. (2025): Tables 6, 7 and 13 (paper), 15 and 16 (finer)."
    return as_table(judged, "Judgement beside that of Coupette et al. (2025)."), as_table(scores, captions)
