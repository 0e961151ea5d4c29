"""What may stand where in the settings, as the model says it."""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from consolidator.settings.kinds import FileToo, Is

FILE_SUFFIX = "_file"
_TAG = "type"  # what tells channels apart


class Shape(NamedTuple):
    """
    What a value may be.

    core: a group (a model), a union of groups, a dict, a tuple or list, or a plain type. marks: what is said of it on
    the way there. nullable: None is one of its values. field: where it is a named setting, all that is known of it.
    """

    core: Any
    marks: tuple[Any, ...] = ()
    nullable: bool = False
    field: FieldInfo | None = None

    @property
    def is_secret(self) -> bool:
        """Whether nobody may see it."""
        return self.core is SecretStr

    @property
    def noun(self) -> str | None:
        """What it is, in words."""
        return next((mark.what for mark in self.marks if isinstance(mark, Is)), None)

    @property
    def groups(self) -> tuple[type[BaseModel], ...]:
        """The groups of settings it may be: one, several told apart by their `type`, or none."""
        cores = get_args(self.core) if get_origin(self.core) in (Union, UnionType) else (self.core,)
        return tuple(core for core in cores if isinstance(core, type) and issubclass(core, BaseModel))

    def group(self, data: Any) -> type[BaseModel] | None:
        """The group that data are meant to be."""
        if len(self.groups) < 2:
            return self.groups[0] if self.groups else None
        tag = data.get(_TAG) if isinstance(data, Mapping) else None
        return next((group for group in self.groups if tag in get_args(group.model_fields[_TAG].annotation)), None)

    def inner(self, key: str | int, data: Any = None) -> "Shape | None":
        """What may stand under a key; None where none of that name is known."""
        group = self.group(data)
        if group is not None:
            field = group.model_fields.get(str(key))
            return field and of_field(field)
        origin, arguments = get_origin(self.core), get_args(self.core)
        if origin is dict:
            return _bare(arguments[1])
        return _bare(arguments[0]) if origin in (tuple, list) else None


def of_field(field: FieldInfo) -> Shape:
    """What a named setting may be."""
    bare = _bare(field.annotation)
    return bare._replace(marks=(*field.metadata, *bare.marks), field=field)


def of_model(model: type[BaseModel]) -> Shape:
    """A group."""
    return Shape(model)


def fields(group: type[BaseModel]) -> Iterator[tuple[str, Shape]]:
    """The settings of a group, in order."""
    for name, field in group.model_fields.items():
        yield name, of_field(field)


def may_be_in_a_file(shape: Shape) -> bool:
    """Whether beside the key `x` there is `x_file`."""
    return shape.is_secret or any(isinstance(mark, FileToo) for mark in shape.marks)


def keys(group: type[BaseModel]) -> list[str]:
    """Every key that a group knows, `x_file` after its `x`."""
    return [
        key
        for name, shape in fields(group)
        for key in ((name, name + FILE_SUFFIX) if may_be_in_a_file(shape) else (name,))
    ]


def _bare(annotation: Any) -> Shape:
    """An annotation without what is said of it and without `| None`."""
    marks: tuple[Any, ...] = ()
    nullable = False
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *said = get_args(annotation)
            marks += tuple(each for mark in said for each in (mark.metadata if isinstance(mark, FieldInfo) else [mark]))
            continue
        rest = [each for each in get_args(annotation) if each is not NoneType]
        if get_origin(annotation) in (Union, UnionType) and len(rest) < len(get_args(annotation)):
            nullable = True
            annotation = rest[0] if len(rest) == 1 else Union[tuple(rest)]  # noqa: UP007
            continue
        return Shape(annotation, marks, nullable)
