"""The rules that decide without I/O: pure functions over the nouns of `model`.

Here: text analysis, BM25, fusion, ranking, limits, and whether a memory matters, matches or fades. Not here: the order
of steps (`engine`), stores, protocols. The engine, the adapters and the surfaces may all import it; it imports `ports`
(for the plain records there), `model` and `errors`.
"""
