"""Compares the top-1 accuracy of a quantized model in ONNX Runtime with tinca's: onnx_top1.py MODEL.onnx IMAGES TOP1,
where IMAGES is a file of MNIST or CIFAR-10 test images with its labels (idx, or binary batches; gzip-compressed), and
TOP1 tinca's accuracy in percent. Prints both and fails if they differ by more than 0.1 point."""
import gzip
import sys

import numpy as np
import onnx
import onnxruntime

LIMIT = 0.1


def read_images(path):
    """Returns images [N, C, H, W] of values 0..255 and labels."""
    data = gzip.open(path).read()
    if path.endswith(".bin.gz"):  # CIFAR-10: a label and 3 x 32 x 32 bytes
        rows = np.frombuffer(data, np.uint8).reshape(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    labels = gzip.open(path.replace("images-idx3", "labels-idx1")).read()
    return np.frombuffer(data, np.uint8, offset=16).reshape(-1, 1, 28, 28), np.frombuffer(labels, np.uint8, offset=8)


path, (images, labels), expected = sys.argv[1], read_images(sys.argv[2]), float(sys.argv[3])
facts = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
triple = lambda key: np.array(facts[key].split(), np.float32)[:images.shape[1]].reshape(-1, 1, 1)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
logits = [session.run(None, {"input": (images[i:i + 100] - triple("tinca.mean")) / triple("tinca.deviation")})[0]
          for i in range(0, len(images), 100)]
top1 = 100 * float((np.concatenate(logits).argmax(1) == labels).mean())
print(f"{len(images)} images: ONNX Runtime {top1:.2f} %, tinca {expected:.2f} %")
sys.exit(abs(top1 - expected) > LIMIT + 1e-9)
