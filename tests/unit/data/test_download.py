"""Downloads and archives, from a server on this machine."""

from __future__ import annotations

import http.server
import io
import json
import tarfile
import threading

import pytest

from keras_transformer.data import download
from keras_transformer.errors import UserError

CONTENT = bytes(range(256)) * 20_000


class _Handler(http.server.BaseHTTPRequestHandler):
    tag = '"one"'
    requests: list[str]
    cut_after: int | None = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200 if self.path == "/file" else 404)
        self.end_headers()

    def do_GET(self):
        server_range = self.headers.get("Range")
        self.requests.append(server_range or "all")
        if self.path != "/file":
            self.send_error(404)
            return
        start = 0
        if server_range and self.headers.get("If-Range") == self.tag:
            start = int(server_range.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("ETag", self.tag)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        end = type(self).cut_after or len(CONTENT)
        type(self).cut_after = None
        self.wfile.write(CONTENT[start:end])


@pytest.fixture
def server(monkeypatch):
    handler = type("Handler", (_Handler,), {"requests": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(download.time, "sleep", lambda _: None)
        yield f"http://127.0.0.1:{running.server_port}", handler
        running.shutdown()


def test_a_file_is_fetched_whole_and_nothing_else_stays(server, tmp_path, capsys):
    url, _ = server
    assert download.maybe_download(str(tmp_path), "f", url + "/file") == str(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert "100% of 5.1 MB" in capsys.readouterr().err


def test_a_broken_connection_is_taken_up_where_it_ended(server, tmp_path):
    url, handler = server
    handler.cut_after = 3_000_000
    download.fetch(url + "/file", str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert handler.requests == ["all", "bytes=3000000-"]


def test_another_run_goes_on_unless_the_file_is_another_one(server, tmp_path):
    url, handler = server
    for tag, expected in (('"one"', CONTENT[:100]), ('"two"', b"x" * 100)):
        (tmp_path / "f.incomplete").write_bytes(b"x" * 100)
        (tmp_path / "f.incomplete.json").write_text(json.dumps({url + "/file": '"one"'}))
        handler.tag = tag
        download.fetch(url + "/file", str(tmp_path / "f"))
        # The same tag: the first 100 bytes stay as they were; another: all anew.
        got = (tmp_path / "f").read_bytes()
        assert got[:100] == (b"x" * 100 if tag == '"one"' else expected[:0] + CONTENT[:100])
        assert got[100:] == CONTENT[100:]


def test_a_refusal_names_url_and_place(server, tmp_path):
    url, handler = server
    with pytest.raises(UserError, match=r"/other cannot be downloaded .*put the file at .*/f"):
        download.fetch(url + "/other", str(tmp_path / "f"))
    assert len(handler.requests) == 1
    assert not (tmp_path / "f").exists()


def test_what_does_not_answer_is_listed_with_the_reason(server):
    url, _ = server
    wanted = [url + "/file", url + "/gone", "http://127.0.0.1:9/x", "http://name.invalid/x"]
    failed = download.unreachable(wanted)
    assert sorted(failed) == sorted(wanted[1:])
    assert failed[url + "/gone"] == "HTTP status 404"


def _archive(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        for info, content in members:
            info = tarfile.TarInfo(info) if isinstance(info, str) else info
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return str(path)


def test_wanted_members_only_are_unpacked(tmp_path):
    archive = _archive(
        tmp_path / "a.tgz",
        [("./dev/x.en", b"one"), ("../outside", b"bad"), ("/abs", b"bad"), ("dev/y.de", b"two")],
    )
    download.unpack(archive, ["dev/x.en", "dev/y.de"], str(tmp_path / "out"))
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert files == {"a.tgz", "out/dev/x.en", "out/dev/y.de"}
    assert (tmp_path / "out/dev/y.de").read_bytes() == b"two"


def test_links_are_not_followed(tmp_path):
    link = tarfile.TarInfo("dev/x.en")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    archive = _archive(tmp_path / "a.tar", [(link, b"")], "w")
    with pytest.raises(UserError, match="no regular file"):
        download.unpack(archive, ["dev/x.en"], str(tmp_path))


def test_a_damaged_or_other_archive_is_refused(tmp_path):
    archive = _archive(tmp_path / "a.tgz", [("x", bytes(range(256)) * 4000)])
    with pytest.raises(UserError, match="does not hold y"):
        download.unpack(archive, ["y"], str(tmp_path))
    (tmp_path / "a.tgz").write_bytes((tmp_path / "a.tgz").read_bytes()[:700])
    with pytest.raises(UserError, match="cut off or no tar archive"):
        download.unpack(archive, ["x"], str(tmp_path))
    assert not (tmp_path / "x").exists()


def test_checksums_are_recorded_and_later_checked(tmp_path):
    (tmp_path / "a.tgz").write_bytes(b"first")
    download.verify(str(tmp_path / "a.tgz"))
    download.verify(str(tmp_path / "a.tgz"))
    (tmp_path / "a.tgz").write_bytes(b"other")
    with pytest.raises(UserError, match=r"a\.tgz has SHA-256 .*checksums\.json records"):
        download.verify(str(tmp_path / "a.tgz"))
