"""The options of format("bullmq"), without Spark: a mistake is reported before any task starts."""

import pickle

import pytest

from bullrush.errors import BullrushError, InvalidOptionError, QueueNameError, RedisServerError
from bullrush.spark.source.messages import DataSourceError, rows_with_readable_errors, with_readable_errors
from bullrush.spark.source.options import (
    read_read_options,
    read_source,
    read_stream_options,
    read_write_options,
)
from bullrush.values.states import FINISHED, STATES

URL = "redis://user:pass-word@127.0.0.1:6379/0"


def given(**options: str) -> dict[str, str]:
    return {"url": URL, "queue": "mails", **options}


def test_every_option_has_its_value() -> None:
    options = read_write_options(
        given(
            nameColumn="kind",
            jobIdColumn="id",
            dataColumns="to, body",
            opts='{"attempts":3}',
            longsAsStrings="TRUE",
            onInvalidRow="skip",
            maxWaiting="500",
            batchId="2024-05-01",
        ),
        "write",
    )
    assert (options.name_column, options.job_id_column, options.data_columns) == ("kind", "id", ("to", "body"))
    assert (options.opts, options.longs_as_strings, options.on_invalid_row) == ({"attempts": 3}, True, "skip")
    assert (options.max_waiting, options.batch_id, options.address.name) == (500, "2024-05-01", "mails")


def test_the_names_of_options_have_no_case_and_the_path_is_the_queue() -> None:
    options = read_stream_options({"URL": URL, "path": "mails", "MAXROWSPERTRIGGER": "5", "States": "failed"})
    assert (options.max_rows_per_trigger, options.states, options.address.name) == (5, ("failed",), "mails")


def test_what_is_not_given_has_its_default() -> None:
    assert read_read_options(given()).states == tuple(STATES)
    assert read_read_options(given(finishedAfter="2024-05-01T12:30:00Z")).states == FINISHED
    assert read_read_options(given(finishedAfter="2024-05-01T12:30:00Z")).finished_after == 1_714_566_600_000
    stream = read_stream_options(given(checkpointLocation="/tmp/x"))
    assert (stream.source, stream.lag_ms, stream.fail_on_data_loss) == ("finished", 2_000, True)
    assert read_source({}) == "finished"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_id": "x"}, r"no option 'batch_id'. Did you mean 'batchId'\?"),
        ({"jobIdCol": "x"}, r"no option 'jobIdCol'. Did you mean 'jobIdColumn'\?"),
        ({"zzz": "x"}, "no option 'zzz'. There are: batchId, "),
        ({"states": "failed"}, "'states' is for spark.read and spark.readStream, not for df.write"),
        ({"name": "a", "nameColumn": "b"}, "give name or nameColumn, not both"),
        ({"dataColumns": "a,,b"}, "'dataColumns' is a list of columns"),
        ({"opts": "{"}, "'opts' must be a JSON object"),
        ({"opts": "[1]"}, "'opts' must be a JSON object"),
        ({"longsAsStrings": "yes"}, "'longsAsStrings' must be true or false"),
        ({"onOom": "raise"}, "'onOom' must be fail or wait"),
        ({"maxWaiting": "0"}, "'maxWaiting' must be a whole number from 1"),
        ({"maxWaiting": "many"}, "'maxWaiting' must be a whole number from 1"),
        ({"path": "other"}, "'queue' is 'mails' and the path is 'other'"),
        ({"queue": ""}, "'queue' is missing"),
        ({"prefix": "\n"}, "prefix must be a text without control characters"),
        ({"url": "embedded://"}, "cannot start a Redis server"),
    ],
)
def test_a_wrong_option_of_a_write_is_reported(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidOptionError, match=sentence):
        read_write_options(given(**options), "write")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"source": "jobs"}, "'source' must be finished or events"),
        ({"source": "events", "states": "failed"}, "'states' is for source='finished'"),
        ({"states": "waiting"}, "a stream reads finished jobs"),
        ({"lagMs": "-1"}, "'lagMs' must be a whole number from 0"),
        ({"batchId": "x"}, "'batchId' is for df.write, not for spark.readStream"),
    ],
)
def test_a_wrong_option_of_a_stream_is_reported(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidOptionError, match=sentence):
        read_stream_options(given(**options))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"states": "failed,done"}, "'states' has no 'done'. There are: waiting, "),
        ({"finishedAfter": "yesterday"}, "'finishedAfter' must be ms since 1970 or a time with its zone"),
        ({"finishedAfter": "2024-05-01T12:30:00"}, "'finishedAfter' must be ms since 1970 or a time with its zone"),
        ({"finishedAfter": "1", "states": "waiting"}, "finishedAfter is for states='completed'"),
        ({"numPartitions": "0"}, "'numPartitions' must be a whole number from 1"),
    ],
)
def test_a_wrong_option_of_a_read_is_reported(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidOptionError, match=sentence):
        read_read_options(given(**options))


def test_a_wrong_name_of_a_queue_is_reported() -> None:
    with pytest.raises(QueueNameError, match="cannot contain :"):
        read_read_options(given(queue="a:b"))


def test_options_never_show_the_url_and_can_be_pickled() -> None:
    for options in (read_write_options(given(), "write"), read_read_options(given()), read_stream_options(given())):
        assert "pass-word" not in repr(options)
        assert pickle.loads(pickle.dumps(options)) == options


def test_a_url_of_the_environment_is_read_by_the_tasks_and_not_sent_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILS_URL", URL)
    options = read_write_options({"url": "env:MAILS_URL", "queue": "mails"}, "write")
    assert b"pass-word" not in pickle.dumps(options)
    assert options.address.opened_url() == URL


def test_an_error_has_its_sentence_on_a_line_of_its_own() -> None:
    @with_readable_errors
    @with_readable_errors
    def fail(error: BullrushError) -> None:
        raise error

    for error, text in [
        (InvalidOptionError("no such column"), "\nbullrush: no such column"),
        (RedisServerError("OOM", "no memory"), "\nbullrush: RedisServerError: OOM no memory"),
    ]:
        with pytest.raises(type(error) if isinstance(error, InvalidOptionError) else DataSourceError) as raised:
            fail(error)
        assert str(raised.value) == text
        with pytest.raises(BullrushError) as raised_late:
            list(rows_with_readable_errors(fail(error) for _ in range(1)))
        assert str(raised_late.value) == text
