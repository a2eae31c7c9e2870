"""A disk that a recorder (recorder.cpp) wrote down: what may be on it when the power goes.

A write is certain once its file was synced behind it, or when it went through; a name once its
folder was. What is not certain is there as a whole, in part by sectors, or not at all.
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

    def settle(self):
        for change in self.pending:
            apply(self.certain, *change)
        self.pending = []


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
    """What was recorded so far. `root` is a folder that was certain before."""

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
            apply(self.files[inode].certain, *self.files[inode].pending.pop())
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
        """The file's bytes, or None when it is not there. `keeps`: "none" or "all" of what is
        pending, or "some", by chance."""
        names = dict(self.names)
        for change in self.pending_names:
            if keeps == "all" or (keeps == "some" and numbers.random() < 0.5):
                self.rename(names, *change)
        folder = os.path.dirname(path)
        if path not in names or (folder != self.root and folder not in names):
            return None
        file = self.files[names[path]]
        image = bytearray(file.certain)
        for kind, position, data in file.pending:
            chance = numbers.randrange(3) if keeps == "some" else keeps == "all"
            if chance == 2 and kind == WRITE:
                for part in torn(position, data, numbers):
                    apply(image, WRITE, *part)
            elif chance:
                apply(image, kind, position, data)
        return image
