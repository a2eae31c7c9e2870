"""Graphs of the workloads on LangGraph for Python."""
import operator
import random
import string
import uuid
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, interrupt

UNLIMITED = 10**9
letters = string.ascii_lowercase


def new_run():
    return {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": UNLIMITED}


class Counter(TypedDict):
    counter: int


def inc(state):
    return {"counter": state["counter"] + 1}


def chain(nodes, **options):
    graph = StateGraph(Counter)
    for name in nodes:
        graph.add_node(name, inc)
    for before, after in zip([START, *nodes], [*nodes, END]):
        graph.add_edge(before, after)
    return graph.compile(**options)


def counter_loop(end, **options):
    graph = StateGraph(Counter)
    graph.add_node("step", inc)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["counter"] < end else END, ["step", END])
    return graph.compile(**options)


class Items(TypedDict):
    items: Annotated[list, operator.add]


def append_loop(end, **options):
    graph = StateGraph(Items)
    graph.add_node("step", lambda state: {"items": [f"item {len(state['items']):06d} ".ljust(100, "x")]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["items"]) < end else END, ["step", END])
    return graph.compile(**options)


class Results(TypedDict):
    results: Annotated[list, operator.add]
    count: int


def worker(i):
    return lambda state: {"results": [i]}


def fanout_join(n):
    graph = StateGraph(Results)
    graph.add_node("join", lambda state: {"count": len(state["results"])})
    for i in range(n):
        name = f"worker{1000 + i}"
        graph.add_node(name, worker(i))
        graph.add_edge(START, name)
        graph.add_edge(name, "join")
    graph.add_edge("join", END)
    return graph.compile()


def send_fanout(n):
    graph = StateGraph(Results)
    graph.add_node("worker", lambda argument: {"results": [argument["i"]]})
    graph.add_conditional_edges(START, lambda _: [Send("worker", {"i": k}) for k in range(n)], ["worker"])
    graph.add_edge("worker", END)
    return graph.compile()


class Messages(TypedDict):
    messages: Annotated[list, add_messages]


def idle_chain(n):
    graph = StateGraph(Messages)
    names = [f"node{i}" for i in range(n)]
    for name in names:
        graph.add_node(name, lambda state: None)
    for before, after in zip([START, *names], [*names, END]):
        graph.add_edge(before, after)
    return graph


def asking_chain(saver):
    graph = StateGraph(Counter)
    graph.add_node("a", inc)
    graph.add_node("b", lambda state: {"counter": state["counter"] + interrupt("go?")})
    graph.add_node("c", inc)
    for before, after in [(START, "a"), ("a", "b"), ("b", "c"), ("c", END)]:
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


class Joke(TypedDict):
    subject: Any
    jokes: list


class JokeInput(TypedDict):
    subject: Any


class JokeOutput(TypedDict):
    jokes: list


class Jokes(TypedDict):
    subjects: list
    jokes: Annotated[list, operator.add]


def told(joke):
    return joke.endswith(" a" * 10)


def fanout_to_subgraph():
    child = StateGraph(Joke, input_schema=JokeInput, output_schema=JokeOutput)
    child.add_node("edit", lambda state: {"subject": f"{state['subject']} - hohoho"})
    child.add_node("generate", lambda state: {"jokes": [f"Joke about {state['subject']}"]})
    child.add_node("bump", lambda state: {"jokes": [state["jokes"][0] + " a"]})
    child.add_edge(START, "edit")
    child.add_edge("edit", "generate")
    child.add_edge("generate", "bump")
    child.add_edge("generate", END)
    child.add_conditional_edges("bump", lambda state: END if told(state["jokes"][0]) else "bump", ["bump", END])
    graph = StateGraph(Jokes)
    graph.add_node("generate_joke", child.compile())
    graph.add_conditional_edges(START, lambda state: [Send("generate_joke", {"subject": s})
                                                      for s in state["subjects"]], ["generate_joke"])
    graph.add_edge("generate_joke", END)
    return graph.compile()


def nested_map(outer, inner):
    leaves = ["hi?" * 10, True, 1, 6327816386138, None] * 5
    return {str(i) * 10: {str(j) * 10: list(leaves) for j in range(inner)} for i in range(outer)}


LISTS = {"messages", "trigger_events", "categorizations", "responses", "memory_docs", "relevant_rules"}
SINGLES = {"user_info", "crm_info", "slack_participants", "autoresponse", "notified_assignees", "issue"}


def unless_empty(old, new):
    return new if new else old


def unless_null(old, new):
    return old if new is None else new


def merge(old, new):
    return {**old, **new}


class Wide(TypedDict):
    messages: Annotated[list, operator.add]
    trigger_events: Annotated[list, operator.add]
    primary_issue_medium: Annotated[str, lambda old, new: new or old or "email"]
    autoresponse: Annotated[dict, lambda old, new: new]
    issue: Annotated[dict, unless_empty]
    relevant_rules: list
    memory_docs: list
    categorizations: Annotated[list, operator.add]
    responses: Annotated[list, operator.add]
    user_info: Annotated[dict, unless_null]
    crm_info: Annotated[dict, unless_null]
    email_thread_id: Annotated[str, unless_null]
    slack_participants: Annotated[dict, merge]
    bot_id: str
    notified_assignees: Annotated[dict, merge]


def wide_graph(n):
    def mover(reads, writes):
        def run(state):
            v = state[reads]
            if isinstance(v, str):
                v = {v: v}
            one = v[-1] if isinstance(v, list) else v
            all_ = v if isinstance(v, list) else [v]
            return {name: all_ if name in LISTS else one if name in SINGLES
                    else "".join(random.choice(letters) for _ in range(n)) for name in writes}
        return run
    graph = StateGraph(Wide)
    for name, reads, writes in [
            ("one", "messages", ["trigger_events", "primary_issue_medium"]),
            ("two", "trigger_events", ["autoresponse", "issue"]),
            ("three", "autoresponse", ["relevant_rules"]),
            ("four", "trigger_events", ["categorizations", "responses", "memory_docs"]),
            ("five", "categorizations", ["user_info", "crm_info", "email_thread_id", "slack_participants", "bot_id",
                                         "notified_assignees"]),
            ("six", "responses", ["messages"])]:
        graph.add_node(name, mover(reads, writes))
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", "three")
    graph.add_edge("two", "four")
    graph.add_edge(["three", "four"], "five")
    graph.add_edge("five", "six")
    graph.add_conditional_edges("six", lambda state: END if len(state["messages"]) > n else "one", ["one", END])
    return graph


def react_agent(rounds):
    import warnings
    warnings.simplefilter("ignore")
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool
    from langgraph.prebuilt import create_react_agent

    class Model(BaseChatModel):
        asked: int = 0

        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **_):
            if self.asked == rounds:
                self.asked = 0
                answer = AIMessage("answer" * 100, id=str(uuid.uuid4()))
            else:
                self.asked += 1
                answer = AIMessage("", id=str(uuid.uuid4()), tool_calls=[
                    {"name": "search", "args": {"query": str(uuid.uuid4()) * 100}, "id": str(uuid.uuid4())}])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    def search(query: str) -> str:
        """Searches."""
        return f"result for query: {query}" * 10
    return create_react_agent(Model(), [StructuredTool.from_function(search)])
