"""The collector and the stubs of driver and CUPTI: the build that the collector's own tests use as well."""

from tests.native.conftest import builds, layout, programs

__all__ = ["builds", "layout", "programs"]
