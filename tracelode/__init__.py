"""tracelode turns an archive of GPU traces into answers: where the time goes, which iteration is slow, and why."""

from .store.version import VERSION as __version__

__all__ = ["__version__"]
