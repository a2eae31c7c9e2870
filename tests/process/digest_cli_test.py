"""The examples hello, embed and digest as programs of their own.

Arguments: the folder of the programs, and the source folder.
"""
import signal
import sys
import unittest

from cli_case import BIN, DRAINED, PAUSED, STORAGE, USAGE, CliTest
from programs import Program, json_lines, run


class Examples(CliTest):
    def digest(self, *arguments, **options):
        return run([BIN / "digest", *arguments], cwd=self.folder, **options)

    def make_files(self):
        (self.folder / "docs" / ".git").mkdir(parents=True)
        (self.folder / "docs" / "build").mkdir()
        (self.folder / "docs" / "a.md").write_text("# First | part\none two three\n## Second\nfour\n")
        (self.folder / "docs" / "b.txt").write_text("five six\n\nseven apples, eight apples\n")
        (self.folder / "docs" / "c.bin").write_bytes(b"\0\1")
        for hidden in [".git/x.md", "build/y.md"]:
            (self.folder / "docs" / hidden).write_text("# Hidden\n")

    def test_hello_counts_to_three_and_goes_on_from_there(self):
        first = run([BIN / "hello"], cwd=self.folder)
        self.assertEqual(self.ok(first), "3\n")
        self.assertEqual(self.ok(run([BIN / "hello"], cwd=self.folder)), "4\n")

    def test_embed_answers_and_ends(self):
        text = self.ok(run([BIN / "embed"], cwd=self.folder))
        self.assertEqual(text, "Actors pass messages: 3 words: brief\n"
                               "Nobody reads a line that goes on and on: 9 words: too long\n")

    def test_digest_reports_on_files(self):
        self.make_files()
        done = self.digest("docs", "--yes")
        self.assertIn("digest.md (2 files", self.ok(done))
        report = (self.folder / "digest.md").read_text()
        self.assertIn("| docs/a.md | 7 | 2 | First \\| part |", report)
        self.assertIn("| apples | 2 |", report)
        self.assertIn("| Left out: binary | 1 |", report)
        self.assertNotIn("Hidden", report)

    def test_digest_waits_for_an_answer(self):
        self.make_files()
        done = self.digest("docs", "--thread", "t", "--json")
        result = json_lines(self.ok(done, PAUSED))[-1]
        self.assertEqual(result["status"], "paused")
        self.assertIn("# Digest", result["interrupts"][0]["value"]["draft"])
        self.assertFalse((self.folder / "digest.md").exists())
        again = self.digest("--thread", "t")
        self.ok(again, PAUSED)
        self.assertIn("digest --thread t --yes", again.stderr)
        odd = self.digest("--thread", "t", "--resume", '"perhaps"')
        self.ok(odd, PAUSED)
        self.ok(self.digest("--thread", "t", "--yes"))
        self.assertTrue((self.folder / "digest.md").exists())

    def test_digest_takes_no_for_an_answer(self):
        self.make_files()
        self.ok(self.digest("docs", "--thread", "t"), PAUSED)
        done = self.digest("--thread", "t", "--resume", '"no"')
        self.ok(done)
        self.assertIn("not written", done.stderr)
        self.assertFalse((self.folder / "digest.md").exists())

    def test_digest_that_is_finished_says_so(self):
        self.make_files()
        self.ok(self.digest("docs", "--thread", "t", "--yes"))
        done = self.digest("docs", "--thread", "t", "--yes", "--trace", "trace")
        self.assertIn("finished already", self.ok(done))
        self.assertFalse((self.folder / "trace").exists())
        self.ok(self.digest("docs", "--thread", "t", "--yes", "--again", "--trace", "trace"))
        self.assertEqual(sorted((self.folder / "trace").read_text().splitlines()),
                         ["docs/a.md", "docs/b.txt"])
        self.assertIn("| Files | 2 |", (self.folder / "digest.md").read_text())

    def test_digest_of_a_thousand_files(self):
        (self.folder / "many").mkdir()
        for i in range(1000):
            (self.folder / "many" / f"{i}.txt").write_text(f"word{i} and common words\n" * 20)
        done = self.digest("many", "--yes", "--quiet", "--trace", "trace")
        self.assertEqual(self.ok(done) + done.stderr, "")
        self.assertEqual(len((self.folder / "trace").read_text().splitlines()), 1000)
        self.assertIn("| Files | 1000 |", (self.folder / "digest.md").read_text())

    def test_digest_drains(self):
        self.make_files()
        arguments = ["docs", "--thread", "t", "--yes", "--json", "--jobs", "1", "--delay-ms", "400"]
        with Program([BIN / "digest", *arguments], cwd=self.folder) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 2))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), DRAINED, program.err.lines)
        self.ok(self.digest("--thread", "t", "--yes", "--trace", "trace"))
        self.assertFalse((self.folder / "trace").exists(), "files were read again")

    def test_digest_of_what_is_not_there(self):
        refused = lambda done, code, *words: self.refused(done, code, *words, program="digest")
        self.make_files()
        refused(self.digest(), USAGE, "name files")
        refused(self.digest("docs", "nowhere"), USAGE, "nowhere")
        refused(self.digest("docs", "--resume", "{"), USAGE, "--resume")
        refused(self.digest("docs", "--thread", "t", "--resume", "true"), USAGE, "nothing to resume")
        refused(self.digest("docs", "--out", "no/such/folder.md"), USAGE, "--out")
        refused(self.digest("docs", "--out", "docs"), USAGE, "--out")
        refused(self.digest("docs", "--delay-ms", "-1"), USAGE, "--delay-ms")
        refused(self.digest("docs", "--data", "no/such/data"), STORAGE, "no/such/data")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
