"""What each ranking rule counts. Pure; apart from the rules, which need numpy."""

from typing import Final

from ..model.frozen import frozen


@frozen
class Weights:
    """What each rule counts; 0 switches a rule off.

    vector         share of the semantic leg; the keyword leg has the rest
    chunks         of the calibrated slope by which the best of many chunks is higher by chance
    window         of a term's score when a message nearby says it
    neighbours     of the scores of the messages just before and after
    conversation   of what the best score in the conversation has above a memory's own
    speaker        for what was said by someone whom the query names
    reply          of the score of another person's question, for the message behind it
    question       of its own score, taken from a short question that a named person asks
    wish           for a standing instruction of the user's, and half of it for a preference
    days           for what happened within 14 days of a day that the query names
    superseded     of the score of what it superseded, for a memory whose own is lower
    role           for the user's messages if the query says "I", and for the assistant's if it says "you"
    order          for a memory with a question's words in their order, if a better one has them in another
    """

    vector: float = 0.7
    chunks: float = 1.0
    window: float = 1.0
    neighbours: float = 0.05
    conversation: float = 0.3
    speaker: float = 0.2
    reply: float = 0.2
    question: float = 0.2
    wish: float = 0.2
    days: float = 0.1
    superseded: float = 1.0
    role: float = 0.05
    order: float = 0.1


WEIGHTS: Final = Weights()
