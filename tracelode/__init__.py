"""tracelode turns an archive of GPU traces into answers: where the time goes, which iteration is slow, and why."""

from .store.version import VERSION

__version__ = VERSION

__all__ = ["__version__"]
