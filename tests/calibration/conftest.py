import sys
from pathlib import Path

# The simulations behind `make calibrate` are no part of the package.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
