"""A program in any language calls the tools over HTTP. Start the server first: `steeltrap serve`.

    python examples/http_client.py                        # needs httpx
    python examples/http_client.py http://127.0.0.1:8765

It prints:

    saved: version 1
    saved again with the same key: the same memory
    found: The deploy key rotates every 90 days.
    refused: `limt` is not a field here; did you mean `limit`?
    deleted: 1
"""

import sys

import httpx

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765"

# With `steeltrap serve --auth keys` a client sends its key: headers={"Authorization": "Bearer ..."}.
with httpx.Client(base_url=f"{server}/v1/core") as client:
    fact = {"content": "The deploy key rotates every 90 days.", "tags": ["infra"]}
    # A repeated request, such as one after a timeout, saves nothing twice.
    key = {"Idempotency-Key": "deploy-key-fact"}
    saved = client.post("/save", json=fact, headers=key).raise_for_status().json()
    print("saved: version", saved["version"])
    again = client.post("/save", json=fact, headers=key).raise_for_status().json()
    print("saved again with the same key:", "the same memory" if again["id"] == saved["id"] else "another memory")

    found = client.post("/search", json={"query": "When do we change the key?", "limit": 1}).raise_for_status().json()
    print("found:", found["results"][0]["content"])

    # An error is a problem document (RFC 9457). Its `detail` says what to do, and `retryable` whether to try again.
    refused = client.post("/search", json={"query": "key", "limt": 1})
    print("refused:", refused.json()["detail"])

    deleted = client.post("/delete", json={"ids": [saved["id"]]}).raise_for_status().json()
    print("deleted:", len(deleted["deleted"]))
