"""A griffe extension: the reference shows what programs use, as they use it."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

from griffe import (
    Alias,
    Attribute,
    Class,
    Docstring,
    DocstringSectionAttributes,
    ExprCall,
    ExprKeyword,
    ExprName,
    ExprSubscript,
    ExprTuple,
    Extension,
    Function,
    Module,
    Object,
)


class PublicMembers(Extension):
    """Leaves out members whose docstring begins with "Internal", and `async` of calls written once for both APIs.

    The members of a TypedDict get their descriptions from its docstring, so that `unpack_typeddict` shows them wherever
    they are arguments.
    """

    def on_package(self, *, pkg: Module, **_kwargs: Any) -> None:
        """Change the members of all classes of the package."""
        self._walk(pkg)

    def _walk(self, thing: Object) -> None:
        for name, member in list(thing.members.items()):
            if isinstance(member, Alias):
                continue
            if member.docstring and member.docstring.value.startswith("Internal"):
                thing.del_member(name)
            elif isinstance(member, Module | Class):
                if isinstance(member, Class):
                    _describe_members(member) if _is_typed_dict(member) else _describe_making(member)
                self._walk(member)
                continue
            if isinstance(member, Function):
                _show_values(member)
            if any("operation" in str(decorator.value) for decorator in getattr(member, "decorators", ())):
                member.labels.discard("async")


def _show_values(call: Function) -> None:
    """Show the numbers of defaults that are constants of a module, such as `_DEFAULT_COUNT`."""
    for parameter in call.parameters:
        if isinstance(parameter.default, ExprName):
            constant = call.modules_collection[parameter.default.canonical_path]
            value = str(getattr(constant, "value", ""))
            if value.replace("_", "").isdigit():
                parameter.default = f"{int(value):_}"


def _is_typed_dict(cls: Class) -> bool:
    return any(str(base) == "TypedDict" for base in cls.bases) or any(map(_is_typed_dict, _parents(cls)))


def _parents(cls: Class) -> list[Class]:
    return [base for base in cls.resolved_bases if isinstance(base, Class)]


def _describe_members(cls: Class) -> None:
    """Give each member of a TypedDict its line of the section "Attributes", also those that are inherited."""
    for parent in reversed(_parents(cls)):
        _describe_members(parent)
        inherited = {name: one for name, one in parent.attributes.items() if name not in cls.members}
        # First as in the parent: that is their order when the program runs.
        cls.members = {**inherited, **cls.members}
        cls.bases = parent.bases
    for attribute in cls.attributes.values():
        _read_option(attribute)
    if cls.docstring is None:
        return
    for section in cls.docstring.parse("google", warnings=False):
        if isinstance(section, DocstringSectionAttributes):
            for attribute in section.value:
                cls.members[attribute.name].docstring = Docstring(attribute.description)
    # The table of arguments has them, with their types.
    cls.docstring.value = cls.docstring.value.partition("\nAttributes:\n")[0].rstrip()


def _read_option(attribute: Attribute) -> None:
    """Give a member that is declared as an option its plain type, and what the option does."""
    written = attribute.annotation
    if not isinstance(written, ExprSubscript) or str(written.left) != "Annotated":
        return
    assert isinstance(written.slice, ExprTuple)
    attribute.annotation, option = written.slice.elements
    assert isinstance(option, ExprCall)
    said = {one.name: one.value for one in option.arguments if isinstance(one, ExprKeyword)}
    attribute.docstring = Docstring(literal_eval(str(said["doc"])), parent=attribute)


def _describe_making(cls: Class) -> None:
    """Give `__init__` the docstring of a parent, as `help()` does; leave it out where programs make no such object."""
    making = cls.members.get("__init__")
    if making is None or making.has_docstring:
        return
    inherited = (parent.members.get("__init__") for parent in cls.mro())
    docstring = next((one.docstring for one in inherited if one is not None and one.docstring), None)
    if docstring is not None:
        making.docstring = Docstring(docstring.value, parent=making, parser=docstring.parser)  # type: ignore[arg-type]
    elif cls.docstring is None or "\nArgs:\n" not in cls.docstring.value:
        cls.del_member("__init__")
