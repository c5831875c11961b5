#!/usr/bin/env python3
"""Writes the network files with the layers and names of torchvision's networks, and the goldens of
state dicts with torchvision's and other programs' names.

usage: make_torchvision.py SOURCE_DIR

It writes SOURCE_DIR/networks/torchvision/*.json, small ones of the same layers into
SOURCE_DIR/tests/parity/networks, and SOURCE_DIR/tests/parity/goldens/torchvision.json: for each
small network the names and shapes of PyTorch's state dict, and the logits of one image; for the
others names and shapes only. The values of weights and image follow from a formula, which
tests/parity/weights_names_test.c repeats. The PyTorch modules are written here with torchvision's
names and layers, because torchvision is not needed otherwise."""
import json
import sys

import numpy
import torch
from torch import nn
import torch.nn.functional as F


# --- PyTorch's modules, with all widths divided by `d` ---

def seq(*layers):
    return nn.Sequential(*layers)


class AlexNet(nn.Module):
    def __init__(self, d=1, side=6, classes=1000, hidden=4096):
        super().__init__()
        w = [c // d for c in (64, 192, 384, 256, 256)]
        conv = lambda i, o, k, s, p: nn.Conv2d(i, o, k, s, p)
        self.features = seq(conv(3, w[0], 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
                            conv(w[0], w[1], 5, 1, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
                            conv(w[1], w[2], 3, 1, 1), nn.ReLU(), conv(w[2], w[3], 3, 1, 1),
                            nn.ReLU(), conv(w[3], w[4], 3, 1, 1), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.classifier = seq(nn.Dropout(), nn.Linear(w[4] * side * side, hidden), nn.ReLU(),
                              nn.Dropout(), nn.Linear(hidden, hidden), nn.ReLU(),
                              nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


VGG16 = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]
VGG19 = [64, 64, "M", 128, 128, "M"] + [256] * 4 + ["M"] + [512] * 4 + ["M"] + [512] * 4 + ["M"]


def vgg_features(plan, d, norm):
    layers, inputs = [], 3
    for c in plan:
        if c == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        layers += [nn.Conv2d(inputs, c // d, 3, 1, 1)] + ([nn.BatchNorm2d(c // d)] if norm else [])
        layers.append(nn.ReLU())
        inputs = c // d
    return seq(*layers)


class VGG(nn.Module):
    def __init__(self, d=1, side=7, classes=1000, hidden=4096, plan=VGG16, norm=False):
        super().__init__()
        self.features = vgg_features(plan, d, norm)
        self.classifier = seq(nn.Linear(512 // d * side * side, hidden), nn.ReLU(), nn.Dropout(),
                              nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(),
                              nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class CifarVGG(nn.Module):
    """The usual VGG-19 for CIFAR, whose convolutions have a bias before the batch norm."""

    def __init__(self, d=1):
        super().__init__()
        self.features = vgg_features(VGG19, d, True)
        self.classifier = nn.Linear(512 // d, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Fire(nn.Module):
    def __init__(self, i, s, e):
        super().__init__()
        self.squeeze, self.expand1x1 = nn.Conv2d(i, s, 1), nn.Conv2d(s, e, 1)
        self.expand3x3 = nn.Conv2d(s, e, 3, 1, 1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], 1)


FIRES = {3: (64, 16, 64), 4: (128, 16, 64), 6: (128, 32, 128), 7: (256, 32, 128),
         9: (256, 48, 192), 10: (384, 48, 192), 11: (384, 64, 256), 12: (512, 64, 256)}


class SqueezeNet10(nn.Module):
    """SqueezeNet 1.0, as a network file only."""

    def __init__(self, classes=1000):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        self.features = seq(nn.Conv2d(3, 96, 7, 2), nn.ReLU(), pool(), Fire(96, 16, 64),
                            Fire(128, 16, 64), Fire(128, 32, 128), pool(), Fire(256, 32, 128),
                            Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), pool(),
                            Fire(512, 64, 256))
        self.classifier = seq(nn.Dropout(), nn.Conv2d(512, classes, 1), nn.ReLU(),
                              nn.AdaptiveAvgPool2d(1))


class SqueezeNet(nn.Module):
    def __init__(self, d=1, classes=1000):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        fires = {k: Fire(*(c // d for c in v)) for k, v in FIRES.items()}
        self.features = seq(nn.Conv2d(3, 64 // d, 3, 2), nn.ReLU(), pool(), fires[3], fires[4],
                            pool(), fires[6], fires[7], pool(), fires[9], fires[10], fires[11],
                            fires[12])
        self.classifier = seq(nn.Dropout(), nn.Conv2d(512 // d, classes, 1), nn.ReLU(),
                              nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return self.classifier(self.features(x)).flatten(1)


class BasicConv(nn.Module):
    def __init__(self, i, o, k, **more):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(i, o, k, bias=False, **more), nn.BatchNorm2d(o, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    """torchvision's: the branch of 5x5 has a kernel of 3x3."""

    def __init__(self, i, a, b, c, d, e, f):
        super().__init__()
        self.branch1 = BasicConv(i, a, 1)
        self.branch2 = seq(BasicConv(i, b, 1), BasicConv(b, c, 3, padding=1))
        self.branch3 = seq(BasicConv(i, d, 1), BasicConv(d, e, 3, padding=1))
        self.branch4 = seq(nn.MaxPool2d(3, 1, 1, ceil_mode=True), BasicConv(i, f, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


INCEPTIONS = {"3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64),
              "4a": (480, 192, 96, 208, 16, 48, 64), "4b": (512, 160, 112, 224, 24, 64, 64),
              "4c": (512, 128, 128, 256, 24, 64, 64), "4d": (512, 112, 144, 288, 32, 64, 64),
              "4e": (528, 256, 160, 320, 32, 128, 128), "5a": (832, 256, 160, 320, 32, 128, 128),
              "5b": (832, 384, 192, 384, 48, 128, 128)}


class GoogLeNet(nn.Module):
    def __init__(self, d=1, classes=1000):
        super().__init__()
        self.conv1 = BasicConv(3, 64 // d, 7, stride=2, padding=3)
        self.conv2 = BasicConv(64 // d, 64 // d, 1)
        self.conv3 = BasicConv(64 // d, 192 // d, 3, padding=1)
        for name, widths in INCEPTIONS.items():
            setattr(self, "inception" + name, Inception(*(c // d for c in widths)))
        self.fc = nn.Linear(1024 // d, classes)

    def forward(self, x):
        pool = lambda v, k: F.max_pool2d(v, k, 2, ceil_mode=True)
        x = pool(self.conv3(self.conv2(pool(self.conv1(x), 3))), 3)
        for name in INCEPTIONS:
            x = getattr(self, "inception" + name)(x)
            x = pool(x, 3) if name == "3b" else pool(x, 2) if name == "4e" else x
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    def __init__(self, i, o, stride, option):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.pad, self.shortcut = 0, seq()
        if stride > 1 and option == "A":
            self.pad = o // 4
        elif stride > 1:
            self.shortcut = seq(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.pad:
            return F.relu(y + F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad)))
        return F.relu(y + self.shortcut(x))


class CifarResNet(nn.Module):
    """The usual ResNet-20 for CIFAR, with shortcuts of option A or B."""

    def __init__(self, d=1, option="A"):
        super().__init__()
        w = [c // d for c in (16, 32, 64)]
        self.conv1, self.bn1 = nn.Conv2d(3, w[0], 3, 1, 1, bias=False), nn.BatchNorm2d(w[0])
        stage = lambda i, o, s: seq(Block(i, o, s, option), Block(o, o, 1, option),
                                    Block(o, o, 1, option))
        self.layer1, self.layer2 = stage(w[0], w[0], 1), stage(w[0], w[1], 2)
        self.layer3, self.linear = stage(w[1], w[2], 2), nn.Linear(w[2], 10)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x))))))
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


# --- network files of the same layers ---

def relu(name):
    return {"op": "relu", "name": name}


def conv(name, outputs, kernel, stride=1, pad=0, **more):
    return {"op": "conv", "name": name, "output": outputs, "kernel": kernel, "stride": stride,
            "pad": pad, "init": "he", **more}


def sequential(prefix, module):
    """The layers of a Sequential, by their names in it."""
    layers = []
    for i, m in enumerate(module):
        name = f"{prefix}.{i}"
        if isinstance(m, nn.Conv2d):
            layers.append(conv(name, m.out_channels, m.kernel_size[0], m.stride[0], m.padding[0]))
        elif isinstance(m, nn.MaxPool2d):
            layers.append({"op": "max_pool", "name": name, "kernel": m.kernel_size,
                           "stride": m.stride, **({"ceil": True} if m.ceil_mode else {})})
        elif isinstance(m, nn.AdaptiveAvgPool2d):
            layers.append({"op": "average_pool", "name": name, "global": True})
        elif isinstance(m, nn.Linear):
            layers.append({"op": "linear", "name": name, "output": m.out_features, "init": "he"})
        elif isinstance(m, nn.Dropout):
            layers.append({"op": "dropout", "name": name, "rate": m.p})
        elif isinstance(m, Fire):
            layers += fire(name, m)
        elif isinstance(m, nn.BatchNorm2d):
            layers.append({"op": "batch_norm", "name": name})
        else:
            layers.append(relu(name))
    return layers


def fire(name, m):
    expand = lambda part, k: [conv(f"{name}.{part}", m.expand1x1.out_channels, k, pad=k // 2,
                                   **{"from": name + ".squeeze_relu"}), relu(f"{name}.{part}_relu")]
    return [conv(name + ".squeeze", m.squeeze.out_channels, 1), relu(name + ".squeeze_relu"),
            *expand("expand1x1", 1), *expand("expand3x3", 3),
            {"op": "concat", "name": name,
             "from": [name + ".expand1x1_relu", name + ".expand3x3_relu"]}]


def basic(name, m, **more):
    c = m.conv
    return [conv(name + ".conv", c.out_channels, c.kernel_size[0], c.stride[0], c.padding[0],
                 bias=False, **more),
            {"op": "batch_norm", "name": name + ".bn", "epsilon": 0.001}, relu(name + ".relu")]


def inception(name, m, source):
    at = {"from": source}
    pool = {"op": "max_pool", "name": name + ".branch4.0", "kernel": 3, "stride": 1, "pad": 1, **at}
    layers = basic(name + ".branch1", m.branch1, **at)
    for branch in ("branch2", "branch3"):
        first, second = getattr(m, branch)
        layers += basic(f"{name}.{branch}.0", first, **at) + basic(f"{name}.{branch}.1", second)
    layers += [pool] + basic(name + ".branch4.1", m.branch4[1])
    ends = ["branch1", "branch2.1", "branch3.1", "branch4.1"]
    return layers + [{"op": "concat", "name": name, "from": [f"{name}.{e}.relu" for e in ends]}]


def googlenet(net):
    pool = lambda name, k: {"op": "max_pool", "name": name, "kernel": k, "stride": 2, "ceil": True}
    layers = [*basic("conv1", net.conv1), pool("maxpool1", 3), *basic("conv2", net.conv2),
              *basic("conv3", net.conv3), pool("maxpool2", 3)]
    source = "maxpool2"
    for name in INCEPTIONS:
        layers += inception("inception" + name, getattr(net, "inception" + name), source)
        source = "inception" + name
        if name in ("3b", "4e"):
            source = {"3b": "maxpool3", "4e": "maxpool4"}[name]
            layers.append(pool(source, {"3b": 3, "4e": 2}[name]))
    return layers + [{"op": "average_pool", "name": "avgpool", "global": True},
                     {"op": "flatten", "name": "flatten"},
                     {"op": "dropout", "name": "dropout", "rate": 0.2},
                     {"op": "linear", "name": "fc", "output": net.fc.out_features, "init": "he"}]


def plain(net):
    flatten = [{"op": "flatten", "name": "flatten"}]
    if isinstance(net, (SqueezeNet, SqueezeNet10)):
        return sequential("features", net.features) + sequential("classifier", net.classifier) + \
            flatten
    return sequential("features", net.features) + flatten + \
        sequential("classifier", net.classifier)


def resnet(blocks, bottleneck):
    """The layers of torchvision's ResNets, by their names, which are timm's, too."""
    layers = [conv("conv1", 64, 7, 2, 3, bias=False), {"op": "batch_norm", "name": "bn1"},
              relu("relu"), {"op": "max_pool", "name": "maxpool", "kernel": 3, "stride": 2, "pad": 1}]
    source, inputs = "maxpool", 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        outputs = 4 * width if bottleneck else width
        for b in range(count):
            name, stride = f"layer{stage + 1}.{b}.", 2 if stage and not b else 1
            plan = [(width, 1, 1), (width, 3, stride), (outputs, 1, 1)] if bottleneck else \
                [(width, 3, stride), (width, 3, 1)]
            way = source
            for i, (o, kernel, step) in enumerate(plan):
                at = {"from": source} if i == 0 else {}
                layers += [conv(f"{name}conv{i + 1}", o, kernel, step, kernel // 2, bias=False, **at),
                           {"op": "batch_norm", "name": f"{name}bn{i + 1}"}]
                if i + 1 < len(plan):
                    layers.append(relu(f"{name}relu{i + 1}"))
            if stride > 1 or inputs != outputs:
                way = name + "downsample.1"
                layers += [conv(name + "downsample.0", outputs, 1, stride, bias=False,
                                **{"from": source}), {"op": "batch_norm", "name": way}]
            layers += [{"op": "add", "name": name + "add", "from": [f"{name}bn{len(plan)}", way]},
                       relu(name + "relu")]
            source, inputs = name + "relu", outputs
    return layers + [{"op": "average_pool", "name": "avgpool", "global": True},
                     {"op": "flatten", "name": "flatten"},
                     {"op": "linear", "name": "fc", "output": 1000, "init": "he"}]


def write_more(full):
    """The networks of which there are no goldens; tests/long/torch_long.sh compares them with torchvision's."""
    of = "with torchvision's layers and names"
    for name, layers, title in (
            ("squeezenet1_0", plain(SqueezeNet10()), "SqueezeNet 1.0"),
            ("vgg19", plain(VGG(plan=VGG19)), "VGG-19"),
            ("vgg19_bn", plain(VGG(plan=VGG19, norm=True)), "VGG-19 with batch norm"),
            ("resnet18", resnet((2, 2, 2, 2), False), "ResNet-18"),
            ("resnet34", resnet((3, 4, 6, 3), False), "ResNet-34"),
            ("resnet50", resnet((3, 4, 6, 3), True), "ResNet-50")):
        write_network(f"{full}/{name}.json", f"{title} {of}", 224, 1000, layers)


def cifar_vgg(net):
    layers, stage, number, inputs = [], 1, 0, list(net.features)
    for m in inputs:
        if isinstance(m, nn.Conv2d):
            number += 1
            at = f"stage{stage}.{number}."
            layers += [conv(at + "conv", m.out_channels, 3, 1, 1, bias=False),
                       {"op": "batch_norm", "name": at + "bn"}, relu(at + "relu")]
        elif isinstance(m, nn.MaxPool2d):
            layers.append({"op": "max_pool", "name": f"pool{stage}", "kernel": 2, "stride": 2})
            stage, number = stage + 1, 0
    return layers + [{"op": "flatten", "name": "flatten"},
                     {"op": "linear", "name": "fc", "output": 10, "init": "he"}]


def write_network(path, title, side, classes, layers):
    # the last linear layer, or convolution, has as many outputs as the data has classes
    last = [l for l in layers if l["op"] in ("linear", "conv")][-1]
    last["output"] = "classes"
    name = path.rsplit("/", 1)[1].removesuffix(".json")
    lines = ",\n".join("    " + json.dumps(l) for l in layers)
    with open(path, "w") as f:
        f.write(f'{{\n  "name": "{name}",\n  "title": "{title}",\n  "input": [3, {side}, {side}],\n'
                f'  "classes": {classes},\n  "normalise": "imagenet",\n  "layers": [\n{lines}\n  ]\n}}\n')


# --- goldens ---

def noise(stream, count):
    """`count` values in [-0.5, 0.5); weights_names_test.c computes the same."""
    i = numpy.arange(count, dtype=numpy.uint64)
    x = (i * 2654435761 + (stream + 1) * 40503 * 65537) & 0xffffffff
    x ^= x >> 15
    x = (x * 2246822519) & 0xffffffff
    x ^= x >> 13
    return x.astype(numpy.float64) / 4294967296.0 - 0.5


def values_of(stream, name, tensor):
    u = noise(stream, tensor.numel())
    if tensor.dim() > 1:
        u = u * 2 * numpy.sqrt(6.0 / (tensor.numel() / tensor.shape[0]))
    elif name.endswith("running_var") or name.endswith("weight"):
        u = 1 + u * 0.4
    else:
        u = u * 0.4
    return torch.from_numpy(u.astype(numpy.float32)).reshape(tensor.shape)


def state_of(net):
    return {k: v for k, v in net.state_dict().items() if "num_batches" not in k}


def golden(net, network, names, side):
    net.eval()
    state = state_of(net)
    for i, (k, v) in enumerate(state.items()):
        v.copy_(values_of(i, k, v))
    image = torch.from_numpy(noise(1000, 3 * side * side).astype(numpy.float32))
    with torch.no_grad():
        logits = net.double()(image.double().reshape(1, 3, side, side))[0]
    return {"network": network, "names": names, "side": side, "tensors": shapes(state),
            "logits": [float(f"{x:.9g}") for x in logits]}


def shapes(state):
    return {k: list(v.shape) for k, v in state.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    small, full = f"{root}/tests/parity/networks", f"{root}/networks/torchvision"
    goldens = {}
    of = "with torchvision's layers and names"
    for name, kind, layers, title, side, little in (
            ("alexnet", AlexNet, plain, f"AlexNet {of}", 224,
             (AlexNet(16, 1, 10, 8), 63)),
            ("vgg16", VGG, plain, f"VGG-16 {of}", 224, (VGG(32, 1, 10, 8), 32)),
            ("squeezenet1_1", SqueezeNet, plain, f"SqueezeNet 1.1 {of}", 224,
             (SqueezeNet(16, 10), 47)),
            ("googlenet", GoogLeNet, googlenet, f"GoogLeNet {of}, without auxiliary heads", 224,
             (GoogLeNet(8, 10), 47))):
        net = kind()
        write_network(f"{full}/{name}.json", title, side, 1000, layers(net))
        goldens[name] = {"network": f"torchvision/{name}", "tensors": shapes(state_of(net))}
        net, little_side = little
        write_network(f"{small}/small-{name}.json", f"small {name}", little_side, 10, layers(net))
        goldens[f"small-{name}"] = golden(net, f"small-{name}", "", little_side)
    write_more(full)
    goldens["resnet20-a"] = golden(CifarResNet(1, "A"), "resnet20", "cifar-resnet", 32)
    goldens["resnet20-b"] = golden(CifarResNet(1, "B"), "resnet20", "cifar-resnet", 32)
    net = CifarVGG(32)
    write_network(f"{small}/small-cifar-vgg.json", "small VGG-19", 32, 10, cifar_vgg(net))
    goldens["small-cifar-vgg"] = golden(net, "small-cifar-vgg", "cifar-vgg", 32)
    with open(f"{root}/tests/parity/goldens/torchvision.json", "w") as f:
        lines = []
        for case, g in goldens.items():
            members = [f'    {json.dumps(k)}: {json.dumps(v)}' for k, v in g.items()]
            lines.append(f"  {json.dumps(case)}: {{\n" + ",\n".join(members) + "\n  }")
        f.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
