"""Which queries ask for what was before."""

import pytest

from steeltrap.ranking.asking import asks_for_past


@pytest.mark.parametrize(
    "query",
    [
        "Where did Ana live before Porto?",
        "who insured the car before March 2025",
        "What was the baseline before r140?",
        "Ana's old address",
        "her former employer",
        "When was the trip originally planned?",
        "Where did he use to work? He used to commute.",
        "the previous database",
        "Wo hat Ana früher gewohnt?",
        "Für wann war der Test ursprünglich angesetzt?",
        "Was war vorher die Grenze?",
        "¿Dónde vivía Ana antes?",
        "la dirección anterior",
        "以前の住所は？",
        "もともとの予定",
    ],
)
def test_it_asks_for_the_past(query: str) -> None:
    assert asks_for_past(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "Where does Ana live now?",
        "What must I check before I deploy?",
        "What do I need before the release?",
        "Which files are used to build the docs?",
        "What should be reviewed before merging?",
        "How old is Ana?",
        "Who embeds beforehand?",
        "What happened on 3 May 2024?",
        "Wo wohnt Ana?",
        "¿Dónde vive Ana?",
        "アナはどこに住んでいますか？",
    ],
)
def test_it_asks_for_what_holds(query: str) -> None:
    assert not asks_for_past(query)
