"""``bullrush migrate``: moves the jobs of Bull, compares both queues, cleans up, or carries new jobs over."""

from __future__ import annotations

import argparse
from contextlib import nullcontext, suppress

from bullrush.cli.migrate import printing
from bullrush.cli.migrate.arguments import BRIDGING, EXAMPLES, MOVING, configure, given, mode_of, to_url
from bullrush.cli.migrate.refusals import in_options, naming_rule
from bullrush.cli.migrate.so_far import SoFar
from bullrush.cli.terminal.asking import confirm
from bullrush.cli.terminal.bar import Bar
from bullrush.cli.terminal.ending import FAILED, NO_REDIS, USAGE, CommandError, code_of
from bullrush.cli.terminal.options import checked_url, url_of
from bullrush.cli.terminal.output import jobs_of, say
from bullrush.cli.terminal.signals import until_signal
from bullrush.errors import LegacyQueueError
from bullrush.extending import run_blocking
from bullrush.legacy import LegacyQueue, LegacyUse, place, read_signpost, wrong_type
from bullrush.queue import Queue
from bullrush.url import address

__all__ = ["EXAMPLES", "configure", "run"]


def run(options: argparse.Namespace) -> int:
    """Do it. JSON: the report of the call of the same name, with ``queue``, ``flavor`` and ``to``."""
    mode = mode_of(options)
    source, target = url_of(options), to_url(options)
    legacy = LegacyQueue(
        options.queue, url=source, prefix=options.prefix, flavor=options.flavor, timeout=options.timeout
    )
    names = {"source": legacy.qualified_name, "server": address(source)}
    if mode in _ALONE:
        with legacy, naming_rule(options.prefix):
            try:
                _ALONE[mode](legacy, options)
            except LegacyQueueError as error:
                raise CommandError(in_options(str(error), **names), code_of(error)) from None
        return 0
    target = source if target is None else checked_url(target)
    to = Queue(
        options.to_name or options.queue,
        url=target,
        prefix=options.to_prefix or options.prefix,
        timeout=options.timeout,
        skip_metas_update=mode not in {"move", "bridge"},
    )
    if to.qualified_name == legacy.qualified_name and place(source) == place(target):
        raise CommandError("the new queue is the same queue: give --to-prefix, --to-name or another server", USAGE)
    heading = printing.Heading(legacy, to, source, target)
    with legacy, to, naming_rule(options.prefix, to.prefix):
        try:
            with heading.naming_source():
                return _MODES[mode](legacy, to, heading, options)
        except LegacyQueueError as error:
            text = in_options(str(error), **names, target=to.qualified_name)
            raise CommandError(text, code_of(error)) from None


def _move(legacy: LegacyQueue, to: Queue, heading: printing.Heading, options: argparse.Namespace) -> int:
    with Bar("checked" if options.dry_run else "moved") as bar:
        so_far = SoFar(legacy, bar)
        try:
            with nullcontext() if options.dry_run else so_far.with_counts():
                result = _moved(legacy, to, heading, options, so_far)
        except KeyboardInterrupt:
            if not options.dry_run:
                say(f"\nstopped: {jobs_of(so_far.moved)} moved so far; run it again for the rest")
            raise
    printing.print_migration(heading, result, as_json=options.json)
    return 0 if result.complete else FAILED


def _moved(
    legacy: LegacyQueue, to: Queue, heading: printing.Heading, options: argparse.Namespace, so_far: SoFar
) -> printing.Result:
    heading.find_out(legacy)
    with heading.naming_target():
        before = to.get_job_counts()
    if options.legacy_workers_stopped and not options.dry_run and (active := legacy.get_job_counts("active")["active"]):
        say(
            f"{jobs_of(active)} in active: waiting until their locks have run out, and nobody has held one for 30 "
            "seconds more (10 with Bull 1.x and 2.x). That takes up to a minute."
        )
    report = legacy.migrate(to, **given(options, *MOVING), dry_run=options.dry_run, on_progress=so_far.show)
    with heading.naming_target():
        return printing.Result(report, before, to.get_job_counts(), paused=to.is_paused())


