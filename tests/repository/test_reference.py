"""The reference of the documentation describes every argument. It is read with the tools that build the pages."""

import re
from pathlib import Path

import griffe
import pytest
from griffe import Class, DocstringSection, Function, Object

ROOT = Path(__file__).parents[2]
NAMED = [
    name
    for page in sorted((ROOT / "docs" / "reference").glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def package() -> Object:
    extensions = griffe.load_extensions("unpack_typeddict", ROOT / "docs" / "build" / "public_members.py")
    loaded = griffe.load(
        "bullrush",
        search_paths=[ROOT / "python"],
        extensions=extensions,
        docstring_parser="google",
        resolve_aliases=True,
    )
    assert isinstance(loaded, Object)
    return loaded


def shown(package: Object, name: str) -> list[Object]:
    """Return what a line of the reference shows: a class or a function, or the public names of a module."""
    found = package[name.removeprefix("bullrush.")]
    found = found.final_target if found.is_alias else found
    if not found.is_module:
        return [found]
    public = found.exports or [name for name, one in found.members.items() if not one.is_alias and one.is_class]
    return [each for inner in public for each in shown(package, f"{found.path}.{inner}")]


def calls(thing: Object) -> list[Function]:
    if isinstance(thing, Function):
        return [] if any("fixture" in str(one.value) for one in thing.decorators) else [thing]
    members = (one.final_target if one.is_alias else one for one in thing.all_members.values())
    return [one for one in members if isinstance(one, Function) and (one.name == "__init__" or one.name[0] != "_")]


def described(thing: Object) -> set[str]:
    """Return the names that the docstring of a function or a class describes."""
    sections: list[DocstringSection] = thing.docstring.parsed if thing.docstring else []
    tables = [section.value for section in sections if section.kind.value in {"parameters", "attributes"}]
    return {row.name.lstrip("*") for table in tables for row in table if row.description.strip()}


def test_every_argument_has_a_description(package: Object) -> None:
    functions = {call.path: call for name in NAMED for thing in shown(package, name) for call in calls(thing)}
    assert {"bullrush.queue.adding.QueueAdding.add", "bullrush.worker.worker.Worker.__init__"} <= functions.keys()
    missing = []
    for path, call in functions.items():
        known = described(call)
        if call.name == "__init__" and isinstance(call.parent, Class):
            known |= described(call.parent)
        # An underscore says that it is not used.
        given = {one.name for one in call.parameters if one.name[0] != "_"} - {"self", "cls"}
        missing += [f"{path}: {name}" for name in sorted(given - known)]
    assert missing == [], missing


@pytest.mark.parametrize(
    ("call", "option", "words"),
    [
        ("queue.adding.QueueAdding.add", "attempts", "how often the job may run"),
        ("worker.base.WorkerBase.__init__", "lock_duration", "how long a job's lock lasts"),
        ("worker.worker.Worker.__init__", "lock_duration", "how long a job's lock lasts"),
        ("tasks.task.Task.using", "attempts", "how often the job may run"),
        ("tasks.options.TaskOptions.__init__", "attempts", "how often the job may run"),
        ("tasks.options.TaskOptions.__init__", "timeout", "ms that one run may take"),
    ],
)
def test_options_are_shown_as_arguments_with_their_descriptions(
    package: Object, call: str, option: str, words: str
) -> None:
    function = package[call]
    assert function.parameters[option].annotation is not None
    (table,) = [section.value for section in function.docstring.parsed if section.kind.value == "parameters"]
    (description,) = [row.description for row in table if row.name == option]
    assert words in description


def test_a_default_that_is_a_constant_is_shown_with_its_value(package: Object) -> None:
    assert package["worker.worker.Worker.run"].parameters["horizon"].default == "60_000"
    assert package["queue.administration.QueueAdministration.retry_jobs"].parameters["count"].default == "1_000"
    functions = {call.path: call for name in NAMED for thing in shown(package, name) for call in calls(thing)}
    private = [
        f"{path}: {one.name}"
        for path, call in functions.items()
        for one in call.parameters
        if str(one.default)[:1] == "_"
    ]
    assert private == []


def test_what_programs_do_not_make_shows_no_constructor(package: Object) -> None:
    assert "__init__" not in package["job.fields.JobFields"].members
    assert "__init__" not in package["events.event.Event"].members
