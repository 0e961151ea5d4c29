"""Jobs: what is done at which times, for which memories, and who is told."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from consolidator.settings.kinds import (
    Cron,
    FilePath,
    Is,
    Level,
    NameOfStore,
    NamesOfChannels,
    NamesOfSources,
    Nights,
    ScopesOfThose,
    Section,
    Steps,
    TimeOfDay,
    Zone,
    group,
)

JobName = Literal["consolidate", "shift", "collect", "report", "purge", "backup"]


class Job(Section):
    """What every job has."""

    enabled: bool = Field(True, description="whether it is done at all")
    at: TimeOfDay | None = Field(None, description="every day at this time", examples=["03:30"])
    cron: Cron | None = Field(
        None,
        description="or, without `at`, at the times of a cron expression: "
        "minute, hour, day of the month, month, day of the week",
        examples=["30 3 * * MON-FRI"],
    )
    time_zone: Zone | None = Field(
        None, description="where these times are local; without it the one above", examples=["Europe/Helsinki"]
    )
    scopes: ScopesOfThose | None = Field(
        None, description="these scopes only; without it those above", examples=[["user=ada,project=atlas"]]
    )
    store: NameOfStore | None = Field(
        None, description="one of `stores`, by its name; without it `store`", examples=["team"]
    )
    level: Level = Field(
        "errors",
        description="what is told: off, errors (only when something went wrong, or stopped happening), summary (one "
        "to three sentences) or detailed (numbers, examples with reasons, how to take it back; memories are quoted)",
    )
    channels: NamesOfChannels | None = Field(
        None, description="who is told: names of channels; without it all of them", examples=[["chat"]]
    )
    deadline_minutes: int = Field(60, ge=1, le=1440, description="it stops cleanly when it has taken so long")
    jitter_seconds: int = Field(0, ge=0, le=21_600, description="it begins up to so much later, by chance")
    quiet: bool | None = Field(
        None, description="true: nothing is told where nothing was done; without it as above", examples=[True]
    )

    @model_validator(mode="before")
    @classmethod
    def _one_of_two(cls, given: Any) -> Any:
        """The default of one gives way where the other is given."""
        if not isinstance(given, dict):
            return given
        given = {name: value for name, value in given.items() if value is not None or name not in ("at", "cron")}
        missing = {"at", "cron"} - given.keys()
        return given | dict.fromkeys(missing) if len(missing) == 1 else given

    @field_validator("cron")
    @classmethod
    def _not_both(cls, cron: str | None, info: ValidationInfo) -> str | None:
        if cron is not None and info.data.get("at", "wrong") is not None:
            raise ValueError("`at` is given too; leave one of them out")
        return cron

    @property
    def expression(self) -> str:
        """When it is due, as a cron expression."""
        if self.cron is not None:
            return self.cron
        assert self.at is not None  # every kind of job has a default for one of them
        hour, minute = self.at.split(":")
        return f"{int(minute)} {int(hour)} * * *"


class ConsolidateJob(Job):
    """The night: what helped grows stronger, the rest fades, what says the same becomes one."""

    at: TimeOfDay | None = Field("03:30", description="every day at this time")
    deadline_minutes: int = Field(240, ge=1, le=1440, description="it stops cleanly when it has taken so long")
    jitter_seconds: int = Field(300, ge=0, le=21_600, description="it begins up to so much later, by chance")
    sources: NamesOfSources | None = Field(
        None,
        description="other systems' stores, by their names in `sources`: pulled before the night, and pushed after it",
        examples=[["claw"]],
    )
    steps: Steps | None = Field(
        None,
        description="only these of reinforce, decay, associate, shift, prune, merge; without it all",
        examples=[["reinforce", "decay"]],
    )


class ShiftJob(Job):
    """By day: what was the future is the present by now, or the past."""

    at: TimeOfDay | None = Field("15:00", description="every day at this time")


class CollectJob(Job):
    """Takes in what a language model has answered in batches, where merge.mode is batch."""

    cron: Cron | None = Field("*/30 * * * *", description="at the times of a cron expression")
    deadline_minutes: int = Field(25, ge=1, le=1440, description="it stops cleanly when it has taken so long")


class ReportJob(Job):
    """A digest of the last nights."""

    cron: Cron | None = Field("0 9 * * MON", description="at the times of a cron expression")
    level: Level = Field("summary", description="how much it tells: off, errors, summary or detailed")
    nights: Nights = Field(7, description="how many nights back it looks")


class PurgeJob(Job):
    """
    Deletes what is old and has done its work; nothing that still waits to be counted.

    Ages are in nights; null is never.
    """

    at: TimeOfDay | None = Field("04:30", description="every day at this time")
    exposures_nights: Nights | None = Field(
        30, description="what was shown and is counted since: later its last trace is the links it made"
    )
    attributions_nights: Nights | None = Field(
        None, description="ratings that old are folded into the strengths they made", examples=[365]
    )
    archive_nights: Nights | None = Field(
        None, description="memories archived that long are deleted, and cannot be restored", examples=[730]
    )
    journal_nights: Nights | None = Field(
        None, description="nights and pushes that old can no longer be undone or shown", examples=[365]
    )


class BackupJob(Job):
    """Copies the store into a folder."""

    enabled: bool = Field(False, description="whether it is done at all")
    at: TimeOfDay | None = Field("02:30", description="every day at this time")
    folder: FilePath | None = Field(
        None,
        validate_default=True,
        description="where the copies go",
        examples=["/var/backups/consolidator"],
    )
    keep: Annotated[int, Is("a whole number of copies")] = Field(
        7, ge=1, le=10_000, description="so many copies are kept, the oldest go"
    )

    @field_validator("folder")
    @classmethod
    def _where(cls, folder: str | None, info: ValidationInfo) -> str | None:
        if folder is None and info.data.get("enabled"):
            raise ValueError("is missing; say where the copies go, e.g. folder: /var/backups/consolidator")
        return folder


class Jobs(Section):
    """
    What is done by itself. Each job can be left out, changed, or turned off by `enabled: false`.

    All have the settings of the first, but for its steps.
    """

    consolidate: ConsolidateJob = group()
    shift: ShiftJob = group()
    collect: CollectJob = group()
    report: ReportJob = group()
    purge: PurgeJob = group()
    backup: BackupJob = group()
