"""The states in which a power cut may leave a disk, from a log of faults.so (record.h).

The log has every write, cut, sync, rename and unlink. At any point of it the disk may hold any state in
which
  - what a sync has confirmed is there;
  - of a file's later writes and cuts, each block of 512 bytes is there, old (zeros behind the old end),
    or torn in its middle, and the size is the old one, the new one or one between;
  - of a folder's later changes (a name made, renamed, removed) any subset is there, in any order: each
    of them as a whole. A rename into another folder is confirmed with that folder.
A sync that failed has confirmed nothing, and what it was about is lost although the program could still
read it."""
import os

BLOCK = 512
ROOT = 0


def read_log(path):
    """The operations as tuples, paths relative to the root."""
    with open(path, "rb") as file:
        data = file.read()
    at, operations = 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        words = data[at:end].decode().split(" ")
        at = end + 1
        kind = words[0]
        if kind in ("write", "content"):
            offset = int(words[2]) if kind == "write" else 0
            length = int(words[-1])
            operations.append((kind, words[1], offset, data[at:at + length]))
            at += length
        elif kind == "rename":
            end = data.index(b"\n", at)
            operations.append((kind, words[1], data[at:end].decode().strip()))
            at = end + 1
        elif kind == "cut":
            operations.append((kind, words[1], int(words[2])))
        else:
            operations.append((kind, words[1] if len(words) > 1 else ""))
    return operations


def changed(content, change):
    """A file's bytes after a write (offset, bytes) or a cut (size)."""
    if isinstance(change, int):
        return content[:change].ljust(change, b"\0")
    offset, data = change
    content = content.ljust(offset, b"\0")
    return content[:offset] + data + content[offset + len(data):]


def change_tree(tree, change):
    """Applies a change of names, a list of (folder, name, number; None: the name is removed)."""
    for folder, name, number in change:
        entries = tree.setdefault(folder, {})
        if number is None:
            entries.pop(name, None)
        else:
            entries[name] = number


class Disk:
    """What is confirmed, and what is not, after a part of the log. Files and folders have numbers."""

    def __init__(self):
        self.confirmed = {}  # file -> bytes
        self.waiting = {}    # file -> changes since
        self.seen = {}       # file -> bytes as the program reads them
        self.tree = {ROOT: {}}       # folder -> {name: number}, as the program sees them
        self.tree_kept = {ROOT: {}}  # the same, confirmed
        self.names_waiting = []      # (folder whose sync confirms it, change)
        self.next = 1

    def copy(self):
        other = Disk()
        for key in ("confirmed", "waiting", "seen"):
            setattr(other, key, dict(getattr(self, key)))
        other.tree = {folder: dict(names) for folder, names in self.tree.items()}
        other.tree_kept = {folder: dict(names) for folder, names in self.tree_kept.items()}
        other.names_waiting = list(self.names_waiting)
        other.next = self.next
        return other

    def load(self, root):
        """Takes what is in a folder as confirmed."""
        for folder, folders, files in os.walk(root):
            inside = os.path.relpath(folder, root)
            number = ROOT if inside == "." else self.find(inside)
            for name in folders + files:
                change_tree(self.tree, [(number, name, self.next)])
                change_tree(self.tree_kept, [(number, name, self.next)])
                if name in folders:
                    self.tree[self.next] = {}
                    self.tree_kept[self.next] = {}
                else:
                    with open(os.path.join(folder, name), "rb") as file:
                        self.seen[self.next] = self.confirmed[self.next] = file.read()
                    self.waiting[self.next] = []
                self.next += 1
        return self

    def find(self, path, tree=None):
        """The number of a path; None: there is no such file."""
        number = ROOT
        for name in path.split("/") if path else []:
            number = (tree or self.tree).get(number, {}).get(name)
            if number is None:
                return None
        return number

    def is_kept(self, path):
        """Whether a sync has confirmed the path's name."""
        return self.find(path, self.tree_kept) is not None

    def place(self, path):
        return self.find(os.path.dirname(path)), os.path.basename(path)

    def change_file(self, path, change):
        number = self.find(path)
        if number in self.seen:
            self.seen[number] = changed(self.seen[number], change)
            self.waiting[number] = self.waiting[number] + [change]

    def change_names(self, folder, *change):
        change_tree(self.tree, change)
        self.names_waiting.append((folder, change))

    def take(self, operation):
        kind, path = operation[:2]
        number, (folder, name) = self.find(path), self.place(path)
        if kind in ("create", "mkdir") and folder is not None:
            if kind == "mkdir":
                self.tree[self.next] = {}
            else:
                self.seen[self.next] = self.confirmed[self.next] = b""
                self.waiting[self.next] = []
            self.change_names(folder, (folder, name, self.next))
            self.next += 1
        elif kind == "write":
            self.change_file(path, operation[2:])
        elif kind == "content" and number in self.seen:
            if operation[3] != self.seen[number]:
                self.change_file(path, len(operation[3]))
                self.change_file(path, (0, operation[3]))
        elif kind == "cut":
            self.change_file(path, operation[2])
        elif kind == "sync" and number in self.seen:
            for change in self.waiting[number]:
                self.confirmed[number] = changed(self.confirmed[number], change)
            self.waiting[number] = []
        elif kind == "failed" and number in self.seen:
            self.waiting[number] = []
        elif kind == "folder" and number is not None:
            for waiting, change in self.names_waiting:
                if waiting == number:
                    change_tree(self.tree_kept, change)
            self.names_waiting = [one for one in self.names_waiting if one[0] != number]
        elif kind == "rename" and number is not None:
            target, new = self.place(operation[2])
            self.change_names(target, (folder, name, None), (target, new, number))
        elif kind == "unlink" and number is not None:
            self.change_names(folder, (folder, name, None))


