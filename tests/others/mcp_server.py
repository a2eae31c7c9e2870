"""`troupe mcp` driven by the official MCP client and by the inspector, over stdio and HTTP."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import installed
from programs import Program, run

# Runs in the virtual environment: prints one JSON object, what the client saw.
CLIENT = r"""
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

plan = json.loads(sys.argv[1])

def told(result):
    texts = [c.text for c in result.content if c.type == "text"]
    return {"is_error": bool(result.is_error), "text": "\n".join(texts),
            "data": result.structured_content}

async def one(session, call):
    try:
        return told(await session.call_tool(call["name"], call["arguments"]))
    except Exception as why:
        return {"is_error": True, "text": f"{type(why).__name__}: {why}", "data": None}

async def talk(read, write):
    async with ClientSession(read, write) as session:
        greeting = await session.initialize()
        listed = await session.list_tools()
        out = {"server": greeting.server_info.name, "protocol": greeting.protocol_version,
               "tools": {t.name: t.input_schema for t in listed.tools}, "calls": [],
               "described": {t.name: t.description or "" for t in listed.tools}}
        for step in plan["steps"]:
            out["calls"].append(await asyncio.gather(*[one(session, call) for call in step]))
        print(json.dumps(out))

async def main():
    if plan.get("url"):
        async with streamable_http_client(plan["url"]) as streams:
            await talk(streams[0], streams[1])
    else:
        server = StdioServerParameters(command=plan["command"][0], args=plan["command"][1:],
                                       cwd=plan["cwd"], env=plan["env"])
        async with stdio_client(server) as streams:
            await talk(streams[0], streams[1])

asyncio.run(main())
"""


def call(tool, **arguments):
    return {"name": tool, "arguments": arguments}


class Served(unittest.TestCase):
    variables = {}  # of the server's environment

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-others-mcp-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def command(self, *graphs):
        return [str(installed.bin_folder / "troupe"), "mcp", *graphs, "--data",
                str(self.folder / "data")]

    def plan(self, plan):
        whole = plan | {"cwd": str(self.folder), "env": os.environ | self.variables}
        done = run([installed.python(), "-c", CLIENT, json.dumps(whole)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def over_stdio(self, graphs, *steps):
        return self.plan({"command": self.command(*graphs), "steps": steps})

    def over_http(self, graphs, *steps):
        server = Program([*self.command(*graphs), "--listen", "127.0.0.1:0", "--json"], cwd=self.folder,
                         env=os.environ | self.variables)
        self.addCleanup(server.__exit__)
        self.assertTrue(server.wait_until(lambda: server.out.lines), server.err.lines)
        return self.plan({"url": json.loads(server.out.lines[0])["url"], "steps": steps})

    def each_way(self):
        for way in (self.over_stdio, self.over_http):
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            yield way


# The same for a server with a part of each kind.
PARTS = r"""
import asyncio, json, sys
import mcp.types
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

plan = json.loads(sys.argv[1])
progress = []

async def reported(now, total, message):
    progress.append([now, total, message])

async def asked(context, params):
    return mcp.types.ElicitResult(action="accept", content={"answer": "Ada, asked: " + params.message})

async def talk(read, write):
    async with ClientSession(read, write, elicitation_callback=asked) as session:
        await session.initialize()
        listed = await session.list_resources()
        templates = await session.list_resource_templates()
        readme = await session.read_resource(listed.resources[0].uri)
        user = await session.read_resource("user://ada")
        prompts = await session.list_prompts()
        review = await session.get_prompt("review", {"file": "main.cpp"})
        works = await session.call_tool("works", {}, progress_callback=reported)
        named = await session.call_tool("ask", {})
        try:
            await session.read_resource("file:///no")
            missing = ""
        except Exception as why:
            missing = str(why)
        print(json.dumps({
            "resources": [str(r.uri) for r in listed.resources],
            "templates": [t.uri_template for t in templates.resource_templates],
            "readme": readme.contents[0].text, "user": user.contents[0].text,
            "prompts": [p.name for p in prompts.prompts], "review": review.messages[0].content.text,
            "works": works.content[0].text, "progress": progress,
            "named": named.structured_content, "missing": missing}))

async def main():
    if plan.get("url"):
        async with streamable_http_client(plan["url"]) as streams:
            await talk(streams[0], streams[1])
    else:
        server = StdioServerParameters(command=plan["command"][0], args=plan["command"][1:])
        async with stdio_client(server) as streams:
            await talk(streams[0], streams[1])

