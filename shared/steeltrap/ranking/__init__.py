"""From candidates to an answer: scoring, choosing, surprise and fading, and what fits into a token budget.

Here: pure rules over columns of candidates and the memories that they are. Not here: what a text says (`text`), the
order of steps (`engine`), stores. The engine and the stores call it.
"""
