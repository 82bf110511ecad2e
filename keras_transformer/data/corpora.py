"""Parallel corpora: which archives, which files in them, and finding them on this machine.

A corpus is written as T2T writes it: `(url, (source file, target file))`, the files as paths inside
the archive. Everything is looked for in the temporary directory first, in the archive's layout or
lying loose, with or without `.gz`; then in an archive lying there; then it is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from keras_transformer.data import download
from keras_transformer.errors import UserError
from keras_transformer.text.lines import read_lines

VOCAB_CHARACTERS_PER_FILE = 1_000_000  # T2T `get_or_generate_vocab` file_byte_budget


@dataclass(frozen=True)
class Corpus:
    """Two files that belong together.

    Attributes:
        urls: one archive that holds both files, or one URL for each file.
        files: source and target, as paths inside the archive or as file names.
    """

    urls: tuple[str, ...]
    files: tuple[str, str]

    @classmethod
    def from_t2t(cls, source: Sequence) -> Corpus:
        """From T2T's form `[url, (source file, target file)]`."""
        url, files = source[0], source[1]
        return cls((url,) if isinstance(url, str) else tuple(url), (files[0], files[1]))


def _archive_name(url: str) -> str:
    return PurePosixPath(url).name


def find_file(tmp_dir: str, name: str) -> str | None:
    """The corpus file in the temporary directory, or None.

    `name`, then the same with `.gz` added or taken away, then these lying loose in the folder.
    """
    other = name.removesuffix(".gz") if name.endswith(".gz") else name + ".gz"
    plain_first = sorted((name, other), key=lambda n: n.endswith(".gz"))
    for candidate in (*plain_first, *(PurePosixPath(n).name for n in plain_first)):
        path = Path(tmp_dir, candidate)
        if path.is_file():
            return str(path)
    return None


def missing_downloads(tmp_dir: str, corpora: Sequence[Corpus]) -> dict[str, list[str]]:
    """URL → corpus files that only it can give, for all that is not in the folder."""
    wanted: dict[str, list[str]] = {}
    for corpus in corpora:
        for side, name in enumerate(corpus.files):
            if find_file(tmp_dir, name):
                continue
            url = corpus.urls[side if len(corpus.urls) > 1 else 0]
            if not Path(tmp_dir, _archive_name(url)).is_file():
                wanted.setdefault(url, []).append(name)
    return wanted


def prepare(tmp_dir: str, corpora: Sequence[Corpus], problem: str) -> None:
    """Makes every file of the corpora lie in the folder: finds, downloads, unpacks.

    Raises:
        UserError: within seconds, if something must be downloaded and cannot be: a list of every
            missing file with its URL and where to put it.
    """
    wanted = missing_downloads(tmp_dir, corpora)
    failed = download.unreachable(wanted)
    if failed:
        raise UserError(_missing_message(tmp_dir, wanted, failed, problem))
    for url in wanted:
        download.fetch(url, str(Path(tmp_dir, _archive_name(url))))
    for corpus in corpora:
        if len(corpus.urls) > 1:
            continue
        missing = [name for name in corpus.files if not find_file(tmp_dir, name)]
        if missing:
            archive = str(Path(tmp_dir, _archive_name(corpus.urls[0])))
            download.verify(archive)
            download.unpack(archive, missing, tmp_dir)


def _missing_message(
    tmp_dir: str, wanted: dict[str, list[str]], failed: dict[str, str], problem: str
) -> str:
    folder = os.path.abspath(tmp_dir)
    lines = [f"problem {problem} needs files that are not in --tmp_dir and cannot be downloaded:"]
    for url, names in wanted.items():
        lines.append(f"  {url}")
        lines.append(f"      {failed.get(url, 'reachable')}")
        lines.append(f"      put it at {Path(folder, _archive_name(url))}")
        inside = [name for name in names if name != _archive_name(url)]
        if inside:
            lines.append(
                f"      or its files at {' and '.join(str(Path(folder, n)) for n in inside)}"
            )
    lines.append(
        "Fetch them on a machine with network and copy them there, or name the folder that holds"
        " them with --tmp_dir."
    )
    return "\n".join(lines)


def corpus_paths(tmp_dir: str, corpus: Corpus) -> tuple[str, str]:
    """Where the two files lie, after `prepare`.

    Raises:
        UserError: one is not there.
    """
    found = []
    for name in corpus.files:
        path = find_file(tmp_dir, name)
        if path is None:
            raise UserError(f"the corpus file {Path(tmp_dir, name)} is not there")
        found.append(path)
    return found[0], found[1]


def vocab_sample(
    tmp_dir: str, corpora: Sequence[Corpus], budget: int = VOCAB_CHARACTERS_PER_FILE
) -> Iterator[str]:
    """The lines T2T learns a translation vocabulary from.

    Of each file, source before target: skip floor(size / budget / 2) lines, take one, and so on
    until `budget` characters are taken (`generator_utils.generate_lines_for_vocab`). The size is
    that of the uncompressed file in bytes.
    """
    for corpus in corpora:
        for path in corpus_paths(tmp_dir, corpus):
            skip = int(_uncompressed_size(path) / budget / 2)
            left = budget
            skipped = 0
            for line in read_lines(path):
                if skipped < skip:
                    skipped += 1
                    continue
                if left <= 0:
                    break
                line = line.strip()
                left -= len(line)
                skipped = 0
                yield line


def _uncompressed_size(path: str) -> int:
    if not path.endswith(".gz"):
        return Path(path).stat().st_size
    import gzip

    # The size field at the end of a gzip file is modulo 2**32; giga-fren is larger.
    size = 0
    with gzip.open(path, "rb") as stream:
        while block := stream.read(1 << 22):
            size += len(block)
    return size
