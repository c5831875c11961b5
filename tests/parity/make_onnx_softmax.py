#!/usr/bin/python3
"""make_onnx_softmax.py FOLDER: makes the models softmax_*.onnx of tests/cli/onnx_test.sh, in which a softmax lies
between layers that read images, and softmax.json: ONNX Runtime's outputs for FOLDER/picture.png, whose pixels are
divided by 255 and by 256. Needs numpy, onnx, onnxruntime and Pillow."""
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

folder = sys.argv[1]
random = np.random.default_rng(5)
conv = random.normal(0, 2, (4, 3, 3, 3)).astype(np.float32)
after = random.normal(0, 100, (5, 4, 8, 8)).astype(np.float32)


def model(name, opset, axis, flat=False):
    """A convolution, a softmax along `axis` (None: the default), and what reads it: a convolution or, after a
    Flatten, a Gemm."""
    attributes = {} if axis is None else {"axis": axis}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "first", pads=[1, 1, 1, 1]),
             helper.make_node("Softmax", ["c"], ["s"], "soft", **attributes)]
    weights = [numpy_helper.from_array(conv, "w")]
    if flat:
        nodes += [helper.make_node("Flatten", ["s"], ["f"], "flat"),
                  helper.make_node("Gemm", ["f", "v", "b"], ["y"], "last", transB=1)]
        weights += [numpy_helper.from_array(after.reshape(5, -1), "v"),
                    numpy_helper.from_array(np.zeros(5, np.float32), "b")]
    else:
        nodes += [helper.make_node("Conv", ["s", "v"], ["t"], "last"), helper.make_node("Flatten", ["t"], ["y"], "flat")]
        weights += [numpy_helper.from_array(after, "v")]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="make_onnx_softmax")
    made.ir_version = 6
    onnx.save(made, f"{folder}/{name}.onnx")
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    pixels = np.asarray(Image.open(f"{folder}/picture.png"), np.float32).transpose(2, 0, 1)[None]
    return {d: [float(v) for v in session.run(None, {"x": pixels / np.float32(d)})[0][0]] for d in (255, 256)}


values = {name: model(name, *arguments) for name, arguments in {
    "softmax_9": (9, None), "softmax_11": (11, 1), "softmax_12_negative": (12, -3), "softmax_11_flat": (11, 1, True),
    "softmax_11_columns": (11, 2), "softmax_13": (13, 1)}.items()}
json.dump(values, open(f"{folder}/softmax.json", "w"), indent=1)
