"""Write the bundled example graph of `graphnetz select`: a made-up network of 400 people in five groups."""

from __future__ import annotations

from pathlib import Path

from graphnetz.selection.synthetic import make

FOLDER = Path(__file__).resolve().parents[1] / "src" / "graphnetz" / "selection" / "shipped"


def main() -> None:
    """Write example.csv and example_labels.csv."""
    graph = make("mixed_homophily", 2024, nodes=400, classes=5, degree=8.0, low=0.5, high=1.0, signal=0.5)
    edges = "".join(f"{a},{b}\n" for a, b in graph.edges.tolist())
    (FOLDER / "example.csv").write_text("source,target\n" + edges, encoding="utf-8")
    assert graph.labels is not None
    classes = "".join(f"{node},group{label}\n" for node, label in enumerate(graph.labels.tolist()))
    (FOLDER / "example_labels.csv").write_text("node,label\n" + classes, encoding="utf-8")


if __name__ == "__main__":
    main()
