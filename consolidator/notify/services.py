"""
The services that Apprise reaches: which markup each takes, and how much of it.

Apprise is asked to send what it is given as it is. Limits are those of the services, in their own units; for a
service not listed here, Apprise's limit and the format that it declares.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from consolidator.errors import BadInput
from consolidator.notify import dialects
from consolidator.notify.channels import AppriseChannel
from consolidator.notify.dialects import Dialect, characters, octets, octets_or_escapes
from consolidator.notify.overhear import listen_to_log
from consolidator.notify.way import Way

AGENT = "consolidator"

# By the name of Apprise's plugin. The format is what Apprise must take the text for, so that it leaves it alone.
_KNOWN: Mapping[str, tuple[Way, str]] = {
    "NotifySlack": (Way(dialects.SLACK, 3_000), "markdown"),  # of one block
    "NotifyDiscord": (Way(dialects.CHAT_MARKDOWN, 2_000), "text"),
    "NotifyGuilded": (Way(dialects.CHAT_MARKDOWN, 2_000), "text"),
    "NotifyTelegram": (Way(dialects.TELEGRAM, 4_096), "html"),
    "NotifyMattermost": (Way(dialects.CHAT_MARKDOWN, 4_000), "text"),
    "NotifyRocketChat": (Way(dialects.CHAT_MARKDOWN, 1_000), "markdown"),
    "NotifyZulip": (Way(dialects.CHAT_MARKDOWN, 10_000), "text"),
    "NotifyWebexTeams": (Way(dialects.CHAT_MARKDOWN, 7_000, octets), "markdown"),
    "NotifyGoogleChat": (Way(dialects.GOOGLE_CHAT, 4_000), "markdown"),
    "NotifyWorkflows": (Way(dialects.TEAMS, 1_000), "markdown"),
    "NotifyMatrix": (Way(dialects.HTML, 20_000, octets), "html"),
    "NotifyNtfy": (Way(dialects.PLAIN, 3_800, octets_or_escapes, titled=True), "text"),
    "NotifyEmail": (Way(dialects.PLAIN, 500_000, titled=True), "text"),
}
_BY_FORMAT: Mapping[str, Dialect] = {
    "text": dialects.PLAIN,
    "markdown": dialects.MARKDOWN,
    "html": dialects.HTML,
}
_OURS = ("format", "overflow", "emojis", "retry", "wait")  # of a URL's options: decided here


def way_of_service(channel: AppriseChannel) -> Way:
    """How the service of a channel takes messages. BadInput where the URL means nothing to Apprise."""
    return plugin_of(channel)[1]


def plugin_of(channel: AppriseChannel) -> tuple[Any, Way, str]:
    """A new plugin for one message, how it takes that, and as which format it must be given it."""
    apprise = load_apprise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = apprise.plugins.url_to_dict(channel.url.get_secret_value())
    name = _name_of(given, apprise)
    known = _KNOWN.get(name)
    if known:
        for option in _OURS:
            given.pop(option, None)
    if name == "NotifySlack" and not given.get("template"):
        given["use_blocks"] = True
    plugin = apprise.Apprise.instantiate(given, asset=_asset(apprise))
    if plugin is None:
        raise BadInput("its URL lacks something, or holds it in the wrong place; see Apprise's page on the service")
    plugin.socket_connect_timeout = plugin.socket_read_timeout = channel.timeout_seconds
    plugin.throttle = lambda *_, **__: None  # one message is sent at a time; waiting is the outbox's work
    return plugin, *(_adjusted(plugin, known) if known else _declared(plugin))


def send_as_it_is(plugin: Any, form: str, text: str, title: str) -> bool:
    """
    Whether the service took the text.

    Of a known service the plugin's last step is called, before which others would convert or cut the text.
    """
    if type(plugin).__name__ in _KNOWN:
        common = load_apprise().common
        known = common.NotifyFormat(form)
        return bool(
            plugin.send(
                body=text, title=title, notify_type=common.NotifyType.INFO, body_format=known, body_passthrough=False
            )
        )
    return bool(plugin.notify(body=text, title=title, body_format=form, body_passthrough=True, overflow="upstream"))


def _name_of(given: Any, apprise: Any) -> str:
    """The name of the plugin that a parsed URL belongs to."""
    if not given or given.get("schema") not in apprise.manager_plugins.NotificationManager():
        raise BadInput("its URL means nothing to Apprise; write e.g. tgram://TOKEN/CHAT or discord://ID/TOKEN")
    return str(apprise.manager_plugins.NotificationManager()[given["schema"]].__name__)


def _adjusted(plugin: Any, known: tuple[Way, str]) -> tuple[Way, str]:
    """What a known service takes, where its URL chooses a mode in which it takes something else."""
    way, form = known
    name = type(plugin).__name__
    mode = str(getattr(plugin, "mode", "") or "")
    if name == "NotifySlack" and mode.startswith("workflow"):
        return replace(way, dialect=dialects.PLAIN), form
    if name == "NotifyMatrix" and mode not in ("", "off", "None"):
        return Way(dialects.PLAIN, 4_000), "text"
    return way, form


def _declared(plugin: Any) -> tuple[Way, str]:
    """What any other service takes: its text as it is, if it takes text."""
    form = str(plugin.resolve_format("text").value)
    titled = form == "text" and int(plugin.title_maxlen) > 0
    return Way(_BY_FORMAT[form], max(int(plugin.body_maxlen), 1), characters, titled=titled), form


@lru_cache(maxsize=1)
def load_apprise() -> Any:
    """Apprise and all its plugins, 0.6 s, paid once and only where something is sent."""
    listen_to_log()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports modules that newer Pythons call old
        import apprise
        import apprise.plugins

        module: Any = apprise
        module.manager_plugins.NotificationManager().load_modules()
    return module


@lru_cache(maxsize=1)
def _asset(apprise: Any) -> Any:
    """Who we are to the services: no picture fetched from anywhere, nothing stored, no redirect followed."""
    return apprise.AppriseAsset(
        app_id=AGENT,
        app_desc="The night shift of an agent's memory",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        http_redirects=False,
        interpret_emojis=None,
        storage_mode=apprise.PersistentStoreMode.MEMORY,
    )
