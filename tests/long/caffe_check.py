"""Compares an imported network of Caffe with NumPy: caffe_check.py TINCA FOLDER NETWORK. The files are written by
Google's protobuf from descriptors that are made here; the error is max|a - b| / max(1, max|b|) of the logits."""
import struct
import subprocess
import sys
import zlib

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

tinca, folder, network = sys.argv[1:4]
LIMIT = 1e-5
draw = np.random.default_rng(7)

# --- the schema: NAME:NUMBER:TYPE, a star for repeated fields ---
SCHEMA = {
    "BlobShape": "dim:1:int64*",
    "BlobProto": "num:1:int32 channels:2:int32 height:3:int32 width:4:int32 data:5:float* shape:7:BlobShape",
    "Filler": "type:1:string value:2:float std:6:float",
    "Rule": "phase:1:Phase",
    "Param": "lr_mult:3:float decay_mult:4:float",
    "Transform": "scale:1:float crop_size:3:uint32 mean_value:5:float*",
    "Concat": "axis:2:int32",
    "Convolution": "num_output:1:uint32 bias_term:2:bool pad:3:uint32* kernel_size:4:uint32* group:5:uint32 "
                   "stride:6:uint32* weight_filler:7:Filler bias_filler:8:Filler pad_h:9:uint32 pad_w:10:uint32 "
                   "kernel_h:11:uint32 kernel_w:12:uint32 stride_h:13:uint32 stride_w:14:uint32 dilation:18:uint32*",
    "Dropout": "dropout_ratio:1:float",
    "Eltwise": "operation:1:Operation",
    "InnerProduct": "num_output:1:uint32 bias_term:2:bool weight_filler:3:Filler bias_filler:4:Filler axis:5:int32 "
                    "transpose:6:bool",
    "Input": "shape:1:BlobShape*",
    "Lrn": "local_size:1:uint32 alpha:2:float beta:3:float k:5:float",
    "Pooling": "pool:1:Method kernel_size:2:uint32 stride:3:uint32 pad:4:uint32 kernel_h:5:uint32 kernel_w:6:uint32 "
               "stride_h:7:uint32 stride_w:8:uint32 pad_h:9:uint32 pad_w:10:uint32 global_pooling:12:bool",
    "Relu": "negative_slope:1:float",
    "Prelu": "filler:1:Filler channel_shared:2:bool",
    "BatchNorm": "moving_average_fraction:2:float eps:3:float",
    "Elu": "alpha:1:float",
    "Scale": "axis:1:int32 bias_term:4:bool",
    "Layer": "name:1:string type:2:string bottom:3:string* top:4:string* loss_weight:5:float* param:6:Param* "
             "blobs:7:BlobProto* include:8:Rule* transform_param:100:Transform concat_param:104:Concat "
             "convolution_param:106:Convolution dropout_param:108:Dropout eltwise_param:110:Eltwise "
             "inner_product_param:117:InnerProduct lrn_param:118:Lrn pooling_param:121:Pooling relu_param:123:Relu "
             "prelu_param:131:Prelu batch_norm_param:139:BatchNorm elu_param:140:Elu scale_param:142:Scale "
             "input_param:143:Input",
    "V1Layer": "bottom:2:string* top:3:string* name:4:string type:5:OldType blobs:6:BlobProto* blobs_lr:7:float* "
               "convolution_param:10:Convolution dropout_param:12:Dropout inner_product_param:17:InnerProduct "
               "lrn_param:18:Lrn pooling_param:19:Pooling",
    "Net": "name:1:string layers:2:V1Layer* input:3:string* input_dim:4:int32* layer:100:Layer*",
}
OLD = {"Convolution": ("CONVOLUTION", 4), "Dropout": ("DROPOUT", 6), "InnerProduct": ("INNER_PRODUCT", 14),
       "LRN": ("LRN", 15), "Pooling": ("POOLING", 17), "ReLU": ("RELU", 18), "Softmax": ("SOFTMAX", 20)}
