"""AWS Lambda: the handlers of all functions, and the events that they understand.

Here: events, contexts, and what a function reports. Not here: what a tool or an index does. Only `functions/` imports
it.
"""
