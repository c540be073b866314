"""The graph encoder as an ONNX file, written operator by operator, and its weights back from one (extra ``training``).

Sums over the edges of a node are ``ScatterElements`` with a reduction, so one file serves one scene and thousands.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.memory.features import EDGE_DIMENSION, NODE_DIMENSION
from graph_planner_ros.memory.gat import NEGATIVE_SLOPE, GatShape, GraphEncoder

OPSET = 18
IR_VERSION = 9


class _Graph:
    """Nodes and constants of an ONNX graph in the making."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants = {name: numpy_helper.from_array(np.ascontiguousarray(w), name) for name, w in weights.items()}

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, values: Any, kind: type = np.int64) -> str:
        array: NDArray[Any] = np.asarray(values, kind)
        name = f"{array.dtype}_{'_'.join(str(value) for value in array.reshape(-1)) or 'empty'}_{array.ndim}"
        self.constants.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def linear(self, values: str, name: str, bias: bool = True) -> str:
        product = self.add("MatMul", values, f"{name}.weight")
        return self.add("Add", product, f"{name}.bias") if bias else product

    def scatter(self, rows: str, index: str, values: str, width: int, reduction: str, start: float) -> str:
        """Sum up, or take the largest of, the rows of ``values`` whose index is the same.

        Args:
            rows: length of the result, shape (1,). index: row for each row of values, shape (n, 1).
        """
        shape = self.add("Concat", rows, self.constant([width]), axis=0)
        empty = self.add("Expand", self.constant(start, np.float32), shape)
        wide = self.add("Expand", index, self.add("Shape", values))
        return self.add("ScatterElements", empty, wide, values, axis=0, reduction=reduction)

    def layer(self, name: str, nodes: str, edges: str, count: str, heads: int, width: int) -> str:
        """Add a GATv2 layer; return its output, shape (nodes, width)."""
        source = self.add("Gather", self.linear(nodes, f"{name}.lin_l"), "source")
        target = self.add("Gather", self.linear(nodes, f"{name}.lin_r"), "target")
        edge = self.add("Gather", self.linear(edges, f"{name}.lin_edge", bias=False), "edge_kind")
        mixed = self.add("LeakyRelu", self.add("Add", self.add("Add", source, target), edge), alpha=NEGATIVE_SLOPE)
        by_head = self.constant([-1, heads, width // heads])
        scored = self.add("Mul", self.add("Reshape", mixed, by_head), f"{name}.att")
        logits = self.add("ReduceSum", scored, self.constant([2]), keepdims=0)
        column = self.add("Unsqueeze", "target", self.constant([1]))
        largest = self.scatter(count, column, logits, heads, "max", -1e30)
        powers = self.add("Exp", self.add("Sub", logits, self.add("Gather", largest, "target")))
        total = self.scatter(count, column, powers, heads, "add", 0.0)
        attention = self.add("Div", powers, self.add("Gather", total, "target"))
        messages = self.add(
            "Mul", self.add("Reshape", source, by_head), self.add("Unsqueeze", attention, self.constant([2]))
        )
        messages = self.add("Reshape", messages, self.constant([-1, width]))
        return self.add("Add", self.scatter(count, column, messages, width, "add", 0.0), f"{name}.bias")


def onnx_model(model: GraphEncoder) -> onnx.ModelProto:
    """Return the encoder as an ONNX model; its inputs are the fields of `FeatureBatch` and ``size``, nodes a scene."""
    shape = model.shape
    graph = _Graph(_weights(model))
    nodes = graph.add("Gather", graph.add("Elu", graph.linear("node_table", "node_in")), "node_kind")
    edges = graph.linear("edge_table", "edge_in")
    count = graph.add("Shape", "node_kind")
    for number in range(shape.layers):
        out = graph.layer(f"layers.{number}", nodes, edges, count, shape.heads, shape.width)
        nodes = graph.add("Add", nodes, graph.add("Elu", out))
    owner = graph.add("Unsqueeze", "graph", graph.constant([1]))
    summed = graph.scatter(graph.add("Shape", "size"), owner, nodes, shape.width, "add", 0.0)
    mean = graph.add("Div", summed, graph.add("Unsqueeze", "size", graph.constant([1])))
    scaled = graph.add("Add", graph.add("Mul", graph.linear(mean, "out"), "norm.scale"), "norm.shift")
    length = graph.add("ReduceL2", scaled, graph.constant([1]), keepdims=1)
    floor = graph.add("Max", length, graph.constant(1e-12, np.float32))
    graph.add("Div", scaled, floor, output="embedding")
    made = helper.make_graph(
        graph.nodes, "scene_encoder", _inputs(), [_value("embedding", TensorProto.FLOAT, "scenes", shape.dimension)],
        list(graph.constants.values()),
    )  # fmt: skip
    result = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(result)
    return result


def save_onnx(model: GraphEncoder, path: Path, information: Mapping[str, Any]) -> None:
    """Write the encoder with what is to be known of it; all of it, or nothing.

    Args:
        information: plain JSON values by name, readable in the file without torch or onnx.
    """
    made = onnx_model(model)
    entries = {**information, "shape": model.shape.as_dict()}
    helper.set_model_props(made, {name: json.dumps(value, ensure_ascii=False) for name, value in entries.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, made.SerializeToString())
    path.chmod(0o644)  # who installs it is not who runs it


def read_onnx(path: Path) -> GraphEncoder:
    """Return the torch encoder of a file that `save_onnx` wrote."""
    made = onnx.load(str(path))
    properties = {item.key: json.loads(item.value) for item in made.metadata_props}
    model = GraphEncoder(GatShape(**properties["shape"]))
    arrays = {item.name: numpy_helper.to_array(item) for item in made.graph.initializer}
    state = model.state_dict()
    for name, tensor in state.items():
        if name.startswith("norm."):
            continue
        array = arrays[name].T if _is_transposed(name) else arrays[name]
        state[name] = torch.from_numpy(np.array(array)).reshape(tensor.shape)
    # mean 0 and variance 1 - eps leave scale and shift as they are
    state["norm.weight"], state["norm.bias"] = (
        torch.from_numpy(arrays[f"norm.{n}"].copy()) for n in ("scale", "shift")
    )
    state["norm.running_mean"] = torch.zeros_like(state["norm.running_mean"])
    state["norm.running_var"] = torch.full_like(state["norm.running_var"], 1.0 - model.norm.eps)
    model.load_state_dict(state)
    model.eval()
    return model


def pack_vectors(vectors: Mapping[str, NDArray[np.float32]]) -> dict[str, Any]:
    """Return vectors of texts as JSON values, in half precision; `encoder.unpack_vectors` is the inverse."""
    rows = np.stack([vectors[text] for text in sorted(vectors)]) if vectors else np.zeros((0, 0))
    return {"texts": sorted(vectors), "values": base64.b64encode(rows.astype("<f2").tobytes()).decode("ascii")}


def _is_transposed(name: str) -> bool:
    return name.endswith(".weight")


def _weights(model: GraphEncoder) -> dict[str, NDArray[np.float32]]:
    """Return weights by name: those of linear layers transposed, those of BatchNorm as one scale and one shift."""
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    scale = state["norm.weight"] / np.sqrt(state["norm.running_var"] + model.norm.eps)
    found = {"norm.scale": scale, "norm.shift": state["norm.bias"] - state["norm.running_mean"] * scale}
    for name, array in state.items():
        if not name.startswith("norm."):
            found[name] = array.T if _is_transposed(name) else array
    return {name: np.asarray(array, np.float32) for name, array in found.items()}


def _inputs() -> list[onnx.ValueInfoProto]:
    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    return [
        _value("node_table", float32, "node_kinds", NODE_DIMENSION),
        _value("node_kind", int64, "nodes"),
        _value("edge_table", float32, "edge_kinds", EDGE_DIMENSION),
        *(_value(name, int64, "edges") for name in ("edge_kind", "source", "target")),
        _value("graph", int64, "nodes"),
        _value("size", float32, "scenes"),
    ]


def _value(name: str, kind: int, *shape: str | int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))
