"""What monitors outside are told of a job: the dead man's switch of the night, and Prometheus. They change nothing."""

from collections.abc import Callable, Mapping
from time import monotonic

from pydantic import SecretStr

from consolidator.notify.ping import ping
from consolidator.report import Report
from consolidator.schedule.metrics import Measured, write_metrics
from consolidator.settings import Settings
from consolidator.settings.jobs import JobName

PARTLY = 3
_SWITCHED = "consolidate"  # the job that the switch waits for


class Outside:
    """
    Of one job. say: takes a line for the log; no address is ever in one.

    They hear nothing of a job that has nothing to do, as it was done before.
    """

    def __init__(
        self, job: JobName, settings: Settings, wall_clock: Callable[[], int], say: Callable[[str], None]
    ) -> None:
        self._job, self._settings, self._clock, self._say = job, settings, wall_clock, say
        self._began = monotonic()
        self._told = False

    def begins(self) -> None:
        """Work begins; where it does so again, that is no news."""
        if not self._told:
            self._told = True
            self._ping("start", self._settings.ping.start)

    def ended(
        self,
        exit_code: int,
        *,
        failure: str | None,
        report: Report | None = None,
        outbox: Mapping[str, int] | None = None,
        stopped: bool = False,
    ) -> None:
        """
        How it ended. failure: one line without memory text. stopped: on request, to go on later, which is neither a
        success nor a failure to the switch.
        """
        self.begins()
        well = exit_code == 0 or (exit_code == PARTLY and not failure)
        if not stopped:
            reason = "" if well else failure or f"exit code {exit_code}"
            switch = self._settings.ping
            self._ping("success" if well else "fail", switch.success if well else switch.fail, reason)
        if self._settings.metrics.textfile:
            seconds = monotonic() - self._began
            measured = Measured(self._job, self._clock(), seconds, exit_code, well, report, outbox)
            problem = write_metrics(self._settings.metrics.textfile, measured)
            if problem:
                self._say(problem)

    def _ping(self, which: str, url: SecretStr | None, reason: str = "") -> None:
        if self._job != _SWITCHED or url is None:
            return
        now = self._clock()
        outcome = ping(url, seconds=self._settings.ping.timeout_seconds, now=now, reason=reason)
        if not outcome.delivered:
            self._say(f"ping.{which}: not sent: {outcome.reason}")
