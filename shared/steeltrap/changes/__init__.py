"""The meaning of a change: from the stored images to a checked commit. Pure.

Here: what each way to write makes of an image, and how a commit is checked against what is stored. The
engine asks it what to write; a store asks it whether that may be written, and applies the answer. Not here: reading,
writing, retrying. A search loads none of it.
"""
