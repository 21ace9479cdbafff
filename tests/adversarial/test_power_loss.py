"""Short form of ``make chaos``: power is lost at many moments of a run, and the disk holds any part of what was not synced."""

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.chaos]


def test_what_was_committed_survives_a_loss_of_power_and_the_rest_resumes(counted):
    (told,) = counted("-m", "faults.power", "--states", "200", "--seed", "1")
    assert told["broken"] == []
    assert told["tried"] >= 150
    assert told["operations"]["s"] > 20
    assert told["operations"]["r"] == 3


def test_the_replay_finds_out_that_folders_are_not_synced(counted):
    (told,) = counted("-m", "faults.power", "--states", "120", "--unsynced", "--resume-every", "1000")
    assert any("results.json was written and is" in wrong for case in told["broken"] for wrong in case["wrong"])


def test_a_disk_keeps_what_was_synced_and_any_part_of_the_rest():
    import random

    from faults.power import Disk, Op

    disk = Disk()
    for op in (Op("c", "/d/a"), Op("w", "/d/a", "", 0, b"first"), Op("s", "/d/a"), Op("w", "/d/a", "", 0, b"later")):
        disk.apply(op)
    seen = {str(disk.after_power_loss(random.Random(seed))) for seed in range(50)}
    assert seen == {"{}", "{'/d/a': b'first'}", "{'/d/a': b'later'}"}, "the name was never synced"
    disk.apply(Op("s", "/d"))
    seen = {str(disk.after_power_loss(random.Random(seed))) for seed in range(50)}
    assert seen == {"{'/d/a': b'first'}", "{'/d/a': b'later'}"}
    disk.apply(Op("s", "/d/a"))
    disk.apply(Op("r", "/d/a", "/d/b"))
    seen = {str(disk.after_power_loss(random.Random(seed))) for seed in range(200)}
    both = "{'/d/a': b'later', '/d/b': b'later'}"
    assert (
        {"{'/d/a': b'later'}", "{'/d/b': b'later'}"} <= seen <= {"{'/d/a': b'later'}", "{'/d/b': b'later'}", both, "{}"}
    )
