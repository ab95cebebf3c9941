"""Conversations: turns are appended, closed into episodes, and recalled.

Here: the verbs that append, close and retrieve. Not here: where a conversation falls into episodes and how one is
summed up (`rules`). Toolsets call it, and `engine.upkeep` closes idle conversations.
"""
