"""Writes ONNX files that are wrong in one way each, some that are right, and classifiers that end with a softmax:
hostile_files.py FOLDER. Standard library only: a message of protobuf is a list of (number, value), and this file writes
such lists."""
import os
import struct
import sys


def number(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def message(*fields):
    out = b""
    for key, value in fields:
        if isinstance(value, int):
            out += number(key << 3) + number(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += number(key << 3 | 2) + number(len(value)) + value
    return out


def tensor(name, dims, values=None, raw=None, *more):
    data = struct.pack(f"<{len(values)}f", *values) if values is not None else raw
    return message(*[(1, d) for d in dims], (2, 1), (8, name), *([(9, data)] if data is not None else []), *more)


def node(kind, inputs, outputs, *attributes, domain=""):
    return message(*[(1, i) for i in inputs], *[(2, o) for o in outputs], (3, "the_" + kind), (4, kind),
                   *[(5, a) for a in attributes], (7, domain))


def value(name, *dims):
    shape = message(*[(1, message((1, d) if d else (2, "n"))) for d in dims])
    return message((1, name), (2, message((1, message((1, 1), (2, shape))))))


def graph(nodes, tensors, inputs=None, output="y"):
    return message(*[(1, n) for n in nodes], (2, "graph"), *[(5, t) for t in tensors],
                   *[(11, i) for i in (inputs if inputs is not None else [value("x", 0, 3, 4, 4)])],
                   (12, value(output, 0, 2, 4, 4)))


def model(*arguments, opset=17, **named):
    return message((1, 8), (2, "test"), (7, graph(*arguments, **named)), (8, message((2, opset))))


folder = sys.argv[1]
weights = tensor("w", [2, 3, 1, 1], [1, 2, 3, 4, 5, 6])
conv, relu = node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["y"])


def external(location, *more):
    entries = [("location", location), *more]
    return tensor("w", [2, 3, 1, 1], None, None, (14, 1), *[(13, message((1, k), (2, v))) for k, v in entries])


def branch(depth):
    inner = [node("If", ["t"], ["y"], message((1, "then_branch"), (20, 5), (6, branch(depth - 1))),
                  message((1, "else_branch"), (20, 5), (6, branch(depth - 1))))] if depth else [relu]
    return graph(inner, [], inputs=[])


def end(*kinds, mean=True, opset=17):
    """A classifier of two classes that ends with nodes of these kinds."""
    kinds = (("GlobalAveragePool",) if mean else ()) + kinds
    nodes, last = [conv], "c"
    for i, kind in enumerate(kinds):
        made = "y" if i + 1 == len(kinds) else f"v{i}"
        axis = [message((1, "axis"), (20, 2), (3, 1))] if kind in ("Softmax", "LogSoftmax", "Flatten") else []
        nodes.append(node(kind, [last], [made], *axis))
        last = made
    return model(nodes, [weights], opset=opset)


true = message((2, 9), (8, "t"), (9, b"\1"))
right = model([conv, relu], [weights])
files = {
    "right": right,
    "truncated": right[:len(right) * 2 // 3],
    "channels": model([conv, relu], [tensor("w", [3, 2, 1, 1], [1, 2, 3, 4, 5, 6])]),
    "count": model([conv, relu], [tensor("w", [2, 3, 1, 1], [1, 2, 3])]),
    "huge": model([conv, relu], [tensor("w", [1 << 40, 1 << 40, 1 << 40, 3], [1])]),
    "negative": model([conv, relu], [tensor("w", [2, -3, 1, 1], [1])]),
    "cycle": model([node("Add", ["x", "y"], ["c"]), relu], []),
    "missing": model([conv, relu], []),
    "pad": model([node("Pad", ["x", "p"], ["c"]), relu],
                 [message((1, 8), (2, 7), (8, "p"), (9, struct.pack("<8q", 0, 0, 1 << 50, 0, 0, 0, 0, 0)))]),
    "expand": model([node("Expand", ["x", "p"], ["c"]), relu],
                    [message((1, 4), (2, 7), (8, "p"), (9, struct.pack("<4q", 1, 3, 4, 1 << 60)))]),
    "no-input": model([conv, relu], [weights], inputs=[]),
    "two-inputs": model([conv, relu], [weights], inputs=[value("x", 0, 3, 4, 4), value("z", 0, 3, 4, 4)]),
    "free-size": model([conv, relu], [weights], inputs=[value("x", 0, 3, 0, 0)]),
    "no-output": model([conv, relu], [weights], output="nowhere"),
    "lacks": model([conv, node("Einsum", ["c"], ["e"]), node("Relu", ["e"], ["r"]),
                    node("Magic", ["r"], ["m"], domain="com.example"), node("Relu", ["m"], ["y"])], [weights]),
    "branches": model([conv, node("If", ["t"], ["y"], message((1, "then_branch"), (20, 5), (6, branch(1))),
                                  message((1, "else_branch"), (20, 5), (6, branch(0))))], [weights, true]),
    "deep": model([conv, node("If", ["t"], ["y"], message((1, "then_branch"), (20, 5), (6, branch(9))))],
                  [weights, true]),
    "beside": model([conv, relu], [external("inside/w.bin", ("offset", "4"), ("length", "24"))]),
    "beyond": model([conv, relu], [external("inside/w.bin", ("offset", "8"), ("length", "24"))]),
    "above": model([conv, relu], [external("../outside.bin")]),
    "hidden": model([conv, relu], [external("inside/../../outside.bin")]),
    "absolute": model([conv, relu], [external(os.path.abspath(folder + "/../outside.bin"))]),
    "link": model([conv, relu], [external("inside/link.bin")]),
    "device": model([conv, relu], [external("inside/fifo")]),
    "end-flatten": end("Softmax", "Flatten"),
    "end-dropout": end("Flatten", "Softmax", "Dropout"),
    "end-image": end("Softmax", "Flatten", mean=False, opset=11),
    "end-log": end("LogSoftmax", "Flatten", "Identity"),
    "end-pixels": end("Softmax", "Flatten", mean=False),
    "end-picture": end("Softmax", mean=False),
    "end-sigmoid": end("Flatten", "Sigmoid"),
    "end-sigmoid-flatten": end("Sigmoid", "Flatten", mean=False),
    "end-sigmoid-picture": end("Sigmoid", mean=False),
    "end-log-relu": end("LogSoftmax", "Flatten", "Relu"),
    "end-log-pixels": end("LogSoftmax", "Flatten", mean=False, opset=11),
}
os.makedirs(folder + "/inside")
values = struct.pack("<7f", 0, 1, 2, 3, 4, 5, 6)
open(folder + "/inside/w.bin", "wb").write(values)
open(folder + "/../outside.bin", "wb").write(values[4:])
os.symlink("../../outside.bin", folder + "/inside/link.bin")
os.mkfifo(folder + "/inside/fifo")
for name, data in files.items():
    open(f"{folder}/{name}.onnx", "wb").write(data)
