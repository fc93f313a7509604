#!/usr/bin/env python3
"""Uploads a folder to a bucket, which is made if it does not exist.

    $(dev/python_env.sh dev/locks/storage.lock)/bin/python dev/upload.py FOLDER s3://B/P

For experiments with a local server (AWS_ENDPOINT_URL). For real buckets, use
`aws s3 sync`.
"""

import os
import pathlib
import sys
import urllib.parse

import boto3


def main():
    if len(sys.argv) != 3 or not sys.argv[2].startswith("s3://"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if not folder.is_dir():
        sys.exit(f"{folder}: no folder")
    target = urllib.parse.urlparse(sys.argv[2])
    prefix = target.path.strip("/")
    s3 = boto3.client(
        "s3",
        endpoint_url=os.environ.get("AWS_ENDPOINT_URL"),
        region_name=os.environ.get("AWS_REGION", "us-east-1"),
    )
    s3.create_bucket(Bucket=target.netloc)
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    for path in paths:
        name = "/".join(filter(None, [prefix, str(path.relative_to(folder))]))
        s3.upload_file(str(path), target.netloc, name)
    print(f"{len(paths)} objects in {sys.argv[2]}")


if __name__ == "__main__":
    main()
