"""The option ``--profile`` of the command: what this machine has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    from bullrush.routing import Profile


def read_profile(text: str) -> Profile:
    """Read a profile: a JSON object, or the name of a file that has one.

    Raises:
        argparse.ArgumentTypeError: the file cannot be read, or it is no profile.
    """
    # Imported here: --help needs none of it.
    from bullrush.routing import check_profile

    try:
        given: Any = orjson.loads(text if text.lstrip().startswith("{") else Path(text).read_bytes())
        check_profile("profile", given)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no JSON object, and no file that can be read ({error.strerror})"
        ) from None
    except orjson.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no JSON, such as \'{{"capabilities": ["gpu"]}}\' ({error})'
        ) from None
    except InvalidOptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return given  # type: ignore[no-any-return]
