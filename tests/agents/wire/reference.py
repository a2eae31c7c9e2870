#!/usr/bin/env python3
"""Writes what the reference makes of the recordings: recorded/NAME.expected.json.

    python3 -m venv v && v/bin/pip install langchain-anthropic==1.7.7 langchain-openai==1.7.3 \\
        langchain-deepseek==1.1.1 langchain-groq==1.1.3
    v/bin/python reference.py [NAME…]
    v/bin/python reference.py --blocks     fills in content_blocks in blocks.json, whose messages are made up

A server on 127.0.0.1 replays a recording's status and body to the reference's client, which is made
to send the recorded request. What comes out is kept as it is: the message (of a stream: all its
parts added up) as JSON and its content_blocks, or the class of what was thrown. Nothing of this
runs with the tests.
"""

import http.server
import json
import os
import pathlib
import sys
import threading
import warnings

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent
RECORDED = HERE / "recorded"
os.environ["LANGSMITH_TRACING"] = "false"


class Replay(http.server.BaseHTTPRequestHandler):
    head, body = {}, b""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.head["status"])
        for name, text in self.head["headers"].items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def model_of(reference, address, payload):
    if reference == "anthropic":
        from langchain_anthropic import ChatAnthropic as base

        more = {"base_url": address, "anthropic_api_key": "k"}
    elif reference == "deepseek":
        from langchain_deepseek import ChatDeepSeek as base

        more = {"api_base": address + "/v1", "api_key": "k", "stream_usage": True}
    elif reference == "groq":
        from langchain_groq import ChatGroq as base

        more = {"base_url": address, "api_key": "k"}
    else:
        from langchain_openai import ChatOpenAI as base

        more = {"base_url": address + "/v1", "api_key": "k", "stream_usage": True}

    class Played(base):
        def _get_request_payload(self, *_, stream=False, **__):
            return {**payload, "stream": stream}

    return Played(model=payload["model"], max_retries=0, **more)


def payload_of(head):
    sent = dict(head["request"] or {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    if head["format"] == "anthropic":
        sent.setdefault("max_tokens", 10)
        if {"context_management", "mcp_servers", "container"} & set(sent) or any(
            t.get("type", "custom") != "custom" for t in sent.get("tools", [])
        ):
            sent["betas"] = ["any"]
        if head["request"] is None and head["made_up_blocks"]:
            sent["tools"] = [{"name": "any", "input_schema": {"type": "object"}}]
            sent["betas"] = ["any"]
    sent.pop("stream", None)
    return sent


def written(message):
    out = message.model_dump()
    for name in ("id", "name", "type", "tool_call_chunks", "chunk_position"):
        out.pop(name, None)
    return {"message": out, "content_blocks": message.content_blocks}


def usage_of_whole(address, payload):
    """What the client counts that adds a stream up itself: langchain's own sum takes the last event's counts alone."""
    import anthropic
    from langchain_anthropic.chat_models import _create_usage_metadata

    client = anthropic.Anthropic(base_url=address, api_key="k", max_retries=0)
    with client.beta.messages.stream(**payload) as stream:
        return _create_usage_metadata(stream.get_final_message().usage)


def write_blocks():
    from langchain_core.messages import AIMessage, HumanMessage

    rows = json.loads((HERE / "blocks.json").read_text())
    for row in rows:
        kind = {"ai": AIMessage, "human": HumanMessage}[row["message"]["type"]]
        row["content_blocks"] = kind(**row["message"]).content_blocks
        for block in row["content_blocks"]:
            for annotation in block.get("annotations", []):
                annotation.pop("id", None)  # a random one
    (HERE / "blocks.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def main():
    if sys.argv[1:] == ["--blocks"]:
        return write_blocks()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    names = set(sys.argv[1:])
    for one in json.loads((HERE / "recordings.json").read_text()):
        name = one["name"]
        if names and name not in names:
            continue
        head = json.loads((RECORDED / f"{name}.json").read_text())
        Replay.head, Replay.body = head, (RECORDED / f"{name}.body").read_bytes()
        head["made_up_blocks"] = b'"tool_use"' in Replay.body or b'"compaction"' in Replay.body
        payload, address = payload_of(head), f"http://127.0.0.1:{server.server_port}"
        is_stream = "event-stream" in head["headers"]["content-type"]
        model = model_of(one.get("reference", head["format"]), address, payload)
        try:
            if is_stream:
                whole = None
                for part in model.stream("hi"):
                    whole = part if whole is None else whole + part
            else:
                whole = model.invoke("hi")
            out = written(whole)
            if is_stream and head["format"] == "anthropic" and not whole.invalid_tool_calls:
                out["usage_of_whole"] = usage_of_whole(address, payload)
        except Exception as e:
            out = {"error": type(e).__name__, "status": getattr(e, "status_code", None), "said": str(e)[:300]}
            print(name, out, file=sys.stderr)
        text = json.dumps(out, indent=1, ensure_ascii=False, default=str) + "\n"
        (RECORDED / f"{name}.expected.json").write_text(text)


if __name__ == "__main__":
    main()
