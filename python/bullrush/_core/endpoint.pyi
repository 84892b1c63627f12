"""URLs of Redis."""

from typing import final

@final
class UrlParts:
    """What a URL says, without its password.

    ``address``: the host and the port, or the path of the socket; of several servers all hosts. ``user``: None if there
    is a user without a password, which may be one.
    """

    address: str
    user: str | None
    database: int
    is_cluster: bool

def read_url(url: str) -> UrlParts: ...
def mask_url(url: str) -> str:
    """Return the URL without its password; of one that cannot be read only the scheme."""
