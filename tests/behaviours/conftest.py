"""What the tests of the behaviours share. The relay that they run is in `fakes/living.py`."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "trunk: holds with every leaf behaviour taken away")
