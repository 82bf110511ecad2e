"""Fetching and unpacking archives, so that nothing half-fetched is ever trusted.

A download grows under `<name>.incomplete` and is taken up again where it stopped; only a whole file
gets its name. The SHA-256 of each archive is written to `checksums.json` beside it the first time
it is used and checked every time after. Archives are not unpacked as such: the wanted members are
copied out one by one, so no member can name a path outside the folder and no link is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from keras_transformer.errors import UserError

_BLOCK = 1 << 20
_PROBE_SECONDS = 5.0
_READ_SECONDS = 60.0
_ATTEMPTS = 3
CHECKSUMS = "checksums.json"


def unreachable(urls: Iterable[str]) -> dict[str, str]:
    """Which URLs do not answer within a few seconds, and why."""
    reasons = {url: f"no answer within {_PROBE_SECONDS:.0f} seconds" for url in urls}

    def probe(url: str) -> None:
        reasons[url] = _probe(url)

    # Daemon threads: a name server that does not answer would hold a pool for half a minute.
    threads = [threading.Thread(target=probe, args=(url,), daemon=True) for url in reasons]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _PROBE_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {url: reason for url, reason in dict(reasons).items() if reason}


def _probe(url: str) -> str:
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=_PROBE_SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        # A server may refuse HEAD and still give the file.
        return "" if error.code in (403, 405, 501) else f"HTTP status {error.code}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def fetch(url: str, path: str) -> None:
    """Downloads a file, going on where an earlier attempt stopped.

    Args:
        url: http, https, ftp or file URL.
        path: the name the whole file gets.

    Raises:
        UserError: the server cannot be reached or refuses; what came so far is kept.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _fetch_rest(url, target)
            return
        except (OSError, ValueError) as error:
            refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if refused or attempt == _ATTEMPTS:
                raise UserError(
                    f"{url} cannot be downloaded ({getattr(error, 'reason', error)}): try again"
                    f" (what has come so far is kept), or put the file at {path} yourself"
                ) from error
            time.sleep(attempt)


def _fetch_rest(url: str, target: Path) -> None:
    partial = target.with_name(target.name + ".incomplete")
    note = target.with_name(target.name + ".incomplete.json")
    have = partial.stat().st_size if partial.is_file() else 0
    validator = json.loads(note.read_text("utf-8")).get(url) if note.is_file() else None
    headers = {}
    if have and validator:
        # The server sends the whole file anew if it is no longer the one we began.
        headers = {"Range": f"bytes={have}-", "If-Range": validator}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_READ_SECONDS) as answer:
        resumed = getattr(answer, "status", None) == 206
        have = have if resumed else 0
        rest = answer.headers.get("Content-Length")
        total = have + int(rest) if rest else None
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        if validator and validator.startswith("W/"):
            validator = answer.headers.get("Last-Modified")
        note.write_text(json.dumps({url: validator}), "utf-8")
        progress = _Progress(target.name, have, total)
        with partial.open("ab" if resumed else "wb") as stream:
            while block := answer.read(_BLOCK):
                stream.write(block)
                progress.add(len(block))
        progress.end()
    size = partial.stat().st_size
    if total is not None and size != total:
        raise ConnectionError(f"the connection ended after {size} of {total} bytes")
    os.replace(partial, target)
    note.unlink(missing_ok=True)


class _Progress:
    """A bar on a terminal, a line every ten seconds elsewhere; on standard error."""

    def __init__(self, name: str, have: int, total: int | None):
        self._name, self._have, self._total = name, have, total
        self._first, self._start = have, time.monotonic()
        self._bar = sys.stderr.isatty()
        self._last = 0.0 if self._bar else self._start

    def add(self, count: int) -> None:
        self._have += count
        now = time.monotonic()
        if now - self._last > (0.2 if self._bar else 10.0):
            self._last = now
            self._show("\r" if self._bar else "")

    def end(self) -> None:
        self._show("\r" if self._bar else "")
        if self._bar:
            print(file=sys.stderr)

    def _show(self, start: str) -> None:
        seconds = max(time.monotonic() - self._start, 1e-3)
        rate = (self._have - self._first) / seconds
        text = f"{self._name} {self._have / 1e6:.1f} MB"
        if self._total:
            share = self._have / self._total
            bar = "#" * int(30 * share)
            left = (self._total - self._have) / rate if rate else 0.0
            text = f"{self._name} [{bar:<30}] {share:4.0%} of {self._total / 1e6:.1f} MB"
            text += f", {left:.0f} s left"
        text += f", {rate / 1e6:.1f} MB/s"
        print(start + text, end="" if self._bar else "\n", file=sys.stderr, flush=True)


def maybe_download(directory: str, filename: str, uri: str) -> str:
    """Path of a file in a folder, downloaded if it is not there (T2T's function of that name)."""
    path = str(Path(directory, filename))
    if not Path(path).is_file():
        fetch(uri, path)
    return path


def verify(path: str) -> None:
    """Records the checksum of a file the first time, compares it every time after.

    Raises:
        UserError: the file is not the one it was.
    """
    file = Path(path)
    records_path = file.with_name(CHECKSUMS)
    records: dict[str, Any] = {}
    if records_path.is_file():
        try:
            records = json.loads(records_path.read_text("utf-8"))
        except ValueError:
            raise UserError(f"{records_path} is not JSON: repair or delete it") from None
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    found = {"sha256": digest.hexdigest(), "bytes": file.stat().st_size}
    known = records.get(file.name)
    if known is None:
        records[file.name] = found
        unfinished = records_path.with_name(f"{CHECKSUMS}.{os.getpid()}.incomplete")
        unfinished.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", "utf-8")
        os.replace(unfinished, records_path)
    elif known["sha256"] != found["sha256"]:
        raise UserError(
            f"{path} has SHA-256 {found['sha256']} and {found['bytes']} bytes, {records_path}"
            f" records {known['sha256']}: the file is damaged or another one; fetch it again, or"
            " take its record away if you trust it"
        )


def unpack(archive: str, members: Sequence[str], folder: str) -> None:
    """Copies members of a tar archive (plain or compressed) to `folder/<member>`.

    Each appears whole or not at all. Only regular files are taken.

    Raises:
        UserError: the archive is damaged, or a member is missing or no regular file.
    """
    wanted = {_clean(member): Path(folder, member) for member in members}
    try:
        with tarfile.open(archive, "r:*") as tar:
            for info in tar:
                name = _clean(info.name)
                if name not in wanted:
                    continue
                content = tar.extractfile(info) if info.isreg() else None
                if content is None:
                    raise UserError(f"{archive}: the member {info.name} is no regular file")
                target = wanted.pop(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                unfinished = target.with_name(f"{target.name}.{os.getpid()}.incomplete")
                try:
                    with unfinished.open("wb") as stream:
                        shutil.copyfileobj(content, stream, _BLOCK)
                    os.replace(unfinished, target)
                finally:
                    unfinished.unlink(missing_ok=True)
                if not wanted:
                    return
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise UserError(
            f"{archive} cannot be unpacked ({error}): it is cut off or no tar archive; delete it"
            " and fetch it again"
        ) from error
    raise UserError(f"{archive} does not hold {', '.join(sorted(wanted))}: is it another archive?")


def _clean(member: str) -> str:
    return str(PurePosixPath(member))
