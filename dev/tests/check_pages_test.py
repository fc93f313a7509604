"""Each kind of name that does not exist is found, and nothing else."""

import unittest

import check_pages

WRONG = {
    "[more](gone.md)": "there is no gone.md",
    "[more](micro.md#gone)": "micro.md has no heading #gone",
    "See lib/records/gone.h.": "there is no lib/records/gone.h",
    "See `dev/{lint,gone}.sh`.": "there is no dev/gone.sh",
    "| rearrange.h | flips |": "there is no rearrange.h",
    "`bazel test //lib/gone/...`": "there is no target //lib/gone:gone",
    "`//lib/records:gone`": "there is no target //lib/records:gone",
    "    make gone\n": "there is no `make gone`",
    "`make gone`": "there is no `make gone`",
    "    micro --gone\n": "micro has no --gone",
    "    plan --emit=table |\n      micro --paired\n": "micro has no --paired",
    "```sh\nfeedrate duel --a=x --gone=1\n```\n": "duel has no --gone",
    "`stage_dataset --gone`": "stage_dataset has no --gone",
    "the flag `--gone_entirely`": "no program has --gone_entirely",
    "`GoneEntirely()`": "no source has `GoneEntirely()`",
    "`Loader::GoneEntirely`": "no source has `Loader::GoneEntirely`",
    "the field `train.gone_entirely`": "no source has `train.gone_entirely`",
}
RIGHT = """
[more](micro.md), [here](../README.md#programs), lib/records/row.proto,
row.proto, `dev/{lint,test}.sh`, dev/checks/*_test.sh, configs/requirements/SET,
my_transforms.py, `//tools/micro`, `//lib/base/tool:tests`, `make test-full`,
`bazel test //lib/records/...`, `Loader::Create`, `train.last_loss`,
`--num-items=3`.

    make bundle TOOLS="plan micro"      # gone
    $ micro --num-items=2 --noresume | feedrate aggregate --by=library
    duel --a='old --gone' --b='new --gone' -- --gone
    git log --oneline
"""


class CheckPagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = check_pages.Tree(check_pages.ROOT)

    def test_what_does_not_exist_is_found(self):
        for text, what in WRONG.items():
            with self.subTest(text):
                self.assertEqual(
                    check_pages.wrong(self.tree, "docs/x.md", text),
                    [f"docs/x.md: {what}"],
                )

    def test_what_exists_is_not(self):

        self.assertEqual(check_pages.wrong(self.tree, "docs/x.md", RIGHT), [])


if __name__ == "__main__":
    unittest.main()