# --- a state that the disk may hold ---

def pick_names(disk, how, draw):
    tree = {folder: dict(names) for folder, names in disk.tree_kept.items()}
    waiting = [change for _, change in disk.names_waiting]
    if how == "none":
        waiting = []
    elif how == "first":
        waiting = waiting[:draw.randint(0, len(waiting))]
    elif how == "some":
        waiting = [change for change in waiting if draw.random() < 0.5]
        draw.shuffle(waiting)
    for change in waiting:
        removed = [(folder, name) for folder, name, number in change if number is None]
        if len(change) == 2 and tree.get(removed[0][0], {}).get(removed[0][1]) != change[1][2]:
            change = change[1:] # the old name is gone, or another file's, already
        change_tree(tree, change)
    return tree


def pick_content(disk, number, how, draw):
    old = new = disk.confirmed[number]
    waiting = disk.waiting[number]
    if how == "none" or not waiting:
        return old
    if how == "first":
        waiting = waiting[:draw.randint(0, len(waiting))]
    for change in waiting:
        new = changed(new, change)
    if how in ("all", "first"):
        return new
    size = draw.choice([len(old), len(new), draw.randint(*sorted((len(old), len(new))))])
    if how == "zeros":
        return old.ljust(len(new), b"\0")
    if how == "short":
        return new[:size]
    content = bytearray()
    for start in range(0, size, BLOCK):
        here = min(BLOCK, size - start)
        blocks = [side[start:start + here].ljust(here, b"\0") for side in (old, new)]
        at = draw.choice([0, here, here, draw.randint(0, here)])
        content += blocks[1][:at] + blocks[0][at:]
    return bytes(content)


def build(disk, how_names, how_data, draw, leaves_out=lambda path: False):
    """The state as {path: bytes}; None for a folder."""
    state, tree = {}, pick_names(disk, how_names, draw)

    def walk(folder, inside, above):
        for name, number in sorted(tree.get(folder, {}).items()):
            path = inside + name
            if leaves_out(path) or number in above:
                continue
            if number in disk.seen:
                state[path] = pick_content(disk, number, how_data, draw)
            else:
                state[path] = None
                walk(number, path + "/", above | {number})

    walk(ROOT, "", {ROOT})
    return state


def write_state(state, root):
    for path, data in state.items(): # folders come before what is in them
        if data is None:
            os.mkdir(os.path.join(root, path), 0o700)
        else:
            with open(os.path.join(root, path), "wb") as file:
                file.write(data)


# Combinations of names and data that are tried first: everything, nothing, and what breaks most.
SYSTEMATIC = [("none", "none"), ("all", "all"), ("all", "none"), ("none", "all"), ("all", "zeros"),
              ("some", "none"), ("some", "all")]
NAMES = ["none", "all", "first", "some", "some"]
DATA = ["none", "all", "first", "zeros", "short", "blocks", "blocks"]
