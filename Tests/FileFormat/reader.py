"""Reads the objects of a Motte file, plain or encrypted, by docs/FILE_FORMAT.md and nothing else.

Slow and simple: it exists to show that the document suffices. Every checksum that the document names is compared.
    python3 reader.py FILE [KEY FILE]
"""
from __future__ import annotations

import ctypes
import decimal
import hmac
import json
import math
import os
import struct
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

MASK = (1 << 64) - 1
BOOL, INT, FLOAT, DOUBLE, STRING, DATA, TIMESTAMP, LINK, DECIMAL, OBJECT_ID, UUID, LIST, MAP, MIXED = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)


class FormatError(Exception):
    """The file is not what the document says."""


def need(condition: bool, what: str) -> None:
    if not condition:
        raise FormatError(what)


# ------------------------------------------------------------------------------------------------ checksums


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(*parts: bytes) -> int:
    value = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            value = value >> 8 ^ _CRC[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
_PRIME32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def _words(run: bytes, at: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}Q", run, at)


def _fold(left: int, right: int) -> int:
    product = left * right
    return product & MASK ^ product >> 64


def _avalanche(value: int) -> int:
    value = ((value ^ value >> 37) * 0x165667919E3779F9) & MASK
    return value ^ value >> 32


def _avalanche_xxh64(value: int) -> int:
    value = ((value ^ value >> 33) * _PRIME64[1]) & MASK
    value = ((value ^ value >> 29) * _PRIME64[2]) & MASK
    return value ^ value >> 32


def _mix(run: bytes, at: int, secret: int) -> int:
    (low, high), (key_low, key_high) = _words(run, at, 2), _words(_SECRET, secret, 2)
    return _fold(low ^ key_low, high ^ key_high)


def xxh3(run: bytes) -> int:
    """XXH3-64 without a seed, by the specification of xxHash."""
    count = len(run)
    if count > 240:
        return _xxh3_large(run)
    if count > 128:
        total = count * _PRIME64[0] + sum(_mix(run, 16 * index, 16 * index) for index in range(8))
        total = _avalanche(total & MASK)
        total += sum(_mix(run, 16 * index, 16 * index - 125) for index in range(8, count >> 4))
        return _avalanche(total + _mix(run, count - 16, 119) & MASK)
    if count > 16:
        total = count * _PRIME64[0]
        for index in range(((count - 1) >> 5) + 1):
            total += _mix(run, 16 * index, 32 * index) + _mix(run, count - 16 * index - 16, 32 * index + 16)
        return _avalanche(total & MASK)
    if count > 8:
        key = _words(_SECRET, 24, 4)
        low = _words(run, 0, 1)[0] ^ key[0] ^ key[1]
        high = _words(run, count - 8, 1)[0] ^ key[2] ^ key[3]
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(count + swapped + high + _fold(low, high) & MASK)
    if count > 3:
        first, last = struct.unpack_from("<I", run)[0], struct.unpack_from("<I", run, count - 4)[0]
        key = _words(_SECRET, 8, 2)
        value = key[0] ^ key[1] ^ (last | first << 32)
        value ^= (value << 49 | value >> 15) & MASK ^ (value << 24 | value >> 40) & MASK
        value = (value * 0x9FB21C651E98DF25) & MASK
        value = ((value ^ (value >> 35) + count) * 0x9FB21C651E98DF25) & MASK
        return value ^ value >> 28
    if count > 0:
        combined = run[-1] | count << 8 | run[0] << 16 | run[count >> 1] << 24
        halves = struct.unpack_from("<II", _SECRET)
        return _avalanche_xxh64(halves[0] ^ halves[1] ^ combined)
    key = _words(_SECRET, 56, 2)
    return _avalanche_xxh64(key[0] ^ key[1])


def _xxh3_large(run: bytes) -> int:
    lanes = [_PRIME32[2], *_PRIME64[:4], _PRIME32[1], _PRIME64[4], _PRIME32[0]]

    def accumulate(at: int, secret: int) -> None:
        for lane, (value, key) in enumerate(zip(_words(run, at, 8), _words(_SECRET, secret, 8))):
            keyed = value ^ key
            lanes[lane ^ 1] += value
            lanes[lane] += (keyed & 0xFFFFFFFF) * (keyed >> 32)

    blocks = (len(run) - 1) // 1024
    for block in range(blocks):
        for stripe in range(16):
            accumulate(1024 * block + 64 * stripe, 8 * stripe)
        for lane, key in enumerate(_words(_SECRET, 128, 8)):
            value = lanes[lane] & MASK
            lanes[lane] = (value ^ value >> 47 ^ key) * _PRIME32[0] & MASK
    for stripe in range((len(run) - 1) % 1024 // 64):
        accumulate(1024 * blocks + 64 * stripe, 8 * stripe)
    accumulate(len(run) - 64, 121)
    total = len(run) * _PRIME64[0]
    for pair in range(4):
        low, high = _words(_SECRET, 11 + 16 * pair, 2)
        total += _fold(lanes[2 * pair] & MASK ^ low, lanes[2 * pair + 1] & MASK ^ high)
    return _avalanche(total & MASK)


# ------------------------------------------------------------------------------------------------ encryption


class Cipher:
    """XAES-256-GCM as https://c2sp.org/XAES-256-GCM has it, over libcrypto."""

    GET_TAG, SET_TAG = 0x10, 0x11

    def __init__(self, key: bytes, salt: bytes, head: bytes, check: bytes) -> None:
        start = hmac.digest(salt, key, "sha256")
        keys, last = b"", b""
        for number in (1, 2):
            last = hmac.digest(start, last + b"motte page encryption" + bytes([number]), "sha256")
            keys += last
        self.salt = salt
        need(hmac.compare_digest(hmac.digest(keys[32:], head, "sha256"), check), "the key is another one")
        self._ready(keys[:32])

    @classmethod
    def of(cls, key: bytes) -> Cipher:
        """For what else is encrypted so, by that very key."""
        cipher = cls.__new__(cls)
        cipher._ready(key)
        return cipher

    def _ready(self, key: bytes) -> None:
        self.encryption = key
        self.crypto = ctypes.CDLL("libcrypto.so.3")
        for name in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm", "EVP_aes_256_ecb"):
            getattr(self.crypto, name).restype = ctypes.c_void_p
        doubled = int.from_bytes(self._block(bytes(16)), "big") << 1
        self.subkey = (doubled & (1 << 128) - 1) ^ (0x87 if doubled >> 128 else 0)

    def _block(self, block: bytes) -> bytes:
        context = ctypes.c_void_p(self.crypto.EVP_CIPHER_CTX_new())
        out, count = ctypes.create_string_buffer(32), ctypes.c_int()
        mode = ctypes.c_void_p(self.crypto.EVP_aes_256_ecb())
        self.crypto.EVP_EncryptInit_ex(context, mode, None, self.encryption, None)
        self.crypto.EVP_EncryptUpdate(context, out, ctypes.byref(count), block, 16)
        self.crypto.EVP_CIPHER_CTX_free(context)
        return out.raw[:16]

    def _unit_key(self, nonce: bytes) -> bytes:
        key = b""
        for number in (1, 2):
            message = int.from_bytes(bytes([0, number, 0x58, 0]) + nonce[:12], "big")
            key += self._block((message ^ self.subkey).to_bytes(16, "big"))
        return key

    def _run(self, nonce: bytes, data: bytes, text: bytes, tag: Optional[bytes]) -> tuple[bytes, bytes, bool]:
        """Encrypts, or decrypts what has a tag. Output, tag, and whether the tag was right."""
        context = ctypes.c_void_p(self.crypto.EVP_CIPHER_CTX_new())
        out, rest, count = ctypes.create_string_buffer(len(text) + 16), ctypes.create_string_buffer(16), ctypes.c_int()
        mode, is_sealing = ctypes.c_void_p(self.crypto.EVP_aes_256_gcm()), int(tag is None)
        self.crypto.EVP_CipherInit_ex(context, mode, None, self._unit_key(nonce), nonce[12:], is_sealing)
        self.crypto.EVP_CipherUpdate(context, None, ctypes.byref(count), data, len(data))
        self.crypto.EVP_CipherUpdate(context, out, ctypes.byref(count), text, len(text))
        if tag is not None:
            self.crypto.EVP_CIPHER_CTX_ctrl(context, self.SET_TAG, 16, tag)
        is_right = self.crypto.EVP_CipherFinal_ex(context, rest, ctypes.byref(count)) > 0
        made = ctypes.create_string_buffer(16)
        if tag is None:
            self.crypto.EVP_CIPHER_CTX_ctrl(context, self.GET_TAG, 16, made)
        self.crypto.EVP_CIPHER_CTX_free(context)
        return out.raw[:len(text)], made.raw, is_right

    @staticmethod
    def _data(kind: int, page: int, birth: int, byte_count: int, clear: bytes) -> bytes:
        return struct.pack("<4Q", kind, page, birth, byte_count) + clear

    def open(self, kind: int, page: int, birth: int, byte_count: int, unit: bytes, clear: bytes = b"") -> bytes:
        """The plain bytes of a unit, zeros where its trailer was."""
        random, tag = unit[-32:-16], unit[-16:]
        data = self._data(kind, page, birth, byte_count, clear)
        plain, _, is_right = self._run(struct.pack("<Q", page) + random, data, unit[:-32], tag)
        need(is_right, f"page {page} is not what was encrypted there")
        return plain + bytes(32)

    def seal(self, kind: int, page: int, birth: int, byte_count: int, plain: bytes, clear: bytes = b"") -> bytes:
        """The unit of these bytes, with its trailer."""
        random = os.urandom(16)
        data = self._data(kind, page, birth, byte_count, clear)
        sealed, tag, _ = self._run(struct.pack("<Q", page) + random, data, plain, None)
        return sealed + random + tag


# ------------------------------------------------------------------------------------------------ pages


class Reference(NamedTuple):
    checksum: int
    page: int
    birth: int
    byte_count: int

    @staticmethod
    def read(run: bytes, offset: int) -> Reference:
        checksum, places, count = run[offset:offset + 8], run[offset + 8:offset + 20], run[offset + 20:offset + 24]
        return Reference(int.from_bytes(checksum, "little"), int.from_bytes(places[:6], "little"),
                         int.from_bytes(places[6:], "little"), int.from_bytes(count, "little"))


class WAL(NamedTuple):
    """The part of a root slot that says where small commits on top of it are."""

    page: int
    birth: int
    pages: int
    salt: int
    sealed: int
    sealed_checksum: int


class Slot(NamedTuple):
    version: int
    sequence: int
    durable: int
    level: int
    tree: Reference
    wal: Optional[WAL]


class Pages:
    """The keys and values of the newest whole version."""

    def __init__(self, path: str, key: Optional[bytes] = None) -> None:
        with open(path, "rb") as file:
            self.file = file.read()
        head = self.file[:136]
        need(head[:8] == b"MOTTEDB\0" and len(head) == 136, "this is no Motte file")
        major, minor, self.page_bytes, cipher, zero = struct.unpack_from("<HHIII", head, 8)
        need((major, minor) == (0, 1), f"format {major}.{minor}")
        need(xxh3(head[:128]) == struct.unpack_from("<Q", head, 128)[0], "the head is damaged")
        need(cipher <= 1 and zero == 0 and not any(head[40:64 if cipher else 128]), "the head has something unknown")
        self.cipher = None
        if cipher == 1:
            need(key is not None, "the file is encrypted")
            self.cipher = Cipher(key or b"", head[64:96], head[:96], head[96:128])
        else:
            need(key is None, "the file is not encrypted")
        self.slot = self._choose()
        self.entries = dict(self._walk(self.slot.tree, self.slot.level)) if self.slot.tree.page else {}
        # Of the root and of the records behind it.
        self.version = self.slot.version
        # The newest version that the WAL has something of, if that is not whole.
        self.broken_version: Optional[int] = None
        if self.slot.wal:
            self._apply(self.slot.wal)

    def _pages(self, page: int, count: int) -> bytes:
        run = self.file[page * self.page_bytes:(page + count) * self.page_bytes]
        need(len(run) == count * self.page_bytes, f"the file ends before page {page + count}")
        return run

    def _slots(self) -> Iterator[Slot]:
        for page in (1, 2, 3):
            run = self._pages(page, 1)
            if run[8:12] != b"MTRT" or xxh3(run[8:]) != struct.unpack_from("<Q", run)[0]:
                continue
            if self.cipher:
                # Between what stays legible and the salt; the trailer comes behind that.
                try:
                    run = run[:32] + self.cipher.open(1, page, 0, 0, run[32:-64] + run[-32:], run[8:32]) + bytes(32)
                except FormatError:
                    continue
            version, durable = struct.unpack_from("<QQ", run, 16)
            yield Slot(version, struct.unpack_from("<Q", run, 144)[0], durable,
                       struct.unpack_from("<H", run, 12)[0], Reference.read(run, 40), self._wal(run))

    def _wal(self, run: bytes) -> Optional[WAL]:
        size = struct.unpack_from("<I", run, 156)[0]
        need(size in (0, 48), "a root slot has a part that is not known")
        if size == 0:
            return None
        page, birth, pages, zero, salt, sealed, checksum = struct.unpack_from("<QQIIQQQ", run, 160)
        need(zero == 0 and 1 <= pages <= 16_384, "a root slot says something unknown of its WAL")
        return WAL(page, birth, pages, salt, sealed, checksum)

    def _apply(self, wal: WAL) -> None:
        """Changes the entries by the records that are whole."""
        before = self.slot.version
        if wal.sealed == self.version:
            need(before == wal.sealed_checksum, "the WAL is not the one that was sealed")
        page, end = wal.page, wal.page + wal.pages
        while record := self._record(wal, page, end, before):
            self._change(record)
            before, self.version = struct.unpack_from("<Q8xQ", record)
            if wal.sealed == self.version:
                need(before == wal.sealed_checksum, "the WAL is not the one that was sealed")
            page += -(-(len(record) + 16) // self.page_bytes)
        need(wal.sealed <= self.version, f"the WAL is sealed at {wal.sealed} and ends at {self.version}")
        for behind in range(page, end):
            run = self._pages(behind, 1)
            ends = [struct.unpack_from("<QQ", run, self.page_bytes - 16)]
            if run[8:12] == b"MTJR":
                ends.append((struct.unpack_from("<Q", run, 24)[0], struct.unpack_from("<Q", run, 16)[0]))
            for salt, version in ends:
                if salt == wal.salt and version > max(self.version, self.broken_version or 0):
                    self.broken_version = version

    def _record(self, wal: WAL, page: int, end: int, before: int) -> Optional[bytes]:
        if page >= end:
            return None
        checksum, magic, size, version, salt, chain = struct.unpack_from("<Q4sIQQQ", self._pages(page, 1))
        count = -(-(size + 16) // self.page_bytes)
        if magic != b"MTJR" or salt != wal.salt or size < 48 or page + count > end:
            return None
        run = self._pages(page, count)
        if xxh3(run[8:size]) != checksum or version <= self.version or chain != before:
            return None
        if self.cipher:
            need(size == len(run) - 16, "an encrypted record that does not fill its pages")
            try:
                return run[:40] + self.cipher.open(4, page, version, size, run[40:size], run[8:40])
            except FormatError:
                return None
        return run[:size]

    def _change(self, record: bytes) -> None:
        count, zero = struct.unpack_from("<II", record, 40)
        need(zero == 0, "a record of the WAL says something unknown")
        at, last = 48, b""
        for _ in range(count):
            key_bytes, is_deletion, value_bytes = struct.unpack_from("<HHI", record, at)
            end = at + 8 + key_bytes + value_bytes
            key, value = record[at + 8:at + 8 + key_bytes], record[at + 8 + key_bytes:end]
            at = end + -end % 8
            need(key > last and at <= len(record) and not any(record[end:at]), "a record's entries are out of order")
            need(is_deletion <= 1 and not (is_deletion and value), "a record has an entry of another kind")
            last = key
            if is_deletion:
                self.entries.pop(key, None)
            else:
                self.entries[key] = value
        need(not any(record[at:]), "a record is longer than its entries")

    def _choose(self) -> Slot:
        for slot in sorted(self._slots(), key=lambda slot: (slot.version, slot.sequence), reverse=True):
            if slot.durable == slot.version:
                return slot
            try:
                # More than is asked for: everything it reaches, not only what is younger than its durable version.
                list(self._walk(slot.tree, slot.level))
                return slot
            except FormatError:
                continue
        raise FormatError("no root is whole")

    def _node(self, reference: Reference, level: int) -> bytes:
        run = self._pages(reference.page, 1)
        if self.cipher:
            run = self.cipher.open(2, reference.page, 0, 0, run)
        checksum, magic, found, _, page, birth = struct.unpack_from("<Q4sHHQQ", run)
        need(magic == b"MTND" and found == level and page == reference.page and birth == reference.birth
             and checksum == reference.checksum == xxh3(run[8:]), f"page {reference.page} is not that node")
        return run

    def _extent(self, reference: Reference) -> bytes:
        trailer = 32 if self.cipher else 0
        run = self._pages(reference.page, -(-(reference.byte_count + trailer) // self.page_bytes))
        if self.cipher:
            run = self.cipher.open(3, reference.page, reference.birth, reference.byte_count, run)
        value = run[:reference.byte_count]
        need(xxh3(value) == reference.checksum, f"page {reference.page} is not that value")
        return value

    def _walk(self, reference: Reference, level: int) -> Iterator[tuple[bytes, bytes]]:
        run = self._node(reference, level)
        for index in range(struct.unpack_from("<H", run, 14)[0]):
            start = struct.unpack_from("<H", run, 32 + 2 * index)[0]
            key_bytes, value_bytes = struct.unpack_from("<HH", run, start)
            key = run[start + 4:start + 4 + key_bytes]
            behind = start + 4 + key_bytes
            if level > 0:
                yield from self._walk(Reference.read(run, behind), level - 1)
            elif value_bytes == 0xFFFF:
                yield key, self._extent(Reference.read(run, behind))
            else:
                yield key, run[behind:behind + value_bytes]


# ------------------------------------------------------------------------------------------------ values


def decimal128(raw: bytes) -> decimal.Decimal:
    """IEEE 754 decimal128 in the binary integer encoding, little-endian."""
    bits = int.from_bytes(raw, "little")
    sign, combination = bits >> 127, bits >> 122 & 0x1F
    if combination == 0x1F:
        return decimal.Decimal("NaN")
    if combination == 0x1E:
        return decimal.Decimal("-Infinity" if sign else "Infinity")
    if combination >> 3 == 3:
        # Coefficients this large are not canonical and count as zero.
        exponent, coefficient = bits >> 111 & 0x3FFF, 0
    else:
        exponent, coefficient = bits >> 113 & 0x3FFF, bits & (1 << 113) - 1
    digits = tuple(int(digit) for digit in str(coefficient))
    return decimal.Decimal((sign, digits if len(digits) <= 34 else (0,), exponent - 6176))


def payload(kind: int, raw: bytes) -> Any:
    """A value of a nested document, or of a mixed property."""
    if kind == 0:
        return None
    if kind in (LIST, MAP):
        return document(raw)
    if kind == LINK:
        return struct.unpack("<Iq", raw)
    simple = {BOOL: lambda: raw[0] != 0, INT: lambda: struct.unpack("<q", raw)[0],
              FLOAT: lambda: struct.unpack("<f", raw)[0], DOUBLE: lambda: struct.unpack("<d", raw)[0],
              TIMESTAMP: lambda: struct.unpack("<qI", raw)}
    return simple[kind]() if kind in simple else plain(kind, raw)


def plain(kind: int, raw: bytes) -> Any:
    if kind == STRING:
        return raw.decode()
    if kind == DECIMAL:
        return decimal128(raw)
    if kind == UUID:
        return uuid.UUID(bytes=raw)
    if kind == MIXED:
        return payload(raw[0], raw[1:])
    return raw.hex() if kind == OBJECT_ID else raw


def document(raw: bytes) -> Any:
    kind, count = raw[0], struct.unpack_from("<I", raw, 4)[0]
    ends = struct.unpack_from(f"<{count}I", raw, 8)
    first = 8 + 4 * count
    entries = [raw[first + start:first + end] for start, end in zip((0, *ends), ends)]
    if kind == LIST:
        return [payload(entry[0], entry[1:]) for entry in entries]
    result = {}
    for entry in entries:
        size = struct.unpack_from("<I", entry)[0]
        result[entry[4:4 + size].decode()] = payload(entry[4 + size], entry[5 + size:])
    return result


def bits(run: bytes, count: int) -> list[bool]:
    return [run[index >> 3] >> (index & 7) & 1 == 1 for index in range(count)]


def numbers(run: bytes, width: int, count: int) -> list[int]:
    if width == 0:
        return [0] * count
    return [int.from_bytes(run[index * width:(index + 1) * width], "little") for index in range(count)]


def wrapped(value: int) -> int:
    return (value + (1 << 63) & MASK) - (1 << 63)


def texts(run: bytes, width: int, count: int) -> list[bytes]:
    offsets = numbers(run[count:], width, count + 1)
    heap = run[count + width * (count + 1):]
    return [heap[start:end] for start, end in zip(offsets, offsets[1:])]


# The bytes that a reference of 24 leads to.
LongValues = Callable[[bytes], bytes]


def chunk(raw: bytes, page_key: bytes, long: LongValues) -> tuple[int, list[Any]]:
    """Kind and values; of lists the values are lists, or a number of elements for those in blocks of their own."""
    kind, encoding, width, flags, rows, size, crc = struct.unpack_from("<BBBBIII", raw)
    run = raw[16:16 + size]
    need(crc32c(raw[:12], run, page_key) == crc, f"a chunk under {page_key.hex()} is damaged")
    if kind & 0x40:
        return kind, lists(run, width or 4, rows, page_key, long)
    valid = [True] * rows
    if flags & 1:
        valid = bits(run, rows)
        run = run[(rows + 63) // 64 * 8:]
    apart = [False] * rows
    if flags & 4:
        need(kind in (STRING, DATA, MIXED) and encoding == 0, "long values where none can be")
        apart = bits(run, rows)
        run = run[(rows + 63) // 64 * 8:]
    values: list[Any]
    if kind == BOOL:
        values = bits(run, rows)
    elif kind in (INT, LINK, TIMESTAMP):
        reference = struct.unpack_from("<q", run)[0]
        values = [wrapped(reference + number) for number in numbers(run[8:], width, rows)]
        if kind == TIMESTAMP:
            parts = numbers(run[8 + width * rows:], 4, rows) if flags & 2 else [0] * rows
            values = list(zip(values, parts))
    elif kind == FLOAT:
        values = list(struct.unpack_from(f"<{rows}f", run))
    elif kind == DOUBLE:
        values = list(struct.unpack_from(f"<{rows}d", run))
    elif encoding == 0:
        found = [long(text) if is_apart else text for text, is_apart in zip(texts(run, width, rows), apart)]
        values = [plain(kind, text) if is_there else None for text, is_there in zip(found, valid)]
    else:
        codes = numbers(run, width, rows)
        run = run[(rows * width + 7) // 8 * 8:]
        distinct, offset_width = struct.unpack_from("<II", run)
        words = texts(run[8:], offset_width, distinct)
        values = [plain(kind, words[code]) if is_there else None for code, is_there in zip(codes, valid)]
    return kind, [value if is_there else None for value, is_there in zip(values, valid)]


class Long(NamedTuple):
    """A list that lies in blocks of its own."""

    count: int


def lists(run: bytes, width: int, rows: int, page_key: bytes, long: LongValues) -> list[Any]:
    lengths = numbers(run, width, rows)
    _, elements = chunk(run[(rows * width + 7) // 8 * 8:], page_key, long)
    result: list[Any] = []
    first = 0
    for length in lengths:
        if length >> 31:
            result.append(Long(length & 0x7FFFFFFF))
            continue
        result.append(elements[first:first + length])
        first += length
    return result


# ------------------------------------------------------------------------------------------------ objects


class Column(NamedTuple):
    number: int
    name: str
    type: int
    collection: int
    flags: int
    target: int


class Index(NamedTuple):
    number: int
    kind: str
    columns: list[int]
    parameters: bytes


class Table(NamedTuple):
    number: int
    name: str
    columns: list[Column]
    indexes: list[Index]


class Reader:
    def __init__(self, path: str, key: Optional[bytes] = None) -> None:
        self.pages = Pages(path, key)
        self.entries = self.pages.entries
        header = self.entries[b"\0"]
        need(header[:6] == b"MOTTE\0", "no header")
        need(crc32c(header[:124]) == struct.unpack_from("<I", header, 124)[0], "the header is damaged")
        reserved = header[6:12] + header[16:40] + header[76:88] + header[104:124]
        need(not any(reserved), "the header has something unknown")
        self.rows = struct.unpack_from("<I", header, 12)[0]
        self.version = struct.unpack_from("<Q", header, 88)[0]
        need(self.version == self.pages.version, "header and root differ")
        self.tables = self._catalog() if b"\1" in self.entries else []

    def _catalog(self) -> list[Table]:
        record = self.entries[b"\1"]
        form, crc = struct.unpack_from("<II", record)
        need(crc32c(record[8:]) == crc, "the catalog is damaged")
        need(form == 4, "a catalog of another format")
        at = 8 + 8 + 8 + 4 + 4

        def take(pattern: str) -> Any:
            nonlocal at
            values = struct.unpack_from("<" + pattern, record, at)
            at += struct.calcsize("<" + pattern)
            return values if len(values) > 1 else values[0]

        def text() -> str:
            nonlocal at
            size = take("I")
            at += size
            return record[at - size:at].decode()

        tables = []
        for _ in range(take("I")):
            number, name, _, flags, identity = take("I"), text(), take("I"), take("I"), take("16s")
            need(flags <= 1 and not any(identity), "a class is something unknown")
            columns = []
            for _ in range(take("I")):
                column, column_name = take("I"), text()
                kind, collection, column_flags, target, _ = take("BBBII")
                columns.append(Column(column, column_name, kind, collection, column_flags, target))
            for _ in range(take("I")):
                text(), take("I"), text(), take("I")
            indexes = []
            for _ in range(take("I")):
                index, index_kind = take("I"), text()
                covered = [take("I") for _ in range(take("I"))]
                size = take("I")
                indexes.append(Index(index, index_kind, covered, record[at:at + size]))
                at += size
            tables.append(Table(number, name, columns, indexes))
        return tables

    def ordered(self, index: Index) -> list[tuple[bytes, int]]:
        """The entries of an ordered index: an object's bytes and its key."""
        found: list[tuple[bytes, int]] = []
        prefix = b"\7" + struct.pack(">I", index.number)
        for page_key in sorted(key for key in self.entries if key.startswith(prefix)):
            block, bound = self.entries[page_key], page_key[5:]
            kind, form, groups, count, crc, zero = struct.unpack_from("<BBHIII", block)
            need((kind, form, zero) == (0x4F, 1, 0), "a block of an ordered index is something unknown")
            need(crc32c(block[:8], bytes(4), block[12:], page_key) == crc, "a block of an ordered index is damaged")
            first, at, before = len(found), 16, b""

            def take() -> int:
                nonlocal at
                value = shift = 0
                while True:
                    byte = block[at]
                    at += 1
                    value |= (byte & 0x7F) << shift
                    if byte < 0x80:
                        return value
                    shift += 7

            for _ in range(groups):
                shared, size, keys, key = take(), take(), take(), take()
                need(shared <= len(before), "a group shares more than there is")
                before = before[:shared] + block[at:at + size]
                at += size
                found.append((before, key))
                if keys > 1:
                    width, at = block[at], at + 1
                    others = numbers(block[at:], width, keys - 1)
                    found += [(before, key + other) for other in others]
                    at += width * (keys - 1)
            need(at == len(block) and len(found) - first == count, "a block of an ordered index has another size")
            whole = [entry + struct.pack(">Q", key) for entry, key in found]
            need(bound <= whole[first] and (first == 0 or whole[first - 1] < bound), "a bound does not fit")
        need(found == sorted(found), "an ordered index is out of order")
        return found

    def objects(self, name: str) -> dict[int, dict[str, Any]]:
        """The objects of a class by their keys; links as keys, timestamps as (seconds, nanoseconds)."""
        table = next(table for table in self.tables if table.name == name)
        found: dict[int, dict[str, Any]] = {}
        state_key = b"\2" + struct.pack(">I", table.number)
        if state_key not in self.entries:
            return found
        state = self.entries[state_key]
        live, _, open_group_start = struct.unpack_from("<qqq", state)
        crc, own_rows = struct.unpack_from("<II", state, 32)
        need(crc32c(state[:32], state[36:], state_key) == crc, "a state is damaged")
        rows = own_rows or self.rows
        for row_group in range(-(-open_group_start // rows)):
            count = min(rows, open_group_start - row_group * rows)
            alive = self._alive(table, row_group, count)
            if any(alive):
                values = {column: self._row_group_chunk(table, column, row_group, count) for column in table.columns}
                self._add(found, table, row_group * rows, alive, values)
        self._read_open_group(found, table)
        need(len(found) == live, f"{len(found)} objects of {name} instead of {live}")
        return found

    def _alive(self, table: Table, row_group: int, count: int) -> list[bool]:
        key = b"\5" + struct.pack(">II", table.number, row_group)
        if key not in self.entries:
            return [True] * count
        record = self.entries[key]
        rows, live, crc, _ = struct.unpack_from("<IIII", record)
        need(crc32c(record[:8], bytes(4), record[12:], key) == crc, "a bitmap is damaged")
        return bits(record[16:], rows) if live else [False] * rows

    def _row_group_chunk(self, table: Table, column: Column, row_group: int, count: int) -> list[Any]:
        key = b"\4" + struct.pack(">III", table.number, column.number, row_group)
        if key not in self.entries:
            return [default(column)] * count
        return chunk(self.entries[key], key, self._long_values(table, column.number))[1]

    def _long_values(self, table: Table, column: int) -> LongValues:
        def find(reference: bytes) -> bytes:
            version, number, count, crc, zero = struct.unpack("<QIIII", reference)
            value = self.entries.get(b"\10" + struct.pack(">IIQI", table.number, column, version, number))
            need(value is not None and len(value) == count and crc32c(value) == crc and zero == 0,
                 f"long value {number} of version {version} is missing or damaged")
            return value or b""

        return find

    def _read_open_group(self, found: dict[int, dict[str, Any]], table: Table) -> None:
        key = b"\3" + struct.pack(">I", table.number)
        if key not in self.entries:
            return
        record = self.entries[key]
        rows, count, first, live_offset, live_size, crc = struct.unpack_from("<IIqIII", record)
        directory = record[32:32 + 16 * count]
        need(crc32c(record[:24], directory, key) == crc, "an open row group is damaged")
        alive = [True] * rows
        if live_size:
            live = record[live_offset:live_offset + live_size]
            alive = bits(live[16:], rows) if struct.unpack_from("<I", live, 4)[0] else [False] * rows
        chunks = {}
        for number, offset, size, _ in struct.iter_unpack("<IIII", directory):
            chunks[number] = chunk(record[offset:offset + size], key, self._long_values(table, number))[1]
        values = {column: chunks.get(column.number, [default(column)] * rows) for column in table.columns}
        self._add(found, table, first, alive, values)

    def _add(self, found: dict[int, dict[str, Any]], table: Table, first: int, alive: list[bool],
             values: dict[Column, list[Any]]) -> None:
        for row, is_alive in enumerate(alive):
            if not is_alive:
                continue
            found[first + row] = made = {}
            previous = ""
            for column in table.columns:
                value = values[column][row]
                if isinstance(value, Long):
                    value = self._long_list(table, column, first + row, value.count)
                if column.flags & 8:
                    # The keys of the map in the column before.
                    made[previous] = dict(zip(value, made[previous]))
                    continue
                made[column.name] = value
                previous = column.name

    def _long_list(self, table: Table, column: Column, owner: int, count: int) -> list[Any]:
        prefix = b"\6" + struct.pack(">IIq", table.number, column.number, owner)
        nodes = {key: value for key, value in self.entries.items() if key.startswith(prefix)}
        long = self._long_values(table, column.number)

        def key_of(node: int) -> bytes:
            return prefix + struct.pack(">I", node)

        def read(node: int, level: Optional[int]) -> list[Any]:
            key = key_of(node)
            record = nodes[key]
            if level == 0:
                return chunk(record, key, long)[1]
            _, form, found, _, children, total, _, crc, _ = struct.unpack_from("<BBBBIIIII", record)
            need(form == 1 and (level is None or found == level), "a list node of another level")
            need(crc32c(record[:16], record[24:], key) == crc, "a list node is damaged")
            elements: list[Any] = []
            for child, below in struct.iter_unpack("<II", record[24:24 + 8 * children]):
                part = read(child, found - 1)
                need(len(part) == below, "a list node miscounts")
                elements += part
            need(len(elements) == total, "a list node miscounts")
            return elements

        elements = read(0, None)
        need(len(elements) == count, "a long list miscounts")
        return elements


KEPT_CHANGES = b"\x0b\xff\xff\xff\xff"


def kept_changes(page: bytes) -> tuple[Optional[int], Optional[int], dict[str, tuple[int, int]]]:
    """From which version on the change log is kept, from which on for who has no name, and for each consumer by name
    its version with the time of its commit."""
    need(page[:4] == b"\x4b\1\0\0", "what says for whom changes are kept is of another kind")
    checksum = crc32c(page[:4], bytes(4), page[8:], KEPT_CHANGES)
    need(int.from_bytes(page[4:8], "little") == checksum, "what says for whom changes are kept has a wrong checksum")

    def version(at: int) -> Optional[int]:
        value = int.from_bytes(page[at:at + 8], "little")
        return None if value == 2**64 - 1 else value

    if len(page) == 16:
        return version(8), version(8), {}
    consumers: dict[str, tuple[int, int]] = {}
    at = 28
    for _ in range(int.from_bytes(page[24:28], "little")):
        moved, time, size = struct.unpack_from("<QqH", page, at)
        name = page[at + 18:at + 18 + size].decode()
        need(len(name.encode()) == size > 0 and name not in consumers, "a consumer has no name of its own")
        consumers[name] = (moved, time)
        at += 18 + size
    need(at == len(page), "there is more than the consumers")
    need(list(consumers) == sorted(consumers, key=str.encode), "consumers are out of order")
    positions = [moved for moved, _ in consumers.values()] + [each for each in [version(16)] if each is not None]
    need(version(8) == min(positions), "the oldest position is another one")
    return version(8), version(16), consumers


def default(column: Column) -> Any:
    if column.collection:
        return []
    if column.flags & 1 or column.type in (LINK, MIXED):
        return None
    return {BOOL: False, INT: 0, FLOAT: 0.0, DOUBLE: 0.0, STRING: "", DATA: b"", TIMESTAMP: (0, 0),
            DECIMAL: decimal.Decimal(0), OBJECT_ID: "0" * 24, UUID: uuid.UUID(int=0)}[column.type]


def printable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (int, float, str, bool, list, tuple, dict, type(None))) else str(value)


def main() -> None:
    key = None
    if len(sys.argv) > 2:
        with open(sys.argv[2], "rb") as file:
            key = file.read()
    reader = Reader(sys.argv[1], key)
    for table in reader.tables:
        for number, made in reader.objects(table.name).items():
            print(json.dumps({"class": table.name, "key": number, "values": made}, default=printable))


if __name__ == "__main__":
    main()
