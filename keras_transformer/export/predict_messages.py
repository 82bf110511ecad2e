"""TensorFlow Serving's `Predict` messages, without TensorFlow and without its serving package.

Field numbers are those of `tensorflow_serving/apis/predict.proto` and `model.proto` and of
TensorFlow's `tensor.proto`. Only what a client of text and ids needs is here: strings, int32,
int64 and float32. Names play no part in the wire format, so the messages live in a pool of their
own and never meet TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PREDICT_METHOD = "/tensorflow.serving.PredictionService/Predict"

# tensorflow.DataType
_FLOAT, _INT32, _STRING, _INT64 = 1, 3, 7, 9
_VALUES = {_FLOAT: "float_val", _INT32: "int_val", _STRING: "string_val", _INT64: "int64_val"}

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "float": _Field.TYPE_FLOAT,
    "bool": _Field.TYPE_BOOL,
}
_PACKAGE = "keras_transformer.serving"
# message: {field: (number, type, repeated)}. A map is a repeated message of key and value.
_MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "Dimension": {"size": (1, "int64", False)},
    "Shape": {"dim": (2, "Dimension", True), "unknown_rank": (3, "bool", False)},
    "Tensor": {
        "dtype": (1, "int32", False),
        "tensor_shape": (2, "Shape", False),
        "tensor_content": (4, "bytes", False),
        "float_val": (5, "float", True),
        "int_val": (7, "int32", True),
        "string_val": (8, "bytes", True),
        "int64_val": (10, "int64", True),
    },
    "NamedTensor": {"key": (1, "string", False), "value": (2, "Tensor", False)},
    "Version": {"value": (1, "int64", False)},
    "ModelSpec": {
        "name": (1, "string", False),
        "version": (2, "Version", False),
        "signature_name": (3, "string", False),
    },
    "PredictRequest": {
        "model_spec": (1, "ModelSpec", False),
        "inputs": (2, "NamedTensor", True),
    },
    "PredictResponse": {
        "outputs": (1, "NamedTensor", True),
        "model_spec": (2, "ModelSpec", False),
    },
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_transformer/serving.proto", package=_PACKAGE, syntax="proto3"
    )
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        for name, (number, kind, repeated) in fields.items():
            field = message.field.add(
                name=name,
                number=number,
                label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL,
            )
            if kind in _KINDS:
                field.type = _KINDS[kind]
            else:
                field.type = _Field.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


_CLASS = _classes()


def encode_request(
    model: str, signature: str, inputs: Mapping[str, Sequence[Any]], version: int | None = None
) -> bytes:
    """A serialised PredictRequest.

    Args:
        model: the name it is served under.
        signature: name of the signature.
        inputs: name → strings or bytes [B], or equally long rows of int32 [B, S].
        version: None for the newest.
    """
    request = _CLASS["PredictRequest"]()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for name, values in inputs.items():
        tensor = request.inputs.add(key=name).value
        tensor.tensor_shape.dim.add(size=len(values))
        if values and isinstance(values[0], (str, bytes)):
            tensor.dtype = _STRING
            tensor.string_val.extend(v.encode() if isinstance(v, str) else v for v in values)
        else:
            tensor.dtype = _INT32
            tensor.tensor_shape.dim.add(size=len(values[0]) if values else 0)
            tensor.int_val.extend(number for row in values for number in row)
    return request.SerializeToString()


def decode_response(message: bytes) -> dict[str, Any]:
    """Outputs of a serialised PredictResponse: name → nested lists; strings are bytes.

    Raises:
        ValueError: it is no such message, or holds another type of number.
    """
    try:
        response = _CLASS["PredictResponse"].FromString(message)
    except Exception as error:  # protobuf's own type differs between its implementations
        raise ValueError(f"not a PredictResponse: {error}") from None
    return {entry.key: _nested(entry.value) for entry in response.outputs}


def _nested(tensor: Any) -> Any:
    if tensor.dtype not in _VALUES:
        raise ValueError(f"a tensor of the type {tensor.dtype} is not expected")
    shape = [dimension.size for dimension in tensor.tensor_shape.dim]
    size = math.prod(shape)
    values = list(getattr(tensor, _VALUES[tensor.dtype]))
    if tensor.tensor_content:
        import numpy as np

        kind = {_FLOAT: "<f4", _INT32: "<i4", _INT64: "<i8"}[tensor.dtype]
        values = np.frombuffer(tensor.tensor_content, kind).tolist()
    if values and len(values) < size:  # a last value may stand for all that follow
        values += values[-1:] * (size - len(values))
    for length in reversed(shape[1:]):
        rows = len(values) // length if length else math.prod(shape[:-1])
        values = [values[row * length : (row + 1) * length] for row in range(rows)]
    return values
