#!/bin/sh
# Starts steeltrap where it is installed, else by uvx. A hook must not disturb a session, so without either it is silent.
if command -v steeltrap >/dev/null 2>&1; then
  exec steeltrap "$@"
elif command -v uvx >/dev/null 2>&1; then
  exec uvx steeltrap "$@"
elif [ "$1" = hook ]; then
  exit 0
fi
echo "steeltrap is not installed: run 'uv tool install steeltrap' or 'pip install steeltrap'." >&2
exit 1
