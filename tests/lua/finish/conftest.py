"""Active jobs, which can be finished or given back."""

import pytest

NOW = 1795225366409


@pytest.fixture
def active(add, fetch):
    """`active(queue, n)`: n jobs, fetched with the token "t"."""

    def prepare(queue, count=1, **options):
        add(queue, *["{}"] * count, **options)
        return list(fetch(queue, count, now=NOW - 10).jobs)

    return prepare
