"""Compares networks of PyTorch with tinca's: torch_check.py TINCA FOLDER SOURCE_DIR [NETWORK...]. For each network and
each of float32, float16 and bf16: PyTorch's state dict is saved by the package safetensors and imported, and the logits
are compared; the model is exported, loaded into another PyTorch network with strict=True, and the logits are compared.
Both compute in float32 with the rounded weights (PyTorch in float64 from the same values), so that 1e-5 holds for each
format in the direction PyTorch -> tinca; the way back rounds weights that are rounded already. What rounding itself does
is measured by exporting the float32 model in half precision. Prints TAP lines without numbers. The errors are
max|a - b| / max(1, max|b|)."""
import copy
import os
import re
import struct
import subprocess
import sys
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

tinca, folder, source, wanted = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
LIMIT = 1e-5
# one rounding of each weight, relative: half a unit in the last place of 11 and 8 bits; a network of many layers
# multiplies that by less than 16 here
ROUNDING = {"float16": 16 * 2.0 ** -11, "bf16": 16 * 2.0 ** -8}
KINDS = {"float32": torch.float32, "float16": torch.float16, "bf16": torch.bfloat16}


# --- the usual programs' networks, with their names, written for this test ---

class Pad(nn.Module):
    def __init__(self, more):
        super().__init__()
        self.more = more

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more // 2))


class CifarBlock(nn.Module):
    def __init__(self, i, o, stride, option, first, shortcut):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.name = shortcut
        way = nn.Sequential()
        if option == "projection" and first or option == "B" and i != o:
            way = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
        elif i != o:
            way = Pad(o - i)
        setattr(self, shortcut, way)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + getattr(self, self.name)(x))


class CifarResNet(nn.Module):
    """Option A and B of He et al., as is usual; "projection" also in the first block, as tinca's has it."""

    def __init__(self, blocks, option, shortcut="shortcut", last="linear"):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        inputs = 16
        for k, width in enumerate((16, 32, 64)):
            layers = []
            for b in range(blocks):
                layers.append(CifarBlock(inputs, width, 2 if k and not b else 1, option, not b, shortcut))
                inputs = width
            setattr(self, f"layer{k + 1}", nn.Sequential(*layers))
        self.last = last
        setattr(self, last, nn.Linear(64, 10))

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x))))))
        return getattr(self, self.last)(x.mean((2, 3)))


class CifarMobileBlock(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, i, 3, stride, 1, groups=i, bias=False), nn.BatchNorm2d(i)
        self.conv2, self.bn2 = nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class CifarMobileNet(nn.Module):
    PLAN = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32)
        layers, inputs = [], 32
        for width, stride in self.PLAN:
            layers.append(CifarMobileBlock(inputs, width, stride))
            inputs = width
        self.layers, self.linear = nn.Sequential(*layers), nn.Linear(1024, 10)

    def forward(self, x):
        return self.linear(self.layers(F.relu(self.bn1(self.conv1(x)))).mean((2, 3)))


class CifarVGG(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [], 3
        for width, count in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
            for _ in range(count):
                layers += [nn.Conv2d(inputs, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU()]
                inputs = width
            layers.append(nn.MaxPool2d(2, 2))
        self.features, self.classifier = nn.Sequential(*layers), nn.Linear(512, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                               nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))

    def forward(self, x):
        return self.n(x)


def norm():
    return nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)


class AlexNet(nn.Module):
    """Caffe's."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(3, 96, 11, 4), nn.ReLU(), norm(), nn.MaxPool2d(3, 2),
            nn.Conv2d(96, 256, 5, 1, 2, groups=2), nn.ReLU(), norm(), nn.MaxPool2d(3, 2),
            nn.Conv2d(256, 384, 3, 1, 1), nn.ReLU(), nn.Conv2d(384, 384, 3, 1, 1, groups=2), nn.ReLU(),
            nn.Conv2d(384, 256, 3, 1, 1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.c = nn.Sequential(nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096),
                               nn.ReLU(), nn.Dropout(), nn.Linear(4096, 1000))

    def forward(self, x):
        return self.c(self.f(x))


class Branches(nn.Module):
    def __init__(self, i, a, b, c, d, e, f):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(i, a, 1), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(i, b, 1), nn.ReLU(), nn.Conv2d(b, c, 3, 1, 1), nn.ReLU())
        self.c = nn.Sequential(nn.Conv2d(i, d, 1), nn.ReLU(), nn.Conv2d(d, e, 5, 1, 2), nn.ReLU())
        self.d = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(i, f, 1), nn.ReLU())

    def forward(self, x):
        return torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)


class Head(nn.Module):
    def __init__(self, i):
        super().__init__()
        self.n = nn.Sequential(nn.AvgPool2d(5, 3), nn.Conv2d(i, 128, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 1024),
                               nn.ReLU(), nn.Dropout(0.7), nn.Linear(1024, 1000))


class GoogLeNet(nn.Module):
    """Caffe's, with its heads."""
    PLAN = {"3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64), "4a": (480, 192, 96, 208, 16, 48, 64),
            "4b": (512, 160, 112, 224, 24, 64, 64), "4c": (512, 128, 128, 256, 24, 64, 64),
            "4d": (512, 112, 144, 288, 32, 64, 64), "4e": (528, 256, 160, 320, 32, 128, 128),
            "5a": (832, 256, 160, 320, 32, 128, 128), "5b": (832, 384, 192, 384, 48, 128, 128)}

    def __init__(self):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), pool(), norm(), nn.Conv2d(64, 64, 1), nn.ReLU(),
                                  nn.Conv2d(64, 192, 3, 1, 1), nn.ReLU(), norm(), pool())
        for name, plan in self.PLAN.items():
            setattr(self, "i" + name, Branches(*plan))
        self.pool = pool()
        self.aux1, self.aux2 = Head(512), Head(528)
        self.fc = nn.Sequential(nn.AvgPool2d(7), nn.Flatten(), nn.Dropout(0.4), nn.Linear(1024, 1000))

    def forward(self, x):
        x = self.stem(x)
        for name in self.PLAN:
            x = getattr(self, "i" + name)(x)
            if name in ("3b", "4e"):
                x = self.pool(x)
        return self.fc(x)


