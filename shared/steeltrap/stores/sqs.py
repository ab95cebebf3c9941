"""The dead-letter queue of the indexer, in SQS. Here: sending. Not here: which changes are dead letters."""

import json
from dataclasses import asdict
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ..errors import Unavailable
from ..ports import DeadLetter

__all__ = ["DeadLetterQueue"]


_SECONDS: Final = 3.0


class DeadLetterQueue:
    """Sends to the queue at a URL. `options` are boto3's (region_name, endpoint_url, credentials)."""

    def __init__(self, url: str, **options: Any) -> None:
        self._url = url
        self._options = options
        self._client: Any = None
        self._lock = Lock()

    def __call__(self, letter: DeadLetter) -> None:
        """Send one. Raises Unavailable."""
        try:
            self._opened().send_message(QueueUrl=self._url, MessageBody=json.dumps(asdict(letter)))
        except (BotoCoreError, ClientError) as error:
            kind = type(error).__name__
            raise Unavailable(f"The dead-letter queue does not answer ({kind}).", part="queue") from None

    def _opened(self) -> Any:
        import boto3
        from botocore.config import Config

        with self._lock:
            if self._client is None:
                config = Config(connect_timeout=1, read_timeout=_SECONDS, retries={"total_max_attempts": 2})
                self._client = boto3.session.Session().client("sqs", config=config, **self._options)
        return self._client
