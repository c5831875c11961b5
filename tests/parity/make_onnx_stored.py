#!/usr/bin/python3
"""make_onnx_stored.py FOLDER: makes stored.onnx of tests/cli/onnx_test.sh, whose arrays are large enough to stay in the
file until a layer reads them: as they are, transposed, of 16 bits, of integers with scales, and by a node that computes
with them; and stored.json: ONNX Runtime's outputs for FOLDER/picture.png, whose pixels are divided by 255 and by 256.
Needs numpy, onnx, onnxruntime and Pillow."""
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

folder = sys.argv[1]
random = np.random.default_rng(11)
node = helper.make_node


def array(name, shape, kind=np.float32):
    return numpy_helper.from_array(random.normal(0, 0.2, shape).astype(kind), name)


weights = [array("w1", (40, 3, 3, 3)), array("b1", 40),                  # 1,080 values
           array("w2", (160, 40)), array("b2", 40),                     # as columns, times 0.5
           array("w3", (40, 30), np.float16),                           # of 16 bits
           numpy_helper.from_array(random.integers(-127, 128, (30, 64)).astype(np.int8), "w4"),
           numpy_helper.from_array(random.uniform(0.001, 0.004, 64).astype(np.float32), "scales"),
           numpy_helper.from_array(random.integers(-9, 9, 64).astype(np.int8), "zeros"),
           array("w5", (64, 20)), array("b5", 20),                      # computed with
           array("w6", (5, 20))]
nodes = [node("Conv", ["x", "w1", "b1"], ["c"], "first", strides=[4, 4], pads=[1, 1, 0, 0]), node("Relu", ["c"], ["r1"]),
         node("Flatten", ["r1"], ["f"]),
         node("Gemm", ["f", "w2", "b2"], ["g"], "columns", alpha=0.5), node("Relu", ["g"], ["r2"]),
         node("Cast", ["w3"], ["w3f"], to=TensorProto.FLOAT), node("MatMul", ["r2", "w3f"], ["m3"], "half"),
         node("Relu", ["m3"], ["r3"]),
         node("DequantizeLinear", ["w4", "scales", "zeros"], ["w4f"], axis=1),
         node("MatMul", ["r3", "w4f"], ["m4"], "integers"), node("Relu", ["m4"], ["r4"]),
         node("Transpose", ["w5"], ["w5t"], perm=[1, 0]),
         node("Gemm", ["r4", "w5t", "b5"], ["g5"], "computed", transB=1), node("Relu", ["g5"], ["r5"]),
         node("Gemm", ["r5", "w6"], ["y"], "last", transB=1)]
graph = helper.make_graph(nodes, "stored", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])], weights)
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_onnx_stored")
made.ir_version = 8
onnx.save(made, f"{folder}/stored.onnx")
session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
pixels = np.asarray(Image.open(f"{folder}/picture.png"), np.float32).transpose(2, 0, 1)[None]
values = {d: [float(v) for v in session.run(None, {"x": pixels / np.float32(d)})[0][0]] for d in (255, 256)}
json.dump({"stored": values}, open(f"{folder}/stored.json", "w"), indent=1)
