"""A review by a person, with llmock as the model's provider: through chat, and through the official client of
MCP."""
import installed
import mcp_server
import providers
from mcp_server import call
from providers import DONE, USAGE

APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}
EDIT = {"type": "edit", "edited_action": {"name": "send_mail", "args": {"to": "x@y"}}}


class Reviews(providers.LlmockServer, mcp_server.Served):
    def setUp(self):
        super().setUp()
        self.variables = {"OPENAI_BASE_URL": self.server.url + "/v1", "OPENAI_API_KEY": providers.KEY}
        self.graph = f"{installed.bin_folder.parent / 'lib' / 'libothers_graphs.so'}:reviewed"
        self.ask_for_two()

    def ask_for_two(self):
        """Two calls in one answer, so that one question is about both."""
        mails = [{"name": "send_mail", "arguments": {"to": who}} for who in ("Ada", "Eve")]
        providers.get(self.server.url + "/_llmock/reset", {})
        self.script({"type": "reply", "tool_calls": mails}, {"type": "reply", "text": "that is all"})

    def begin(self, thread):
        return call("reviewed", thread_id=thread, messages=[{"role": "user", "content": "two mails"}])

    def answer(self, thread, *decisions):
        return call("reviewed", thread_id=thread, resume={"decisions": list(decisions)})

    def said(self, answer):
        """The words of tools and of the model, from the result of a call."""
        return [m["content"] for m in answer["data"]["messages"] if m["role"] in ("tool", "assistant")]

    def test_over_mcp_a_corrected_answer_works(self):  # D1
        for way in self.each_way():
            self.ask_for_two()
            seen = way([self.graph], [self.begin("t")], [self.answer("t", EDIT, APPROVE)],
                       [self.answer("t", APPROVE)], [self.answer("t", APPROVE, APPROVE)])
            asked, edited, short, right = (step[0] for step in seen["calls"])
            self.assertIn("Eve", asked["text"])
            for refused, words in ((edited, "'edit' is not allowed"), (short, "(2)")):
                self.assertTrue(refused["is_error"], refused)
                self.assertIn(words, refused["text"])
            self.assertFalse(right["is_error"], right)
            for words in ("sent to Ada", "sent to Eve", "that is all"):
                self.assertIn(words, self.said(right))

    def test_over_mcp_a_new_message_is_let_through(self):  # D1
        seen = self.over_stdio([self.graph], [self.begin("t")], [self.answer("t", EDIT, APPROVE)],
                               [self.begin("t")])
        again = seen["calls"][2][0]
        self.assertFalse(again["is_error"], again)
        self.assertIn("that is all", self.said(again))

    def test_in_chat_a_corrected_answer_works(self):  # D1
        first = self.chat_about("two mails\n", '{"decisions": [{"type": "approve"}]}\n', code=USAGE)
        self.assertIn("does not match number of hanging tool calls (2)", first.stderr)
        edited = self.chat_about('edit {"to": "x@y"}\n', code=USAGE)
        for words in ("not a valid answer: edit", '"send_mail" {"to":"Ada"}: yes, no [WHY]; or /leave'):
            self.assertIn(words, edited.stderr)
        done = self.chat_about("yes\n", "no not her\n")
        self.assertTrue(done.stdout.endswith("that is all\n"), done.stdout)

    def test_in_chat_a_question_may_be_left_for_a_new_message(self):  # D1
        self.chat_about("two mails\n", '{"decisions": [{"type": "approve"}]}\n', code=USAGE)
        done = self.chat_about("/leave\n", "never mind\n")
        self.assertTrue(done.stdout.endswith("that is all\n"), done.stdout)

    def chat_about(self, *lines, code=DONE):
        return self.program("troupe", "chat", self.graph, "--data", self.folder / "data", "--thread", "t",
                            input="".join(lines), code=code)
