#!/bin/sh
# Starts the steeltrap on PATH, else by uvx once an index has it. A hook must not disturb a session, so without either it
# is silent. `make docs` writes the next line, from RELEASED in steeltrap/version.py.
released=no
if command -v steeltrap >/dev/null 2>&1; then
  exec steeltrap "$@"
elif [ $released = yes ] && command -v uvx >/dev/null 2>&1; then
  exec uvx steeltrap "$@"
elif [ "$1" = hook ]; then
  exit 0
fi
echo "steeltrap is not on PATH: install it, and link its command into a folder that is, such as ~/.local/bin." >&2
exit 1
