"""Makes traces of a training run that never happened, and says the truth about them."""

from .formats import FORMATS, write_formats
from .kineto import write_kineto
from .nsys import write_nsys
from .run import Run
from .truth import truth, write_truth
from .workload import Workload

__all__ = ["FORMATS", "Run", "Workload", "truth", "write_formats", "write_kineto", "write_nsys", "write_truth"]
