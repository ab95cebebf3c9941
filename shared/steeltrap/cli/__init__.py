"""The command line, `steeltrap`: every command a thin layer over the one door.

Here: arguments, exit codes, tables, progress bars, reading and writing files that people keep. Not here:
what a memory is or how it is found. The package's entry point is the only caller.
"""


def main() -> None:
    """Run the command that the process was started with."""
    import sys

    if sys.argv[1:2] == ["hook"]:
        # A client waits for it at every prompt: it ends here, before anything else is imported.
        from ..servers.hooks.command import run_as_hook

        run_as_hook(sys.argv[2:])

    from ..processes import end_when_stopped, without_traceback

    if sys.argv[1:2] == ["serve"]:
        end_when_stopped()
    with without_traceback():
        _run()


def _run() -> None:
    import gc
    import os
    import sys

    # What is imported stays: looking through it again and again takes a tenth of a command's start.
    gc.set_threshold(100_000, 20, 50)
    if sys.argv[1:2] not in (["serve"], ["mcp"]):
        # Pydantic would look for plugins in every package. A server's may have been installed for it.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from . import plain

    for stream in (sys.stdout, sys.stderr):
        # What is printed was stored as UTF-8, whatever the terminal's locale says.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if not plain.run(sys.argv[1:]):
            from .app import app

            app(prog_name="steeltrap")
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # It was said already; the interpreter would say it once more on its way out.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
