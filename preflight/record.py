"""Records: typing's NamedTuple, made at a fraction of its cost.

In: classes with annotated fields.  Out: tuples with names, as `typing.NamedTuple` makes them.  A command defines over a
hundred records at every start, and typing compiles each annotation and a constructor for each of them; here neither
happens before the first instance is made.  To a type checker it is `typing.NamedTuple` itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    def _construct(cls, *values, **named):
        """The first instance of a class: make its constructor, then use it."""
        fields, defaults = cls._fields, cls._field_defaults
        names = ", ".join(fields)
        code = f"lambda _cls, {names}: _new(_cls, ({names}{',' if fields else ''}))"
        new = eval(code, {"_new": tuple.__new__, "__name__": f"record_{cls.__name__}", "__builtins__": {}})
        new.__name__ = "__new__"
        new.__qualname__ = f"{cls.__qualname__}.__new__"
        new.__defaults__ = tuple(defaults.values()) or None
        owner = next(each for each in cls.__mro__ if each.__dict__.get("_fields") is fields)
        owner.__new__ = staticmethod(new)
        return new(cls, *values, **named)

    def _make(cls, values):
        """A record from all its values in their order."""
        values = tuple(values)
        if len(values) != len(cls._fields):
            raise TypeError(f"expected {len(cls._fields)} values, got {len(values)}")
        return tuple.__new__(cls, values)

    def _replace(self, /, **changes):
        """The same record with other values in some fields."""
        fields = self._fields
        values = [changes.pop(name, value) for name, value in zip(fields, self, strict=True)]
        if changes:
            raise ValueError(f"got unexpected field names: {list(changes)!r}")
        return tuple.__new__(self.__class__, values)

    def _asdict(self):
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{self.__class__.__name__}({shown})"

    def _getnewargs(self):
        return tuple(self)

    _SHARED = {
        "__new__": staticmethod(_construct),
        "_make": classmethod(_make),
        "_replace": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": _getnewargs,
        "__slots__": (),
    }
    _RESERVED = frozenset(
        {"__new__", "__init__", "__slots__", "__getnewargs__", "_fields", "_field_defaults"}
    )

    class _Meta(type):
        def __new__(meta, name, bases, space):
            fields = tuple(space.get("__annotations__", ()))
            defaults = {}
            for field in fields:
                if field.startswith("_"):
                    raise ValueError(f"field names cannot start with an underscore: {field!r}")
                if field in space:
                    defaults[field] = space.pop(field)
                elif defaults:
                    raise TypeError(f"non-default field {field} cannot follow a default field")
            for taken in _RESERVED & space.keys():
                raise AttributeError(f"cannot overwrite {taken} of a record")
            content = {
                **_SHARED,
                **space,
                "_fields": fields,
                "_field_defaults": defaults,
                "__match_args__": fields,
            }
            content.update((field, _tuplegetter(index, "")) for index, field in enumerate(fields))
            return type(name, (tuple,), content)

    class _Base:
        """What classes name as their base; the metaclass leaves it out."""

        def __mro_entries__(self, bases):
            return (_Root,)

    _Root = type.__new__(_Meta, "NamedTuple", (), {})
    NamedTuple = _Base()
