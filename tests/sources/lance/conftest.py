"""The tables that these tests ask for."""

from pathlib import Path

import pytest

from consolidator.sources.lance.flavours import FLAVOURS
from tests.sources.lance.acts import PRO, ULTRA
from tests.sources.lance_foreign import LanceForeign


@pytest.fixture(params=FLAVOURS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> LanceForeign:
    return LanceForeign(request.param, tmp_path / "it")


@pytest.fixture
def ultra(tmp_path: Path) -> LanceForeign:
    return LanceForeign(ULTRA, tmp_path / "it")


@pytest.fixture
def pro(tmp_path: Path) -> LanceForeign:
    return LanceForeign(PRO, tmp_path / "it")
