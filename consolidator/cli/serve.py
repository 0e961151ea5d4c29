"""The command that runs jobs at their times: serve."""

import os

import typer

from consolidator.cli.output import emit, note
from consolidator.cli.session import Session, clock, start


def serve(ctx: typer.Context) -> int:
    """
    Run the jobs of the settings at their times, until told to stop.

    What was missed while it did not run is made up when it starts, once. SIGHUP has it read the settings anew; SIGTERM
    and Ctrl-C end it when a job under way has finished its step, a second one at once.

    \b
    Example:
        consolidate serve
    """
    session: Session = ctx.obj
    from consolidator.schedule.orders import orders_of
    from consolidator.schedule.serve import Service
    from consolidator.schedule.supervisor import Supervisor

    service = Service(
        orders_of(session),
        reread=lambda: orders_of(start(session.store, session.settings_file)),
        supervisor=Supervisor(os.environ, process=os.getpid()),
        clock=clock,
        say=emit,
        complain=lambda line: note(f"consolidate: {line}"),
    )
    return service.run()
