"""Notebooks run as they stand in the documentation, and figures appear in them once."""

import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]


def executed(notebook, folder):
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", resources=place).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    return [kind for out in cell.outputs for kind in out.get("data", {})]


def printed(cell):
    return "".join(out.get("text", "") for out in cell.outputs if out.output_type == "stream" and out.name == "stdout")


@pytest.fixture
def kernel(monkeypatch):
    """A kernel of this interpreter that uses these sources."""
    from jupyter_client import kernelspec

    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = kernelspec.KernelSpec(argv=start, display_name="x", language="python")
    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", lambda *_: spec)


@pytest.mark.usefixtures("kernel")
def test_the_tutorial_runs_and_shows_every_figure_once(tmp_path):
    notebook = nbformat.read(ROOT / "docs" / "tutorials" / "first_report.ipynb", 4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    cells = executed(notebook, tmp_path)
    for cell in cells:
        calls = sum(cell.source.count(word) for word in (".plot", ".figures("))
        assert kinds(cell).count("image/png") == calls, cell.source
    shown = {cell.source.splitlines()[-1]: cell for cell in cells}
    for line in ('SUITES["quick"]', 'CARDS["cora"]', "report", "report.verdicts()"):
        assert "text/html" in kinds(shown[line])
    assert "ci_half" in printed(shown["print(report.summary())"]).splitlines()[0]
    lines = [out for out in shown["report"].outputs if " cells, about" in out.get("data", {}).get("text/plain", "")]
    assert len(lines) == 1  # progress is one line, written again and again


CELLS = (
    "from graphnetz.report import example_report\nreport = example_report()",
    "figure, axes = report.plot()\naxes[0].set_title('mine')",
    "report.plot_forest()",
    "figure",
    "report.plot(); report.plot_dashboard()",
    "import matplotlib.pyplot as plt\n_, ax = plt.subplots()\nreport.plot(ax)[1]",
    "report.plot()",
)


@pytest.mark.parametrize(("backend", "own"), [("module://matplotlib_inline.backend_inline", 1), ("agg", 0)])
@pytest.mark.usefixtures("kernel")
def test_figures_appear_once_with_every_backend(backend, own, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", backend)
    cells = executed(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS]), tmp_path)
    counts = [kinds(cell).count("image/png") for cell in cells]
    assert counts == [0, 1, 1, 1, 2, own, 1]  # pyplot shows its own figures where its backend does