class Fire(nn.Module):
    def __init__(self, i, q, e):
        super().__init__()
        self.q = nn.Sequential(nn.Conv2d(i, q, 1), nn.BatchNorm2d(q), nn.ReLU())
        self.e1 = nn.Sequential(nn.Conv2d(q, e, 1), nn.BatchNorm2d(e))
        self.e3 = nn.Sequential(nn.Conv2d(q, e, 3, 1, 1), nn.BatchNorm2d(e))

    def forward(self, x):
        x = self.q(x)
        return F.relu(torch.cat([self.e1(x), self.e3(x)], 1))


class SqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        pool = lambda: nn.MaxPool2d(2, 2)
        self.n = nn.Sequential(nn.Conv2d(3, 96, 3, 1, 1), nn.ReLU(), pool(), Fire(96, 32, 64), Fire(128, 16, 64),
                               Fire(128, 32, 128), pool(), Fire(256, 32, 128), Fire(256, 48, 192), Fire(384, 48, 192),
                               Fire(384, 64, 256), pool(), Fire(512, 64, 256), nn.Conv2d(512, 10, 1), nn.BatchNorm2d(10))

    def forward(self, x):
        return self.n(x).mean((2, 3))


class ShortBlock(nn.Module):
    def __init__(self, i, o, stride, first):
        super().__init__()
        self.a, self.ba = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.b, self.bb = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.p = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if first else None

    def forward(self, x):
        y = self.bb(self.b(F.relu(self.ba(self.a(x)))))
        return F.relu(y + (self.p(x) if self.p else x))


class ShortResNet(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        layers, inputs = [], 16
        for k, width in enumerate((16, 32, 64)):
            for b in range(blocks):
                layers.append(ShortBlock(inputs, width, 2 if k and not b else 1, not b))
                inputs = width
        self.body, self.fc = nn.Sequential(*layers), nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


def timm_mobilenet():
    import timm
    net = timm.create_model("mobilenetv1_100", num_classes=10, act_layer=nn.ReLU)
    net.conv_stem.stride = (1, 1)  # tinca's is for CIFAR
    return net


def torchvision_network(name, **more):
    import torchvision
    return getattr(torchvision.models, name)(weights=None, **more)


def torchvision_googlenet():
    net = torchvision_network("googlenet", aux_logits=False, init_weights=False)
    return net


# name: PyTorch's network, tinca's (None: found by the arrays), the mapping (None: own names), the way back fits
NETWORKS = {
    **{f"resnet{6 * n + 2} {o}": ((lambda n=n, o=o: CifarResNet(n, o)), f"resnet{6 * n + 2}", "cifar-resnet")
       for n in (3, 9, 18) for o in ("A", "B", "projection")},
    "resnet20 torchvision's names": (lambda: CifarResNet(3, "projection", "downsample", "fc"), "resnet20", "torchvision-resnet"),
    **{f"resnet{6 * n + 2} short names": ((lambda n=n: ShortResNet(n)), f"resnet{6 * n + 2}", f"sequential-resnet{6 * n + 2}")
       for n in (3, 9, 18)},
    "vgg19": (CifarVGG, "vgg19", "cifar-vgg"),
    "mobilenet": (CifarMobileNet, "mobilenet", "cifar-mobilenet"),
    "timm mobilenetv1_100": (timm_mobilenet, "mobilenet", "timm-mobilenet"),
    "lenet": (LeNet, "lenet", "sequential-lenet"),
    "squeezenet": (SqueezeNet, "squeezenet", "sequential-squeezenet"),
    "alexnet": (AlexNet, "alexnet", "sequential-alexnet"),
    "googlenet": (GoogLeNet, "googlenet", "sequential-googlenet"),
    "torchvision alexnet": (lambda: torchvision_network("alexnet"), "torchvision/alexnet", None),
    "torchvision squeezenet1_1": (lambda: torchvision_network("squeezenet1_1"), "torchvision/squeezenet1_1", None),
    "torchvision squeezenet1_0": (lambda: torchvision_network("squeezenet1_0"), "torchvision/squeezenet1_0", None),
    "torchvision googlenet": (torchvision_googlenet, "torchvision/googlenet", None),
    "torchvision vgg16": (lambda: torchvision_network("vgg16"), "torchvision/vgg16", None),
    "torchvision vgg19": (lambda: torchvision_network("vgg19"), "torchvision/vgg19", None),
    "torchvision vgg19_bn": (lambda: torchvision_network("vgg19_bn"), "torchvision/vgg19_bn", None),
    "torchvision resnet34": (lambda: torchvision_network("resnet34"), "torchvision/resnet34", None),
    "torchvision resnet18": (lambda: torchvision_network("resnet18"), "torchvision/resnet18", None),
    "torchvision resnet50": (lambda: torchvision_network("resnet50"), "torchvision/resnet50", None),
}


# --- the comparison ---

def run(*arguments):
    done = subprocess.run([tinca, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def randomise(net):
    torch.manual_seed(3)
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, 0, 0.1)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1, 0.1)
            nn.init.normal_(module.bias, 0, 0.1)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)


