"""A server of the command line in a test's folder, asked over HTTP."""
import json
import urllib.error
import urllib.request

from cli_case import CliTest


class ApiTest(CliTest):
    def ask(self, url, path, body=None, method=None, **headers):
        """The status and the body of an answer."""
        names = {name.replace("_", "-"): v for name, v in headers.items()}
        request = urllib.request.Request(url + path, None if body is None else json.dumps(body).encode(),
                                         {"content-type": "application/json", **names}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or b"null")

    def write(self, name, text):
        (self.folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
