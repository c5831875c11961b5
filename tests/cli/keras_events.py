"""Writes what Keras's TensorBoard callback writes: keras_events.py FOLDER [batch]. The folder gets train/ and
validation/, whose scalars are tensors (bytes, as TensorFlow's C++ writes them). epoch_* have epochs from 0 as steps;
evaluation_*_vs_iterations, and with `batch` (update_freq="batch") batch_*, have iterations. Needs no package."""
import os
import struct
import sys

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):  # of a message, bytes or a text
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def count(number, value):
    return varint(number << 3) + varint(value)


class File:
    def __init__(self, folder, number):
        os.makedirs(folder, exist_ok=True)
        self.file = open(f"{folder}/events.out.tfevents.{1700000000 + number}.host.{number}.0.v2", "wb")
        self.wall = 1700000000.0
        self.record(b"\x09" + struct.pack("<d", self.wall) + field(3, "brain.Event:2"))

    def record(self, message):
        head = struct.pack("<Q", len(message))
        self.file.write(head + struct.pack("<I", masked(head)) + message + struct.pack("<I", masked(message)))

    def event(self, step, value):
        self.wall += 1
        self.record(b"\x09" + struct.pack("<d", self.wall) + count(2, step) + field(5, field(1, value)))

    def scalar(self, step, tag, number):
        tensor = count(1, 1) + field(2, b"") + field(4, struct.pack("<f", number))
        metadata = field(1, field(1, "scalars"))
        self.event(step, field(1, tag) + field(8, tensor) + field(9, metadata))

    def graph(self, step):  # the model as JSON, which is no scalar
        tensor = count(1, 7) + field(2, b"") + field(8, '{"class_name": "Sequential", "loss": 1}')
        self.event(step, field(1, "keras") + field(8, tensor) + field(9, field(1, field(1, "graph_keras_model"))))

    def histogram(self, step):
        tensor = count(1, 2) + field(2, field(2, count(1, 1)) + field(2, count(1, 3))) + field(4, struct.pack("<3d", 0, 1, 2))
        self.event(step, field(1, "dense/kernel_0/histogram") + field(8, tensor) + field(9, field(1, field(1, "histograms"))))


folder, batch = sys.argv[1], "batch" in sys.argv[2:]
train, validation = File(folder + "/train", 1), File(folder + "/validation", 2)
train.graph(0)
ITERATIONS = 5  # of an epoch
for epoch in range(4):
    if batch:
        for i in range(1, ITERATIONS + 1):
            train.scalar(epoch * ITERATIONS + i, "batch_loss", 9 - epoch - i / 10)
            train.scalar(epoch * ITERATIONS + i, "batch_accuracy", 0.125)
    done = (epoch + 1) * ITERATIONS
    validation.scalar(done, "evaluation_loss_vs_iterations", 2.5 - epoch / 2)
    validation.scalar(done, "evaluation_accuracy_vs_iterations", 0.25 + epoch / 8)
    train.scalar(epoch, "epoch_loss", 2 - epoch / 4)
    train.scalar(epoch, "epoch_accuracy", 0.5 + epoch / 8)
    train.scalar(epoch, "epoch_learning_rate", 0.5 / 2 ** epoch)
    train.histogram(epoch)
    validation.scalar(epoch, "epoch_loss", 2.5 - epoch / 2)
    validation.scalar(epoch, "epoch_accuracy", 0.25 + epoch / 8)
