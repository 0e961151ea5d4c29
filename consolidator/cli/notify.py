"""Commands about messages: notify test, notify outbox, notify failure."""

from typing import Annotated, Any

import typer

from consolidator.cli.output import emit, emit_json, emit_table, note
from consolidator.cli.session import JsonOption, clock
from consolidator.errors import BadInput, ConsolidatorError

PARTLY = 3


def test(
    ctx: typer.Context,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Its name in the settings.")],
) -> None:
    """
    Send a test message to a channel, now.

    Exit code 1 where it is not taken, with the reason.

    \b
    Example:
        consolidate notify test chat
    """
    from consolidator.notify.channels import shown
    from consolidator.notify.deliver import chosen, try_channel

    found = chosen(ctx.obj.settings.channels, [channel])[channel]
    outcome = try_channel(channel, found, now=clock(), emit=emit)
    if not outcome.delivered:
        raise ConsolidatorError(f"{channel} ({shown(found)}): not sent: {outcome.reason}")
    note(f"{channel} ({shown(found)}): sent.")


def outbox(
    ctx: typer.Context,
    retry: Annotated[
        bool, typer.Option("--retry", help="Send now what waits, and try once more what was given up.")
    ] = False,
    count: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many of those delivered to list.")] = 10,
    json: JsonOption = False,
) -> int:
    """
    List the messages that wait, were delivered or were given up, and why.

    With --retry: exit code 1 where nothing could be sent, 3 where some could not.

    \b
    Example:
        consolidate notify outbox --retry
    """
    from consolidator.notify.channels import StdoutChannel, shown
    from consolidator.notify.deliver import drain
    from consolidator.store.outbox import listed

    channels = ctx.obj.settings.channels
    code = 0
    with ctx.obj.open("write" if retry else "read") as store:
        if retry:
            # What is printed is one JSON document, or messages among others.
            used = {name: each for name, each in channels.items() if not (json and isinstance(each, StdoutChannel))}
            sent = drain(store, used, wall_clock=clock, emit=emit, again=True)
            arrived = sum(each.outcome.delivered for each in sent)
            code = 0 if arrived == len(sent) else PARTLY if arrived else 1
            if not json:
                emit(f"Tried {len(sent):,}, sent {arrived:,}." if sent else "Nothing waits to be sent.")
        with store.read() as conn:
            found = listed(conn, now=clock(), limit=count)
    for each in found:
        channel = channels.get(each["channel"])
        each["kind"] = shown(channel) if channel else None
        if channel is None and each["state"] == "waiting":
            each["reason"] = "the settings have no channel of this name"
    if json:
        emit_json({"outbox": found})
    elif not found and not retry:
        emit("The outbox is empty: no message was written yet.")
    elif found:
        emit_table(("created", "channel", "part", "state", "tries", "next", "what, and why"), list(map(_row, found)))
    return code


def failure(
    ctx: typer.Context,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="A unit of systemd.")],
    user: Annotated[bool, typer.Option("--user", help="One of your own, not of the system.")] = False,
) -> int:
    """
    Tell that a unit of systemd failed, where its job could not: it was killed, took too long, or never began.

    Units that `systemd install` writes do so by themselves. Of a job that ended with an exit code of its own nothing is
    told: it told so itself. Exit code 1 where nobody could be told, 3 where some could not.

    \b
    Example:
        consolidate notify failure consolidate.service
    """
    from consolidator.notify.channels import shown
    from consolidator.notify.deliver import tell_directly
    from consolidator.schedule.broken import is_name_of_a_unit, message_of_failure, state_of
    from consolidator.settings.duty import duties, local_zone

    if not is_name_of_a_unit(unit):
        raise BadInput(f"{unit!r}: is not the name of a unit; write e.g. consolidate.service")
    settings, now = ctx.obj.settings, clock()
    state = state_of(unit, own=user)
    message, channels = message_of_failure(unit, state, settings, duties(settings, local_zone()), own=user, now=now)
    if message is None:
        return 0
    sent = tell_directly(message, channels, now=now, emit=emit)
    for each in sent:
        if not each.outcome.delivered:
            note(f"{each.channel} ({shown(channels[each.channel])}): not sent: {each.outcome.reason}")
    arrived = sum(each.outcome.delivered for each in sent)
    return 0 if arrived == len(sent) else PARTLY if arrived else 1


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    part = f"{each['part']}/{each['parts']}"
    why = f": {each['reason']}" if each["reason"] else ""
    kind = f" ({each['kind']})" if each["kind"] else ""
    return (
        each["created_at"],
        f"{each['channel']}{kind}",
        part,
        each["state"],
        each["attempts"],
        each["next_at"] or "",
        f"{each['title']}{why}",
    )
