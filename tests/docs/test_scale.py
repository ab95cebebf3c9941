"""The page on scale, whose tables are those that its command prints, and what its simulations must agree with."""

from math import isclose
from pathlib import Path

from docs import cost, scale, simulation
from steeltrap.stores.replica import due, file, position, store

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_tables_are_as_simulated() -> None:
    text = PAGE.read_text()
    assert text.count("<!-- scale: ") == len(scale.tables())
    assert text == scale.page(text), "run `make docs`"


def test_one_function_that_is_called_now_and_then_keeps_all_copies() -> None:
    few = simulation.caching(20, 40, simulation.CONTAINER)
    assert few.processes == 1
    assert few.cold < 0.2


def test_functions_lose_more_of_their_calls_to_fetches_than_containers() -> None:
    for size in cost.BUCKET_SIZES[1:]:
        assert size.cold(simulation.CONTAINER) < size.cold(simulation.FUNCTION)


def test_a_sweep_that_has_time_for_all_due_work_is_never_late() -> None:
    swept = simulation.sweeping(10_000)
    assert (swept.late, swept.latest) == (0, 0)
    assert isclose(swept.reached, swept.due, rel_tol=0.03)


def test_a_sweep_without_the_time_reaches_as_many_as_it_can_and_each_user_in_turn() -> None:
    swept = simulation.sweeping(1_000_000)
    most = simulation.most_due(1_000_000)
    assert isclose(swept.reached, most, rel_tol=0.01)
    assert swept.late < swept.latest < 1_000_000 / most, "nobody waits for longer than a round of everyone"


def test_the_simulation_opens_the_share_that_a_sweep_opens() -> None:
    assert due._ROUND_HOURS == 24 * simulation.SHARES
    assert store._PAGE == simulation.PAGE


def test_sign_ups_that_fit_are_refused_to_nobody_and_all_others_are_counted() -> None:
    assert simulation.signing_up(10_000, 10).throttled == 0
    crowded = simulation.signing_up(150_000, 10)
    assert crowded.given_up > 0
    assert crowded.throttled > 7 * crowded.given_up, "who gives up was refused seven times"


def test_one_writer_takes_a_get_and_a_put_for_a_commit_and_loses_none() -> None:
    alone = simulation.crowding(1, 0.025, 0.035)
    assert alone.lost == 0
    assert isclose(alone.per_second, 1 / 0.060, rel_tol=0.05)
    assert simulation.crowding(2, 0.025, 0.035).longest > 10 * alone.median


def test_the_simulation_has_the_times_of_the_protocol() -> None:
    assert (simulation.CROWD_SECONDS, simulation.NEAR_SECONDS, simulation.GAP_SECONDS) == (
        file._CROWD_SECONDS,
        file._NEAR_SECONDS,
        file._GAP_SECONDS,
    )
    entries = range(position._FEWEST_ENTRIES, position._MOST_ENTRIES)
    every = next(
        n
        for n in entries
        if position.is_worth_a_base(
            position.Position(
                b"", n, b"", base_bytes=int(1000 * cost.BASE_KB), since_bytes=int(1000 * cost.ENTRY_KB * n)
            )
        )
    )
    assert abs(every - cost.CHANGES_A_BASE) < 1.5
