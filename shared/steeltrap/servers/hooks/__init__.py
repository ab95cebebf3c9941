"""Hooks of coding agents, `steeltrap hook`: what was said is kept, and what is relevant is added to a prompt.

Here: what Claude Code, Codex and Cursor send to a hook and take from it, and what a hook does. `command` runs beside
every prompt, so it imports the standard library alone, asks a running server, and imports the product only without one.
Not here: the route of the server (`servers.asgi`), what a transcript holds (`text.transcripts`).
"""
