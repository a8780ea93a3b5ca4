"""A running S3 server, as the tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

KEYS = ("AKIDEXAMPLE", "secret/key")


@dataclass(frozen=True)
class Server:
    """A running server, with one bucket `data`. `client` is for the tests' own use, past any proxy."""

    name: str
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def client(self) -> Any:
        from botocore.config import Config

        return boto3.client("s3", endpoint_url=self.url, aws_access_key_id=KEYS[0], aws_secret_access_key=KEYS[1],
                            region_name="us-east-1", config=Config(s3={"addressing_style": "path"}))

    def put(self, key: str, data: bytes | Path) -> str:
        """Uploads an object; its URI."""
        body = data.read_bytes() if isinstance(data, Path) else data
        self.client.put_object(Bucket="data", Key=key, Body=body)
        return f"s3://data/{key}"
