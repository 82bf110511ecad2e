"""A client of TensorFlow Serving, over gRPC or REST. Loads no TensorFlow."""

from __future__ import annotations

import base64
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from keras_transformer.errors import UserError

GRPC_PORT, REST_PORT = 8500, 8501


class ServingClient(Protocol):
    """One model on one server."""

    def predict(self, signature: str, inputs: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Outputs by name as nested lists; text as str.

        Args:
            signature: name of the signature.
            inputs: name → strings or bytes [B], or equally long rows of int32 [B, S].

        Raises:
            UserError: the server is not there, too slow, or does not have what was asked for.
        """


def connect(
    server: str, servable_name: str, timeout_secs: float = 10.0, version: int | None = None
) -> ServingClient:
    """The client for an address: `host:8500` is gRPC, `http://host:8501` (or https) REST.

    Raises:
        UserError: the address is of neither form.
    """
    rest = server.startswith(("http://", "https://"))
    host, colon, port = server.rpartition(":")
    if rest and _is_address(server):
        return RestClient(server, servable_name, timeout_secs, version)
    if rest or "/" in server or (colon and (not host or not port.isdigit())):
        raise UserError(
            f"--server={server}: give host:port for gRPC (TensorFlow Serving's port {GRPC_PORT}),"
            f" or http://host:port for REST (its port {REST_PORT})"
        )
    return GrpcClient(
        server if colon else f"{server}:{GRPC_PORT}", servable_name, timeout_secs, version
    )


def _is_address(url: str) -> bool:
    """Whether it has a host and no impossible port."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


class RestClient:
    """`POST /v1/models/<name>:predict`, in the column form."""

    def __init__(
        self, server: str, servable_name: str, timeout_secs: float, version: int | None = None
    ) -> None:
        self._server = server.rstrip("/")
        if urlsplit(self._server).port is None:
            self._server += f":{REST_PORT}"
        self._name = servable_name
        self._timeout = timeout_secs
        self._version = version
        which = "" if version is None else f"/versions/{version}"
        self._url = f"{self._server}/v1/models/{quote(servable_name, safe='')}{which}:predict"

    def predict(self, signature: str, inputs: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        columns = {name: [_json_value(value) for value in rows] for name, rows in inputs.items()}
        body = json.dumps({"signature_name": signature, "inputs": columns}).encode()
        request = urllib.request.Request(
            self._url, data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                answer = json.loads(reply.read())
            outputs = answer["outputs"]
        except urllib.error.HTTPError as error:
            raise self._refusal(error, signature) from None
        except TimeoutError:
            raise _too_slow(self._server, self._timeout) from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise _too_slow(self._server, self._timeout) from None
            raise _unreachable(self._server, str(error.reason)) from None
        except (ConnectionError, OSError) as error:
            raise _unreachable(self._server, str(error)) from None
        except (ValueError, KeyError, TypeError):
            raise UserError(
                f"{self._server} does not answer as TensorFlow Serving's REST interface does: is"
                f" it the REST port ({REST_PORT})?"
            ) from None
        # A signature with one output has no names in the answer.
        return outputs if isinstance(outputs, dict) else {"outputs": outputs}

    def _refusal(self, error: urllib.error.HTTPError, signature: str) -> UserError:
        said = error.read().decode("utf-8", "replace")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(said)["error"]
        said = " ".join(str(said).split()) or str(error)
        if error.code == 404:
            return _no_model(self._server, self._name, self._version, said)
        return _refused(self._server, self._name, signature, said)


class GrpcClient:
    """`tensorflow.serving.PredictionService/Predict`."""

    def __init__(
        self, server: str, servable_name: str, timeout_secs: float, version: int | None = None
    ) -> None:
        import grpc

        from keras_transformer.export import predict_messages

        self._grpc = grpc
        self._messages = predict_messages
        self._server = server
        self._name = servable_name
        self._timeout = timeout_secs
        self._version = version
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        channel = grpc.insecure_channel(server, options=options)
        self._call = channel.unary_unary(predict_messages.PREDICT_METHOD)

    def predict(self, signature: str, inputs: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        request = self._messages.encode_request(self._name, signature, inputs, self._version)
        codes = self._grpc.StatusCode
        try:
            answer = self._call(request, timeout=self._timeout)
            outputs = self._messages.decode_response(answer)
        except self._grpc.RpcError as error:
            code, said = error.code(), " ".join(str(error.details()).split())
            if code == codes.UNAVAILABLE:
                raise _unreachable(self._server, said) from None
            if code == codes.DEADLINE_EXCEEDED:
                raise _too_slow(self._server, self._timeout) from None
            if code == codes.NOT_FOUND:
                raise _no_model(self._server, self._name, self._version, said) from None
            if code == codes.UNIMPLEMENTED:
                raise UserError(
                    f"{self._server} is a gRPC server, but not TensorFlow Serving ({said})"
                ) from None
            raise _refused(self._server, self._name, signature, f"{code.name}: {said}") from None
        except ValueError as error:
            raise UserError(f"{self._server}: {error}") from None
        return {name: _as_text(values) for name, values in outputs.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode("ascii")}
    return value


def _as_text(values: Any) -> Any:
    if isinstance(values, list):
        return [_as_text(value) for value in values]
    return values.decode("utf-8", "replace") if isinstance(values, bytes) else values


def _unreachable(server: str, said: str) -> UserError:
    return UserError(f"{server} cannot be reached ({said}): is the server up, is the port right?")


def _too_slow(server: str, seconds: float) -> UserError:
    return UserError(
        f"{server} gave no answer within {seconds:g} seconds: raise --timeout_secs (the first"
        " request after a start takes longest), or send fewer sentences at a time (--batch_size)"
    )


def _no_model(server: str, name: str, version: int | None, said: str) -> UserError:
    which = f"model {name!r}" if version is None else f"version {version} of a model {name!r}"
    return UserError(
        f"{server} serves no {which} ({said}): --servable_name must be the name the server was"
        " started with (its --model_name, or name in its model configuration)"
    )


def _refused(server: str, name: str, signature: str, said: str) -> UserError:
    return UserError(
        f"{server} refused the request for the signature {signature!r} of {name!r}: {said}"
        " (saved_model_cli show --dir <export_dir> --all lists signatures and the names of their"
        " inputs)"
    )
