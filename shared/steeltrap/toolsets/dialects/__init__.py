"""The five dialects that are older than steeltrap, each a toolset to the letter of its document.

Here: their names, limits and wording. Not here: what a tool does (`engine`), and our own toolsets (`core`, `agent`).
"""
