"""References as BibTeX: the tests a report used, the models it names, the datasets behind its tasks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from graphnetz.report import escape

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
    "ChebNet": ("defferrard2016", {
        "author": "Defferrard, Micha{\\\"e}l and Bresson, Xavier and Vandergheynst, Pierre",
        "title": "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2016",
    }),
    "EGC": ("tailor2022", {
        "author": "Tailor, Shyam A. and Opolka, Felix L. and Li{\\`o}, Pietro and Lane, Nicholas D.",
        "title": "Do We Need Anisotropic Graph Neural Networks?",
        "booktitle": "International Conference on Learning Representations", "year": "2022",
    }),
    "PNA": ("corso2020", {
        "author": "Corso, Gabriele and Cavalleri, Luca and Beaini, Dominique and Li{\\`o}, Pietro and "
        "Veli{\\v{c}}kovi{\\'c}, Petar",
        "title": "Principal Neighbourhood Aggregation for Graph Nets",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2020",
    }),
    "SGC": ("wu2019", {
        "author": "Wu, Felix and Souza, Amauri and Zhang, Tianyi and Fifty, Christopher and Yu, Tao and Weinberger, "
        "Kilian",
        "title": "Simplifying Graph Convolutional Networks",
        "booktitle": "International Conference on Machine Learning", "year": "2019",
    }),
    "DGI": ("velickovic2019", {
        "author": "Veli{\\v{c}}kovi{\\'c}, Petar and Fedus, William and Hamilton, William L. and Li{\\`o}, Pietro and "
        "Bengio, Yoshua and Hjelm, R Devon",
        "title": "Deep Graph Infomax", "booktitle": "International Conference on Learning Representations",
        "year": "2019",
    }),
    "Node2Vec": ("grover2016", {
        "author": "Grover, Aditya and Leskovec, Jure", "title": "node2vec: Scalable Feature Learning for Networks",
        "booktitle": "ACM SIGKDD International Conference on Knowledge Discovery and Data Mining", "year": "2016",
    }),
    "GraRep": ("cao2015", {
        "author": "Cao, Shaosheng and Lu, Wei and Xu, Qiongkai",
        "title": "{GraRep}: Learning Graph Representations with Global Structural Information",
        "booktitle": "ACM International Conference on Information and Knowledge Management", "year": "2015",
    }),
    "RingGNN": ("chen2019", {
        "author": "Chen, Zhengdao and Villar, Soledad and Chen, Lei and Bruna, Joan",
        "title": "On the Equivalence Between Graph Isomorphism Testing and Function Approximation with {GNNs}",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2019",
    }),
    "3WLGNN": ("maron2019", {
        "author": "Maron, Haggai and Ben-Hamu, Heli and Serviansky, Hadar and Lipman, Yaron",
        "title": "Provably Powerful Graph Networks",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2019",
    }),
    "AdamicAdar": ("adamic2003", {
        "author": "Adamic, Lada A. and Adar, Eytan", "title": "Friends and Neighbors on the Web",
        "journal": "Social Networks", "volume": "25", "number": "3", "pages": "211--230", "year": "2003",
    }),
    "ResourceAllocation": ("zhou2009", {
        "author": "Zhou, Tao and L{\\\"u}, Linyuan and Zhang, Yi-Cheng",
        "title": "Predicting Missing Links via Local Information", "journal": "The European Physical Journal B",
        "volume": "71", "number": "4", "pages": "623--630", "year": "2009",
    }),
    "Jaccard": ("libennowell2007", {
        "author": "Liben-Nowell, David and Kleinberg, Jon", "title": "The Link-Prediction Problem for Social Networks",
        "journal": "Journal of the American Society for Information Science and Technology", "volume": "58",
        "number": "7", "pages": "1019--1031", "year": "2007",
    }),
    "SEAL": ("zhang2018", {
        "author": "Zhang, Muhan and Chen, Yixin", "title": "Link Prediction Based on Graph Neural Networks",
        "booktitle": "Advances in Neural Information Processing Systems", "year": "2018",
    }),
    "SpectralEmbedding": ("belkin2003", {
        "author": "Belkin, Mikhail and Niyogi, Partha",
        "title": "{Laplacian} Eigenmaps for Dimensionality Reduction and Data Representation",
        "journal": "Neural Computation", "volume": "15", "number": "6", "pages": "1373--1396", "year": "2003",
    }),
}  # fmt: skip
MODELS["DegreeProduct"] = MODELS["Jaccard"]
"""Both heuristics are those of the same study."""


def model_key(name: str) -> str | None:
    """BibTeX key of a model by its registered name; variants such as ``bgnn.GAT-edgefeat`` share one."""
    bare = re.sub(r"\s*\(.*\)$", "", name).rpartition(".")[2].partition("-")[0]
    return MODELS[bare][0] if bare in MODELS else None


def dataset_key(name: str) -> str:
    """BibTeX key of a dataset: letters, digits and dashes of its name, and a digest where that is not all of it."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]
    whole = plain and plain == name.lower().replace("_", "-")
    return f"data-{plain}" if whole else f"data-{plain or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def bibtex(tests: Iterable[str], models: Iterable[str], datasets: Mapping[str, str]) -> str:
    """Return the entries; ``datasets`` maps a dataset's name to the citation on its card."""
    out = [_entry(*_named(key, TESTS[key])) for key in dict.fromkeys(tests)]
    used = dict.fromkeys(key for key in map(model_key, models) if key)
    by_key = dict(MODELS.values())
    out += [_entry(key, "article" if "journal" in by_key[key] else "inproceedings", by_key[key]) for key in used]
    for key, (name, citation) in {dataset_key(name): (name, text) for name, text in datasets.items()}.items():
        fields = {"key": key, "title": _field(name), "note": _field(citation, width=1000)}
        year = re.findall(r"\b(?:19|20)\d\d\b", citation)
        out.append(_entry(key, "misc", fields | ({"year": year[-1]} if year else {})))
    return "\n".join(out)


def _field(text: str, *, width: int = 60) -> str:
    """Escaped for LaTeX and for BibTeX, which counts an escaped brace like any other."""
    plain = escape.latex(text, width=width)
    return plain.replace("\\{", "\\textbraceleft{}").replace("\\}", "\\textbraceright{}")


def _named(key: str, entry: tuple[str, dict[str, str]]) -> tuple[str, str, dict[str, str]]:
    return key, entry[0], entry[1]


def _entry(key: str, kind: str, fields: Mapping[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}\n"
