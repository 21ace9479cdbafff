"""Every layer against a slow computation with loops over nodes and neighbours."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, SAGEConv

from graphnetz.papers.benchmarking_gnns.models._dense import DenseInput
from graphnetz.papers.benchmarking_gnns.models.gat import GATLayer
from graphnetz.papers.benchmarking_gnns.models.gat_edge import GATEdgeLayer
from graphnetz.papers.benchmarking_gnns.models.gatedgcn import GatedGCNLayer
from graphnetz.papers.benchmarking_gnns.models.gcn import GCNLayer
from graphnetz.papers.benchmarking_gnns.models.gin import GINLayer
from graphnetz.papers.benchmarking_gnns.models.monet import MoNetLayer
from graphnetz.papers.benchmarking_gnns.models.ring import RingLayer, equivariant
from graphnetz.papers.benchmarking_gnns.models.sage import SAGELayer
from graphnetz.papers.benchmarking_gnns.models.threewl import Block, extremes

WIDTH = 6
SIGMOID = torch.sigmoid


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def directed():
    """A directed graph with an isolated node, so that in- and out-degrees differ."""
    edges = torch.tensor(list(nx.gnp_random_graph(9, 0.35, seed=3, directed=True).edges)).T
    return edges, torch.randn(10, WIDTH), torch.randn(edges.size(1), WIDTH)


def into(edges, node):
    """(edge number, source) of every edge into a node."""
    return [(k, int(edges[0, k])) for k in range(edges.size(1)) if int(edges[1, k]) == node]


def normed(layer, rows):
    """Batch norm in evaluation mode with random statistics."""
    return (rows - layer.running_mean) / torch.sqrt(layer.running_var + layer.eps) * layer.weight + layer.bias


def ready(layer):
    for module in layer.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
            torch.nn.init.normal_(module.weight)
            torch.nn.init.normal_(module.bias)
    return layer.eval()


@pytest.mark.parametrize("vanilla", [False, True])
def test_gcn(vanilla):
    edges, h, _ = directed()
    layer = ready(GCNLayer(WIDTH, vanilla=vanilla))
    rows = []
    for i in range(len(h)):
        near = into(edges, i)
        mixed = torch.zeros(WIDTH)
        for _, j in near:
            out = max(int((edges[0] == j).sum()), 1)
            mixed += h[j] / len(near) if vanilla else h[j] / (len(near) * out) ** 0.5
        rows.append(layer.linear.weight @ mixed + layer.linear.bias)
    expected = torch.relu(normed(layer.norm, torch.stack(rows))) + h
    torch.testing.assert_close(layer(h, edges), expected)


def test_sage_is_the_library_layer_before_norm_and_residual():
    edges, h, _ = directed()
    layer = ready(SAGELayer(WIDTH))
    conv = SAGEConv(WIDTH, WIDTH, aggr="max", project=True, normalize=True)
    with torch.no_grad():
        conv.lin.weight.copy_(layer.message.weight)
        conv.lin.bias.copy_(layer.message.bias)
        conv.lin_r.weight.copy_(layer.update.weight[:, :WIDTH])
        conv.lin_l.weight.copy_(layer.update.weight[:, WIDTH:])
        conv.lin_l.bias.copy_(layer.update.bias)
    expected = normed(layer.norm, torch.relu(conv(h, edges))) + h
    torch.testing.assert_close(layer(h, None, edges)[0], expected)


@pytest.mark.parametrize("variant", ["edge_feature", "edge_representation"])
def test_gated_sage(variant):
    edges, h, e = directed()
    layer = ready(SAGELayer(WIDTH, variant=variant))
    gate = torch.stack([layer.gate(h[j]) + layer.gate(h[i]) for j, i in edges.T])
    if variant == "edge_representation":
        gate = gate + layer.edge(e)
    rows = []
    for i in range(len(h)):
        best = torch.zeros(WIDTH)
        for k, j in into(edges, i):
            best = torch.maximum(best, torch.relu(SIGMOID(gate[k]) * layer.message(h[j])))
        z = layer.update(torch.cat([h[i], best]))
        rows.append(torch.relu(z / z.norm()))
    node, edge = layer(h, e, edges)
    torch.testing.assert_close(node, normed(layer.norm, torch.stack(rows)) + h)
    if variant == "edge_representation":
        torch.testing.assert_close(edge, normed(layer.edge_norm, torch.relu(gate)) + e)


@pytest.mark.parametrize("heads", [1, 3])
def test_gat(heads):
    edges, h, _ = directed()
    layer = ready(GATLayer(WIDTH, heads))
    assert isinstance(layer.conv, GATConv)
    size = WIDTH // heads
    z = layer.conv.lin(h).view(-1, heads, size)
    rows = torch.zeros(len(h), heads, size)
    for i in range(len(h)):
        for head in range(heads):
            near = into(edges, i)
            if not near:
                continue
            score = torch.stack(
                [layer.conv.att_src[0, head] @ z[j, head] + layer.conv.att_dst[0, head] @ z[i, head] for _, j in near]
            )
            alpha = torch.softmax(torch.nn.functional.leaky_relu(score, 0.2), 0)
            rows[i, head] = sum(a * z[j, head] for a, (_, j) in zip(alpha, near, strict=True))
    expected = torch.nn.functional.elu(normed(layer.norm, rows.reshape(len(h), WIDTH))) + h
    torch.testing.assert_close(layer(h, edges), expected)


@pytest.mark.parametrize("variant", ["isotropic", "edge_feature", "edge_representation"])
def test_gat_of_the_edge_study(variant):
    edges, h, e = directed()
    heads, size = 2, WIDTH // 2
    layer = ready(GATEdgeLayer(WIDTH, heads, variant=variant))
    z = layer.linear(h).view(-1, heads, size)
    rows, after = torch.zeros(len(h), heads, size), torch.zeros(len(e), heads, size)
    for i in range(len(h)):
        near = into(edges, i)
        for head in range(heads):
            joint = []
            for k, j in near:
                parts = [z[j, head], z[i, head]]
                if variant == "edge_representation":
                    parts = [layer.edge(e[k]).view(heads, size)[head], *parts]
                    after[k, head] = torch.cat(parts) @ layer.project[head] + layer.project_bias[head]
                joint.append(torch.cat(parts))
            if variant == "isotropic":
                rows[i, head] = sum((z[j, head] for _, j in near), torch.zeros(size))
            elif near:
                score = torch.nn.functional.leaky_relu(torch.stack(joint) @ layer.attention[head], 0.01)
                rows[i, head] = sum(a * z[j, head] for a, (_, j) in zip(torch.softmax(score, 0), near, strict=True))
    elu = torch.nn.functional.elu
    node, edge = layer(h, e, edges)
    torch.testing.assert_close(node, elu(normed(layer.norm, rows.reshape(len(h), WIDTH))) + h)
    expected = elu(normed(layer.edge_norm, after.reshape(len(e), WIDTH))) + e if "repr" in variant else e
    torch.testing.assert_close(edge, expected)


def test_monet():
    edges, h, _ = directed()
    layer = ready(MoNetLayer(WIDTH, kernels=3))
    torch.nn.init.normal_(layer.bias)
    torch.nn.init.normal_(layer.inverse_scale)
    rows = torch.zeros(len(h), WIDTH)
    for i in range(len(h)):
        for _, j in into(edges, i):
            u = torch.tensor([(len(into(edges, j)) + 1.0) ** -0.5, (len(into(edges, i)) + 1.0) ** -0.5])
            u = torch.tanh(layer.project(u))
            for kernel in range(3):
                distance = ((u - layer.mean[kernel]) ** 2 * layer.inverse_scale[kernel] ** 2).sum()
                weight = layer.linear.weight[kernel * WIDTH : (kernel + 1) * WIDTH]
                rows[i] += torch.exp(-distance / 2) * (weight @ h[j])
    expected = torch.relu(normed(layer.norm, rows)) + h + layer.bias
    torch.testing.assert_close(layer(h, edges), expected)


@pytest.mark.parametrize("variant", ["isotropic", "edge_feature", "edge_representation"])
def test_gatedgcn(variant):
    edges, h, e = directed()
    layer = ready(GatedGCNLayer(WIDTH, variant=variant))
    rows, gates = [], torch.zeros_like(e)
    for i in range(len(h)):
        above, below = torch.zeros(WIDTH), torch.zeros(WIDTH)
        for k, j in into(edges, i):
            if variant == "isotropic":
                above += layer.other(h[j])
                continue
            gates[k] = layer.gate_source(h[j]) + layer.gate_target(h[i])
            if variant == "edge_representation":
                gates[k] += layer.gate_edge(e[k])
            above += SIGMOID(gates[k]) * layer.other(h[j])
            below += SIGMOID(gates[k])
        rows.append(layer.own(h[i]) + (above if variant == "isotropic" else above / (below + 1e-6)))
    node, edge = layer(h, e, edges)
    torch.testing.assert_close(node, torch.relu(normed(layer.norm, torch.stack(rows))) + h)
    expected = torch.relu(normed(layer.edge_norm, gates)) + e if variant == "edge_representation" else e
    torch.testing.assert_close(edge, expected)


def test_gin():
    edges, h, _ = directed()
    layer = ready(GINLayer(WIDTH))
    torch.nn.init.constant_(layer.eps, 0.3)
    mixed = torch.stack(
        [1.3 * h[i] + sum((h[j] for _, j in into(edges, i)), torch.zeros(WIDTH)) for i in range(len(h))]
    )
    first, norm, _, second = layer.mlp
    inner = second(torch.relu(normed(norm, first(mixed))))
    torch.testing.assert_close(layer(h, edges), torch.relu(normed(layer.norm, inner)) + h)


def graphs_of_mixed_size():
    """Two graphs of different size that share a dense batch, one that does not, in one PyG-like batch."""
    parts, sizes = [], [7, 8, 3, 1]
    for seed, nodes in enumerate(sizes):
        graph = nx.gnp_random_graph(nodes, 0.5, seed=seed).to_directed()
        edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).T
        parts.append(Data(edge_index=edges, x=torch.randn(nodes, 2), edge_attr=torch.randn(edges.size(1), 1)))
    return parts


def joined(parts):
    sizes = torch.tensor([p.num_nodes for p in parts])
    shift = sizes.cumsum(0) - sizes
    data = Data(
        edge_index=torch.cat([p.edge_index + s for p, s in zip(parts, shift, strict=True)], dim=1),
        x=torch.cat([p.x for p in parts]),
        edge_attr=torch.cat([p.edge_attr for p in parts]),
        batch=torch.repeat_interleave(torch.arange(len(parts)), sizes),
    )
    data.num_graphs = len(parts)
    return data


def test_dense_input_holds_the_normalised_adjacency_features_and_edges():
    parts = graphs_of_mixed_size()
    made = DenseInput(2, vocabulary=(), pe_dim=None, pe_mode="add", edge_dim=1)
    batches = list(made.batches(joined(parts)))
    assert sorted(int(g) for dense in batches for g in dense.graphs) == [0, 1, 2, 3]
    assert any(dense.graphs.numel() == 2 for dense in batches)
    for dense in batches:
        for slot, g in enumerate(dense.graphs.tolist()):
            part, n = parts[g], parts[g].num_nodes
            a = np.zeros((n, n))
            a[tuple(part.edge_index.numpy())] = 1
            root = 1 / np.sqrt(np.maximum(a.sum(0), 1))
            x = dense.x[slot]
            np.testing.assert_allclose(x[0, :n, :n], root[:, None] * a * root, atol=1e-12)
            for c in range(2):
                np.testing.assert_allclose(x[1 + c, :n, :n], np.diag(part.x[:, c].numpy()))
            edge = np.zeros((n, n))
            edge[tuple(part.edge_index.numpy())] = part.edge_attr[:, 0].numpy()
            np.testing.assert_allclose(x[3, :n, :n], edge)
            assert float(x[:, n:].abs().sum() + x[:, :, n:].abs().sum()) == 0.0


def fifteen(x):
    """The basis of equivariant linear maps, one by one, for a tensor [a, n, n]."""
    n = x.size(-1)
    one, eye = torch.ones(n, n), torch.eye(n)
    diag = torch.stack([c.diag() for c in x])
    row, col = x.sum(2) / n, x.sum(1) / n
    tr, tot = diag.sum(1) / n, x.sum((1, 2)) / n**2

    def rows(v):
        return v[:, :, None] * one

    def columns(v):
        return v[:, None, :] * one

    def on_diagonal(v):
        return torch.stack([torch.diag(c) for c in v])

    return [
        on_diagonal(diag), tr[:, None, None] * eye, on_diagonal(row), on_diagonal(col), tot[:, None, None] * eye,
        rows(col), rows(row), columns(col), columns(row), x, x.transpose(1, 2), rows(diag), columns(diag),
        tr[:, None, None] * one, tot[:, None, None] * one,
    ]  # fmt: skip


def test_ring_layer_and_its_basis():
    made = DenseInput(2, vocabulary=(), pe_dim=None, pe_mode="add", edge_dim=1)
    layer = RingLayer(made.channels, 5, avg_nodes=4.0, residual=True)
    torch.nn.init.normal_(layer.diagonal_bias)
    torch.nn.init.normal_(layer.bias)
    assert layer.switch.tolist() == [1.0, 0.125]
    parts = graphs_of_mixed_size()
    for dense in made.batches(joined(parts)):
        out = layer(dense, dense.x).detach()
        for slot, g in enumerate(dense.graphs.tolist()):
            n = parts[g].num_nodes
            x = dense.x[slot, :, :n, :n]
            maps = [
                sum(torch.einsum("ab,aij->bij", w[:, :, k], op) for k, op in enumerate(fifteen(x)))
                for w in layer.weights
            ]
            got = equivariant(layer.weights[0], dense, dense.x)[slot, :, :n, :n]
            torch.testing.assert_close(got, maps[0])
            eye = torch.eye(n)
            first = maps[0] + layer.diagonal_bias[0][:, None, None] * eye
            second = maps[1] + layer.diagonal_bias[1][:, None, None] * eye
            expected = first + 0.125 * (maps[2] @ second) + layer.bias[:, None, None]
            linear = torch.einsum("oa,aij->oij", layer.residual.weight, x) + layer.residual.bias[:, None, None]
            torch.testing.assert_close(out[slot, :, :n, :n], torch.relu(expected) + linear)
            assert float(out[slot, :, n:].abs().sum()) == 0.0


def test_3wl_block_and_its_readout():
    made = DenseInput(2, vocabulary=(), pe_dim=None, pe_mode="add", edge_dim=1)
    block = Block(made.channels, 5, residual=True)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter)
    parts = graphs_of_mixed_size()

    def pointwise(conv, x):
        return torch.einsum("oa,aij->oij", conv.weight, x) + conv.bias[:, None, None]

    def perceptron(layers, x):
        return torch.relu(pointwise(layers[2], torch.relu(pointwise(layers[0], x))))

    for dense in made.batches(joined(parts)):
        out = block(dense, dense.x)
        read = extremes(dense, out)
        for slot, g in enumerate(dense.graphs.tolist()):
            n = parts[g].num_nodes
            x = dense.x[slot, :, :n, :n]
            product = torch.stack(
                [a @ b for a, b in zip(perceptron(block.left, x), perceptron(block.right, x), strict=True)]
            )
            expected = pointwise(block.mix, torch.cat([x, product]))
            expected = expected + torch.einsum("oa,aij->oij", block.residual.weight, x)
            expected = expected + block.residual.bias[:, None, None]
            torch.testing.assert_close(out[slot, :, :n, :n], expected)
            diagonal = torch.stack([c.diag().max() for c in expected])
            # The published formula for the largest entry off the diagonal.
            value = (diagonal + (-expected).amax((1, 2))).abs()
            others = (expected - value[:, None, None] * torch.eye(n)).amax((1, 2))
            torch.testing.assert_close(read[slot], torch.cat([diagonal, others]))
