"""Sources as a person names them: a name of the settings or a URL, and what either is opened with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from consolidator.embedding.choose import embedder_of, kept_as
from consolidator.embedding.port import Embedder
from consolidator.errors import BadInput
from consolidator.merging.secrets import find_secrets
from consolidator.scopes import EMPTY
from consolidator.settings import Embedding, Settings
from consolidator.settings import sources as given
from consolidator.sources.choose import KINDS, open_source
from consolidator.sources.port import Options, Source, VectorsOf
from consolidator.store.engine import Store
from consolidator.store.vectors import LONGEST_TEXT, Pin, pin_of


@dataclass(frozen=True, slots=True)
class Named:
    """A source that was asked for. name: what it is called to people."""

    name: str
    url: str
    options: Options


def named_source(settings: Settings, asked: str) -> Named:
    """
    The source of that name, or the one at that URL, which has what the settings say of it where they know it.

    BadInput where it is neither.
    """
    if asked in settings.sources:
        return _of_settings(asked, settings.sources[asked])
    for name, source in settings.sources.items():
        if source.url == asked:
            return _of_settings(name, source)
    if asked.partition(":")[0] not in KINDS:
        names = f" ({', '.join(settings.sources)})" if settings.sources else ""
        raise BadInput(
            f"{asked}: neither the name of a source in the settings{names} nor KIND:PLACE; "
            "`consolidate sources` lists the kinds"
        )
    return Named(asked, asked, Options())


def _of_settings(name: str, source: given.Source) -> Named:
    token = None if source.token is None else source.token.get_secret_value()
    return Named(name, source.url, Options(source.scope or EMPTY, source.model, source.mapping, token))


def with_vectors(
    options: Options, model: str | None, settings: Embedding, pin: Pin | None, environ: Mapping[str, str]
) -> Options:
    """
    The same options, with what gives vectors of a source's model: the embedder of the store, where it is of that one.

    Nothing is loaded before the first text comes.
    """
    if model is None:
        return options
    embedder = embedder_of(settings, pin, environ).embedder
    if embedder is None or embedder.model != kept_as(model):
        return options
    return replace(options, vectors_of=_vectors_of(embedder))


def _vectors_of(embedder: Embedder) -> VectorsOf:
    def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
        """Of a text with a secret, zeros: it goes to no other machine."""
        kept = [embedder.local or not find_secrets(text) for text in texts]
        found = embedder.passages([text[:LONGEST_TEXT] for text, good in zip(texts, kept, strict=True) if good])
        vectors = np.zeros((len(texts), embedder.dimension or 0), np.float32)
        if len(found):
            vectors[kept] = found
        return vectors

    return vectors_of


@contextmanager
def opened(
    named: Named, store: Store, settings: Embedding, environ: Mapping[str, str]
) -> Iterator[tuple[Source, Options]]:
    """An open source and what it is used with. BadInput where it cannot be used."""
    with store.read() as conn:
        pin = pin_of(conn)
    options = with_vectors(named.options, named.options.model, settings, pin, environ)
    with open_source(named.url, options) as source:
        yield source, with_vectors(options, source.model, settings, pin, environ)


def named_by_url(settings: Settings, url: str) -> Named:
    """The source that a store knows by this URL, with what the settings say of it, however they spell it."""
    found = named_source(settings, url)
    kind = url.partition(":")[0]
    if found.name != url:
        return found
    for name, said in settings.sources.items():
        if said.url.partition(":")[0] == kind:
            candidate = _of_settings(name, said)
            with suppress(BadInput), open_source(candidate.url, candidate.options) as source:
                if source.url == url:
                    return candidate
    return found
