#!/bin/sh
# Build the source archive and the wheel, check them, install the wheel into an empty environment and run it there.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH  # the wheel is to be run, not the sources

echo "== build"
rm -rf build dist
"$python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet "build>=1.2" "twine>=6" "setuptools>=77"
# The wheel is built from the unpacked source archive: what is missing there is missed here.
"$work/tools/bin/python" -m build --no-isolation --outdir dist
"$work/tools/bin/python" -m twine check --strict dist/*
for wanted in tests/packaging docs/guide.md CHANGELOG.md Makefile constraints.txt; do
  tar tzf dist/*.tar.gz | grep -q "^[^/]*/$wanted" || { echo "The source archive lacks $wanted." >&2; exit 1; }
done

echo "== install into an empty environment"
"$python" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet --constraint constraints.txt torch==2.13.0
"$work/empty/bin/python" -m pip install --quiet --constraint constraints.txt dist/*.whl

echo "== run"
cd "$work"
version=$("$work/empty/bin/graphnetz" --version)
echo "$version"
case "$(ls "$root/dist")" in
  *"-${version#graphnetz }-"*) ;;
  *) echo "The wheel in dist/ is not version ${version#graphnetz }." >&2; exit 1 ;;
esac
"$work/empty/bin/graphnetz" list > list.txt
GRAPHNETZ_OFFLINE=1 "$work/empty/bin/graphnetz" run --task karate_club --model GCN --model MLP --seeds 3 --epochs 20 --out run
test -s run/report.html
"$work/empty/bin/python" -m pip check
ls -l "$root/dist"
