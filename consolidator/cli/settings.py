"""Commands about the settings: settings check, schema, example, reference."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from consolidator.cli.output import emit, emit_json, emit_table, note, send
from consolidator.cli.session import JsonOption, Options, OutputOption, Session, clock, settings_in_use
from consolidator.errors import BadInput, BadSettings
from consolidator.home import usual_settings
from consolidator.instants import format_instant, to_datetime

if TYPE_CHECKING:
    from consolidator.settings import Reading, Settings
    from consolidator.settings.duty import Duty


def check(ctx: typer.Context, json: JsonOption = False) -> None:
    """
    Show the settings in force, secrets hidden, and when each job is due next.

    Where something is wrong, all of it is said, a line each, and the exit code is 2.

    \b
    Example:
        consolidate settings check
    """
    from consolidator.notify.send import unusable
    from consolidator.settings.duty import JOB_NAMES, duties, local_zone
    from consolidator.settings.shown import lines_of, masked, origins

    options: Options = ctx.obj
    file = settings_in_use(options.settings_file)
    reading = _read(file)
    session = Session(options.store, reading.settings, file)
    problems, means = _means(reading.settings)
    problems += [*unusable(reading.settings.channels), *_sources(reading.settings)]
    if problems:
        raise BadSettings(f"{file}: {problem}" for problem in problems)
    due = duties(reading.settings, local_zone())
    now = clock()
    shown = masked(reading.settings, reading.sources)
    notes = (*reading.notes, *_places(reading.settings), *_salience(session), *_vectors(reading.settings))
    if json:
        jobs = {name: _next(due[name], now) if name in due else None for name in JOB_NAMES}
        emit_json(
            {
                "file": str(file) if file else None,
                "settings": shown,
                "store": _store(session.url),
                "means": means,
                "next": jobs,
                "notes": notes,
            }
        )
        return
    for text in notes:
        note(text)
    emit(f"# {file}: nothing is wrong. What has no remark has its default." if file else _none_given())
    emit("\n".join(lines_of(shown, origins(reading.lines, reading.sources))))
    emit("\nWhat they lead to:\n")
    emit_table(("what", "how"), [("store", _store(session.url)), *means.items()])
    emit("")
    off = {name: (name, "off", "", _why_off(name, reading.settings), "") for name in JOB_NAMES}
    rows = [_row(due[name], now) if name in due else off[name] for name in JOB_NAMES]
    emit_table(("job", "next", "in the time zone", "on", "tells"), rows)


def schema(output: OutputOption = None) -> None:
    """
    Print a JSON Schema of the settings, by which editors help to write them.

    \b
    Example:
        consolidate settings schema -o schedules.schema.json
    """
    from consolidator.report.document import dumps
    from consolidator.settings.schema import json_schema

    send(dumps(json_schema()), output)


def example(output: OutputOption = None) -> None:
    """
    Print a settings file with every setting, its default and what it is for.

    \b
    Example:
        consolidate settings example -o schedules.yaml
    """
    from consolidator.settings.example import example

    if output is not None and output.is_file():  # it may be somebody's settings
        raise BadInput(f"{output}: is there already; name another file, or remove it")
    send(example().rstrip("\n"), output)


def reference(output: OutputOption = None) -> None:
    """
    Print a page about every setting, in Markdown.

    \b
    Example:
        consolidate settings reference -o settings.md
    """
    from consolidator.settings.reference import reference

    send(reference().rstrip("\n"), output)


def _none_given() -> str:
    return f"# No settings are given, so all have their defaults; {usual_settings()} would be read."


def _read(file: Path | None) -> "Reading":
    from consolidator.settings import Reading, Settings, read_settings

    return read_settings(file) if file else Reading(Settings(), {}, {}, ())


def _means(settings: "Settings") -> tuple[list[str], dict[str, str]]:
    """What is wrong with the models that are named, and which are used."""
    problems: list[str] = []
    means: dict[str, str] = {}
    for what, find in (("merge", _writer), ("embedding", _embedder)):
        try:
            means[what] = find(settings)
        except BadInput as error:
            problems.append(str(error))
    return problems, means


def _places(settings: "Settings") -> Iterator[str]:
    """Folders in which something is to be written, and cannot be now: they may be made later."""
    from consolidator.notify.channels import FileChannel

    backup, textfile = settings.jobs.backup, settings.metrics.textfile
    folders = {
        f"channels.{name}.path": Path(channel.path).parent
        for name, channel in settings.channels.items()
        if isinstance(channel, FileChannel)
    }
    if backup.enabled and backup.folder:
        folders["jobs.backup.folder"] = Path(backup.folder)
    if textfile:
        folders["metrics.textfile"] = Path(textfile).parent
    for name, folder in folders.items():
        if not folder.exists():
            yield f"{name}: the folder {folder} is not there"
        elif not folder.is_dir():
            yield f"{name}: {folder} is no folder"
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield f"{name}: the folder {folder} cannot be written to"


def _salience(session: Session) -> Iterator[str]:
    """What keeps the salience profile from being told whole."""
    from consolidator.salience import read_salience

    problem = read_salience(session.salience_file).problem
    if problem:
        yield f"salience: {problem}"


def _sources(settings: "Settings") -> Iterator[str]:
    """What keeps a source from being opened here."""
    from consolidator.sources.choose import parse_source

    for name, source in settings.sources.items():
        try:
            parse_source(source.url)
        except BadInput as error:
            yield f"sources.{name}.url: {error}"
        if source.mapping and not Path(source.mapping).is_file():
            yield f"sources.{name}.mapping: there is no file {source.mapping}"


def _vectors(settings: "Settings") -> Iterator[str]:
    """Sources in which new records get no vectors, for nothing here makes those that they hold."""
    from consolidator.embedding.choose import embedder_of, kept_as, spell

    choice = embedder_of(settings.embedding, None, os.environ)
    for name, source in settings.sources.items():
        if source.model and choice.model != kept_as(source.model):
            own = spell(choice.model) if choice.model else "none"
            yield f"sources.{name}.model: {source.model} is not the embedder's, {own}: new texts get no vectors there"


def _why_off(name: str, settings: "Settings") -> str:
    """Why a job is never due that is not turned off by itself."""
    needless = name == "collect" and settings.jobs.collect.enabled
    return "nothing: merge.mode is live" if needless else ""


def _writer(settings: "Settings") -> str:
    from consolidator.llm.choose import model_of

    choice = model_of(settings.merge, os.environ)
    if choice.model is None:
        return f"no language model: {choice.why}"
    cost = "" if choice.price else "; what it costs is not known"
    return f"{choice.model.provider}:{choice.model.name}, {settings.merge.mode}{cost}"


def _embedder(settings: "Settings") -> str:
    from consolidator.embedding.choose import embedder_of, spell

    choice = embedder_of(settings.embedding, None, os.environ)
    if choice.model is None or choice.embedder is None:
        return f"words alone: {choice.why}"
    return spell(choice.model) + ("" if settings.embedding.model else ", or the model that the store's vectors are of")


def _store(url: str) -> str:
    from consolidator.store.urls import parse_url, shown

    return shown(parse_url(url))


def _next(duty: "Duty", now: int) -> dict[str, Any]:
    from consolidator.schedule.calendar import due_after

    first = next(due_after(duty.cron, duty.zone, now))
    return {
        "day": first.day.isoformat(),
        "at": format_instant(first.at),
        "local": f"{to_datetime(first.at).astimezone(duty.zone):%Y-%m-%d %H:%M}",
        "time_zone": duty.zone.key,
        "cron": duty.cron,
    }


def _row(duty: "Duty", now: int) -> tuple[str, ...]:
    from consolidator.scopes import spell

    first = _next(duty, now)
    scopes = "all scopes" if duty.scopes is None else "; ".join(map(spell, duty.scopes)) or "no scope"
    where = f"{scopes} of {_store(duty.store)}" if duty.store else scopes
    told = f"{duty.level} to {', '.join(duty.channels)}" if duty.channels and duty.level != "off" else "nobody"
    return (duty.name, first["local"], first["time_zone"], where, told)
