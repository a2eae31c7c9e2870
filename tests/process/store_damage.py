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


def records(data, kind):
    """Where the records of a kind are: (position, length of the payload)."""
    head = bytes([ord("T"), 1, kind, 0])
    at = data.find(head)
    while at >= 0:
        length = struct.unpack_from("<I", data, at + 4)[0]
        if at + 16 + length <= len(data):
            yield at, length
        at = data.find(head, at + 1)


def change(file, kind, change_record):
    """Calls change_record(data, position, length) for each record; gives how many it changed."""
    data = bytearray(file.read_bytes())
    changed = sum(bool(change_record(data, at, length)) for at, length in records(data, kind))
    file.write_bytes(data)
    return changed


def make_newer(file):
    """The store as a troupe of the far future would have left it: whole, with another format."""
    key = b"\x00troupe"

    def raise_format(data, at, length):
        header, payload = bytes(data[at:at + 8]), bytes(data[at + 16:at + 16 + length])
        if struct.unpack_from("<Q", data, at + 8)[0] != checksum(header, key, payload):
            return False
        payload = b"\x63" + payload[1:]
        data[at + 16:at + 16 + length] = payload
        struct.pack_into("<Q", data, at + 8, checksum(header, key, payload))
        return True

    return change(file, META, raise_format)


def flip_checkpoints(file):
    """One bit of every checkpoint, as a bad disk would."""
    def flip(data, at, length):
        if length:
            data[at + 16 + length // 2] ^= 0x10
        return length > 0

    return change(file, CHECKPOINT, flip)
