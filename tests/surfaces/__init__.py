"""One body of tests through every surface, and what is each surface's own. `callers` has the surfaces."""
