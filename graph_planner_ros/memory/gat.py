"""The graph encoder as a torch module (extra ``training``): GAT layers, mean pool, BatchNorm, unit length (GiG).

    h0 = ELU(W [class, attributes, presence, robot])
    h(l) = h(l-1) + ELU(sum over edges of attention * W h(l-1))     GATv2 (Brody et al. 2022), the edge in the attention
    z = unit(BatchNorm(mean over nodes of U h(L)))

Running it needs no torch: `onnx_export` writes the same as ONNX.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv, global_mean_pool

from graph_planner_ros.memory.features import EDGE_DIMENSION, NODE_DIMENSION, FeatureBatch

NEGATIVE_SLOPE = 0.2
"""Of the leaky rectifier in the attention."""


@dataclass(frozen=True)
class GatShape:
    """Sizes: width of the hidden layers (a multiple of heads), their number, attention heads, components of z."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    dimension: int = 128

    def as_dict(self) -> dict[str, int]:
        """Return the sizes by name."""
        return asdict(self)


def graph_data(batch: FeatureBatch) -> Data:
    """Return a batch as torch-geometric data: kinds as tables, nodes and edges as rows of them."""
    return Data(
        node_table=torch.from_numpy(batch.node_table),
        node_kind=torch.from_numpy(batch.node_kind),
        edge_table=torch.from_numpy(batch.edge_table),
        edge_kind=torch.from_numpy(batch.edge_kind),
        edge_index=torch.stack([torch.from_numpy(batch.source), torch.from_numpy(batch.target)]),
        batch=torch.from_numpy(batch.graph),
        graphs=batch.graphs,
        num_nodes=len(batch.node_kind),
    )


class GraphEncoder(nn.Module):
    """Scenes -> vectors of unit length.

    Args:
        shape: sizes.
    """

    def __init__(self, shape: GatShape | None = None) -> None:
        super().__init__()
        self.shape = shape = shape or GatShape()
        self.node_in = nn.Linear(NODE_DIMENSION, shape.width)
        self.edge_in = nn.Linear(EDGE_DIMENSION, shape.width)
        self.layers = nn.ModuleList(
            GATv2Conv(
                shape.width,
                shape.width // shape.heads,
                heads=shape.heads,
                edge_dim=shape.width,
                add_self_loops=False,
                negative_slope=NEGATIVE_SLOPE,
            )
            for _ in range(shape.layers)
        )
        self.out = nn.Linear(shape.width, shape.dimension)
        self.norm = nn.BatchNorm1d(shape.dimension)

    def forward(self, data: Data) -> Tensor:
        """Return embeddings of unit length, shape (graphs, dimension)."""
        nodes = nn.functional.elu(self.node_in(data.node_table))[data.node_kind]
        edges = self.edge_in(data.edge_table)[data.edge_kind]
        for layer in self.layers:
            nodes = nodes + nn.functional.elu(layer(nodes, data.edge_index, edges))
        pooled = global_mean_pool(self.out(nodes), data.batch, data.graphs)
        return nn.functional.normalize(self.norm(pooled), dim=1, eps=1e-12)
