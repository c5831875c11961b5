#!/usr/bin/env python3
"""Counts the machine instructions in the main loop of each kernel of CUDA object files.

    machine_code.py PATTERN FILE...     PATTERN: a regular expression for names of kernels

The main loop is the smallest loop that contains most of the kernel's math instructions (HMMA,
HGMMA and FFMA) and loads from global memory. cuobjdump and c++filt must be in PATH. Printed are, for each architecture and kernel:
registers, bytes of shared memory and of the stack, instructions of the loop, and how many of them
are math, loads and stores of shared memory (LDSM: ldmatrix), asynchronous copies (LDGSTS, and UTMALDG
of the TMA), loads of global memory, with those of 128 bits in brackets, and loads and stores of spilled registers."""
import collections
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);")
MATH = ("HMMA", "HGMMA", "FFMA")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_resources(path):
    """Returns {(architecture, function): (registers, shared, stack)}."""
    found, architecture, name = {}, "", ""
    for line in run("cuobjdump", "-res-usage", path).splitlines():
        if match := re.search(r"arch = (sm_\w+)", line):
            architecture = match[1]
        elif match := re.search(r"Function (\w+):", line):
            name = match[1]
        elif match := re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)", line):
            found[architecture, name] = (match[1], match[3], match[2])
    return found


def read_functions(path):
    """Yields architecture, function and [(address, name, operands)]."""
    architecture, name, code = "", "", []
    for line in run("cuobjdump", "-sass", path).splitlines():
        if match := re.search(r"arch = (sm_\w+)", line):
            architecture = match[1]
        elif match := re.search(r"Function : (\w+)", line):
            if code:
                yield of, name, code
            of, name, code = architecture, match[1], []
        elif match := INSTRUCTION.match(line):
            code.append((int(match[1], 16), match[2], match[3]))
    if code:
        yield of, name, code


def is_math(instruction):
    return instruction[1].startswith(MATH)


def target(instruction):
    """Returns the address that a branch jumps to, or None."""
    match = re.search(r"(?:^|\s|\()0x([0-9a-f]+)\)?$", instruction[2].rstrip())
    return int(match[1], 16) if instruction[1].startswith("BRA") and match else None


def main_loop(code):
    """Returns the smallest loop that has at least half of the math of the function's largest one."""
    backward = [i for i in code if target(i) is not None and target(i) < i[0]]
    loops = [[i for i in code if target(last) <= i[0] <= last[0]] for last in backward]
    most = max((sum(map(is_math, loop)) for loop in loops), default=0)
    fit = [loop for loop in loops if most and sum(map(is_math, loop)) * 2 >= most]
    loading = [loop for loop in fit if any(i[1].startswith("LDG") for i in loop)]
    return min(loading or fit, key=len, default=[])


def describe(loop):
    names = collections.Counter(name.split(".")[0] for _, name, _ in loop)
    wide = sum("128" in name for _, name, _ in loop if name.startswith(("LDG.", "LDGSTS.")))
    math = sum(map(is_math, loop))
    return (f"{len(loop)} instructions, {math} math ({100 * math / max(1, len(loop)):.0f} %), "
            f"LDSM {names['LDSM']}, LDS {names['LDS']}, STS {names['STS']}, "
            f"LDGSTS {names['LDGSTS']}, UTMALDG {names['UTMALDG']}, LDG {names['LDG']} [{wide}], "
            f"spills {names['STL'] + names['LDL']}")


def main():
    pattern = re.compile(sys.argv[1])
    for path in sys.argv[2:]:
        resources = read_resources(path)
        for architecture, function, code in read_functions(path):
            name = run("c++filt", function).strip()
            if not pattern.search(name):
                continue
            registers, shared, stack = resources[architecture, function]
            loop = main_loop(code)
            print(f"{architecture} {name.split('(')[0] if '<' not in name else name.rsplit('>', 1)[0]}>: "
                  f"{registers} registers, shared {shared}, stack {stack}; "
                  + (describe(loop) if loop else "no loop with math"))


if __name__ == "__main__":
    main()
