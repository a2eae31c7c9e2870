"""Changes to a data directory's file that no troupe would make, for tests of bad input.

Records are found by their header: "T", format, kind, flags, length, checksum (persistence/FORMAT.md).
"""
import ctypes
import ctypes.util
import struct

META, CHECKPOINT = 1, 5


def checksum(header, key, payload):
    xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    hash_of = xxhash.XXH3_64bits_withSeed
    hash_of.restype = ctypes.c_uint64
    hash_of.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    out = hash_of(header, len(header), len(key))
    out = hash_of(key, len(key), out)
    return hash_of(payload, len(payload), out)


def key_before(data, at, size):
    """The key of the value of `size` bytes at a position: in a leaf of LMDB it stands right before
    its value, after the value's size (two halves), flags and its own size. None without such a
    node."""
    for length in range(1, min(511, at - 8) + 1):
        low, high, _, key_size = struct.unpack_from("<HHHH", data, at - length - 8)
        if key_size == length and low | high << 16 == size:
            return bytes(data[at - length:at])
    return None


def records(data, kind):
    """Where the whole records of a kind are: (position, length of the payload, key).

    The remains of an old record in a reused page do not count: their bytes may be the page's own.
    """
    head = bytes([ord("T"), 1, kind, 0])
    at = data.find(head)
    while at >= 0:
        length = struct.unpack_from("<I", data, at + 4)[0]
        key = key_before(data, at, 16 + length) if at + 16 + length <= len(data) else None
        stored = bytes(data[at:at + 16 + length])
        if key is not None and struct.unpack_from("<Q", stored, 8)[0] == checksum(stored[:8], key, stored[16:]):
            yield at, length, key
        at = data.find(head, at + 1)


def change(file, kind, change_record):
    """Calls change_record(data, position, length, key) for each whole record; gives how many there were."""
    data = bytearray(file.read_bytes())
    found = list(records(data, kind))
    for record in found:
        change_record(data, *record)
    file.write_bytes(data)
    return len(found)


def make_newer(file):
    """The store as a troupe of the far future would have left it: whole, with another format."""
    def raise_format(data, at, length, key):
        header, payload = bytes(data[at:at + 8]), b"\x63" + bytes(data[at + 17:at + 16 + length])
        data[at + 16:at + 16 + length] = payload
        struct.pack_into("<Q", data, at + 8, checksum(header, key, payload))

    return change(file, META, raise_format)


def flip_checkpoints(file):
    """One bit of every checkpoint, as a bad disk would."""
    def flip(data, at, length, _):
        data[at + 16 + length // 2] ^= 0x10

    return change(file, CHECKPOINT, flip)
