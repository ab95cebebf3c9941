"""How long everybody waits while one user asks the most that the product takes, or attacks it.

A real `steeltrap serve` answers; a process beside it asks `/healthz` every 20 ms. `tools`, `pages`, `imports` and
`hostile` hold lists of attacks: one more attack is one more entry in one of them. `running` runs and measures them.
"""
