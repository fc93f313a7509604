"""Which commands of a page run, and what counts as a failure."""

import pathlib
import tempfile
import unittest

import run_pages

PAGE = """# Page

Text with a diagram:

    micro ── server

    micro: 3 rows

Two commands, of which one goes on:

    plan --config=x |
      micro
    make -C x submit   # a comment

<!-- run: minutes, gpu -->

    $ micro --config=x \\
        --verify
    its output
    $ cat >file <<'END'
    text
    END

```sh
for i in 1 2; do
  echo $i
done
```

    train = feedrate.Loader("train/")
"""


class RunPagesTest(unittest.TestCase):
    def blocks(self, text=PAGE):
        return run_pages.blocks("docs/x.md", text, ["micro", "plan", "train"])

    def test_blocks_of_commands_are_found_with_their_marks(self):
        self.assertEqual(
            [(one.line, one.mark) for one in self.blocks()],
            [(11, None), (17, "minutes, gpu"), (25, None)],
        )

    def test_a_statement_is_what_the_shell_reads_at_once(self):
        found = [
            [code for _, code in run_pages.statements(one)]
            for one in self.blocks()
        ]
        self.assertEqual(
            found,
            [
                [
                    "plan --config=x |\n  micro",
                    "make -C x submit   # a comment",
                ],
                [
                    "micro --config=x \\\n    --verify",
                    "cat >file <<'END'\ntext\nEND",
                ],
                ["for i in 1 2; do\n  echo $i\ndone"],
            ],
        )

    def test_a_mark_says_why_a_block_does_not_run(self):
        block = self.blocks()[1]
        self.assertEqual(run_pages.runs(block, ["gpu", "minutes"]), "")
        self.assertEqual(run_pages.runs(block, ["gpu"]), "takes minutes")
        for mark in ("moon", "by dev/checks/no_such.sh", "by dev/lint.sh"):
            block.mark = mark
            with self.assertRaises(SystemExit):
                run_pages.runs(block, [])

    def test_what_fails_is_told_with_its_place(self):
        page = "\n    export A=3\n    cd $PWD/tmp && bash -c 'exit $A'\n"
        page += "    ls /tmp/no_such\n    echo $A\n"
        with tempfile.TemporaryDirectory() as folder:
            fixtures = pathlib.Path(folder, "fixtures")
            (fixtures / "tmp").mkdir(parents=True)
            (fixtures.parent / "prelude.sh").touch()
            blocks = self.blocks(page)
            failures = run_pages.run_page("docs/x.md", blocks, fixtures)
        self.assertEqual(len(failures), 1, failures)
        self.assertRegex(failures[0], r"^docs/x.md:4: exit 2: ls /tmp/no_such")


if __name__ == "__main__":
    unittest.main()
