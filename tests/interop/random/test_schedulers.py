"""Random steps of job schedulers, on a stopped clock: the state of BullMQ after every step."""

import random

import pytest

STEPS = 45
REPEATS = [
    {"every": 10_000},
    {"every": 7000},
    {"every": 10_000, "limit": 3},
    {"pattern": "*/5 * * * * *", "tz": "UTC"},
    {"pattern": "0 * * * *", "tz": "Europe/Paris"},
    {"pattern": "* * * * *", "tz": "Asia/Kathmandu", "limit": 2},
]
TEMPLATES = [
    None,
    {"name": "bare"},
    {"name": "p", "opts": {"priority": 2, "attempts": 2, "backoff": 3000}},
    {"name": "l", "data": {"n": 1}, "opts": {"lifo": True, "removeOnComplete": True}},
    {"name": "d", "data": [1, 2], "opts": {"deduplication": {"id": "d"}, "attempts": 3}},
]


@pytest.mark.parametrize("seed", range(8))
def test_random_scheduler_steps_leave_the_same_state(stopped_pair, seed):
    chance = random.Random(seed)
    held = []

    def take(token):
        if id := stopped_pair.fetch(token):
            held.append((id, token))

    def give_back():
        id, token = held.pop(chance.randrange(len(held)))
        if chance.random() < 0.3:
            stopped_pair.fail(id, "boom", token)
        else:
            stopped_pair.complete(id, 1, token)

    for step in range(STEPS):
        match chance.choices(
            ["upsert", "take", "give back", "tick", "pause", "resume", "remove", "add"], [8, 8, 8, 7, 1, 2, 1, 1]
        )[0]:
            case "upsert":
                repeat = dict(chance.choice(REPEATS))
                moment = stopped_pair.now + chance.choice([-5000, 1000, 15_000])
                option = chance.choice([None, None, "startDate", "endDate", "immediately"])
                if option == "immediately" or (option == "endDate" and moment < stopped_pair.now):
                    repeat["immediately"] = True
                elif option:
                    repeat[option] = moment
                stopped_pair.upsert_scheduler(chance.choice(["a", "b:c"]), repeat, chance.choice(TEMPLATES))
            case "take":
                take(f"t:{step}")
            case "give back" if held:
                give_back()
            case "tick":
                stopped_pair.tick(chance.choice([1, 999, 5000, 10_000, 33_333, 60_000]))
            case "pause":
                stopped_pair.pause()
            case "resume":
                stopped_pair.resume()
            case "remove":
                stopped_pair.remove_scheduler(chance.choice(["a", "b:c"]))
            case "add":
                stopped_pair.add("other", {}, priority=chance.choice([0, 2]))
