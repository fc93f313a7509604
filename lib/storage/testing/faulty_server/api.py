"""Responses of S3, GCS and a plain web server, without faults."""

import base64
import dataclasses
import json
import re
import urllib.parse
import xml.sax.saxutils

import signature
from objects import crc32c_base64

PARTS_OF_A_PAGE = 3


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes = b""
    object_range: bool = False  # The body is a range of an object.
    whole: bool = False  # And that range is all of it.
    total: int = 0


def text_answer(status, kind, text):
    return Answer(status, {"Content-Type": kind}, text.encode())


def s3_error(status, code, message):
    # Like S3 itself, repeats the key and what was signed.
    body = (
        f"<Error><Code>{code}</Code><Message>"
        f"{xml.sax.saxutils.escape(message)}</Message>"
        f"<RequestId>1</RequestId></Error>"
    )
    return text_answer(status, "application/xml", body)


def gcs_error(status, message):
    error = {"error": {"code": status, "message": message}}
    return text_answer(status, "application/json", json.dumps(error))


def object_answer(found, headers, extra):
    """The whole object, or the requested range."""
    size = len(found.data)
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
    if not asked:
        return Answer(200, extra, found.data, True, True, size)
    first, last = int(asked[1]), min(int(asked[2]), size - 1)
    if first >= size:
        return Answer(416, {"Content-Range": f"bytes */{size}"})
    extra = extra | {"Content-Range": f"bytes {first}-{last}/{size}"}
    whole = first == 0 and last == size - 1
    data = found.data[first : last + 1]
    return Answer(206, extra, data, True, whole, size)


class S3:
    """Buckets: `data` needs a signature, `public` none, `private` refuses."""

    def __init__(self, objects, keys, region, page, part_bytes=0):
        self.objects = objects
        self.keys = keys
        self.region = region
        # If not 0, objects were uploaded in parts of this size.
        self.part_bytes = part_bytes
        self.page = page
        self.checked = 0

    def answer(self, method, target, headers):
        path, _, query = target.partition("?")
        path = urllib.parse.unquote(path).removeprefix("/redirect")
        bucket, _, key = path[1:].partition("/")
        if bucket not in ("data", "public", "private"):
            return s3_error(404, "NoSuchBucket", "no such bucket")
        if bucket != "public" or "authorization" in headers:
            try:
                signature.check(method, target, headers, self.keys, self.region)
            except signature.Refused as refused:
                return s3_error(refused.status, refused.code, str(refused))
            self.checked += 1
        if bucket == "private":
            return s3_error(403, "AccessDenied", "Access Denied")
        if not key:
            return self.listing(dict(urllib.parse.parse_qsl(query)))
        if query == "attributes=":
            return self.attributes(key, headers)
        return self.object(key, headers)

    def parts(self, found):
        """The sizes and the sums in base64."""
        parts = range(0, len(found.data), self.part_bytes)
        parts = [found.data[i : i + self.part_bytes] for i in parts]
        return [(len(part), crc32c_base64(part)) for part in parts]

    def etag(self, found):
        if not self.part_bytes:
            return f'"{found.md5}"'
        return f'"{found.md5}-{len(self.parts(found))}"'

    def attributes(self, key, headers):
        """GetObjectAttributes, a few parts at a time."""
        found = self.objects.get(key)
        if found is None:
            return s3_error(404, "NoSuchKey", "no such key")
        assert "ObjectParts" in headers["x-amz-object-attributes"]
        parts = list(enumerate(self.parts(found), 1))
        last = int(headers.get("x-amz-part-number-marker", 0))
        shown = parts[last : last + PARTS_OF_A_PAGE]
        more = last + len(shown) < len(parts)
        items = "".join(
            f"<Part><PartNumber>{number}</PartNumber><Size>{size}</Size>"
            f"<ChecksumCRC32C>{crc}</ChecksumCRC32C></Part>"
            for number, (size, crc) in shown
        )
        etag = self.etag(found).strip('"')
        body = (
            f"<GetObjectAttributesResponse><ETag>{etag}</ETag><ObjectParts>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>"
            f"<NextPartNumberMarker>{last + len(shown)}</NextPartNumberMarker>"
            f"{items}</ObjectParts></GetObjectAttributesResponse>"
        )
        return text_answer(200, "application/xml", body)

    def object(self, key, headers):
        found = self.objects.get(key)
        if found is None:
            return s3_error(404, "NoSuchKey", "no such key")
        etag = self.etag(found)
        if headers.get("if-match", etag) != etag:
            return s3_error(412, "PreconditionFailed", "changed")
        extra = {"ETag": etag}
        if headers.get("x-amz-checksum-mode") == "ENABLED":
            sum_of_parts = f"AAAAAA==-{etag.count('-')}"
            extra["x-amz-checksum-crc32c"] = (
                sum_of_parts if self.part_bytes else found.crc32c_base64
            )
        return object_answer(found, headers, extra)

    def listing(self, query):
        assert query["list-type"] == "2" and query["encoding-type"] == "url"
        prefix = query.get("prefix", "")
        keys = [k for k in self.objects.names() if k.startswith(prefix)]
        start = int(query.get("continuation-token", "t=0/+")[2:].split("/")[0])
        keys, left = keys[start : start + self.page], keys[start:]
        items = "".join(self.item(key) for key in keys)
        more = len(left) > len(keys)
        token = f"t={start + len(keys)}/+ &"  # Has letters that need encoding.
        next_page = (
            "<NextContinuationToken>"
            f"{xml.sax.saxutils.escape(token)}</NextContinuationToken>"
        )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>"
            f"<EncodingType>url</EncodingType>{items}"
            f"{next_page if more else ''}</ListBucketResult>"
        )
        return text_answer(200, "application/xml", body)

    def item(self, key):
        found = self.objects.get(key)
        name = urllib.parse.quote_plus(key, safe="/")
        return (
            f"<Contents><Key>{name}</Key><Size>{len(found.data)}</Size>"
            f"<ETag>{xml.sax.saxutils.escape(self.etag(found))}</ETag>"
            "</Contents>"
        )


