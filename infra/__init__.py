"""The cloud as code: a CDK app that reads the tool catalogue, so that a new tool needs no line here.

Here live stages, bundles, resources and grants; nothing of what a tool does. `python -m infra` synthesises it.
"""
