"""The scorecard's scores: what an answer is worth, and how sure a mean is."""

from dataclasses import replace

import pytest
from bench.quality.scoring import Answered, Recalled, changes, intervals, means, recall_curve, scores
from bench.quality.sets import Question


def answered(*found, relevant=(), outdated=(), miss=None, told_nothing=False, returned=None, **sessions):
    question = Question(text="?", category="all", relevant=frozenset(relevant), outdated=frozenset(outdated), miss=miss)
    sessions = {name: frozenset(some) for name, some in sessions.items()}
    returned = found if returned is None else returned
    told = {"told_nothing": told_nothing, "tokens": 7}
    return Answered(question=question, found=found, returned=returned, **told, **sessions)


def test_recall_is_the_share_of_what_is_relevant_and_top1_the_first_hit_alone():
    scored = scores(answered("a", *"nopq", "b", relevant="abc"))
    assert (scored["top1"], scored["r5"], scored["r10"]) == (1, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert scores(answered("n", "a", relevant="a"))["top1"] == 0


def test_recall_at_ten_stops_at_ten():
    assert scores(answered(*"klmnopqrst", "a", relevant="a"))["r10"] == 0


def test_precision_and_f1_are_those_of_all_that_is_returned():
    scored = scores(answered("a", "n", "o", "p", relevant="ab"))
    assert (scored["precision"], scored["f1"]) == (0.25, pytest.approx(1 / 3))
    assert scores(answered("a", relevant="a"))["f1"] == 1


def test_an_empty_answer_to_an_answerable_question_scores_nothing_and_is_a_false_alarm_when_it_says_so():
    scored = scores(answered(relevant="a", told_nothing=True))
    assert (scored["precision"], scored["f1"], scored["r5"], scored["false_alarms"]) == (0, 0, 0, 1)
    assert scores(answered("a", relevant="a"))["false_alarms"] == 0


@pytest.mark.parametrize("miss", ["near", "far"])
def test_an_unanswerable_question_scores_only_whether_the_outcome_said_so(miss):
    told = scores(answered(miss=miss, told_nothing=True))
    assert told == {f"none_{miss}_recall": 1, "exact": 1, "tokens": 7}
    assert scores(answered("n", miss=miss))[f"none_{miss}_recall"] == 0


def test_sessions_are_scored_both_ways_and_only_where_there_are_some():
    scored = scores(answered("a", relevant="ab", relevant_sessions="st", turns_sessions="s", best_sessions="stuv"))
    assert (scored["session_r10"], scored["session_r10_of_turns"]) == (1, 0.5)
    assert "session_r10" not in scores(answered("a", relevant="a"))


def test_a_budget_is_scored_by_the_evidence_shown_and_by_the_answers_words_in_it():
    question = Question(text="where is the heron?", category="all", relevant=frozenset("ab"), answer="It is in Porto")
    shown = Answered(
        question=question,
        found=("a",),
        returned=("a",),
        told_nothing=False,
        tokens=7,
        ranked=("n", "a"),
        best=("n",),
        evidence={"a": "the heron is in Porto", "b": "once in Faro"},
        packed={500: {"a": "heron ..."}, 1000: {"a": "in Porto", "b": ""}},
        whole={500: {}, 1000: {"a": "in Porto"}},
    )
    scored = scores(shown)
    assert [scored[f"evidence_{key}"] for key in ("500", "1000", "500_whole", "1000_whole")] == [0.5, 1, 0, 0.5]
    assert [scored[f"answer_words_{key}"] for key in ("500", "1000", "500_whole", "1000_whole")] == [0, 1, 0, 1]
    assert (scored["precision_all"], scored["precision_best"], scored["f1_best"]) == (1, 0, 0)
    assert recall_curve([shown])[:3] == [0, 50, 50]
    assert recall_curve([answered("a", relevant="a")]) == []


def test_an_outdated_memory_counts_as_returned_and_as_first_apart():
    assert outdated(answered("new", "old", relevant=["new"], outdated=["old"])) == (1, 0)
    assert outdated(answered("other", "old", "new", relevant=["new"], outdated=["old"])) == (1, 1)
    assert outdated(answered("new", relevant=["new"], outdated=["old"])) == (0, 0)
    assert "outdated_first" not in scores(answered("new", relevant=["new"]))


def outdated(answer):
    scored = scores(answer)
    return scored["outdated_returned"], scored["outdated_first"]


def test_means_are_percentages_over_the_questions_that_have_the_score():
    assert means([{"top1": 1.0, "tokens": 10}, {"top1": 0.0, "tokens": 15}, {"tokens": 20}]) == {
        "top1": 50,
        "tokens": 15,
    }


def test_an_interval_holds_its_mean_narrows_with_more_questions_and_is_the_same_again():
    few, many = [{"top1": float(n % 2)} for n in range(20)], [{"top1": float(n % 2)} for n in range(2000)]
    [low, high], [lower, higher] = intervals(few)["top1"], intervals(many)["top1"]
    assert low < lower < 50 < higher < high
    assert (low, high) == pytest.approx((50 - 22, 50 + 22), abs=3)  # 1.96 x sqrt(0.25 / 20) = 0.22
    assert intervals(few) == intervals(few)


def test_a_change_is_paired_so_that_a_small_gain_on_every_question_is_sure():
    before = [{"r5": n / 100} for n in range(80)]
    after = [{"r5": row["r5"] + 0.02} for row in before]
    assert changes(after, before) == {"r5": {"by": 2, "interval": [2, 2]}}
    low, high = intervals(after)["r5"]
    assert high - low > 5


def test_recall_counts_by_what_it_shows_and_shows_as_sure():
    recalled = Recalled(ids=("a", "x", "b"), sure=1, tokens=40)
    shown = scores(replace(answered("a", relevant="abc"), recalled=recalled))
    assert (shown["recalled"], shown["recalled_sure"], shown["recall_tokens"]) == (2 / 3, 1 / 3, 40)
    far = scores(replace(answered(miss="far"), recalled=recalled))
    assert (far["none_far_lines"], far["recall_tokens"]) == (1, 40)
    assert scores(replace(answered(miss="far"), recalled=replace(recalled, ids=(), sure=0)))["none_far_lines"] == 0
    assert "none_far_lines" not in scores(replace(answered(miss="near"), recalled=recalled))


def test_confident_results_count_by_how_many_are_relevant_and_not_where_there_are_none():
    sure = replace(answered("a", "b", relevant="a"), confident=("a", "b"))
    assert scores(sure)["confident"] == 0.5
    assert scores(replace(answered("a", miss="near"), confident=("a",)))["confident"] == 0
    assert "confident" not in scores(answered("a", relevant="a"))