ENUMS = {"Phase": {"TRAIN": 0, "TEST": 1}, "Operation": {"PROD": 0, "SUM": 1, "MAX": 2},
         "Method": {"MAX": 0, "AVE": 1}, "OldType": {"NONE": 0, **dict(OLD.values())}}


def make_classes():
    file = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package="caffe", syntax="proto2")
    scalar = descriptor_pb2.FieldDescriptorProto
    types = {"int32": 5, "int64": 3, "uint32": 13, "float": 2, "bool": 8, "string": 9}
    for name, values in ENUMS.items():  # in a message each, since two enumerations may share a word
        holder = file.message_type.add(name=name + "Holder")
        kind = holder.enum_type.add(name=name)
        for word, number in sorted(values.items(), key=lambda pair: pair[1]):
            kind.value.add(name=word, number=number)
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            field, number, kind = text.split(":")
            repeated, kind = kind.endswith("*"), kind.rstrip("*")
            added = message.field.add(name=field, number=int(number),
                                      label=scalar.LABEL_REPEATED if repeated else scalar.LABEL_OPTIONAL)
            if kind in types:
                added.type = types[kind]
            elif kind in ENUMS:
                added.type, added.type_name = scalar.TYPE_ENUM, f".caffe.{kind}Holder.{kind}"
            else:
                added.type, added.type_name = scalar.TYPE_MESSAGE, ".caffe." + kind
            if field in ("data", "dim"):
                added.options.packed = True
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("caffe.Net"))


Net = make_classes()


