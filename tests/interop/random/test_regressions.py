"""Sequences that once differed, as short as possible: found by `fuzz.py`, named by what was wrong."""


def node(id, *children, queue=""):
    made = {"name": "node", "queueName": f"@{queue}", "data": {}, "opts": {"jobId": id}}
    return {**made, "children": list(children)} if children else made


def test_a_flow_is_added_level_by_level(manual_pair):
    manual_pair.add_flow(node("p1", node("m1", node("c1"), node("c2", node("d1"))), node("m2"), node("m3", node("c3"))))
    manual_pair.add_flows([node("q1", node("q2")), node("r1", node("r2", node("r4")), node("r3"))])


def test_a_first_job_for_now_needs_no_later_one(manual_pair):
    repeat = {"pattern": "0 * * * *", "tz": "UTC", "immediately": True, "endDate": manual_pair.now + 9000}
    manual_pair.upsert_scheduler("s1", repeat, {})


def test_a_job_that_its_scheduler_makes_anew_has_no_logs(manual_pair):
    manual_pair.upsert_scheduler("s1", {"every": 1000}, {})
    manual_pair.log(f"repeat:s1:{manual_pair.now}", "a row")
    manual_pair.upsert_scheduler("s1", {"every": 1000}, {})
