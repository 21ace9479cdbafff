"""The 63 loaders of the published catalogue, and the page that says how each is exercised."""

from __future__ import annotations

from published_collections import CASES

from graphnetz.datasets.cards import CARDS, CATEGORIES

LP, NC, GC, GR = "link_pred", "node_cls", "graph_cls", "graph_reg"
TABLE_4: dict[str, dict[str, tuple[str, ...]]] = {
    "combinatorial": {
        LP: (
            "random_bipartite_matching",
            "random_tsp",
            "random_vrp",
            "random_coloring",
            "random_maxcut",
            "random_maxflow",
        )
    },
    "biology": {
        GC: ("mutag", "proteins", "enzymes", "peptides_func", "ogbg_molhiv", "ogbg_molpcba"),
        GR: ("peptides_struct",),
        LP: ("celegans", "budapest_connectome", "hospital_contacts", "high_school_contacts", "ppi"),
    },
    "social": {
        NC: (
            "cora",
            "citeseer",
            "pubmed",
            "wikics",
            "roman_empire",
            "amazon_ratings",
            "minesweeper",
            "tolokers",
            "questions",
            "ogbn_arxiv",
        ),
        LP: (
            "cora",
            "citeseer",
            "pubmed",
            "movielens100k",
            "karate",
            "facebook_friends",
            "dblp_coauthor",
            "dnc_emails",
            "ogbl_collab",
        ),
    },
    "knowledge": {LP: ("fb15k_237", "wordnet18rr", "wordnet_netz")},
    "infrastructure": {LP: ("power_grid", "euroroad", "us_roads", "eu_airlines", "london_transport", "urban_streets")},
    "finance": {NC: ("elliptic_bitcoin", "ogbn_products"), LP: ("product_space", "board_directors", "us_patents")},
    "computing": {LP: ("internet_as", "topology", "as_skitter", "route_views")},
    "vision": {NC: ("shapenet",), GC: ("mnist_superpixels", "cifar10_superpixels", "modelnet10", "modelnet40")},
    "physics": {GR: ("qm9", "zinc"), LP: ("ising_lattice",)},
    "security": {GC: ("malnet_tiny",), LP: ("terrorists_911", "train_terrorists")},
}
"""Category -> task type -> loaders, after Table 4 of the GraphNetz paper."""

NAMES = sorted({name for kinds in TABLE_4.values() for names in kinds.values() for name in names})
HEAD = """# Catalogue

Every dataset has a card: `graphnetz list datasets` prints them, and this page is made from them
(`tests/sources/catalogue.py`). The last column says how the tests run download, verification,
processing, split and one training epoch without the internet:

- **mirror**: on the real data, from a mirror folder with the network blocked; skipped where it is absent;
- **fixture**: on a tiny self-made copy in the publisher's own raw layout, served on loopback under its true address;
- **generated**: nothing to download.

Edges are columns of `edge_index`, summed over graphs; an empty cell means that the card states nothing.
Loaders marked * are those of Table 4 of the GraphNetz paper.

## Places and safety

- `GRAPHNETZ_MIRROR` (folder or address, several joined by `;`) is asked before the network;
  `graphnetz mirror NAME... --to DIR` makes such a folder. `GRAPHNETZ_OFFLINE=1` never asks the network.
- Files are fetched over verified TLS, checked against a pinned sha256 or the one recorded in `checksums.json`
  at first use, and appear whole or not at all. Plain HTTP needs a pinned sha256.
- Raw files that are pickles are read only with a pinned sha256 and through a reader that knows arrays and
  containers and refuses everything else. ZINC's publisher gives no checksum: pin one of a copy you trust in the
  JSON file named by `GRAPHNETZ_PINS` (`{"molecules.zip": "<sha256>"}`).
- Processed datasets are kept in files of plain arrays with a fingerprint; a changed bit is noticed and the
  dataset is built again.

## Gaps

Text-attributed graphs, temporal prediction, hypergraphs and heterogeneous node types are not covered.
MovieLens and the multilayer, weighted and directed networks are read as plain undirected graphs unless
`Netz(..., multigraph=, directed=, weighted=)` asks otherwise. The plain copy of `board_directors` in a mirror
may be another month than the one named. Networks that stand beside a published one (`ego_facebook`,
`arxiv_condmat_coauthors`, `sp_high_school_friendship`) have their own names and never replace it.
"""


def how(name: str) -> str:
    """Return how the tests exercise a loader."""
    if CARDS[name].offline:
        return "generated" if CARDS[name].simulated else "bundled"
    return "mirror" if CARDS[name].mirror else "fixture" if name in CASES else "none"


def page() -> str:
    """Return the catalogue page."""
    lines = [HEAD]
    for category, text in CATEGORIES.items():
        lines += [
            f"\n## {category.capitalize()}\n",
            text,
            "",
            "| dataset | serves (epochs) | graphs | nodes | edges | features | classes | source | tests |",
        ]
        lines.append("|---|---|---|---|---|---|---|---|---|")
        for card in sorted((c for c in CARDS.values() if c.category == category), key=lambda c: c.name):
            serves = ", ".join(f"{kind} ({epochs})" for kind, epochs in card.serves.items())
            numbers = [card.graphs, card.nodes, card.edges, card.features, card.classes]
            cells = ["" if value is None else f"{value:,}" for value in numbers]
            star = "*" if card.name in NAMES else ""
            extra = f" (extra `{card.extra}`)" if card.extra else ""
            lines.append(
                f"| {card.name}{star} | {serves} | "
                + " | ".join(cells)
                + f" | {card.source}{extra} | {how(card.name)} |"
            )
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    from pathlib import Path

    (Path(__file__).resolve().parents[2] / "docs" / "catalogue.md").write_text(page(), encoding="utf-8")
