from typing import Literal, final

@final
class QueueKey:
    """A key of a queue, or a family of keys: a row of the table in ``src/protocol/key_table.rs``.

    Attributes:
        name: what stands behind ``<prefix>:<queue>:``; in a family, ``<...>`` stands for the part of its own.
        family: what comes before the part of its own; None for a single key.
        kind: the type, as the command TYPE names it.
        owner: whose it is; ``old bullmq`` are versions of BullMQ that nobody should run any more.
        end: how it ends. ``emptied``, ``deleted``: by ``obliterate``, member by member or at once; ``with its member``:
            with the job or the member of another key that names it; ``cleanup``: with that of a migration; ``stays``:
            not with ``obliterate``; ``with the script``: it exists within a script at most.
        content: what is in it; only for keys of bullrush, as the next two. Markdown.
        writer: who writes it.
        life: how long it lives.
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def owner(self) -> Literal["bullmq", "old bullmq", "bull", "bullrush"]: ...
    @property
    def end(
        self,
    ) -> Literal["emptied", "deleted", "with its member", "expires", "cleanup", "stays", "with the script"]: ...
    @property
    def content(self) -> str: ...
    @property
    def writer(self) -> str: ...
    @property
    def life(self) -> str: ...
