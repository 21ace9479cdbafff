"""Widths for a parameter budget: exact, closest, and honest where there is none."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from graphnetz._core.errors import UsageError
from graphnetz.benchmark import run_benchmark
from graphnetz.datasets.custom import task_from_dataset
from graphnetz.datasets.generators.symmetric import csl
from graphnetz.models import MODELS, ModelSpec
from graphnetz.models.budget import budget_notes, count_parameters, parse_budget, width_for
from graphnetz.tasktypes import Dims
from graphnetz.tasktypes.encodings import LaplacianPE

ZINC = Dims(1, 1, 4, vocabulary=(28,))


@pytest.mark.parametrize(
    ("text", "count"), [("100k", 100_000), ("0.5M", 500_000), (" 40K ", 40_000), (123, 123), ("1_000", 1000)]
)
def test_budgets_are_read_as_written(text, count):
    assert parse_budget(text) == count


@pytest.mark.parametrize("text", ["", "k", "-5", "0", "1.5", "ten", "100kk", "nan", None])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(UsageError, match="number of parameters"):
        parse_budget(text)


# Published widths: the closest to the published count must be the published width.
@pytest.mark.parametrize(
    ("name", "extra", "published", "width"),
    [
        ("bgnn.GCN", {}, 103_077, 145),
        ("bgnn.GAT", {}, 102_385, 18),
        ("bgnn.GatedGCN", {}, 105_735, 70),
        ("bgnn.GIN", {}, 103_079, 110),
        ("bgnn.3WLGNN", {}, 102_150, 79),
        ("bgnn.GatedGCN", {"num_layers": 16}, 504_153, 78),
    ],
)
def test_the_published_count_leads_back_to_the_published_width(name, extra, published, width):
    found = width_for(MODELS[name].with_kwargs(extra), "graph_reg", ZINC, published)
    assert (found.width, found.parameters, found.relative_error, found.warning) == (width, published, 0.0, "")


def test_attention_with_eight_heads_misses_100k_by_more_than_two_percent():
    found = width_for(MODELS["bgnn.GAT"], "graph_reg", ZINC, "100k")
    assert (found.width, found.parameters) == (18, 102_385)
    assert found.relative_error == pytest.approx(0.02385)
    assert "+2.4 %" in found.warning


@pytest.mark.parametrize(
    "name", ["GCN", "GAT", "GraphSAGE", "GIN", "MLP", "GraphTransformer", "bgnn.MoNet", "bgnn.RingGNN"]
)
def test_no_other_width_is_closer_and_the_count_is_the_real_one(name):
    dims, spec = Dims(7, 4), MODELS[name]
    found = width_for(spec, "graph_cls", dims, 20_000)
    real = sum(p.numel() for p in spec.build("graph_cls", dims, found.width).parameters())
    assert real == found.parameters
    for width in range(1, 2 * found.width, 3):
        assert abs(count_parameters(spec, "graph_cls", dims, width) - 20_000) >= abs(found.parameters - 20_000)


class Square(nn.Module):
    """A user's model whose constructor computes with values and wants widths divisible by 3."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        if hidden_channels % 3:
            raise ValueError("the width must be divisible by 3")
        self.scale = float(torch.ones(2).sum().item())
        self.linear = nn.Linear(hidden_channels, hidden_channels, bias=False)


USERS = ModelSpec(Square, frozenset({"graph_cls"}))


@settings(max_examples=30, deadline=None)
@given(st.integers(80, 40_000))
def test_a_users_model_gets_its_closest_square(budget):
    best = min(range(3, 400, 3), key=lambda w: (abs(w * w - budget), w))
    if abs(best * best / budget - 1) > 0.1:
        with pytest.raises(UsageError, match="cannot come within 10 %"):
            width_for(USERS, "graph_cls", Dims(2, 2), budget)
    else:
        found = width_for(USERS, "graph_cls", Dims(2, 2), budget)
        assert (found.width, found.parameters) == (best, best * best)
        assert bool(found.warning) is (abs(best * best / budget - 1) > 0.02)


def test_refusal_names_what_can_be_reached():
    with pytest.raises(UsageError, match=r"Closest: 9 parameters at width 3 and 36 parameters at width 6"):
        width_for(USERS, "graph_cls", Dims(2, 2), 20)
    with pytest.raises(UsageError, match="reachable from 9 on"):
        width_for(USERS, "graph_cls", Dims(2, 2), 2)


def test_counting_leaves_the_random_stream_alone():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    count_parameters(USERS, "graph_cls", Dims(2, 2), 9)
    width_for(MODELS["bgnn.GCN"], "graph_reg", ZINC, "20k")
    assert torch.equal(torch.rand(3), expected)


def test_predictors_have_no_width():
    with pytest.raises(UsageError, match="has no width"):
        width_for(MODELS["Majority"], "graph_cls", Dims(2, 2), 100)


def test_notes_speak_only_beyond_the_tolerance():
    assert budget_notes(101_000, "100k") == ()
    assert budget_notes(0, 100) == budget_notes(500, None) == ()
    assert budget_notes(102_385, 100_000) == ("102,385 parameters, +2.4 % of the budget of 100,000",)


def run_at(budget):
    task = task_from_dataset("csl", "graph_cls", csl(0), epochs=1)
    report = run_benchmark(
        models=["bgnn.GCN", "bgnn.GAT", "Majority"], tasks=[task], seeds=[0], protocol={"budget": budget},
        backend="serial", verbose=False, transform=LaplacianPE(4),
    )  # fmt: skip
    return {cell.model: cell for cell in report.results}


def test_a_run_at_a_budget_reports_counts_and_flags_the_ones_that_miss():
    cells = run_at(11_500)
    dims = Dims(1, 10, vocabulary=(1,), pe_dim=4)
    for name in ("bgnn.GCN", "bgnn.GAT"):
        expected = width_for(MODELS[name], "graph_cls", dims, 11_500)
        assert cells[name].parameters == expected.parameters
        assert any("of the budget" in note for note in cells[name].notes) is bool(expected.warning)
    assert cells["bgnn.GAT"].notes[0] == "11,878 parameters, +3.3 % of the budget of 11,500"
    assert cells["Majority"].parameters == 0


def test_a_budget_out_of_reach_is_refused_before_any_cell(monkeypatch):
    monkeypatch.setattr("graphnetz.engine.run.execute", lambda *_, **__: pytest.fail("a cell was run"))
    reach = r"csl / bgnn.GAT: GAT cannot come within 10 % of 10,000 parameters. Closest: [\d,]+ parameters at width \d+ and "
    with pytest.raises(UsageError, match=reach):
        run_at(10_000)