asyncio.run(main())
"""


class OfficialClientOfEachPart(unittest.TestCase):
    def seen(self, plan):
        done = run([installed.python(), "-c", PARTS, json.dumps(plan)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def check(self, seen):
        self.assertEqual(seen["resources"], ["file:///readme"])
        self.assertEqual(seen["templates"], ["user://{name}"])
        self.assertEqual((seen["readme"], seen["user"]), ("Read me", "About ada"))
        self.assertEqual((seen["prompts"], seen["review"]), (["review"], "Review main.cpp"))
        self.assertEqual(seen["works"], "done")
        self.assertEqual(seen["progress"], [[1, 3, "step"], [2, 3, "step"], [3, 3, "step"]])
        self.assertEqual(seen["named"], {"name": "Ada, asked: Your name?"})
        self.assertIn("Resource not found: file:///no", seen["missing"])

    def test_over_stdio(self):
        self.check(self.seen({"command": [str(installed.bin_folder / "others_agents"), "serve", "stdio"]}))

    def test_over_http(self):
        server = Program([installed.bin_folder / "others_agents", "serve", "http"], stdin=subprocess.PIPE)
        self.addCleanup(server.__exit__)
        self.addCleanup(server.process.stdin.close)
        self.assertTrue(server.wait_until(lambda: server.out.lines), server.err.lines)
        self.check(self.seen({"url": json.loads(server.out.lines[0])["url"]}))


class OfficialClient(Served):
    def test_tools_are_listed_and_called(self):
        for way in self.each_way():
            seen = way(["hello", "ask", "chat"], [call("hello")], [call("hello", count="x")],
                       [call("nobody")])
            self.assertEqual(seen["server"], "troupe")
            self.assertEqual(sorted(seen["tools"]), ["ask", "chat", "hello"])
            hello, wrong, nobody = (step[0] for step in seen["calls"])
            self.assertEqual(hello["data"], {"count": 3})
            self.assertTrue(wrong["is_error"])
            self.assertIn("Unknown tool: nobody", nobody["text"])

    def test_a_question_is_answered_by_thread_id(self):
        for way in self.each_way():
            seen = way(["ask"], [call("ask", thread_id="t")], [call("ask", thread_id="t", resume="Ada")])
            asked, answered = (step[0] for step in seen["calls"])
            self.assertIn("What is your name?", asked["text"])
            self.assertEqual(answered["data"]["text"], "Hello, Ada!")

    def test_what_waits_for_nothing_is_not_resumed(self):  # D5
        for way in self.each_way():
            seen = way(["ask"], [call("ask", thread_id="t")], [call("ask", thread_id="t", resume="Ada")],
                       [call("ask", thread_id="t", resume="Eve")], [call("ask", thread_id="t", resume=None)],
                       [call("ask", thread_id="unknown", resume="Ada")],
                       [call("ask", thread_id="unknown", resume=None)])
            for step in seen["calls"][2:]:
                self.assertTrue(step[0]["is_error"], step)
                self.assertRegex(step[0]["text"], "waits for nothing|nothing is stored of thread_id `unknown`")
                self.assertNotIn("__start__", step[0]["text"])

    def test_one_of_two_answers_at_once_counts_and_the_other_one_is_an_error(self):  # D5
        for way in self.each_way():
            seen = way(["ask"], [call("ask", thread_id="t")],
                       [call("ask", thread_id="t", resume=name) for name in ("Ada", "Eve")])
            won, = [a for a in seen["calls"][1] if not a["is_error"]]
            lost, = [a for a in seen["calls"][1] if a["is_error"]]
            self.assertIn(won["data"]["text"], ("Hello, Ada!", "Hello, Eve!"))
            self.assertRegex(lost["text"], "another call uses|its question was answered by another call")
            self.assertNotIn("multitask", lost["text"])

    def test_nothing_is_advice_for_the_command_line(self):  # D8
        graphs = ["hello", "ask", "chat", "loop", "digest"]
        for way in self.each_way():
            seen = way(graphs, [call("hello", count="x")], [call("ask", thread_id="t")],
                       [call("ask", thread_id="t", resume="Ada")],
                       [call("ask", thread_id="t", resume="Eve")], [call("ask", resume="Ada")],
                       [call("chat")], [call("chat", messages=1)], [call("nobody")])
            said = [one["text"] for step in seen["calls"] for one in step] + list(seen["described"].values())
            self.assertEqual(len(seen["described"]), len(graphs))
            for text in said:
                for word in ("--", "troupe ", "TROUPE", "command line"):
                    self.assertNotIn(word, text)

    def test_a_graph_takes_the_input_that_troupe_graphs_shows(self):
        shown = run([installed.bin_folder / "troupe", "graphs", "--json"], cwd=self.folder)
        inputs = {g["name"]: g["input"] for g in map(json.loads, shown.stdout.splitlines())}
        inputs["loop"]["delay_ms"] = 0
        (self.folder / "README.md").write_text("one")
        names = [n for n in inputs if n != "digest"]
        seen = self.over_stdio(names, *[[call(n, **inputs[n])] for n in names])
        for name, step in zip(names, seen["calls"]):
            if name == "ask":  # it asks
                self.assertIn("What is your name?", step[0]["text"])
            else:
                self.assertFalse(step[0]["is_error"], (name, step))


class Inspector(Served):
    def inspect(self, *arguments):
        script = installed.node_script("inspector", "clients/launcher/build/index.js")
        done = run([*script, "--cli", *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_tools_are_listed_and_called_over_stdio(self):
        listed = self.inspect(*self.command("hello", "ask"), "--method", "tools/list")
        self.assertEqual([t["name"] for t in listed["tools"]], ["hello", "ask"])
        called = self.inspect(*self.command("hello", "ask"), "--method", "tools/call", "--tool-name",
                              "hello")
        self.assertEqual(called["structuredContent"], {"count": 3})

    def test_tools_are_listed_and_called_over_http(self):
        server = Program([*self.command("hello", "ask"), "--listen", "127.0.0.1:0", "--json"],
                         cwd=self.folder)
        self.addCleanup(server.__exit__)
        self.assertTrue(server.wait_until(lambda: server.out.lines), server.err.lines)
        url = json.loads(server.out.lines[0])["url"]
        listed = self.inspect(url, "--transport", "http", "--method", "tools/list")
        self.assertEqual([t["name"] for t in listed["tools"]], ["hello", "ask"])
        called = self.inspect(url, "--transport", "http", "--method", "tools/call", "--tool-name",
                              "hello", "--tool-arg", "count=2")
        self.assertEqual(called["structuredContent"], {"count": 3})
