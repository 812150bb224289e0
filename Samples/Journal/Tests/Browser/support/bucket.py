"""A bucket of the server that Tests/Servers/with has started, seen with the aws command line."""

import json
import os
import subprocess
import uuid
from urllib.parse import urlencode


class Bucket:
    def __init__(self):
        server = json.loads(os.environ["LFS_S3_SERVERS"])[0]
        self.name, self.endpoint = f"journal-{uuid.uuid4()}", server["endpoint"]
        query = urlencode({"endpoint": server["endpoint"], "region": server["region"], "addressing": "path"})
        self.storage = f"s3://{self.name}/pictures?{query}"
        self.environment = {
            **os.environ, "AWS_ACCESS_KEY_ID": server["accessKey"], "AWS_SECRET_ACCESS_KEY": server["secretKey"],
            "AWS_REGION": server["region"], "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        self._aws("create-bucket")

    @staticmethod
    def is_there():
        return "LFS_S3_SERVERS" in os.environ

    def objects(self):
        """The keys of the objects."""
        return [one["Key"] for one in json.loads(self._aws("list-objects-v2") or "{}").get("Contents", [])]

    def _aws(self, command):
        return subprocess.run(
            [os.environ["LFS_S3_CLIENT"], "s3api", command, "--bucket", self.name, "--endpoint-url", self.endpoint,
             "--output", "json"], env=self.environment, check=True, capture_output=True, text=True, timeout=60).stdout
