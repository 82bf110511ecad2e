"""Packages, console scripts and extras of keras-transformer-t2t.

`problems/`, `hparams/` and `t2t_compat/` stand at the top of the repository, where users look and
add, and install inside the package as `keras_transformer.problems` and so on.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

LEAVES = ("problems", "hparams", "t2t_compat")

packages = find_packages(include=["keras_transformer", "keras_transformer.*"])
package_dir = {"keras_transformer": "keras_transformer"}
for leaf in LEAVES:
    packages.append(f"keras_transformer.{leaf}")
    packages += [f"keras_transformer.{leaf}.{sub}" for sub in find_packages(leaf)]
    package_dir[f"keras_transformer.{leaf}"] = leaf

# One file a program: keras_transformer/cli/translate_all.py is kt-translate-all.
programs = sorted(
    path.stem
    for path in Path(__file__).parent.glob("keras_transformer/cli/*.py")
    if re.search(r"^main = ", path.read_text(encoding="utf-8"), re.MULTILINE)
)

setup(
    packages=packages,
    package_dir=package_dir,
    package_data={
        "keras_transformer": ["py.typed", "*/*.json", "*/*.html", "*/*.js", "*/*.css"],
        "keras_transformer.problems": ["data/**/*"],
    },
    entry_points={
        "console_scripts": [
            f"kt-{name.replace('_', '-')} = keras_transformer.cli.{name}:main" for name in programs
        ]
    },
)
