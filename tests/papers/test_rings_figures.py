"""Figures of the RINGS paper: 1 and 2 show what the measures measure, and every number has a maker."""

import networkx as nx
import numpy as np
import pytest
from torch_geometric.utils import to_networkx

from graphnetz.papers.rings.figures import FIGURES, perturbation_figures, ring_of_cliques, space_figures
from graphnetz.report.plots import draw_figure
from graphnetz.rings import complementarity


def test_the_example_is_a_ring_of_cliques():
    graph = to_networkx(ring_of_cliques(4, 5), to_undirected=True)
    assert nx.is_connected(graph)
    assert sorted(len(clique) for clique in nx.find_cliques(graph))[-4:] == [5] * 4
    assert graph.number_of_edges() == nx.ring_of_cliques(4, 5).number_of_edges()


def test_perturbed_matrices():
    found = {code: np.array(figure.data["values"]) for code, figure in perturbation_figures().items()}
    original = found["o"]
    assert (original == original.T).all()
    assert found["eg"].sum() == 0
    assert found["cg"].sum() == 12 * 11
    assert found["sg"].sum() == original.sum()
    assert (found["cf"] == np.eye(12)).all()
    assert (np.sort(found["sf"], axis=None) == np.sort(found["o features"], axis=None)).all()
    assert not found["ef"].any()


@pytest.mark.parametrize("code", ["o", "ef", "cf"])
def test_complementarity_is_the_mean_of_the_drawn_difference(code):
    figures = space_figures()
    drawn = np.array(figures[f"difference {code}"].data["values"])
    gamma = complementarity([ring_of_cliques()], perturbation=code)[0]
    assert drawn.sum() / (12 * 11) == pytest.approx(gamma, abs=1e-12)
    assert f"{gamma:.3f}" in figures[f"difference {code}"].caption
    axes = draw_figure(figures["structure"].kind, figures["structure"].data)[1]
    assert axes.images


def test_every_figure_of_the_paper_has_a_maker():
    assert list(FIGURES) == list(range(1, 11))
    density = FIGURES[6](nodes=5, graphs=2)
    assert draw_figure(density.kind, density.data) is not None
    assert [figure for figure in FIGURES if FIGURES[figure] is FIGURES[4]] == [4, 9]
