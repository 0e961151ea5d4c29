"""Folders of Markdown as memories: OpenClaw's memory-core, Claude Code, any other. Edits touch only their own lines."""

from consolidator.sources.markdown.source import open_source

__all__ = ["open_source"]
