"""Web addresses against nginx."""

import unittest

from remote_case import ODD_NAMES, RemoteCase, content, md5
from servers import counts_of, nginx

BIG = 20 << 20
SHARDS = 12


class WebNginxTest(RemoteCase):
    @classmethod
    def setUpClass(cls):
        cls.root, cls.work = cls.new_folder(), cls.new_folder()
        for i in range(SHARDS):
            cls.put(f"a b/shard-{i:03d}.tar", content(f"shard {i}"))
        for name in ODD_NAMES:
            cls.put("odd/" + name, content(name))
        cls.put("big.bin", content("big", BIG))
        cls.put("empty.bin", b"")
        urls = cls.enterClassContext(nginx(cls.root, cls.work))
        cls.url, cls.tls_url = urls

    @classmethod
    def put(cls, name, data):
        path = cls.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def logged(self):
        """(protocol, status, connection, uri) of every request so far."""
        text = (self.work / "access.log").read_text()
        return [line.split(" ", 3) for line in text.splitlines()]

    def test_a_list_of_shards(self):
        for folder in ("a b", "a%20b"):
            self.assertEqual(
                self.digests(f"{self.url}/{folder}/shard-{{000..011}}.tar"),
                {
                    f"shard-{i:03d}.tar": md5(content(f"shard {i}"))
                    for i in range(SHARDS)
                },
            )

    def test_names_of_every_kind(self):
        names = [n for n in ODD_NAMES if not set("?#%") & set(n)]
        for name in names:
            base = name.rsplit("/", 1)[-1]
            self.assertEqual(
                self.digests(f"{self.url}/odd/{name}"),
                {base: md5(content(name))},
            )

    def test_ranges_make_up_the_whole(self):
        for size in (BIG, 1 << 20, 999_983):
            self.assertEqual(
                self.digests(f"--range_bytes={size}", f"{self.url}/big.bin"),
                {"big.bin": md5(content("big", BIG))},
            )

    def test_an_empty_object(self):
        self.assertEqual(
            self.digests(f"{self.url}/empty.bin"), {"empty.bin": md5(b"")}
        )

    def test_connections_are_kept(self):
        before = len(self.logged())
        done = self.run_cat(
            "--stream",
            "--connections=4",
            f"--range_bytes={1 << 20}",
            f"{self.url}/big.bin",
        )
        self.assertEqual(counts_of(done)["requests"], 1 + 20)
        self.assertEqual(counts_of(done)["bytes"], BIG)
        rows = self.logged()[before:]
        self.assertEqual(len(rows), 21)
        self.assertLessEqual(
            len({connection for _, _, connection, _ in rows}), 4
        )

    def test_a_redirect_must_not_leave_https(self):
        env = {"CURL_CA_BUNDLE": str(self.work / "cert.pem")}
        self.assert_fails(
            ["redirects from https"],
            1,
            f"{self.tls_url}/to_http/big.bin",
            env=env,
        )
        for url in (
            f"{self.url}/to_http/big.bin",
            f"{self.url}/to_https/big.bin",
            f"{self.tls_url}/to_https/big.bin",
        ):
            self.assertEqual(
                self.digests(url, env=env),
                {"big.bin": md5(content("big", BIG))},
            )

    def test_http2_over_tls(self):
        before = len(self.logged())
        self.assertEqual(
            self.digests(
                "--connections=16",
                f"--range_bytes={1 << 20}",
                f"{self.tls_url}/big.bin",
                env={"CURL_CA_BUNDLE": str(self.work / "cert.pem")},
            ),
            {"big.bin": md5(content("big", BIG))},
        )
        rows = self.logged()[before:]
        self.assertEqual({protocol for protocol, *_ in rows}, {"HTTP/2.0"})
        # Streams share connections, but do not all use one.
        self.assertLess(len({connection for _, _, connection, _ in rows}), 16)

    def test_an_unknown_certificate_is_refused(self):
        self.assert_fails(
            ["certificate is not trusted"], 1, f"{self.tls_url}/big.bin"
        )

    def test_what_is_missing_is_told_in_one_line(self):
        self.assert_fails(
            [f"{self.url}/none.tar", "HTTP 404"], 1, f"{self.url}/none.tar"
        )
        self.assert_fails(["cannot be listed"], 1, f"{self.url}/a b/")
        self.assert_fails(
            ["shard-012.tar", "404"],
            1,
            f"{self.url}/a b/shard-{{000..012}}.tar",
        )
        self.assert_fails(["has a part '..'"], 1, f"{self.url}/a/{{x,..}}")

    def test_a_query_is_sent_and_not_shown(self):
        self.assertEqual(
            len(self.digests(f"{self.url}/big.bin?X-Amz-Signature=hunter2")), 1
        )
        self.assertIn("hunter2", self.logged()[-1][3])
        self.assert_fails(
            ["/none.bin"],
            1,
            f"{self.url}/none.bin?X-Amz-Signature=hunter2",
            hidden=["hunter2"],
        )


if __name__ == "__main__":
    unittest.main()
