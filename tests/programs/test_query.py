"""`kt-query` against servers that speak TensorFlow Serving's protocols."""

from __future__ import annotations

import contextlib
import io
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from keras_transformer.cli.query import main
from tests.programs.exported import exported_model, sentences
from tests.programs.serving_stub import NAME, Servable, grpc_server, rest_server

PROTOCOLS = ("grpc", "rest")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    servable = Servable(exported_model())
    with grpc_server(servable) as grpc_address, rest_server(servable) as rest_address:
        yield {"grpc": grpc_address, "rest": rest_address}


@pytest.fixture(scope="module")
def slow_servers() -> Iterator[dict[str, str]]:
    servable = Servable(exported_model(), delay=3)
    with grpc_server(servable) as grpc_address, rest_server(servable) as rest_address:
        yield {"grpc": grpc_address, "rest": rest_address}


def ask(server: str, *flags: str, lines: list[str] = (), name: str = NAME) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    text = "".join(f"{line}\n" for line in lines).encode()
    stdin, stdout, stderr = sys.stdin, io.StringIO(), io.StringIO()
    sys.stdin = SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(text))
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            status = main([f"--server={server}", f"--servable_name={name}", *flags])
    finally:
        sys.stdin = stdin
    return status, stdout.getvalue(), stderr.getvalue()


@pytest.mark.slow
def test_both_protocols_give_what_the_model_says(servers):
    lines = [*sentences(5), "", "naïve 日本"]
    wanted = exported_texts(lines)
    for protocol in PROTOCOLS:
        flags = ["--batch_size=3", "--timeout_secs=100"]
        status, output, error = ask(servers[protocol], *flags, lines=lines)
        assert (status, error) == (0, "")
        assert output.split("\n")[:-1] == wanted
        once = ask(servers[protocol], f"--inputs_once={lines[0]}", "--scores")[1]
        text, score = once.rstrip("\n").split("\t")
        assert text == wanted[0] and float(score) < 0


def exported_texts(lines: list[str]) -> list[str]:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(exported_model()))
    outputs = loaded.signatures["serving_default"](inputs=tf.constant(lines))["outputs"]
    return [text.decode() for text in outputs.numpy()]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_other_signatures(servers, protocol):
    beams = ask(servers[protocol], "--signature=beams", lines=["Click the icon.", ""])[1]
    first, blank = beams.split("\n")[:-1]
    assert len(first.split("\t")) in (2, 4, 6, 8) and blank == "\t0.0000"
    scores = [float(score) for score in first.split("\t")[1::2]]
    assert scores == sorted(scores, reverse=True)
    ids = ask(servers[protocol], "--signature=tokens", lines=["5 6 7", "8 1"])[1]
    examples = ask(servers[protocol], "--signature=examples", lines=["5 6 7", "8 1"])[1]
    assert ids == examples and len(ids.split("\n")[:-1]) == 2
    assert all(word.isdigit() for word in ids.split())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("name", "flags", "messages"),
    [
        ("other", [], ["serves no model 'other'", "--servable_name", "Latest(other)"]),
        (NAME, ["--servable_version=7"], ["serves no version 7", "Specific(ende, 7)"]),
        (NAME, ["--signature=nbest"], ["signature 'nbest'", "not found", "saved_model_cli show"]),
        (NAME, ["--input_name=input"], ["does not match signature", "names of their inputs"]),
        (NAME, ["--signature=tokens"], ["is not a line of ids"]),
        (NAME, ["--signature=tokens", "--inputs_once=9999999999 1"], ["they lie between 0 and"]),
    ],
)
def test_what_does_not_match_is_said(servers, protocol, name, flags, messages):
    status, output, error = ask(servers[protocol], *flags, lines=["a line"], name=name)
    assert (status, output) == (2, "")
    assert "Traceback" not in error and len(error.strip().splitlines()) == 1
    for message in messages:
        assert message in error


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_takes_too_long(slow_servers, protocol):
    status, _, error = ask(slow_servers[protocol], "--timeout_secs=0.3", "--inputs_once=a")
    assert status == 2 and "no answer within 0.3 seconds: raise --timeout_secs" in error


@pytest.mark.parametrize("prefix", ["", "http://"])
def test_a_server_that_is_not_there(prefix):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    status, _, error = ask(f"{prefix}127.0.0.1:{port}", "--inputs_once=a", "--timeout_secs=5")
    assert status == 2 and "cannot be reached" in error and "is the port right" in error


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (server, "give host:port for gRPC")
        for server in (
            "ftp://host:1",
            "host:port",
            "http://",
            "http://host:99999",
            "http://host:port",
            "http://[::1",
        )
    ],
)
def test_a_wrong_address(server, message):
    assert message in ask(server, "--inputs_once=a")[2]


def test_flags_that_are_missing(capsys):
    assert main([]) == 2 and main(["--server=a:1"]) == 2
    error = capsys.readouterr().err
    assert "--server is not given" in error and "--servable_name is not given" in error


def test_standard_input_is_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["--server=127.0.0.1:1", f"--servable_name={NAME}"]) == 2
    assert "standard input is closed: give --inputs_once" in capsys.readouterr().err


def test_no_tensorflow_is_loaded():
    code = (
        "import sys; from keras_transformer.cli.query import main;"
        "status = main(['--server=127.0.0.1:1', '--servable_name=a', '--inputs_once=b']);"
        "raise SystemExit(status if 'tensorflow' not in sys.modules else 'TensorFlow is loaded')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
