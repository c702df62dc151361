"""What every test shares: the event loop, the number of examples, and where the browser is."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

# `ci` gives the same examples on every run and judges no test by the machine's speed; `soak` looks further.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    derandomize=False,
    deadline=None,
    max_examples=5_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


LONG = ("crash", "simulation", "script", "end_to_end")
"""The folders with the tests that take longest; they begin first, so that no worker is left alone with one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(part in LONG for part in item.path.parts))


@pytest.fixture
def anyio_backend() -> str:
    """The one event loop that the relay runs on; a test asks for it by `pytestmark = pytest.mark.anyio`."""
    return "asyncio"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser that `make test-browser` found or installed."""
    names = (os.environ.get("RELAY_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("No Chromium was found. Run `make test-browser`, or set RELAY_CHROMIUM to its path.")
    return found
