"""What a client starts from the bundle: the MCP server over stdin and stdout."""

import sys

from steeltrap.cli import main

sys.argv[1:] = ["mcp"]
main()
