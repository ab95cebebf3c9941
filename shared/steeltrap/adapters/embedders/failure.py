"""Why a service that embeds did not answer as it should."""

from dataclasses import dataclass

from ...errors import Unavailable


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, as the end of a sentence.

    `passing`: the next attempt within the call may do better, after `pause` seconds at least. `lasting`: no retry
    helps until somebody fixes the settings, the account or the machine. `quotes`: the foreign error may have what was
    sent in it, and must not be kept as the `cause`.
    """

    reason: str
    passing: bool = False
    lasting: bool = False
    pause: float = 0.0
    quotes: bool = False
    cause: Exception | None = None

    def error(self, service: str) -> Unavailable:
        """The error of ours; raise it from `cause`."""
        return Unavailable(f"{service} {self.reason}.", retryable=not self.lasting, part="embedder")
