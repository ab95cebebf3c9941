"""The scorecard: how well the ordinary search finds what answers a question, on any set of memories and questions.

Here: the sets' formats, asking every question, and the scores. Not here: ranking of any kind. The scores are pure
functions of what came back, and only `asking` opens a store.
"""
