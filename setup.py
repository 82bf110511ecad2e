"""Packages, console scripts and extras of keras-transformer-t2t.

`problems/`, `hparams/` and `t2t_compat/` stand at the top of the repository, where users look and
add, and install inside the package as `keras_transformer.problems` and so on.
"""

from setuptools import find_packages, setup

LEAVES = ("problems", "hparams", "t2t_compat")

packages = find_packages(include=["keras_transformer", "keras_transformer.*"])
package_dir = {"keras_transformer": "keras_transformer"}
for leaf in LEAVES:
    packages.append(f"keras_transformer.{leaf}")
    packages += [f"keras_transformer.{leaf}.{sub}" for sub in find_packages(leaf)]
    package_dir[f"keras_transformer.{leaf}"] = leaf

PROGRAMS = {
    "kt-avg": "avg",
    "kt-bleu": "bleu",
    "kt-datagen": "datagen",
    "kt-decoder": "decoder",
    "kt-import-t2t": "import_t2t",
    "kt-info": "info",
    "kt-trainer": "trainer",
}

setup(
    packages=packages,
    package_dir=package_dir,
    package_data={
        "keras_transformer": ["py.typed", "text/*.json"],
        "keras_transformer.problems": ["data/*"],
    },
    entry_points={
        "console_scripts": [
            f"{program} = keras_transformer.cli.{module}:main"
            for program, module in PROGRAMS.items()
        ]
    },
)
