# SPDX-License-Identifier: MIT
"""Reads messages of protocol buffers without knowing their types, for tests."""


def varint(message, at):
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("a number is cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(message):
    """Its fields: (number, value), where a value is a number or bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = int.from_bytes(message[at : at + size], "little"), at + size
        elif kind == 2:
            size, at = varint(message, at)
            value, at = message[at : at + size], at + size
        else:
            raise ValueError(f"field {key >> 3} is of kind {kind}")
        if at > len(message):
            raise ValueError(f"field {key >> 3} is cut off")
        yield key >> 3, value


def every(message, number):
    return [value for at, value in fields(message) if at == number]


def one(message, number):
    found = every(message, number)
    if len(found) != 1:
        raise ValueError(f"field {number} is there {len(found)} times")
    return found[0]


def last(message, number, default=0):
    """Of a field that has its default where it is not there."""
    found = every(message, number)
    return found[-1] if found else default


def packed(message, number):
    """The numbers of a repeated field, however they are written."""
    numbers = []
    for value in every(message, number):
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number_at, at = varint(value, at)
            numbers.append(number_at)
    return numbers
