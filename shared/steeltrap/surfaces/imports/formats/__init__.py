"""One module per format: from a document, or from its JSON values, to parts.

Here: what each field of a format means. Not here: which format a document has (`recognition`), and reading JSON.
"""