def error(a, b):
    return float(np.abs(a - b).max() / max(1, np.abs(b).max()))


def write_image(path, channels, side):
    pixels = np.random.default_rng(2).integers(0, 256, (side, side, channels)).astype(np.uint8)
    chunk = lambda kind, part: struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2 if channels == 3 else 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))) + chunk(b"IEND", b""))
    return torch.tensor(pixels.transpose(2, 0, 1)[None] / 255.0)  # normalised as "unit"


def torch_logits(net, image):
    with torch.no_grad():
        return copy.deepcopy(net).double().eval()(image)[0].numpy()


def tinca_logits(model, picture):
    run("predict", model, picture, "--raw", folder + "/logits.npy", "--threads", "1")
    return np.load(folder + "/logits.npy").reshape(-1)


def side_of(network):
    text = open(network if network.endswith(".json") else f"{source}/networks/{network}.json").read()
    channels, side, _ = map(int, re.search(r'"input": \[(\d+), (\d+), (\d+)\]', text).groups())
    return channels, side


def compare(name, make, network, mapping):
    if "/" in network:
        network = f"{source}/networks/{network}.json"
    picture = folder + "/image.png"
    image = write_image(picture, *side_of(network))
    state, model, back = folder + "/state.safetensors", folder + "/model.safetensors", folder + "/back.safetensors"
    worst = {}
    for kind, dtype in KINDS.items():
        torch.manual_seed(0)
        net = make()
        randomise(net)
        net = net.to(dtype)
        save_file(net.state_dict(), state)
        said = run("import", state, "--network", network, "--normalise", "unit", "-o", model)
        # cifar-resnet knows both names of the shortcuts, and comes first
        found = "cifar-resnet" if mapping == "torchvision-resnet" else mapping
        if mapping and f"mapping {found}\n" not in said:
            raise RuntimeError(f"another mapping: {said}")
        want = torch_logits(net, image)
        worst[kind] = error(tinca_logits(model, picture), want)
        # the way back, into a network with other weights
        run("export", model, "--format", "torch", "-o", back, "--names", mapping or "network")
        other = make().to(dtype)
        other.load_state_dict(load_file(back), strict=True)
        if set(load_file(back)) != set(other.state_dict()):
            raise RuntimeError("other names: " + ", ".join(sorted(set(load_file(back)) ^ set(other.state_dict()))[:4]))
        worst[kind + " back"] = error(torch_logits(other, image), want)
        if kind != "float32":
            continue
        for half in ("float16", "bf16"):  # what rounding does
            run("export", model, "--format", "torch", "-o", back, "--names", mapping or "network", "--save-precision", half)
            if not any(value.dtype == KINDS[half] for value in load_file(back).values()):
                raise RuntimeError(f"no array of {half}")
            other = make()
            other.load_state_dict(load_file(back), strict=True)
            worst[half + " rounding"] = error(torch_logits(other, image), want)
    # of a half-precision VGG, mean minus bias is a new number, which PyTorch's network rounds again
    again = lambda key: mapping == "cifar-vgg" and key in ("float16 back", "bf16 back")
    bad = [key for key, value in worst.items()
           if not value <= (ROUNDING[key.split()[0]] if key.endswith("rounding") or again(key) else LIMIT)]
    figures = ", ".join(f"{key} {value:.1e}" for key, value in worst.items())
    print(f"{'not ok' if bad else 'ok'} {name}: {figures}", flush=True)


torch.set_num_threads(2)
for name, (make, network, mapping) in NETWORKS.items():
    if wanted and not any(name.startswith(word) for word in wanted):
        continue
    try:
        compare(name, make, network, mapping)
    except ImportError as missing:
        print(f"ok {name} # SKIP {missing}", flush=True)
    except Exception as problem:
        print(f"not ok {name}: {str(problem)[:300]!r}", flush=True)
