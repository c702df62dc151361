"""A workspace that holds access.json or the state folder would let whoever talks to the agent change who may what."""

import json
from pathlib import Path

import pytest

from relay import app
from relay.clock import SystemClock
from relay.errors import ConfigError


def settled(folder: Path, workspace: str, state: Path) -> app.Settled:
    config = folder / "access.json"
    rooms = {"web:main": {"agent": "scout", "workspace": workspace}}
    config.write_text(
        json.dumps({"version": 1, "agents": {"scout": {"runtime": "scripted"}}, "rooms": rooms})
    )
    said: list[str] = []
    return app.settle(app.Options(config=config, state=state, say=said.append, env={}), SystemClock())


def test_a_folder_of_its_own_is_fine_also_below_the_state_folder(tmp_path: Path) -> None:
    assert settled(tmp_path, "./workspace", tmp_path / "state").state == tmp_path / "state"
    assert settled(tmp_path, "./state/files", tmp_path / "state").state == tmp_path / "state"


@pytest.mark.parametrize("workspace", [".", "..", "./link"])
def test_a_workspace_that_holds_access_json_is_refused(tmp_path: Path, workspace: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match=r"holds access\.json|holds the state folder"):
        settled(tmp_path, workspace, tmp_path.parent / "elsewhere")


def test_a_workspace_that_holds_the_state_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds the state folder"):
        settled(tmp_path, "./work", tmp_path / "work" / "state")


def test_without_a_config_the_state_folder_is_kept_out_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="holds the state folder"):
        app.settle(app.Options(state=tmp_path / "workspace" / "s", env={}), SystemClock())
