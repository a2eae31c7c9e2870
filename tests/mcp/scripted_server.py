"""An MCP server over stdio for tests: the first argument chooses its ways. Standard library only.

    good       tools on two pages; see TOOLS
    garbage    good, but with rubbish, wrong ids and doubled answers around each answer
    huge       answers a call with a line that never ends
    dies       ends in the middle of a call
    mute       never answers
    old        speaks a version nobody knows
    refuses    answers the greeting with an error
    endless    lists one page of tools after the other
    many       lists 3000 tools
    twins      lists two tools of one name
    bare       lists something else than tools
    floods     sends rubbish without an end as soon as it is called
    deaf       greets, and reads nothing more
    stubborn   a child of its own; neither ends when asked to

The tools of the first two ask the client while they are called; see ASKING.
"""
import json
import os
import signal
import sys

MODE = sys.argv[1]


def tool(name, **more):
    return {"name": name, "description": f"Tool {name}", "inputSchema": {"type": "object"}, **more}


SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
TOOLS = [
    tool("echo", inputSchema={"type": "object", "properties": {"s": {"type": "string", "pattern": "x"}}}),
    tool("add", outputSchema=SUM),
    tool("lies", outputSchema=SUM),
    tool("fails"), tool("fails.empty"), tool("media"), tool("never"), tool("environment"), tool("asks"),
    tool("changes"), tool("odd"),
]
FORM = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}, "required": ["name"]}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Rhyme"}}], "maxTokens": 9000,
          "systemPrompt": "Be brief"}
# The requests of a tool, one after the other; its text is the list of the answers.
ASKING = {
    "elicits": [("elicitation/create", {"message": "Your name?", "requestedSchema": FORM})],
    "elicits.twice": [("elicitation/create", {"message": "One?", "requestedSchema": FORM}),
                      ("elicitation/create", {"message": "Two?", "requestedSchema": FORM})],
    "elicits.url": [("elicitation/create", {"mode": "url", "message": "Go", "url": "https://x.example",
                                            "elicitationId": "1"})],
    "elicits.badly": [("elicitation/create", {"message": 7}), ("elicitation/create", [])],
    "elicits.much": [("elicitation/create", {"message": "x" * (2 << 20), "requestedSchema": FORM})],
    "elicits.on": [("elicitation/create", {"message": "Again?", "requestedSchema": FORM})] * 40,
    "samples": [("sampling/createMessage", SAMPLE)],
    "samples.often": [("sampling/createMessage", SAMPLE)] * 3,
    "samples.badly": [("sampling/createMessage", {"messages": [], "maxTokens": 1}),
                      ("sampling/createMessage", {"messages": [{"role": "system"}], "maxTokens": 1}),
                      ("sampling/createMessage", {**SAMPLE, "maxTokens": "many"})],
}
TOOLS += [tool(name) for name in ASKING] if len(sys.argv) > 2 else []


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def say(message):
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    if MODE == "garbage" and "id" in message:
        wrong = json.dumps({"jsonrpc": "2.0", "id": 12345, "result": {}}) + "\n"
        line = "rubbish\n\n[1, 2]\n{\"id\": 1}\n\xff\n" + wrong + line + line
    write(line)


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def text(s):
    return {"type": "text", "text": s}


