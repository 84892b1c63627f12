"""Targets and profiles: what matches, what a route is called, and what is refused."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bullrush._core import CoreProfile, CoreTarget, route_base
from bullrush.errors import InvalidOptionError, UnknownOptionError
from bullrush.routing import check_profile, check_target
from bullrush.values.naming import check_queue_name

WORDS = ["gpu", "gpu:a100", "cuda_12", "a+b", "a", "b", "EU", "x" * 64, "a/b.c-d"]
word = st.sampled_from(WORDS) | st.text("abZ9._:/+-", min_size=1, max_size=64)
wild = word | st.just("*") | word.map(lambda text: f"{text[:63]}*")


def words(of: st.SearchStrategy[str], most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(of, max_size=most)


targets = st.fixed_dictionaries(
    {},
    optional={
        "server": word,
        "stack": words(word, 8),
        "capabilities": words(wild, 16),
        "region": words(word, 8),
        "mode": st.sampled_from(["all", "any", "each"]),
    },
)
#: Without a server nearly always: with one nothing else counts.
open_targets = targets.map(lambda target: {name: value for name, value in target.items() if name != "server"})
any_target = open_targets | targets
profiles = st.fixed_dictionaries(
    {}, optional={"server": word, "stack": words(word, 4), "capabilities": words(word, 6), "region": words(word, 4)}
)


def holds(had: list[str], wanted: str) -> bool:
    return any(token.startswith(wanted[:-1]) if wanted.endswith("*") else token == wanted for token in had)


def expected(target: dict[str, Any], profile: dict[str, Any]) -> bool:
    """Return whether they match, by the table of the specification."""
    stack, region = target.get("stack") or [], target.get("region") or []
    capabilities = target.get("capabilities") or []
    if "server" in target:
        return target["server"] == profile.get("server")
    if not stack and not region and not capabilities:
        return True
    had = profile.get("capabilities", [])
    fields = [
        [name in profile.get("stack", []) for name in stack],
        [name in profile.get("region", []) for name in region],
        [holds(had, name) for name in capabilities],
    ]
    given = [field for field in fields if field]
    match target.get("mode", "all"):
        case "any":
            return any(any(field) for field in given)
        case "each":
            return all(any(field) for field in given)
        case _:
            return all(any(field) for field in fields[:2] if field) and all(fields[2])


@given(target=any_target, profile=profiles)
@settings(max_examples=400, deadline=None)
def test_a_worker_matches_as_the_specification_says(target: dict[str, Any], profile: dict[str, Any]) -> None:
    assert check_target("target", target).matches(check_profile("profile", profile)) == expected(target, profile)


@given(target=any_target)
@settings(deadline=None)
def test_the_name_of_a_route_is_a_queue_name_in_every_language(target: dict[str, Any]) -> None:
    checked = check_target("target", target)
    assume(checked.slug)
    name = check_queue_name(checked.queue_of("video"))
    assert len(checked.slug) <= 80
    assert name.startswith("video~")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~")
    assert route_base(name) == "video"


@given(target=any_target, order=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_and_the_repetition_of_words_make_no_difference(target: dict[str, Any], order: Any) -> None:
    other = dict(target)
    for field in ("stack", "capabilities", "region"):
        if field in other:
            other[field] = [*other[field], *other[field][:1]]
            order.shuffle(other[field])
    assert check_target("target", other).canonical == check_target("target", target).canonical


@given(one=any_target, two=any_target)
@settings(deadline=None)
def test_targets_with_one_name_are_the_same_unless_a_plus_joins_their_words(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    first, second = check_target("target", one), check_target("target", two)
    if first.slug == second.slug and "+" not in first.slug:
        assert first.canonical == second.canonical


@given(target=any_target)
@settings(deadline=None)
def test_the_registered_form_of_a_target_reads_back(target: dict[str, Any]) -> None:
    checked = check_target("target", target)
    assume(checked.slug)
    again = CoreTarget.parse(checked.slug, checked.canonical)
    assert (again.canonical, again.tier, again.criteria) == (checked.canonical, checked.tier, checked.criteria)
    assert again.canonical == json.dumps(json.loads(again.canonical), sort_keys=True, separators=(",", ":"))


@given(profile=profiles)
@settings(deadline=None)
def test_a_worker_matches_all_its_self_routes(profile: dict[str, Any]) -> None:
    checked = check_profile("profile", profile)
    routes = checked.self_routes()
    assert all(route.matches(checked) and route.criteria == 1 for route in routes)
    lists = ("stack", "capabilities", "region")
    assert len(routes) == ("server" in profile) + sum(len(set(profile.get(name, []))) for name in lists)


def test_the_examples_of_the_documentation_have_these_names() -> None:
    def slug(target: object) -> str:
        return check_target("target", target).slug

    assert slug({"capabilities": ["gpu"]}) == "cap.gpu"
    assert slug({"capabilities": ["gpu", "cuda12"], "region": ["eu"]}) == "cap.cuda12+gpu_reg.eu"
    assert slug({"server": "exec-17"}) == "srv.exec-17"
    assert slug({}) == slug({"stack": [], "mode": "any", "server": None}) == ""


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gpu", "target must be a dict of server, stack, capabilities, region"),
        ({"capability": ["gpu"]}, "Did you mean 'capabilities'"),
        ({"capabilities": "gpu"}, r"target.capabilities must be a list: \['gpu'\]"),
        ({"capabilities": {"gpu": 1}}, "target.capabilities must be a list of texts"),
        ({"region": [7]}, "target.region must be a text, not 7"),
        ({"region": [""]}, "target.region must be a text"),
        ({"region": ["eu west"]}, 'target.region must be 1 to 64 letters.*not "eu west"'),
        ({"region": ["eu*"]}, "only the capabilities of a target may end with"),
        ({"capabilities": ["g*u"]}, "may only be its last character"),
        ({"capabilities": ["x" * 65]}, "1 to 64"),
        ({"capabilities": ["\ud800"]}, "surrogate"),
        ({"server": ["a"]}, "target.server must be a text"),
        ({"server": "a b"}, "target.server must be 1 to 64"),
        ({"stack": [str(n) for n in range(9)]}, "target.stack may have 8 different values, not 9"),
        ({"region": [str(n) for n in range(9)]}, "target.region may have 8"),
        ({"capabilities": [str(n) for n in range(17)]}, "target.capabilities may have 16"),
        ({"stack": ["a"], "mode": "most"}, "target.mode must be 'all' or 'any' or 'each', not 'most'"),
        ({"stack": ["a"], "fallback": "base"}, "target.fallback needs fallback_after"),
        ({"stack": ["a"], "fallback_after": -1}, "target.fallback_after"),
        ({"stack": ["a"], "fallback_after": 1, "fallback": "far"}, "must be 'base' or a target"),
        ({"stack": ["a"], "fallback_after": 1, "fallback": {"stack": ["a"]}}, "must be another target"),
        ({"stack": ["a"], "fallback_after": 1, "fallback": {"stack": ["a"], "region": ["eu"]}}, "must be wider"),
        ({"stack": ["a"], "fallback_after": 1, "fallback": {"fallback_after": 1}}, "has no option 'fallback_after'"),
        ({"fallback_after": 1}, "needs a criterion"),
    ],
)
def test_a_wrong_target_is_refused(target: Any, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        check_target("target", target)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (["gpu"], "profile must be a dict of server, stack, capabilities, region"),
        ({"capabilities": ["gpu:*"]}, "only the capabilities of a target may end with"),
        ({"mode": "any"}, "profile has no option 'mode'"),
        ({"stack": "python"}, r"profile.stack must be a list: \['python'\]"),
        ({"server": 7}, "profile.server must be a text"),
    ],
)
def test_a_wrong_profile_is_refused(profile: Any, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        check_profile("profile", profile)


def test_the_spelling_of_other_languages_leads_to_the_name_here() -> None:
    with pytest.raises(UnknownOptionError, match="use 'fallback_after'"):
        check_target("target", {"fallbackAfter": 1})


def test_a_fallback_is_not_a_part_of_the_identity() -> None:
    gpu = {"capabilities": ["gpu"]}
    plain = check_target("target", gpu)
    to_base = check_target("target", {**gpu, "fallback_after": timedelta(minutes=1)})
    to_region = check_target("target", {**gpu, "fallback_after": 500, "fallback": {"region": ["eu"]}})
    off = check_target("target", {**gpu, "fallback_after": 0})
    assert {plain.canonical} == {target.canonical for target in (to_base, to_region, off)}
    afters = [target.fallback_after for target in (plain, to_base, to_region, off)]
    assert afters == [None, 60_000, 500, 0]
    fallbacks = [target.fallback and target.fallback.slug for target in (plain, to_base, to_region, off)]
    assert fallbacks == [None, "", "reg.eu", None]


def test_a_profile_has_one_form() -> None:
    profile = CoreProfile("a", ["x"], ["b", "a", "b"], [])
    assert profile.canonical == '{"capabilities":["a","b"],"server":"a","stack":["x"]}'
