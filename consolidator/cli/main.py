"""`consolidate`: the commands."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import consolidator
from consolidator.cli import (
    care,
    collect,
    embed,
    files,
    job,
    look,
    mcp,
    nights,
    notify,
    output,
    rate,
    recall,
    remember,
    runs,
    serve,
    settings,
    show,
    sources,
    stores,
    sync,
    systemd,
)
from consolidator.cli.ending import INTERRUPTED, end, ending
from consolidator.cli.session import Options, start

COMMANDS: dict[str, Callable[..., object] | None] = {
    "init": stores.init,
    "migrate": stores.migrate,
    "doctor": stores.doctor,
    "import": None,  # a group of its own
    "export": files.export,
    "embed": embed.embed,
    "sources": sources.sources,
    "pull": sources.pull,
    "push": sources.push,
    "sync": sync.sync,
    "messages": sources.messages,
    "run": nights.run,
    "apply": nights.apply,
    "collect": collect.collect,
    "job": job.job,
    "undo": runs.undo,
    "runs": runs.runs,
    "show": show.show,
    "pin": care.pin,
    "unpin": care.unpin,
    "restore": care.restore,
    "forget": care.forget,
    "stats": look.stats,
    "list": look.list_,
    "search": look.search,
    "remember": remember.remember,
    "recall": recall.recall,
    "rate": rate.rate,
    "history": show.history,
    "graph": look.graph,
    "serve": serve.serve,
    "mcp": mcp.mcp,
    "notify": None,  # a group of its own
    "settings": None,  # a group of its own
    "systemd": None,  # a group of its own
}


class InOrder(TyperGroup):
    """Commands listed in the order in which a person meets them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)


app = typer.Typer(
    name="consolidate",
    cls=InOrder,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for name, command in COMMANDS.items():
    if command is not None:
        app.command(name)(command)
imports = typer.Typer(rich_markup_mode=None)
imports.command("jsonl")(files.import_jsonl)
imports.command("formative")(files.import_formative)
app.add_typer(imports, name="import", help="Take memories and events in.")
told = typer.Typer(rich_markup_mode=None)
told.command("test")(notify.test)
told.command("outbox")(notify.outbox)
told.command("failure")(notify.failure)
app.add_typer(told, name="notify", help="Try a channel for messages; see and send what waits.")
own = typer.Typer(rich_markup_mode=None)
own.command("check")(settings.check)
own.command("example")(settings.example)
own.command("schema")(settings.schema)
own.command("reference")(settings.reference)
app.add_typer(own, name="settings", help="Check the settings, and see what they lead to.")
units = typer.Typer(rich_markup_mode=None)
units.command("print")(systemd.print_units)
units.command("install")(systemd.install)
app.add_typer(units, name="systemd", help="Have systemd do the jobs of the settings at their times.")


@app.callback(invoke_without_command=True)
def consolidate(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="A SQLite path, sqlite:///PATH or postgresql://...; "
            "else $CONSOLIDATOR_STORE, else the settings, else a file in your data folder.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Settings to read instead of schedules.yaml in your configuration folder.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """
    The night shift of an agent's memory.

    \b
    Start here:
        consolidate init
        consolidate import jsonl memories.jsonl
        consolidate run --dry-run
        consolidate run
    """
    if version:
        output.emit(f"consolidate {consolidator.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        output.emit(ctx.get_help())
        raise typer.Exit
    if ctx.invoked_subcommand == "settings":  # says itself what is wrong with them
        ctx.obj = Options(store, settings)
    else:
        ctx.obj = start(store, settings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one command and return its exit code. Without arguments, that of this process, which then ends."""
    return ending(lambda: _do(list(sys.argv[1:] if arguments is None else arguments)), last=arguments is None)


def _do(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
    except typer.TyperException as error:  # typer's own: a wrong option, a missing argument
        command = context.command_path if (context := getattr(error, "ctx", None)) else "consolidate"
        return end(f"{error.format_message().rstrip('.')} (see `{command} --help`)", 2)
    except typer.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0