# --- a forward pass ---
def conv(x, weight, bias, stride, pad, group, dilation):
    outputs, depth, kh, kw = weight.shape
    x = np.pad(x, ((0, 0), (pad[0],) * 2, (pad[1],) * 2))
    high, wide = (kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1
    windows = np.lib.stride_tricks.sliding_window_view(x, (high, wide), (1, 2))
    windows = windows[:, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]
    parts = []
    for g in range(group):
        some = windows[g * depth:(g + 1) * depth]
        own = weight[g * outputs // group:(g + 1) * outputs // group]
        parts.append(np.tensordot(own, some, ((1, 2, 3), (0, 3, 4))))
    return np.concatenate(parts) + bias[:, None, None]


def pool(x, method, kernel, stride, pad):
    size = []
    for i in range(2):
        outputs = -(-(x.shape[i + 1] + 2 * pad[i] - kernel[i]) // stride[i]) + 1
        if max(pad) > 0 and (outputs - 1) * stride[i] >= x.shape[i + 1] + pad[i]:
            outputs -= 1
        size.append(outputs)
    out = np.empty((x.shape[0], *size))
    for y in range(size[0]):
        for z in range(size[1]):
            begin = [y * stride[0] - pad[0], z * stride[1] - pad[1]]
            end = [min(begin[i] + kernel[i], x.shape[i + 1] + pad[i]) for i in range(2)]
            area = (end[0] - begin[0]) * (end[1] - begin[1])
            some = x[:, max(begin[0], 0):end[0], max(begin[1], 0):end[1]]
            out[:, y, z] = some.max((1, 2)) if method == "MAX" else some.sum((1, 2)) / area
    return out


def lrn(x, size, alpha, beta, k):
    squares = np.pad(x * x, ((size // 2,) * 2, (0, 0), (0, 0)))
    total = sum(squares[i:i + x.shape[0]] for i in range(size))
    return x * (k + alpha / size * total) ** -beta


# --- a network: its message, its weights, and its values, layer by layer ---
class Builder:
    def __init__(self, name, shape, classes):
        self.net, self.classes = Net(name=name), classes
        self.shape, self.picture = shape, draw.integers(0, 256, (*shape[1:], shape[0])).astype(np.uint8)
        image = self.picture.astype(np.float64).transpose(2, 0, 1)
        if shape[0] == 3:  # blue, green, red, less their means
            image = image[::-1] - np.array([104, 117, 123])[:, None, None]
        else:
            image = image * 0.00390625
        self.values = {"data": image}
        self.blobs = {}
        data = self.net.layer.add(name="data", type="Input", top=["data"])
        data.input_param.shape.add(dim=[1, *shape])

    def add(self, kind, name, bottoms, top=None, **more):
        bottoms = [bottoms] if isinstance(bottoms, str) else bottoms
        return self.net.layer.add(name=name, type=kind, bottom=bottoms, top=[top or name], **more)

    def keep(self, name, *arrays):
        """Notes float32 weights, and returns them as float64."""
        self.blobs[name] = [a.astype(np.float32) for a in arrays]
        return [a.astype(np.float64) for a in self.blobs[name]]

    def conv(self, name, bottom, outputs, kernel, stride=1, pad=0, group=1, dilation=1, sides=False):
        layer, x = self.add("Convolution", name, bottom), self.values[bottom]
        kernel, stride, pad = [(v, v) if isinstance(v, int) else v for v in (kernel, stride, pad)]
        p = layer.convolution_param
        p.num_output = outputs
        if kernel[0] != kernel[1] or sides:
            p.kernel_h, p.kernel_w, p.stride_h, p.stride_w, p.pad_h, p.pad_w = *kernel, *stride, *pad
        else:
            p.kernel_size.append(kernel[0])
            p.stride.append(stride[0])
            p.pad.append(pad[0])
        if group > 1:
            p.group = group
        if dilation > 1:
            p.dilation.append(dilation)
        p.weight_filler.type = "xavier"
        p.bias_filler.type = "constant"
        layer.param.add(lr_mult=1, decay_mult=1)
        layer.param.add(lr_mult=2, decay_mult=0)
        depth = x.shape[0] // group
        deviation = (2 / (depth * kernel[0] * kernel[1])) ** 0.5
        weight, bias = self.keep(name, draw.normal(0, deviation, (outputs, depth, *kernel)),
                                 draw.normal(0, 0.1, outputs))
        self.values[name] = conv(x, weight, bias, stride, pad, group, (dilation, dilation))
        return name

    def relu(self, name, top, slope=0.0):
        layer = self.add("ReLU", name, top, top)
        if slope:
            layer.relu_param.negative_slope = slope
        x = self.values[top]
        self.values[top] = np.where(x > 0, x, np.float64(np.float32(slope)) * x)
        return top

    def pool(self, name, bottom, method, kernel, stride=1, pad=0, sides=False):
        p = self.add("Pooling", name, bottom).pooling_param
        p.pool = ENUMS["Method"][method]
        if sides:
            p.kernel_h = p.kernel_w = kernel
            p.stride_h = p.stride_w = stride
            p.pad_h = p.pad_w = pad
        else:
            p.kernel_size, p.stride, p.pad = kernel, stride, pad
        self.values[name] = pool(self.values[bottom], method, (kernel, kernel), (stride, stride), (pad, pad))
        return name

    def mean(self, name, bottom):
        p = self.add("Pooling", name, bottom).pooling_param
        p.pool, p.global_pooling = 1, True
        self.values[name] = self.values[bottom].mean((1, 2), keepdims=True)
        return name

    def lrn(self, name, bottom, size=5, alpha=1e-4, beta=0.75):
        p = self.add("LRN", name, bottom).lrn_param
        p.local_size, p.alpha, p.beta = size, alpha, beta
        self.values[name] = lrn(self.values[bottom], size, p.alpha, p.beta, 1)
        return name

    def product(self, name, bottom, outputs, transpose=False):
        p, x = self.add("InnerProduct", name, bottom).inner_product_param, self.values[bottom].reshape(-1)
        p.num_output = outputs
        weight, bias = self.keep(name, draw.normal(0, (2 / x.size) ** 0.5, (outputs, x.size)),
                                 draw.normal(0, 0.1, outputs))
        if transpose:
            p.transpose = True
            self.blobs[name][0] = np.ascontiguousarray(self.blobs[name][0].T)
        self.values[name] = (weight @ x + bias).reshape(-1, 1, 1)
        return name

    def dropout(self, name, top, ratio=0.5):
        self.add("Dropout", name, top, top).dropout_param.dropout_ratio = ratio

    def concat(self, name, bottoms):
        self.add("Concat", name, bottoms)
        self.values[name] = np.concatenate([self.values[b] for b in bottoms])
        return name

    def total(self, name, bottoms):
        self.add("Eltwise", name, bottoms)
        self.values[name] = sum(self.values[b] for b in bottoms)
        return name

    def norm(self, name, top, bottom=None, factor=999.98):
        bottom = bottom or top
        x = self.values[bottom]
        layer = self.add("BatchNorm", "bn_" + name, bottom, top)
        layer.batch_norm_param.eps = 1e-4
        mean, variance, whole = self.keep("bn_" + name, draw.normal(0, 1, x.shape[0]) * factor,
                                          draw.uniform(0.5, 2, x.shape[0]) * factor, np.array([factor]))
        x = (x - (mean / whole)[:, None, None]) / np.sqrt(variance / whole + layer.batch_norm_param.eps)[:, None, None]
        return self.scale("scale_" + name, top, x, top)

    def scale(self, name, bottom, x, top):
        self.add("Scale", name, bottom, top).scale_param.bias_term = True
        factors, bias = self.keep(name, draw.uniform(0.5, 1.5, x.shape[0]), draw.normal(0, 0.2, x.shape[0]))
        self.values[top] = x * factors[:, None, None] + bias[:, None, None]
        return top

    def prelu(self, name, bottom):
        self.add("PReLU", name, bottom)
        x = self.values[bottom]
        slopes, = self.keep(name, draw.uniform(0, 0.5, x.shape[0]))
        self.values[name] = np.where(x > 0, x, slopes[:, None, None] * x)
        return name

    def plain(self, kind, name, bottom, function):
        self.add(kind, name, bottom)
        self.values[name] = function(self.values[bottom])
        return name


def alexnet():
    b = Builder("AlexNet", (3, 227, 227), 1000)
    x = b.pool("pool1", b.lrn("norm1", b.relu("relu1", b.conv("conv1", "data", 96, 11, 4))), "MAX", 3, 2)
    x = b.relu("relu2", b.conv("conv2", x, 256, 5, 1, 2, 2))
    x = b.pool("pool2", b.lrn("norm2", x), "MAX", 3, 2)
    x = b.relu("relu3", b.conv("conv3", x, 384, 3, 1, 1))
    x = b.relu("relu4", b.conv("conv4", x, 384, 3, 1, 1, 2))
    x = b.pool("pool5", b.relu("relu5", b.conv("conv5", x, 256, 3, 1, 1, 2)), "MAX", 3, 2)
    for i in (6, 7):
        x = b.relu(f"relu{i}", b.product(f"fc{i}", x, 4096))
        b.dropout(f"drop{i}", x)
    return b, b.product("fc8", x, 1000)


def googlenet():
    b = Builder("GoogleNet", (3, 224, 224), 1000)

    def block(name, *arguments):
        return b.relu(name.replace("/", "/relu_", 1), b.conv(name, *arguments))

    def inception(name, x, widths):
        name = "inception_" + name
        one, reduce3, three, reduce5, five, last = widths
        paths = [block(name + "/1x1", x, one, 1),
                 block(name + "/3x3", block(name + "/3x3_reduce", x, reduce3, 1), three, 3, 1, 1),
                 block(name + "/5x5", block(name + "/5x5_reduce", x, reduce5, 1), five, 5, 1, 2),
                 block(name + "/pool_proj", b.pool(name + "/pool", x, "MAX", 3, 1, 1), last, 1)]
        return b.concat(name + "/output", paths)

    def head(name, x):
        y = block(name + "/conv", b.pool(name + "/ave_pool", x, "AVE", 5, 3), 128, 1)
        y = b.relu(name + "/relu_fc", b.product(name + "/fc", y, 1024))
        b.dropout(name + "/drop_fc", y, 0.7)
        y = b.product(name + "/classifier", y, 1000)
        b.add("SoftmaxWithLoss", name + "/loss", [y, "label"]).loss_weight.append(0.3)

    b.net.layer[0].top.append("label")
    b.net.layer[0].input_param.shape.add(dim=[1])
    x = b.pool("pool1/3x3_s2", block("conv1/7x7_s2", "data", 64, 7, 2, 3), "MAX", 3, 2)
    x = block("conv2/3x3_reduce", b.lrn("pool1/norm1", x), 64, 1)
    x = b.lrn("conv2/norm2", block("conv2/3x3", x, 192, 3, 1, 1))
    x = b.pool("pool2/3x3_s2", x, "MAX", 3, 2)
    x = inception("3b", inception("3a", x, (64, 96, 128, 16, 32, 32)), (128, 128, 192, 32, 96, 64))
    x = inception("4a", b.pool("pool3/3x3_s2", x, "MAX", 3, 2), (192, 96, 208, 16, 48, 64))
    head("loss1", x)
    for name, widths in (("4b", (160, 112, 224, 24, 64, 64)), ("4c", (128, 128, 256, 24, 64, 64)),
                         ("4d", (112, 144, 288, 32, 64, 64))):
        x = inception(name, x, widths)
    head("loss2", x)
    x = b.pool("pool4/3x3_s2", inception("4e", x, (256, 160, 320, 32, 128, 128)), "MAX", 3, 2)
    x = inception("5b", inception("5a", x, (256, 160, 320, 32, 128, 128)), (384, 192, 384, 48, 128, 128))
    x = b.pool("pool5/7x7_s1", x, "AVE", 7, 1)
    b.dropout("pool5/drop_7x7_s1", x, 0.4)
    x = b.product("loss3/classifier", x, 1000)
    b.add("SoftmaxWithLoss", "loss3/loss3", [x, "label"]).loss_weight.append(1)
    b.add("Accuracy", "loss3/top-1", [x, "label"]).include.add(phase=1)
    return b, x


def squeezenet():
    b = Builder("SqueezeNet", (3, 227, 227), 1000)

    def fire(name, x, squeeze, expand):
        x = b.relu(name + "/relu_squeeze1x1", b.conv(name + "/squeeze1x1", x, squeeze, 1))
        return b.concat(name + "/concat", [
            b.relu(name + "/relu_expand1x1", b.conv(name + "/expand1x1", x, expand, 1)),
            b.relu(name + "/relu_expand3x3", b.conv(name + "/expand3x3", x, expand, 3, 1, 1))])

    x = b.pool("pool1", b.relu("relu_conv1", b.conv("conv1", "data", 96, 7, 2)), "MAX", 3, 2)
    for number, squeeze in ((2, 16), (3, 16), (4, 32)):
        x = fire(f"fire{number}", x, squeeze, 4 * squeeze)
    x = b.pool("pool4", x, "MAX", 3, 2)
    for number, squeeze in ((5, 32), (6, 48), (7, 48), (8, 64)):
        x = fire(f"fire{number}", x, squeeze, 4 * squeeze)
    x = fire("fire9", b.pool("pool8", x, "MAX", 3, 2), 64, 256)
    b.dropout("drop9", x)
    return b, b.mean("pool10", b.relu("relu_conv10", b.conv("conv10", x, 1000, 1, 1, 1)))


def lenet():
    b = Builder("LeNet", (1, 28, 28), 10)
    x = b.pool("pool1", b.conv("conv1", "data", 20, 5), "MAX", 2, 2)
    x = b.pool("pool2", b.conv("conv2", x, 50, 5), "MAX", 2, 2)
    return b, b.product("ip2", b.relu("relu1", b.product("ip1", x, 500)), 10)


def mixed():
    """The other layers: oblong kernels, dilation, both kinds of Scale, means with padding, wide joins."""
    b = Builder("mixed", (3, 33, 29), 11)
    x = b.norm("one", b.conv("c1", "data", 12, (3, 5), (2, 1), (1, 2)))
    x = b.prelu("p", b.relu("leaky", x, 0.25))
    y = b.norm("two", "apart", b.conv("c2", x, 12, 3, 1, 2, 3, 2))
    x = b.total("sum", [x, y, y])
    x = b.pool("ave", x, "AVE", 3, 2, 1, True)
    x = b.scale("alone", x, b.values[x], "factors")
    parts = [b.conv(f"part{i}", x, 2, 1) for i in range(10)]
    x = b.pool("max", b.concat("wide", parts), "MAX", 3, 3, 1)
    x = b.plain("Sigmoid", "sigmoid", x, lambda v: 1 / (1 + np.exp(-v)))
    x = b.plain("TanH", "tanh", x, np.tanh)
    x = b.plain("ELU", "elu", x, lambda v: np.where(v > 0, v, np.exp(v) - 1))
    return b, b.product("last", x, 11, True)


# --- files ---
def old_net(net):
    """The same network in the first format of layers, V1."""
    old = Net(name=net.name, input=["data"], input_dim=list(net.layer[0].input_param.shape[0].dim))
    for layer in net.layer[1:]:
        added = old.layers.add(name=layer.name, type=OLD[layer.type][1], bottom=layer.bottom, top=layer.top)
        for field, value in layer.ListFields():
            if field.name.endswith("_param"):
                getattr(added, field.name).CopyFrom(value)
        if layer.param:
            added.blobs_lr.extend([1, 2])
    return old


def fill(net, blobs, old):
    for layer in net.layers if old else net.layer:
        for array in blobs.get(layer.name, []):
            blob = layer.blobs.add()
            blob.data.extend(array.reshape(-1).tolist())
            if old:
                blob.num, blob.channels, blob.height, blob.width = (1,) * (4 - array.ndim) + array.shape
            else:
                blob.shape.dim.extend(array.shape)


def write_png(path, picture):
    height, width, channels = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    kind = 2 if channels == 3 else 0

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
                           chunk(b"IEND", b""))


def run(*arguments):
    done = subprocess.run([tinca, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tinca {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")


def outputs(model):
    run("predict", model, path + ".png", "--raw", path + ".npy", "--device", "cpu")
    return np.load(path + ".npy").reshape(-1).astype(np.float64)


old = network.endswith("-v1")
path = f"{folder}/{network}"
builder, last = globals()[network.removesuffix("-v1")]()
if not any(layer.type == "SoftmaxWithLoss" for layer in builder.net.layer):
    builder.add("Softmax", "prob", last)
net = old_net(builder.net) if old else builder.net
open(path + ".prototxt", "w").write(text_format.MessageToString(net))
fill(net, builder.blobs, old)
open(path + ".caffemodel", "wb").write(net.SerializeToString())
write_png(path + ".png", builder.picture)
expected = builder.values[last].reshape(-1)
errors = []
run("import", path + ".prototxt", path + ".caffemodel", "-o", path + ".safetensors")
# the binary file has the network, too
run("import", path + ".caffemodel", "-o", path + "-binary.safetensors")
run("export", path + ".safetensors", "--format", "caffe", "-o", path + "-again.prototxt")
# Google's parser reads what tinca writes
again, weights = Net(), Net()
text_format.Parse(open(path + "-again.prototxt").read(), again, allow_unknown_field=True)
weights.ParseFromString(open(path + "-again.caffemodel", "rb").read())
assert [layer.name for layer in again.layer[1:]] == [layer.name for layer in weights.layer]
run("import", path + "-again.prototxt", path + "-again.caffemodel", "--channel-order", "rgb", "-o",
    path + "-again.safetensors")
for model in ("", "-binary", "-again"):
    found = outputs(f"{path}{model}.safetensors")
    if found.shape != expected.shape:
        sys.exit(f"{found.size} outputs, not {expected.size}")
    errors.append(float(np.abs(found - expected).max() / max(1, np.abs(expected).max())))
print(f"{network}: errors {', '.join(f'{e:.2g}' for e in errors)} (text and binary, binary alone, exported and read)")
sys.exit(max(errors) > LIMIT)
