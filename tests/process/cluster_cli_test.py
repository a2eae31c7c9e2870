"""troupe cluster init-ca and issue-cert: what they make is what openssl takes, and bad orders make
nothing.

Arguments: the folder of the programs, and the source folder.
"""
import os
import pathlib
import shutil
import stat
import sys
import tempfile
import unittest

from programs import json_lines, programs_folder, run

DONE, USAGE, STORAGE = 0, 2, 5
TROUPE = programs_folder(sys.argv[1]) / "troupe"
OPENSSL = shutil.which("openssl")
PLAIN = {name: text for name, text in os.environ.items() if "PASSPHRASE" not in name}


class ClusterCliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-cluster-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.ca = self.folder / "ca"

    def cluster(self, *arguments, **environment):
        return run([TROUPE, "cluster", *arguments], cwd=self.folder, env={**PLAIN, **environment})

    def ok(self, done):
        self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
        return done.stdout

    def refused(self, done, *words, code=USAGE):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def made(self):
        return {path.name: path.read_bytes() for path in self.ca.iterdir()}

    def openssl(self, *arguments):
        return self.ok(run([OPENSSL, *arguments], cwd=self.folder, env=PLAIN))


class Certificates(ClusterCliTest):
    def test_a_ca_and_a_certificate_are_files_that_only_their_owner_may_change(self):
        text = self.ok(self.cluster("init-ca", "--dir", "ca"))
        self.assertIn("ca.pem", text)
        text = self.ok(self.cluster("issue-cert", "worker-1", "--dir", "ca", "--host", "10.0.0.7",
                                    "--host", "w1.example.org", "--days", "30"))
        self.assertIn("30 days", text)
        self.assertEqual(set(self.made()), {"ca.pem", "ca.key", "worker-1.pem", "worker-1.key"})
        for name in ["ca.key", "worker-1.key"]:
            self.assertEqual(stat.S_IMODE((self.ca / name).stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.ca.stat().st_mode), 0o700)

    def test_json_names_the_files(self):
        ca, = json_lines(self.ok(self.cluster("init-ca", "--dir", "ca", "--json")))
        self.assertEqual(ca, {"type": "ca", "certificate": "ca/ca.pem", "key": "ca/ca.key"})
        one, = json_lines(self.ok(self.cluster("issue-cert", "w", "--dir", "ca", "--json")))
        self.assertEqual(one, {"type": "certificate", "name": "w", "certificate": "ca/w.pem",
                               "key": "ca/w.key"})

    @unittest.skipUnless(OPENSSL, "openssl is not installed")
    def test_openssl_verifies_them_for_both_sides_and_names_the_hosts(self):
        self.ok(self.cluster("init-ca", "--dir", "ca"))
        self.ok(self.cluster("issue-cert", "worker-1", "--dir", "ca", "--host", "10.0.0.7",
                             "--host", "::1", "--host", "w1.example.org"))
        for purpose in ["sslserver", "sslclient"]:
            self.openssl("verify", "-x509_strict", "-CAfile", "ca/ca.pem", "-purpose", purpose,
                         "ca/worker-1.pem")
        for host in [["-verify_ip", "10.0.0.7"], ["-verify_ip", "::1"],
                     ["-verify_hostname", "w1.example.org"], ["-verify_hostname", "worker-1"]]:
            self.openssl("verify", "-CAfile", "ca/ca.pem", *host, "ca/worker-1.pem")
        text = self.openssl("x509", "-in", "ca/worker-1.pem", "-noout", "-text")
        for words in ["prime256v1", "CN = worker-1", "CA:FALSE",
                      "TLS Web Server Authentication, TLS Web Client Authentication"]:
            self.assertIn(words, text)
        text = self.openssl("x509", "-in", "ca/ca.pem", "-noout", "-text")
        for words in ["CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign"]:
            self.assertIn(words, text)

    def test_nothing_is_overwritten(self):
        self.ok(self.cluster("init-ca", "--dir", "ca"))
        self.ok(self.cluster("issue-cert", "w", "--dir", "ca"))
        before = self.made()
        self.refused(self.cluster("init-ca", "--dir", "ca"), "is not overwritten")
        self.refused(self.cluster("issue-cert", "w", "--dir", "ca"), "is not overwritten")
        self.assertEqual(self.made(), before)

    def test_bad_orders_say_why_and_make_nothing(self):
        self.refused(self.cluster("issue-cert", "w", "--dir", "ca"), "the CA is missing", "init-ca")
        self.refused(self.cluster("init-ca", "--dir", "not/there"), "No such file")
        self.refused(self.cluster("init-ca"), "--dir")
        self.ok(self.cluster("init-ca", "--dir", "ca"))
        before = self.made()
        for bad, word in [(["../w"], "letters"), (["ca"], "own name"), ([], "NAME"),
                          (["w", "--host", "*.a"], "`*.a` is neither"),
                          (["w", "--days", "0"], "--days"), (["w", "--days", "x"], "--days"),
                          (["w", "--days", "3651"], "--days")]:
            self.refused(self.cluster("issue-cert", *bad, "--dir", "ca"), word)
        self.assertEqual(self.made(), before)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_directory_that_can_not_be_written_is_a_storage_failure(self):
        self.ca.mkdir(mode=0o500)
        self.refused(self.cluster("init-ca", "--dir", "ca"), "ca.key", code=STORAGE)

    def test_passphrases_come_from_the_environment_or_a_file_and_are_never_said(self):
        secret = self.folder / "secret"
        secret.write_text("open sesame\n")
        secret.chmod(0o600)
        self.ok(self.cluster("init-ca", "--dir", "ca", TROUPE_CA_PASSPHRASE_FILE=str(secret)))
        self.assertIn(b"ENCRYPTED", self.made()["ca.key"])
        self.refused(self.cluster("issue-cert", "w", "--dir", "ca"), "encrypted", "passphrase is missing")
        done = self.cluster("issue-cert", "w", "--dir", "ca", TROUPE_CA_PASSPHRASE="treacle")
        self.refused(done, "does not decrypt")
        self.assertNotIn("treacle", done.stderr)
        self.ok(self.cluster("issue-cert", "w", "--dir", "ca", TROUPE_CA_PASSPHRASE="open sesame",
                             TROUPE_TLS_PASSPHRASE="mine"))
        self.assertIn(b"ENCRYPTED", self.made()["w.key"])
        secret.chmod(0o644)
        self.refused(self.cluster("issue-cert", "v", "--dir", "ca",
                                  TROUPE_CA_PASSPHRASE_FILE=str(secret)), "chmod 600")

    def test_help_names_the_flags(self):
        text = self.ok(self.cluster("--help"))
        for word in ["init-ca", "issue-cert"]:
            self.assertIn(word, text)
        text = self.ok(self.cluster("issue-cert", "--help"))
        for word in ["NAME", "--dir", "--host", "--days", "--json", "TROUPE_TLS_PASSPHRASE"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
