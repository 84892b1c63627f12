"""A griffe extension: the reference shows what programs use, as they use it."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Class, Extension, Module, Object


class PublicMembers(Extension):
    """Leaves out members whose docstring begins with "Internal", and the word `async` of calls written once for both APIs."""

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
                self._walk(member)
            elif any("operation" in str(decorator.value) for decorator in getattr(member, "decorators", ())):
                member.labels.discard("async")