class Gcs:
    """Buckets: `data` and `private` need the token, `public` does not."""

    def __init__(self, objects, token, page):
        self.objects = objects
        self.token = token
        self.page = page

    def answer(self, method, target, headers):
        path, _, query = target.partition("?")
        match = re.fullmatch(r"/storage/v1/b/([^/]+)/o(?:/([^/]+))?", path)
        query = dict(urllib.parse.parse_qsl(query))
        if not match or match[1] not in ("data", "public", "private"):
            return gcs_error(404, "The specified bucket does not exist.")
        sent = headers.get("authorization")
        if match[1] != "public" and sent != f"Bearer {self.token}":
            return gcs_error(401, f"Invalid Credentials: {sent}")
        if match[1] == "private":
            return gcs_error(403, f"no permission for {self.token}")
        if match[2] is None:
            return self.listing(query)
        return self.object(urllib.parse.unquote(match[2]), query, headers)

    def object(self, key, query, headers):
        found = self.objects.get(key)
        if found is None:
            return gcs_error(404, f"No such object: {key}")
        wanted = query.get("ifGenerationMatch", str(found.generation))
        if wanted != str(found.generation):
            return gcs_error(412, "conditionNotMet")
        if query.get("alt") != "media":
            text = json.dumps(self.item(key))
            return text_answer(200, "application/json", text)
        hashes = f"crc32c={found.crc32c_base64},md5={found.md5_base64}"
        extra = {
            "x-goog-hash": hashes,
            "x-goog-generation": str(found.generation),
        }
        return object_answer(found, headers, extra)

    def listing(self, query):
        prefix = query.get("prefix", "")
        keys = [k for k in self.objects.names() if k.startswith(prefix)]
        start = 0
        if "pageToken" in query:
            start = int(base64.b64decode(query["pageToken"]))
        page = {
            "items": [self.item(k) for k in keys[start : start + self.page]]
        }
        end = start + self.page
        if end < len(keys):
            token = base64.b64encode(str(end).encode())
            page["nextPageToken"] = token.decode()
        return text_answer(200, "application/json", json.dumps(page))

    def item(self, key):
        found = self.objects.get(key)
        return {
            "name": key,
            "size": str(len(found.data)),
            "generation": str(found.generation),
            "crc32c": found.crc32c_base64,
            "md5Hash": found.md5_base64,
        }


class Web:
    """Objects below /web/, without any checksum."""

    def __init__(self, objects):
        self.objects = objects

    def answer(self, method, target, headers):
        path = urllib.parse.unquote(target.partition("?")[0])
        found = self.objects.get(path.removeprefix("/web/"))
        if found is None:
            return text_answer(404, "text/plain", "not found")
        etag = f'"{found.generation:x}"'
        if headers.get("if-match", etag) != etag:
            return text_answer(412, "text/plain", "changed")
        return object_answer(found, headers, {"ETag": etag})
