"""Compares models that tinca has exported with ONNX Runtime and OpenVINO, and both with tinca: onnx_check.py TINCA
FOLDER NETWORK... Each NETWORK of FOLDER has NETWORK.safetensors; its weights are replaced by random ones. Prints TAP
lines without numbers. The errors are max|a - b| / max(1, max|b|)."""
import json
import struct
import subprocess
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
import openvino

tinca, folder, networks = sys.argv[1], sys.argv[2], sys.argv[3:]
LIMIT = 1e-5


def error(a, b):
    return float(np.abs(a - b).max() / max(1, np.abs(b).max()))


def randomise(path):
    """Gives biases and statistics values that matter, removes the checksum, and lets images be as large as the crop."""
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header, body, draw = json.loads(data[8:8 + length]), bytearray(data[8 + length:]), np.random.default_rng(1)
    header["__metadata__"].pop("tinca.crc32", None)
    height, width = json.loads(header["__metadata__"]["tinca.network_text"])["input"][1:]
    header["__metadata__"]["tinca.stored"] = f"{height} {width}"
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        count = (end - begin) // 4
        values = (draw.uniform(0.5, 1.5, count) if name.endswith("running_var") else
                  draw.normal(0, 0.2, count) if len(entry["shape"]) == 1 and not name.endswith("weight") else None)
        if values is not None:
            body[begin:end] = values.astype("<f4").tobytes()
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + bytes(body))


def run(*arguments):
    subprocess.run([tinca, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


for network in networks:
    try:
        model = f"{folder}/{network}"
        randomise(model + ".safetensors")
        run("export", model + ".safetensors", "--format", "onnx", "-o", model + ".onnx")
        run("import", model + ".onnx", "-o", model + "-2.safetensors")
        run("export", model + "-2.safetensors", "--format", "onnx", "-o", model + "-2.onnx")
        same = open(model + ".onnx", "rb").read() == open(model + "-2.onnx", "rb").read()
        proto = onnx.load(model + ".onnx")
        onnx.checker.check_model(proto, full_check=True)
        facts = {entry.key: entry.value for entry in proto.metadata_props}
        shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim][1:]
        picture = np.random.default_rng(2).integers(0, 256, (shape[1], shape[2], shape[0])).astype(np.uint8)
        with open(model + ".png", "wb") as file:
            rows = b"".join(b"\0" + row.tobytes() for row in picture)
            chunk = lambda kind, part: (struct.pack(">I", len(part)) + kind + part +
                                        struct.pack(">I", zlib.crc32(kind + part)))
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
                ">IIBBBBB", shape[2], shape[1], 8, 2 if shape[0] == 3 else 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        # the imported model: in inference it adds no noise
        run("predict", model + "-2.safetensors", model + ".png", "--raw", model + ".npy", "--threads", "1")
        triple = lambda key: np.array(facts[key].split(), np.float32)[:shape[0]].reshape(-1, 1, 1)
        image = ((picture.transpose(2, 0, 1) - triple("tinca.mean")) / triple("tinca.deviation"))[None]
        want = np.load(model + ".npy")
        session = onnxruntime.InferenceSession(model + ".onnx", providers=["CPUExecutionProvider"])
        runtime = error(session.run(None, {"input": image.astype(np.float32)})[0], want)
        core = openvino.Core()
        compiled = core.compile_model(core.read_model(model + ".onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        vino = error(compiled(image.astype(np.float32))[0], want)
        good = same and runtime <= LIMIT and vino <= LIMIT
        print(f"{'ok' if good else 'not ok'} {network}: ONNX Runtime {runtime:.1e}, OpenVINO {vino:.1e}, "
              f"{'the same' if same else 'OTHER'} bytes after a round trip", flush=True)
    except Exception as problem:
        print(f"not ok {network}: {str(problem)[:300]!r}", flush=True)
