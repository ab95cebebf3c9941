#!/usr/bin/env bash
# The tools over HTTP with nothing but curl. Start the server first: `steeltrap serve`.
#
#     bash examples/curl.sh                        # or: bash examples/curl.sh http://127.0.0.1:8765
#
# It prints:
#
#     Ana prefers dark mode.
#     No memory matches; try other words.
set -euo pipefail
server=${1:-http://127.0.0.1:8765}

call() { # call TOOL JSON
  curl --silent --show-error --fail-with-body "$server/v1/core/$1" -H 'Content-Type: application/json' -d "$2"
}

call save '{"content": "Ana prefers dark mode."}' >/dev/null
call search '{"query": "Which theme does Ana like?", "limit": 1}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["results"][0]["content"])'
call search '{"query": "quarterly revenue", "mode": "keyword"}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["outcome"]["message"])'
