"""Numbers printed in the RINGS paper, to stand beside ours.

Source: C. Coupette, J. Wayland, E. Simons and B. Rieck, "No Metric to Rule Them All: Toward
Principled Evaluations of Graph-Learning Datasets", ICML 2025. Scores: Tables 6, 7, 13, 15, 16;
relations and judgements: Tables 1 and 14; verdicts: Section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import pandas as pd

from graphnetz.rings.rules import Verdict, assess

if TYPE_CHECKING:
    from graphnetz.rings.evaluation import DatasetEvaluation


@dataclass(frozen=True)
class PublishedJudgement:
    """Relations by metric, and the verdict where the paper gives one."""

    relations: dict[str, str]
    verdict: Verdict | None


def _both(accuracy: str, auroc: str, verdict: Verdict) -> PublishedJudgement:
    return PublishedJudgement({"acc": accuracy, "auc": auroc}, verdict)


JUDGEMENTS = {
    "AIDS": _both("cf > cg > rg > o > eg > rf", "cf/cg/rg > eg/o > rf", "realign"),
    "COLLAB": _both("o > cg/rg > eg > cf/rf", "o > cg/rg > eg > rf > cf", "deprecate"),
    "DD": _both("rg > cg > cf > eg/o > rf", "rg > cf/cg/eg/o/rf", "realign"),
    "Enzymes": _both("eg > cg/o > rg > cf > rf", "eg > o > cg > rg > cf > rf", "deprecate"),
    "IMDB-B": _both("cf/cg/eg/o/rf/rg", "o > cg > eg/rg > rf > cf", "deprecate"),
    "IMDB-M": _both("cg/eg/o/rg > cf > rf", "o > cg/eg/rg > cf > rf", "deprecate"),
    "MUTAG": _both("cf/cg/o/rg > eg > rf", "cf/o > cg/eg/rf/rg", "realign"),
    "MolHIV": _both("o > cf/cg/rg > rf > eg", "o > cg > cf > rg > eg > rf", "keep"),
    "NCI1": _both("o > cg > cf > rg > eg > rf", "o > cg > cf > rg > eg/rf", "keep"),
    "Peptides": _both("o > cg > rg > eg > cf > rf", "cg > o > rg > eg > cf > rf", "keep"),
    "Proteins": _both("cf > cg/rf > eg/o/rg", "cf/cg/eg/o/rf/rg", "deprecate"),
    "Reddit-B": _both("cf > rg > o > cg > eg/rf", "rg > cf > o > cg/eg/rf", "realign"),
    "Reddit-M": _both("rf > rg > o > eg", "rg > rf > o > eg", "realign"),
    "QM9": PublishedJudgement({"mae": "cf < cg < o < eg < rg < rf"}, None),
    "ZINC-12k": PublishedJudgement({"mae": "o < eg < cg < cf/rg < rf"}, None),
}
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


def paper_name(dataset: str) -> str | None:
    """Return the paper's name of a dataset or task, None when it is not in the paper.

    Examples
    --------
    >>> paper_name("IMDB-BINARY"), paper_name("mutag_graph_cls"), paper_name("Cora")
    ('IMDB-B', 'MUTAG', None)
    """
    plain = "".join(char for char in dataset.lower() if char.isalnum())
    for suffix in ("graphcls", "graphreg"):
        plain = plain.removesuffix(suffix)
    names = {"".join(c for c in name.lower() if c.isalnum()): name for name in JUDGEMENTS} | _ALIASES
    return names.get(plain)


def published_scores(dataset: str | None = None) -> pd.DataFrame:
    """Return the means and standard deviations that the RINGS paper prints.

    Parameters
    ----------
    dataset
        Name of a dataset or task; None returns all.

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
    with (resources.files("graphnetz.rings") / "published.csv").open(encoding="utf-8") as stream:
        frame = pd.read_csv(stream)
    return frame if dataset is None else frame[frame["dataset"] == paper_name(dataset)].reset_index(drop=True)


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
    printed = published_scores(evaluation.name)
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
    name = paper_name(evaluation.name)
    if name is None:
        return None
    printed = JUDGEMENTS[name]
    theirs, ours = assess(printed.relations), evaluation.assessment
    rows = [(f"relation ({m})", evaluation.relations.get(m, ""), text) for m, text in printed.relations.items()]
    rows += [
        ("structure", ours.structure, theirs.structure),
        ("features", ours.features, theirs.features),
        ("score", f"{ours.score:g} ({ours.symbol})", f"{theirs.score:g} ({theirs.symbol})"),
        ("verdict", evaluation.verdict, printed.verdict or "none given"),
    ]
    return pd.DataFrame(rows, columns=["", "ours", "paper"])
