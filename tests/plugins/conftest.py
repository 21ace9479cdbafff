"""Plug-ins as pip leaves them: a module and a dist-info folder on the path of a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphnetz


class Site:
    """A folder of installed packages, and processes that see it."""

    def __init__(self, folder):
        self.folder = folder

    def install(self, name, source, **groups):
        """Install a module and its entry points: ``models={"Cheb": "Cheb3"}`` means group, name, object."""
        module = name.replace("-", "_")
        lines = []
        for group, points in groups.items():
            lines.append(f"[graphnetz.{group}]")
            lines += [f"{key} = {module}{':' + target if target else ''}" for key, target in points.items()]
        info = self.folder / f"{module}-1.2.dist-info"
        info.mkdir(parents=True)
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
        (info / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
        files = [f"{module}.py", *(f"{info.name}/{part}" for part in ("METADATA", "entry_points.txt", "RECORD"))]
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")

    def run(self, *arguments, cwd=None):
        """Run Python with the folder on its path; return the finished process."""
        path = os.pathsep.join([str(self.folder), str(Path(graphnetz.__file__).parents[1])])
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def python(self, code):
        """Run a program that must succeed; return the words it printed and what it warned of."""
        done = self.run("-c", code)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip(), done.stderr

    def graphnetz(self, *arguments, cwd=None):
        """Run the command line; it must succeed."""
        done = self.run("-m", "graphnetz", *arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr[-3000:]
        return done.stdout, done.stderr


@pytest.fixture
def site(tmp_path):
    """An empty folder of installed packages."""
    return Site(tmp_path / "site")
