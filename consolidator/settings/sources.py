"""Sources: other systems' stores, as the settings name them."""

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from consolidator.settings.kinds import EmbeddingModel, FilePath, Scope, Section, SourceUrl


class Source(Section):
    """A store of another system."""

    url: SourceUrl = Field(
        description="KIND:PLACE, or KIND alone for the place that is usual; `consolidate sources` lists the kinds",
        examples=["claw-memory-ultra"],
    )
    scope: Scope | None = Field(
        None, description="pairs that its scopes have here besides their own", examples=["user=ada"]
    )
    model: EmbeddingModel | None = Field(
        None,
        description="of which model the vectors in it are, as embedding.model is written; where that is the same one, "
        "new records over there are given vectors",
        examples=["openai:text-embedding-3-small"],
    )
    mapping: FilePath | None = Field(
        None,
        validate_default=True,
        description="the file that says what the fields of an export mean",
        examples=["my-export.yaml"],
    )
    token: SecretStr | None = Field(None, description="what it is asked with", examples=["${SOURCE_TOKEN}"], repr=False)

    @field_validator("model", "mapping", "token")
    @classmethod
    def _sensible(cls, given: object, info: ValidationInfo) -> object:
        """What its kind has no use for is refused, for then something else was meant."""
        from consolidator.sources.choose import KINDS

        kind = KINDS.get(str(info.data.get("url")).partition(":")[0])
        if kind is None:
            return given
        if given is not None and info.field_name not in kind.takes:
            raise ValueError(f"{kind.name} has no {info.field_name}; leave it out")
        if given == "none":
            raise ValueError("none is no model; leave it out where it is not known")
        if given is None and info.field_name == "mapping" and kind.name == "csv":
            raise ValueError("is missing: a CSV file says nothing of its columns itself; docs/sources.md shows one")
        return given
