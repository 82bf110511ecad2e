"""Servers that speak TensorFlow Serving's two protocols and answer from a real SavedModel.

The gRPC messages are made from TensorFlow's own `tensor.proto` and a real map field, so they check
what the client writes by hand. Wordings of refusals are TensorFlow Serving's.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2
from tensorflow.core.framework import tensor_pb2

NAME, VERSION = "ende", 1


class ServableError(Exception):
    """A request the server refuses: HTTP status, gRPC code, what it says."""

    def __init__(self, status: int, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Servable:
    """The model behind both servers."""

    def __init__(self, folder: Path, delay: float = 0.0) -> None:
        self._model = tf.saved_model.load(str(folder))
        self._delay = delay

    def predict(
        self, name: str, version: int | None, signature: str, inputs: dict[str, Any]
    ) -> dict[str, np.ndarray]:
        time.sleep(self._delay)
        if name != NAME or version not in (None, VERSION):
            which = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise ServableError(
                404, grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {which}"
            )
        if signature not in self._model.signatures:
            said = f'Serving signature key "{signature}" not found.'
            raise ServableError(400, grpc.StatusCode.INVALID_ARGUMENT, said)
        function = self._model.signatures[signature]
        wanted = {spec.name: spec for spec in function.structured_input_signature[1].values()}
        if set(wanted) != set(inputs):
            said = (
                f"input size does not match signature: {len(inputs)}!={len(wanted)}"
                f" sent extra: {{{', '.join(set(inputs) - set(wanted))}}}"
            )
            raise ServableError(400, grpc.StatusCode.INVALID_ARGUMENT, said)
        tensors = {key: tf.constant(value, wanted[key].dtype) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in function(**tensors).items()}


@contextmanager
def rest_server(servable: Servable) -> Iterator[str]:
    """The address of a REST server."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = re.fullmatch(r"/v1/models/([^/:]+)(?:/versions/(\d+))?:predict", self.path)
            if path is None:
                return self.answer(404, {"error": f"Malformed request: POST {self.path}"})
            version = int(path[2]) if path[2] else None
            inputs = {key: _decoded(value) for key, value in body["inputs"].items()}
            try:
                outputs = servable.predict(path[1], version, body["signature_name"], inputs)
            except ServableError as error:
                return self.answer(error.status, {"error": error.message})
            return self.answer(200, {"outputs": {k: _encoded(v) for k, v in outputs.items()}})

        def answer(self, status: int, content: dict[str, Any]) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def grpc_server(servable: Servable) -> Iterator[str]:
    """The address of a gRPC server."""
    request_class, response_class = _predict_messages()

    def predict(request: Any, context: grpc.ServicerContext) -> Any:
        spec = request.model_spec
        version = spec.version.value if spec.HasField("version") else None
        inputs = {key: tf.make_ndarray(tensor) for key, tensor in request.inputs.items()}
        try:
            outputs = servable.predict(spec.name, version, spec.signature_name, inputs)
        except ServableError as error:
            context.abort(error.code, error.message)
        response = response_class()
        for key, value in outputs.items():
            tensor = tf.make_tensor_proto(value).SerializeToString()
            response.outputs[key].ParseFromString(tensor)
        return response

    handler = grpc.unary_unary_rpc_method_handler(
        predict,
        request_deserializer=request_class.FromString,
        response_serializer=lambda response: response.SerializeToString(),
    )
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                "tensorflow.serving.PredictionService", {"Predict": handler}
            )
        ]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)


def _predict_messages() -> tuple[Any, Any]:
    """PredictRequest and PredictResponse as TensorFlow Serving's predict.proto has them."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="test/predict.proto", package="test.serving", syntax="proto3"
    )
    pool = descriptor_pool.Default()
    file.dependency.extend([tensor_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name])
    spec = file.message_type.add(name="ModelSpec")
    spec.field.add(name="name", number=1, type=field.TYPE_STRING, label=1)
    spec.field.add(
        name="version",
        number=2,
        type=field.TYPE_MESSAGE,
        type_name=".google.protobuf.Int64Value",
        label=1,
    )
    spec.field.add(name="signature_name", number=3, type=field.TYPE_STRING, label=1)
    for message_name, map_name, map_number, spec_number in (
        ("PredictRequest", "inputs", 2, 1),
        ("PredictResponse", "outputs", 1, 2),
    ):
        message = file.message_type.add(name=message_name)
        entry = message.nested_type.add(name=f"{map_name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=1)
        entry.field.add(
            name="value",
            number=2,
            type=field.TYPE_MESSAGE,
            type_name=".tensorflow.TensorProto",
            label=1,
        )
        message.field.add(
            name=map_name,
            number=map_number,
            type=field.TYPE_MESSAGE,
            type_name=f".test.serving.{message_name}.{entry.name}",
            label=3,
        )
        message.field.add(
            name="model_spec",
            number=spec_number,
            type=field.TYPE_MESSAGE,
            type_name=".test.serving.ModelSpec",
            label=1,
        )
    try:
        pool.FindFileByName(file.name)
    except KeyError:
        pool.Add(file)
    found = [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"test.serving.{name}"))
        for name in ("PredictRequest", "PredictResponse")
    ]
    return found[0], found[1]


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return [_decoded(each) for each in value] if isinstance(value, list) else value


def _encoded(value: np.ndarray) -> Any:
    if value.dtype == object:
        return np.char.decode(value.astype(bytes), "utf-8").tolist()
    return value.tolist()
