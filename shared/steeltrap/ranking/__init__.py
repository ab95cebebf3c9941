"""From candidates to an answer: what a query asks for, scoring, choosing, surprise and fading, and what fits into a
token budget.

Here: pure rules over queries, columns of candidates and the memories that they are. Not here: what a text says
(`text`), the order of steps (`engine`), stores. The engine and the stores call it.
"""
