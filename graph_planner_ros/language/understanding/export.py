"""The network as an ONNX file with int8 weights; needs torch and onnx."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from graph_planner_ros.language.understanding.model_file import INPUTS
from graph_planner_ros.language.understanding.network import Reader

OPSET = 17


def write_network(reader: Reader, path: Path, slots: int) -> None:
    """Write a network; a file that is there is replaced when the new one is whole."""
    reader.eval()
    torch.set_num_threads(1)
    ids = torch.ones(2, 8, dtype=torch.long)
    classes = reader.vectors.shape[0] - 1
    outputs = ["structures", "changed", *(f"slot{index}" for index in range(slots))]
    axes = {name: {0: "batch", 1: "length"} for name in INPUTS[:2]} | {INPUTS[2]: {0: "batch"}}
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact, small = Path(folder) / "exact.onnx", Path(folder) / "small.onnx"
        torch.onnx.export(
            reader,
            (ids, ids > 0, torch.zeros(2, classes)),
            str(exact),
            input_names=list(INPUTS),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
        quantize_dynamic(exact, small, weight_type=QuantType.QInt8)
        os.replace(small, path)
