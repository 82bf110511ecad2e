"""What is built and installed: every folder, every file, every program."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LEAVES = ("problems", "hparams", "t2t_compat")


def _setup_arguments(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    import setuptools

    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    return given


def _files(suffixes: tuple[str, ...] = ()) -> set[str]:
    """Files of the package as they lie when installed: `keras_transformer/problems/wmt14.py`."""
    found = set()
    for top in ("keras_transformer", *LEAVES):
        for path in (ROOT / top).rglob("*"):
            if path.is_dir() or "__pycache__" in path.parts or path.name.startswith("."):
                continue
            inside = path.relative_to(ROOT).as_posix()
            if not suffixes or path.suffix in suffixes:
                found.add(inside if top == "keras_transformer" else f"keras_transformer/{inside}")
    return found


def test_the_package_list_is_the_folders_that_hold_python_files(monkeypatch):
    folders = {str(Path(file).parent).replace("/", ".") for file in _files((".py",))}
    assert set(_setup_arguments(monkeypatch)["packages"]) == folders


def test_every_folder_of_python_files_is_a_package():
    files = _files((".py",))
    for file in files:
        assert f"{Path(file).parent.as_posix()}/__init__.py" in files


def test_a_program_is_a_file(monkeypatch):
    scripts = _setup_arguments(monkeypatch)["entry_points"]["console_scripts"]
    assert "kt-info = keras_transformer.cli.info:main" in scripts
    for script in scripts:
        name, module = re.fullmatch(
            r"kt-([a-z0-9-]+) = keras_transformer\.cli\.(\w+):main", script
        ).groups()
        assert name.replace("-", "_") == module
        assert (ROOT / "keras_transformer" / "cli" / f"{module}.py").is_file()


def _run(*command: str | Path, cwd: Path) -> str:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command} in {cwd}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist alone."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for top in ("keras_transformer", *LEAVES):
        shutil.copytree(
            ROOT / top, source / top, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    # Without isolation the build takes setuptools from this environment, and needs no network.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", ".", cwd=source)
    return source / "dist"


@pytest.mark.slow
def test_the_wheel_holds_every_file_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == _files()


@pytest.mark.slow
def test_the_sdist_and_the_wheel_carry_the_licence(built):
    (sdist,) = built.glob("*.tar.gz")
    (wheel,) = built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/LICENSE") for name in archive.getnames())
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_the_installed_programs_run_from_another_folder(built, tmp_path):
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False, symlinks=True)
    (wheel,) = built.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--python", bare / "bin" / "python")
    _run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # The dependencies come from this environment: what is tested is our wheel, not the index. A
    # path named in a .pth file is searched last, and .pth files found there are not read, so that
    # an editable install of this checkout stays out.
    (site,) = bare.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(
        "\n".join(path for path in sys.path if path.endswith("-packages")) + "\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = _run(
        bare / "bin" / "python",
        "-c",
        "import keras_transformer.hparams as package; print(package.__file__)",
        cwd=elsewhere,
    )
    assert Path(where.strip()).is_relative_to(site)
    programs = sorted((bare / "bin").glob("kt-*"))
    assert len(programs) == len(zipfile.ZipFile(wheel).read(_entry_points(wheel)).split(b"kt-")) - 1
    for program in programs:
        assert _run(program, "--help", cwd=elsewhere).startswith(f"{program.name}: ")
    listed = _run(bare / "bin" / "kt-info", cwd=elsewhere)
    for name in ("wmt14_ende", "sample_ende", "table3_C5"):
        assert f"  {name} " in listed
    assert list(elsewhere.iterdir()) == []


def _entry_points(wheel: Path) -> str:
    names = zipfile.ZipFile(wheel).namelist()
    return next(name for name in names if name.endswith("entry_points.txt"))