def call(name, args, meta):
    if MODE == "huge":
        while True:
            write("x" * (1 << 20))
    while MODE == "floods":
        write("rubbish\n" * 10000)
    if MODE == "dies":
        os._exit(3)
    if name == "echo":
        return {"content": [text(json.dumps(args, sort_keys=True))]}
    if name == "add":
        total = args["a"] + args["b"]
        return {"content": [text(str(total)), text("!")], "structuredContent": {"sum": total}}
    if name == "lies":
        return {"content": [], "structuredContent": {"sum": "many"}}
    if name == "fails":
        return {"content": [text("it broke")], "isError": True}
    if name == "fails.empty":
        return {"content": [], "isError": True}
    if name == "media":
        return {"content": [
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a.pdf", "name": "a", "mimeType": "application/pdf"},
            {"type": "resource_link", "uri": "http://x/a.png", "name": "a", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///t", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk=", "mimeType": "image/gif"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}}]}
    if name == "odd":
        return {"content": [{"type": "dance"}]}
    if name == "environment":
        return {"content": [text(json.dumps({
            "variables": sorted(os.environ), "given": os.environ.get("GIVEN"), "files": sorted(os.listdir("/proc/self/fd"))[3:4],
            "leads": os.getpgrp() == os.getpid(), "directory": os.getcwd(),
            "blocked": sorted(int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, []))}))]}
    if name == "asks":
        say({"id": "q1", "method": "ping"})
        say({"id": 7, "method": "sampling/createMessage", "params": {}})
        return {"content": [text(json.dumps([read(), read()], sort_keys=True))]}
    if name in ASKING:
        return ask(name)
    if name == "progresses":
        for report in [{"progress": 1, "total": 4}, {"progress": 4, "total": 4, "message": "z" * 9000}, {"progress": "x"}]:
            say({"method": "notifications/progress", "params": {"progressToken": meta["progressToken"], **report}})
        say({"method": "notifications/progress", "params": {"progressToken": 99, "progress": 1}})
        return {"content": []}
    if name == "logs":
        sys.stderr.write("y" * 100000 + "\n")
        sys.stderr.flush()
        return {"content": []}
    if name == "changes":
        say({"method": "notifications/tools/list_changed"})
        say({"method": "notifications/message", "params": {"level": "info", "data": "changed"}})
        return {"content": []}
    return None


def ask(name):
    """Asks the client, and passes over what else it sends meanwhile."""
    sys.stderr.write(f"called {name}\n")
    sys.stderr.flush()
    answers = []
    for number, (method, params) in enumerate(ASKING[name]):
        say({"id": f"a{number}", "method": method, "params": params})
        while True:
            message = read()
            if message.get("id") == f"a{number}":
                break
            if message.get("method") == "ping":
                say({"id": message["id"], "result": {}})
            elif "cancelled" in message.get("method", ""):
                sys.stderr.write(f"cancelled {message['params']['requestId']}\n")
                sys.stderr.flush()
                return None
        answers.append(message.get("result", message.get("error")))
    return {"content": [text(json.dumps(answers, sort_keys=True))]}


def listed(cursor):
    if MODE == "endless":
        return {"tools": [], "nextCursor": "again"}
    if MODE == "many":
        return {"tools": [tool(f"t{i}") for i in range(3000)]}
    if MODE == "twins":
        return {"tools": [tool("a.b"), tool("a/b")]}
    if MODE == "bare":
        return {"tools": "none"}
    return {"tools": TOOLS[4:]} if cursor == "p2" else {"tools": TOOLS[:4], "nextCursor": "p2"}


def answer(id, method, params):
    if method == "initialize":
        if MODE == "refuses":
            return say({"id": id, "error": {"code": -32602, "message": "not you"}})
        version = "1999-01-01" if MODE == "old" else "2025-06-18"
        return say({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}},
                                         "serverInfo": {"name": "scripted", "version": "1"},
                                         "instructions": params["protocolVersion"]}})
    if method == "ping":
        return say({"id": str(id), "result": {}})
    if method == "tools/list":
        return say({"id": id, "result": listed(params.get("cursor"))})
    if method == "tools/call" and params["name"] == "never":
        return sys.stderr.write("called\n") and sys.stderr.flush()
    if method == "tools/call":
        result = call(params["name"], params["arguments"], params.get("_meta"))
        if result is not None:
            return say({"id": id, "result": result})
    say({"id": id, "error": {"code": -32602, "message": f"Unknown tool: {params.get('name')}"}})


def stay():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child:
        sys.stderr.write(f"child {child}\n")
        sys.stderr.flush()
    return child


if MODE == "stubborn" and stay() == 0:
    while True:
        signal.pause()
while True:
    message = read() if MODE != "stubborn" else json.loads(sys.stdin.readline() or signal.pause())
    if MODE == "mute":
        continue
    if MODE == "deaf" and message["method"] != "initialize":
        signal.pause()
    if "id" in message and "method" in message:
        answer(message["id"], message["method"], message.get("params", {}))
    elif message.get("method") == "notifications/cancelled":
        sys.stderr.write(f"cancelled {message['params']['requestId']}\n")
        sys.stderr.flush()
