"""tf.Example records of int64 lists, without TensorFlow.

T2T's record is a tf.Example with the features `inputs` and `targets` (for packed problems six),
each an int64 list. Written by hand because Python protobuf costs more than encoding the text:

    Example       1: Features
    Features      1: map entry, repeated        entry = 1: name, 2: Feature
    Feature       3: Int64List
    Int64List     1: values, packed varints (older writers: unpacked)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_MASK_64 = (1 << 64) - 1


def _varint(value: int) -> bytes:
    value &= _MASK_64  # negative numbers are written as 64-bit two's complement
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


class _VarintTable(dict[int, bytes]):
    def __missing__(self, value: int) -> bytes:
        encoded = _varint(value)
        if 0 <= value < 1 << 21:  # ids; anything else is rare and would only fill memory
            self[value] = encoded
        return encoded


_VARINTS = _VarintTable()


def encode_example(features: Mapping[str, Iterable[int]]) -> bytes:
    """Serialises `{name: integers}` as a tf.Example.

    Raises:
        ValueError: a feature is empty (T2T refuses it too; an id sequence ends in EOS).
    """
    varints = _VARINTS
    entries: list[bytes] = []
    for name, values in features.items():
        packed = b"".join(map(varints.__getitem__, values))
        if not packed:
            raise ValueError(f"feature {name!r} is empty")
        # From the inside out; each part is a tag (number << 3 | 2), a length and its content.
        size = varints[len(packed)]
        int_list = 1 + len(size) + len(packed)
        int_list_size = varints[int_list]
        feature = 1 + len(int_list_size) + int_list
        raw_name = name.encode("utf-8")
        entry = b"".join(
            (
                *(b"\x0a", varints[len(raw_name)], raw_name),
                *(b"\x12", varints[feature]),
                *(b"\x1a", int_list_size),
                *(b"\x0a", size, packed),
            )
        )
        entries += (b"\x0a", varints[len(entry)], entry)
    content = b"".join(entries)
    return b"\x0a" + varints[len(content)] + content


def decode_example(record: bytes) -> dict[str, list[int]]:
    """The int64 features of a serialised tf.Example; features of other types are left out."""
    features: dict[str, list[int]] = {}
    for number, body in _fields(record):
        if number == 1:
            for entry_number, entry in _fields(_bytes(body)):
                if entry_number == 1:
                    name, values = _map_entry(_bytes(entry))
                    if values is not None:
                        features[name] = values
    return features


def _map_entry(entry: bytes) -> tuple[str, list[int] | None]:
    name = ""
    values: list[int] | None = None
    for number, content in _fields(entry):
        if number == 1:
            name = _bytes(content).decode("utf-8")
        elif number == 2:
            for kind, int_list in _fields(_bytes(content)):
                if kind == 3:
                    values = _int64_list(_bytes(int_list))
    return name, values


def _int64_list(data: bytes) -> list[int]:
    values: list[int] = []
    for number, content in _fields(data):
        if number != 1:
            continue
        if isinstance(content, int):
            values.append(_signed(content))
        else:
            position = 0
            while position < len(content):
                value, position = _read_varint(content, position)
                values.append(_signed(value))
    return values


def _fields(data: bytes) -> Iterable[tuple[int, bytes | int]]:
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == 2:
            length, position = _read_varint(data, position)
            if position + length > len(data):
                raise ValueError("a tf.Example is cut off")
            yield number, data[position : position + length]
            position += length
        elif wire_type == 0:
            value, position = _read_varint(data, position)
            yield number, value
        elif wire_type in (1, 5):
            position += 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"a tf.Example holds wire type {wire_type}")


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(data):
            raise ValueError("a tf.Example is cut off")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7


def _bytes(content: bytes | int) -> bytes:
    if isinstance(content, int):
        raise ValueError("a tf.Example holds a number where a message belongs")
    return content


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
