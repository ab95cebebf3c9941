"""Changes put aside in a queue, without a word of their text: a replay reads the table."""

import json
from dataclasses import asdict
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ...errors import Unavailable
from ...ports import Parked

_SECONDS: Final = 3.0


class Parking:
    """Sends to the queue at a URL. `options` are boto3's (region_name, endpoint_url, credentials)."""

    def __init__(self, url: str, **options: Any) -> None:
        self._url = url
        self._options = options
        self._client: Any = None
        self._lock = Lock()

    def __call__(self, parked: Parked) -> None:
        """Put a change aside. Raises Unavailable when the queue doesn't take it."""
        try:
            self._opened().send_message(QueueUrl=self._url, MessageBody=json.dumps(asdict(parked)))
        except (BotoCoreError, ClientError) as error:
            kind = type(error).__name__
            raise Unavailable(f"The queue of parked changes does not answer ({kind}).", part="queue") from None

    def _opened(self) -> Any:
        import boto3
        from botocore.config import Config

        with self._lock:
            if self._client is None:
                config = Config(connect_timeout=1, read_timeout=_SECONDS, retries={"total_max_attempts": 2})
                self._client = boto3.session.Session().client("sqs", config=config, **self._options)
        return self._client
