"""A disk that a recorder (recorder.cpp) wrote down: what may be on it when the power goes.

A write is certain once its file was synced after it, or when it went through; a name once its
folder was. An uncertain write is there as a whole, in part by sectors, or not at all.
"""
import collections
import dataclasses
import os
import struct

NAME, WRITE, SYNCED, TRUNCATE, UNLINK, WRITE_THROUGH = range(6)
HEAD = struct.Struct("<IIQQ")
SECTOR = 512


def read_log(file):
    """(kind, inode, position, bytes) of each entry."""
    data, at = file.read_bytes(), 0
    while at < len(data):
        kind, size, inode, position = HEAD.unpack_from(data, at)
        at += HEAD.size
        yield kind, inode, position, data[at:at + size]
        at += size


@dataclasses.dataclass
class File:
    certain: bytearray = dataclasses.field(default_factory=bytearray)
    pending: list = dataclasses.field(default_factory=list)  # (kind, position, bytes)
    settled: int = 0  # changes that are certain

    def settle(self):
        for change in self.pending:
            self.settle_one(change)
        self.pending = []

    def settle_one(self, change):
        apply(self.certain, *change)
        self.settled += 1


def apply(image, kind, position, data):
    if kind == TRUNCATE:
        del image[position:]
        image.extend(bytes(position - len(image)))
        return
    image.extend(bytes(max(0, position + len(data) - len(image))))
    image[position:position + len(data)] = data


def torn(position, data, numbers):
    """The sectors of a write that made it, as writes."""
    first = position
    while first < position + len(data):
        end = min((first // SECTOR + 1) * SECTOR, position + len(data))
        if numbers.random() < 0.5:
            yield first, data[first - position:end - position]
        first = end


class Disk:
    """The recorded operations so far. `root` is a folder that was certain before."""

    def __init__(self, root):
        self.root = str(root)
        self.files = collections.defaultdict(File)
        self.names = {}          # certain: path -> inode
        self.pending_names = []  # (kind, path, inode, inode of the folder)

    def take(self, kind, inode, position, data):
        if kind in (NAME, UNLINK):
            self.pending_names.append((kind, os.fsdecode(data), inode, position))
        elif kind in (WRITE, TRUNCATE):
            self.files[inode].pending.append((kind, position, data))
        elif kind == WRITE_THROUGH:  # this one alone
            self.files[inode].settle_one(self.files[inode].pending.pop())
        else:
            self.files[inode].settle()
            for change in [c for c in self.pending_names if c[3] == inode]:
                self.rename(self.names, *change)
            self.pending_names = [c for c in self.pending_names if c[3] != inode]

    @staticmethod
    def rename(names, kind, path, inode, _):
        if kind == NAME:
            names[path] = inode
        else:
            names.pop(path, None)

    def pending(self):
        return sum(len(f.pending) for f in self.files.values()) + len(self.pending_names)

    def image(self, path, keeps, numbers=None):
        """The file as the power leaves it, or None when it is not there. `keeps`: "none" or "all" of
        what is pending, or "some", by chance."""
        names = dict(self.names) if self.pending_names else self.names
        for change in self.pending_names:
            if keeps == "all" or (keeps == "some" and numbers.random() < 0.5):
                self.rename(names, *change)
        folder = os.path.dirname(path)
        if path not in names or (folder != self.root and folder not in names):
            return None
        file = self.files[names[path]]
        changes = []
        for kind, position, data in file.pending:
            chance = numbers.randrange(3) if keeps == "some" else keeps == "all"
            if chance == 2 and kind == WRITE:
                changes += [(WRITE, *part) for part in torn(position, data, numbers)]
            elif chance:
                changes.append((kind, position, data))
        return Image(file, changes)


class Image:
    """A file, and the changes that reached it after what is certain."""

    def __init__(self, file, changes):
        self.file, self.changes = file, changes

    def key(self):
        """Equal for images of equal bytes, as far as that is seen without making them."""
        return self.file.settled, tuple(self.changes)

    def bytes(self):
        image = bytearray(self.file.certain)
        for change in self.changes:
            apply(image, *change)
        return image
