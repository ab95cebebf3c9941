"""Transcripts that coding agents write, one JSON object per line: their messages, under their own ids.

Here: one module per program, each from lines to `messages.TranscriptMessage`. Not here: where the files are and how far
they have been read (`servers.hooks`), how messages are stored (`engine.conversations`). The hooks and the importers
call it.
"""
