"""Review: someone says how well a memory was remembered, which makes it fade sooner or later."""

from ..model import Usage
from ..rules.retrievability import Grade, graded
from .call import Call
from .get import find
from .simulate_decay import Decay, decay


def review(call: Call, id: str, grade: Grade) -> Decay:
    """How the memory fades from now on, once the grade is written durably.

    A grade is someone's word, so it counts at any time, not once a day as a retrieval does. Raises
    NotFound, and Unavailable where it can't be kept.
    """
    while True:
        memory = find(call, id)
        known = call.space.usage([memory.id]).get(memory.id, Usage())
        now = call.now()
        card = graded(memory, known, now, grade)
        if call.space.keep_review(memory.id, previous=known.card, card=card):
            return decay(memory, Usage(card=card), now)
