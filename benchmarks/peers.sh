#!/usr/bin/env bash
# Installs what benchmarks/run.py compares with, each into an environment of its own:
#   benchmarks/peers.sh                 all that are missing, into .cache/peers
#   benchmarks/peers.sh tensor2tensor   only that one;   PEERS_DIR=/elsewhere for another folder
# A peer needs its own old Python: python3.7 or python3.10 on the PATH, in ~/.pyenv/versions or
# named by PYTHON3_7 or PYTHON3_10. Where it is missing the peer is left out and named.
# CTranslate2 is one of this project's development extras and lives in its own environment.
set -euo pipefail
cd "$(dirname "$0")/.."
peers_dir=${PEERS_DIR:-.cache/peers}

packages_of() {
    case $1 in
    tensor2tensor)
        echo "tensorflow==1.15.5 tensor2tensor==1.15.7 protobuf==3.20.3 numpy<1.19 gym==0.15.4" \
            "tensorflow-datasets<4 setuptools<60"
        ;;
    opennmt_tf)
        echo "OpenNMT-tf==2.32.0 tensorflow==2.13.1 keras<2.14 numpy<1.25"
        ;;
    esac
}

version_of() {
    [ "$1" = tensor2tensor ] && echo 3.7 || echo 3.10
}

# The first interpreter of a version that starts: those pyenv only pretends to have do not.
interpreter() {
    local version=$1 named candidate
    named=PYTHON${version/./_}
    for candidate in "${!named:-}" "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
        if [ -n "$candidate" ] && "$candidate" -c '' 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

install() {
    local name=$1 python folder=$peers_dir/$1
    if [ -x "$folder/bin/python" ]; then
        echo "$name is there"
        return
    fi
    if ! python=$(interpreter "$(version_of "$name")"); then
        echo "$name is left out: no python$(version_of "$name")"
        return
    fi
    rm -rf "$folder.part"
    read -ra packages <<<"$(packages_of "$name")"
    # uv resolves old releases in seconds where pip searches for minutes.
    if command -v uv >/dev/null; then
        uv venv --quiet --python "$python" "$folder.part"
        uv pip install --quiet --python "$folder.part/bin/python" "${packages[@]}"
    else
        "$python" -m venv "$folder.part"
        "$folder.part/bin/python" -m pip install --quiet --upgrade pip
        "$folder.part/bin/python" -m pip install --quiet "${packages[@]}"
    fi
    mv "$folder.part" "$folder"
    echo "$name is installed: $folder"
}

[ $# -gt 0 ] || set -- tensor2tensor opennmt_tf
mkdir -p "$peers_dir"
for name in "$@"; do
    if [ -z "$(packages_of "$name")" ]; then
        echo "no peer $name: tensor2tensor, opennmt_tf" >&2
        exit 2
    fi
    install "$name"
done
