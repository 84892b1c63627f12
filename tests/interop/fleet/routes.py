"""Forty targets, the profiles of the workers that serve them, and whether a profile has what a target needs.

`fits` is written from the specification and shares nothing with the core: it judges what the core decided.
"""

from typing import Any

Fields = dict[str, Any]

_SINGLE = ("gpu", "cuda12", "avx512", "ffmpeg", "chromium", "big-memory", "nvme", "gpu:*")
_WITH_REGION = (("gpu", "eu"), ("gpu", "us"), ("ffmpeg", "us"), ("ffmpeg", "ap"), ("nvme", "eu"), ("big-memory", "ap"))
_PAIRS = (("gpu", "cuda12"), ("gpu", "nvme"), ("avx512", "nvme"), ("ffmpeg", "chromium"), ("big-memory", "tpu"))
_WITH_STACK = (("py311", "gpu"), ("py311", "avx512"), ("node20", "chromium"), ("node20", "ffmpeg"))

TARGETS: list[Fields] = [
    *({"server": f"exec-{number}"} for number in range(4)),
    *({"capabilities": [name]} for name in _SINGLE),
    *({"capabilities": [name], "region": [region]} for name, region in _WITH_REGION),
    *({"capabilities": list(pair)} for pair in _PAIRS),
    *({"stack": [stack], "capabilities": [name]} for stack, name in _WITH_STACK),
    *({"region": [region]} for region in ("eu", "us", "ap")),
    *({"region": list(regions)} for regions in (("eu", "us"), ("ap", "us"))),
    *({"stack": [stack]} for stack in ("py311", "node20")),
    {"stack": ["py311", "node20"], "region": ["us"]},
    {"capabilities": ["tpu"], "region": ["ap"], "stack": ["py311"]},
    {"capabilities": ["tpu"], "region": ["eu"], "mode": "any"},
    {"capabilities": ["chromium"], "stack": ["py311"], "mode": "any"},
    {"capabilities": ["tpu", "cuda12"], "region": ["eu", "us"], "mode": "each"},
    {"capabilities": ["nvme", "avx512"], "stack": ["node20"], "mode": "each"},
]
assert len(TARGETS) == 40

PROFILES: dict[str, Fields] = {
    "one": {
        "server": "exec-0",
        "stack": ["py311"],
        "capabilities": ["gpu", "gpu:a100", "cuda12", "avx512", "nvme"],
        "region": ["eu"],
    },
    "two": {
        "server": "exec-1",
        "stack": ["node20"],
        "capabilities": ["ffmpeg", "chromium", "nvme", "gpu"],
        "region": ["us"],
    },
    "three": {
        "server": "exec-2",
        "stack": ["py311", "node20"],
        "capabilities": ["tpu", "big-memory", "ffmpeg", "avx512", "chromium"],
        "region": ["ap"],
    },
    "four": {
        "server": "exec-3",
        "stack": ["py311"],
        "capabilities": ["gpu", "gpu:h100", "cuda12", "tpu", "big-memory", "ffmpeg"],
        "region": ["eu", "us"],
    },
}


def fits(target: Fields, profile: Fields) -> bool:
    """Return whether a worker with a profile may run a job with a target."""
    if "server" in target:
        return bool(target["server"] == profile.get("server"))
    held = {field: set(profile.get(field, ())) for field in ("stack", "capabilities", "region")}
    found = {
        field: [any(_is(wanted, one) for one in held[field]) for wanted in target[field]]
        for field in held
        if field in target
    }
    match target.get("mode", "all"):
        case "any":
            return any(map(any, found.values()))
        case "each":
            return all(map(any, found.values()))
    return all(all(hits) if field == "capabilities" else any(hits) for field, hits in found.items())


def _is(wanted: str, held: str) -> bool:
    return held.startswith(wanted[:-1]) if wanted.endswith("*") else held == wanted
