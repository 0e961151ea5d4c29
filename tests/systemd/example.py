"""The units at the top of the repository. Run as a program, this writes them."""

from pathlib import Path
from zoneinfo import ZoneInfo

from consolidator.instants import parse_instant
from consolidator.schedule.units import Host, units
from consolidator.settings import Settings

FOLDER = Path(__file__).parents[2] / "systemd"
HOST = Host(
    command=("/usr/local/bin/consolidate", "--settings", "/etc/consolidator/schedules.yaml"),
    credentials=(("merge", "/etc/consolidator/keys/merge"),),
    environment="/etc/consolidator/environment",
)


def example() -> dict[str, str]:
    """Those of a machine in Helsinki with all defaults and one secret: timers, and the service in their stead."""
    common = {"local": ZoneInfo("Europe/Helsinki"), "now": parse_instant("2026-01-01T00:00:00Z")}
    return units(Settings(), HOST, **common, daemon=False) | units(Settings(), HOST, **common, daemon=True)


if __name__ == "__main__":
    for path in FOLDER.iterdir():
        path.unlink()
    for name, text in example().items():
        (FOLDER / name).write_text(text)
