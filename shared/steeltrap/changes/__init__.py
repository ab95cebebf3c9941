"""The meaning of a change: create, edit, delete, undo, supersede, purge. Pure.

Here: from the stored images to the changes of one commit, and how a commit is checked against what is stored. The
engine asks it what to write; a store asks it whether that may be written, and applies the answer. Not here: reading,
writing, retrying. A search loads none of it.
"""
