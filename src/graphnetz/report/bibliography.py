"""References as BibTeX: the tests a report used, the models it names, the datasets behind its tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graphnetz.render import escape

TESTS: dict[str, tuple[str, dict[str, str]]] = {
    "holm1979": ("article", {
        "author": "Holm, Sture", "title": "A Simple Sequentially Rejective Multiple Test Procedure",
        "journal": "Scandinavian Journal of Statistics", "volume": "6", "number": "2", "pages": "65--70",
        "year": "1979",
    }),
    "student1908": ("article", {
        "author": "{Student}", "title": "The Probable Error of a Mean", "journal": "Biometrika", "volume": "6",
        "number": "1", "pages": "1--25", "year": "1908",
    }),
    "wilcoxon1945": ("article", {
        "author": "Wilcoxon, Frank", "title": "Individual Comparisons by Ranking Methods",
        "journal": "Biometrics Bulletin", "volume": "1", "number": "6", "pages": "80--83", "year": "1945",
    }),
    "nadeau2003": ("article", {
        "author": "Nadeau, Claude and Bengio, Yoshua", "title": "Inference for the Generalization Error",
        "journal": "Machine Learning", "volume": "52", "pages": "239--281", "year": "2003",
    }),
    "friedman1937": ("article", {
        "author": "Friedman, Milton",
        "title": "The Use of Ranks to Avoid the Assumption of Normality Implicit in the Analysis of Variance",
        "journal": "Journal of the American Statistical Association", "volume": "32", "number": "200",
        "pages": "675--701", "year": "1937",
    }),
    "iman1980": ("article", {
        "author": "Iman, Ronald L. and Davenport, James M.",
        "title": "Approximations of the Critical Region of the {Friedman} Statistic",
        "journal": "Communications in Statistics -- Theory and Methods", "volume": "9", "number": "6",
        "pages": "571--595", "year": "1980",
    }),
    "demsar2006": ("article", {
        "author": "Dem{\\v{s}}ar, Janez", "title": "Statistical Comparisons of Classifiers over Multiple Data Sets",
        "journal": "Journal of Machine Learning Research", "volume": "7", "pages": "1--30", "year": "2006",
    }),
    "efron1987": ("article", {
        "author": "Efron, Bradley", "title": "Better Bootstrap Confidence Intervals",
        "journal": "Journal of the American Statistical Association", "volume": "82", "number": "397",
        "pages": "171--185", "year": "1987",
    }),
}  # fmt: skip

MODELS: dict[str, tuple[str, dict[str, str]]] = {
    "GCN": ("kipf2017", {
        "author": "Kipf, Thomas N. and Welling, Max",
        "title": "Semi-Supervised Classification with Graph Convolutional Networks",
        "booktitle": "International Conference on Learning Representations", "year": "2017",
    }),
    "GAT": ("velickovic2018", {
        "author": "Veli{\\v{c}}kovi{\\'c}, Petar and Cucurull, Guillem and Casanova, Arantxa and Romero, Adriana and "
        "Li{\\`o}, Pietro and Bengio, Yoshua",
        "title": "Graph Attention Networks", "booktitle": "International Conference on Learning Representations",
        "year": "2018",
    }),
    "GraphSAGE": ("hamilton2017", {
        "author": "Hamilton, William L. and Ying, Rex and Leskovec, Jure",
        "title": "Inductive Representation Learning on Large Graphs",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2017",
    }),
    "GIN": ("xu2019", {
        "author": "Xu, Keyulu and Hu, Weihua and Leskovec, Jure and Jegelka, Stefanie",
        "title": "How Powerful are Graph Neural Networks?",
        "booktitle": "International Conference on Learning Representations", "year": "2019",
    }),
    "GPS": ("rampasek2022", {
        "author": "Ramp{\\'a}{\\v{s}}ek, Ladislav and Galkin, Mikhail and Dwivedi, Vijay Prakash and Luu, Anh Tuan and "
        "Wolf, Guy and Beaini, Dominique",
        "title": "Recipe for a General, Powerful, Scalable Graph Transformer",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2022",
    }),
    "GraphTransformer": ("shi2021", {
        "author": "Shi, Yunsheng and Huang, Zhengjie and Feng, Shikun and Zhong, Hui and Wang, Wenjing and Sun, Yu",
        "title": "Masked Label Prediction: Unified Message Passing Model for Semi-Supervised Classification",
        "booktitle": "International Joint Conference on Artificial Intelligence", "year": "2021",
    }),
    "GatedGCN": ("bresson2017", {
        "author": "Bresson, Xavier and Laurent, Thomas", "title": "Residual Gated Graph {ConvNets}",
        "booktitle": "arXiv:1711.07553", "year": "2017",
    }),
    "MoNet": ("monti2017", {
        "author": "Monti, Federico and Boscaini, Davide and Masci, Jonathan and Rodol{\\`a}, Emanuele and Svoboda, Jan "
        "and Bronstein, Michael M.",
        "title": "Geometric Deep Learning on Graphs and Manifolds Using Mixture Model {CNNs}",
        "booktitle": "IEEE Conference on Computer Vision and Pattern Recognition", "year": "2017",
    }),
    "LabelPropagation": ("zhou2004", {
        "author": "Zhou, Dengyong and Bousquet, Olivier and Lal, Thomas Navin and Weston, Jason and Sch{\\\"o}lkopf, "
        "Bernhard",
        "title": "Learning with Local and Global Consistency",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2004",
    }),
}  # fmt: skip


def model_key(name: str) -> str | None:
    """BibTeX key of a model by its registered name; variants such as ``bgnn.GAT-edgefeat`` share one."""
    bare = re.sub(r"\s*\(.*\)$", "", name).rpartition(".")[2].partition("-")[0]
    return MODELS[bare][0] if bare in MODELS else None


def dataset_key(name: str) -> str:
    """BibTeX key of a dataset: letters, digits and dashes of its name."""
    return "data-" + (re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "unnamed")


def bibtex(tests: Iterable[str], models: Iterable[str], datasets: Mapping[str, str]) -> str:
    """Return the entries; ``datasets`` maps a dataset's name to the citation on its card."""
    out = [_entry(*_named(key, TESTS[key])) for key in dict.fromkeys(tests)]
    used = dict.fromkeys(key for key in map(model_key, models) if key)
    by_key = dict(MODELS.values())
    out += [_entry(key, "inproceedings", by_key[key]) for key in used]
    for name, citation in datasets.items():
        fields = {"title": escape.latex(name), "note": escape.latex(citation, width=1000)}
        year = re.findall(r"\b(?:19|20)\d\d\b", citation)
        out.append(_entry(dataset_key(name), "misc", fields | ({"year": year[-1]} if year else {})))
    return "\n".join(out)


def _named(key: str, entry: tuple[str, dict[str, str]]) -> tuple[str, str, dict[str, str]]:
    return key, entry[0], entry[1]


def _entry(key: str, kind: str, fields: Mapping[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}\n"
