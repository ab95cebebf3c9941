"""Transfer: memories leave as records or files, and come back.

Here: export, import, and the file that memories are exchanged in. Not here: where files are kept (the port
`ExportFiles`). Toolsets and the command line call it.
"""
