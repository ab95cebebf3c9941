"""Transcripts that agents' own programs write, one JSON object per line: what was said in them, under their own ids.

Here: one module per program, each from lines to `said.Said`. Not here: where the files are, what has been read of them
already (`servers.hooks`), and how what was said is stored (`engine.conversations`).
"""