def _verify(legacy: LegacyQueue, to: Queue, heading: printing.Heading, options: argparse.Namespace) -> int:
    found = legacy.verify(to)
    heading.find_out(legacy)
    printing.print_verification(heading, found, as_json=options.json)
    return 0 if found.complete else FAILED


def _clean_up(legacy: LegacyQueue, to: Queue, _heading: printing.Heading, options: argparse.Namespace) -> int:
    found = legacy.verify(to)
    # If something is left, cleanup refuses by itself.
    if found.complete:
        finished = printing.finished_of(found.legacy) or "no finished jobs"
        connected = printing.connected_of(found.clients)
        if found.clients and options.yes and not options.force:
            raise CommandError(f"{connected}. Stop them, or add --force; nothing was deleted", NO_REDIS)
        seen = connected and f" ({connected[0].upper()}{connected[1:]}.)"
        confirm(options, f"Delete the keys of {legacy.qualified_name}, with {finished}?{seen}")
    printing.print_cleanup(legacy, legacy.cleanup(to), as_json=options.json)
    return 0


def _give_back(legacy: LegacyQueue, to: Queue, heading: printing.Heading, options: argparse.Namespace) -> int:
    heading.find_out(legacy)
    printing.print_given_back(heading, legacy.give_back(to), as_json=options.json)
    return 0


def _bridge(legacy: LegacyQueue, to: Queue, heading: printing.Heading, options: argparse.Namespace) -> int:
    legacy.is_paused()  # refuses a queue that is not Bull's
    heading.find_out(legacy)
    with Bar("carried over") as bar:
        so_far = SoFar(legacy, bar, has_end=False)
        runs = False

        def show_use(use: LegacyUse) -> None:
            nonlocal runs
            if not runs:  # its first look: nothing has refused it
                bar.say(f"{heading}: carrying jobs over until Ctrl-C or SIGTERM")
            runs = True
            bar.say(printing.use_of(use))

        with so_far.with_counts():
            report = until_signal(
                lambda: legacy.bridge(
                    to,
                    **given(options, *BRIDGING),
                    on_progress=so_far.show,
                    on_use=show_use,
                ),
                legacy.close,
            )
    printing.print_bridge(heading, report, as_json=options.json)
    return 0


def _remove(legacy: LegacyQueue, options: argparse.Namespace) -> None:
    id = options.remove
    key = legacy.to_key(id)
    if found := legacy.get_job(id):
        confirm(options, f"Remove the job {id} {found.name!r} from {legacy.qualified_name}?")
        stays = ""
    elif wrong := run_blocking(wrong_type(legacy.core, key)):
        stays = f"its key {key}, a {wrong.type} and no job, stays"
        confirm(options, f"Remove the id {id} from {legacy.qualified_name}? ({stays})")
    else:
        raise CommandError(f"{legacy.qualified_name} has no job {id}", FAILED)
    if not legacy.remove(id):
        why = "no list of jobs has it" if stays else "a worker of Bull runs it, or a migrator has it"
        raise CommandError(f"job {id} was not removed: {why}", FAILED)
    printing.print_removed(legacy, id, stays, as_json=options.json)


def _forget(legacy: LegacyQueue, options: argparse.Namespace) -> None:
    to = run_blocking(read_signpost(legacy))
    waiting = 0
    with suppress(LegacyQueueError):  # BullMQ uses the name already
        counts = legacy.get_job_counts("waiting", "paused", "delayed", "active")
        waiting = sum(counts.values()) or len(legacy.get_repeatables())
    if to is not None and waiting:
        confirm(
            options,
            f"{waiting:,} {'job or repeatable waits' if waiting == 1 else 'jobs or repeatables wait'} in "
            f"{legacy.qualified_name}, for programs with Bull. If they are to move, do it first, by "
            f"`{to.command(legacy)}`. Forget that jobs have moved to {to}?",
        )
    printing.print_forgotten(legacy, to if legacy.forget() else None, waiting, as_json=options.json)


_ALONE = {"remove": _remove, "forget": _forget}
_MODES = {
    "move": _move,
    "dry_run": _move,
    "verify": _verify,
    "cleanup": _clean_up,
    "bridge": _bridge,
    "give_back": _give_back,
}
