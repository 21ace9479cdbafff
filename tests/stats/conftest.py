import sys
from pathlib import Path

from hypothesis import settings

# Shared machines stall for longer than any sensible deadline; speed is measured in benchmarks/.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")

# The simulators behind `make calibrate` are no part of the package.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
