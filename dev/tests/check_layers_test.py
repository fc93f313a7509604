"""The layer check finds each kind of forbidden use, and only those."""

import pathlib
import tomllib
import unittest
import xml.etree.ElementTree as ElementTree

import check_layers

DEV = pathlib.Path(__file__).resolve().parents[1]
LAYERS = tomllib.loads((DEV / "layers.toml").read_text())
# A query of the real workspace, cut down to one target of each kind.
RECORDED = (DEV / "testdata/query.xml").read_bytes()


def with_use(label, used, attribute="deps"):
    """The recorded query with one more dependency."""
    root = ElementTree.fromstring(RECORDED)
    rule = next(r for r in root.findall("rule") if r.get("name") == label)
    ElementTree.SubElement(rule, "rule-input", name=used)
    values = ElementTree.SubElement(rule, "list", name=attribute)
    ElementTree.SubElement(values, "label", value=used)
    return ElementTree.tostring(root)


class CheckLayersTest(unittest.TestCase):
    def expect(self, query, *expected):
        """Asserts one complaint for each of `expected`, which it contains."""
        complaints = check_layers.check(query, LAYERS)
        self.assertEqual(len(complaints), len(expected), complaints)
        for complaint, text in zip(complaints, sorted(expected), strict=True):
            self.assertIn(text, complaint)

    def test_recorded_query_is_clean(self):
        self.expect(RECORDED)

    def test_design_shows_the_layers(self):
        page = (DEV.parent / "docs/design.md").read_text()
        self.assertEqual(check_layers.design_page(page, LAYERS), page)
        stale = page.replace("| hash, json, tar, url |", "| hash, tar |")
        self.assertNotEqual(stale, page)
        self.assertEqual(check_layers.design_page(stale, LAYERS), page)

    def test_allowed_use_is_clean(self):
        self.expect(with_use("//lib/config:config_proto", "//lib/base:files"))

    def test_use_of_an_upper_layer(self):
        self.expect(
            with_use("//lib/base:files", "//lib/config:config_proto"),
            "//lib/base:files uses //lib/config:config_proto: "
            "lib/base may use only nothing",
        )

    def test_use_of_a_sibling(self):
        self.expect(
            with_use("//lib/config:config_proto", "//lib/records:reader"),
            "//lib/config:config_proto uses //lib/records:reader",
        )

    def test_data_counts_for_layers(self):
        self.expect(
            with_use("//lib/base:files", "//lib/media:image", "data"),
            "//lib/base:files uses //lib/media:image",
        )

    def test_library_uses_program(self):
        self.expect(
            with_use("//lib/base:files", "//tools/plan:plan", "data"),
            "lib/ never uses tools/",
        )

    def test_program_uses_program(self):
        self.expect(
            with_use("//tools/plan:plan", "//tools/stage_dataset:x", "data"),
            "a program uses libraries, not another program",
        )

    def test_a_test_may_use_another_program(self):
        self.expect(
            with_use("//tools/plan:plan_test", "//tools/stage_dataset:x")
        )

    def test_heavy_library_in_a_light_area(self):
        for heavy in ("@torch//:torch", "@system//:opencv_core", "@cuda//:rt"):
            with self.subTest(heavy):
                self.expect(
                    with_use("//lib/tar:reader", heavy, "data"),
                    f"//lib/tar:reader uses {heavy}: only media, ops",
                )

    def test_light_program_links_heavy_library(self):
        self.expect(
            with_use("//tools/plan:plan", "//lib/media:image"),
            "//tools/plan:plan -> //lib/media:image -> @system//:opencv_core:"
            " plan must start fast",
        )

    def test_data_is_not_linked(self):
        self.expect(with_use("//tools/plan:plan", "//lib/media:image", "data"))

    def test_link_through_a_generated_source(self):
        self.expect(
            with_use("//lib/config:config_proto_gen", "@torch//:torch", "srcs"),
            "//lib/config:config_proto_gen uses @torch//:torch",
            "//lib/config:policy.pb.cc -> @torch//:torch: plan must",
        )

    def test_names_of_newer_bazel(self):
        self.expect(
            with_use("//tools/plan:plan", "@@+feedrate+torch//:torch"),
            "plan must start fast",
        )

    def test_stage_dataset_links_only_tar(self):
        self.expect(
            with_use("//tools/stage_dataset:stage_dataset", "//lib/base:files"),
            "-> //lib/base:files: stage_dataset links nothing but hash",
        )

    def test_a_program_of_others_comes_in_by_the_loader(self):
        program = check_layers.Target(
            ElementTree.fromstring('<rule name="//examples:x" />')
        )
        allowed = check_layers.allowed_areas(LAYERS["areas"])
        for used, reason in (
            ("//lib/loader:loader", None),
            ("//lib/worker:message", "a program of others comes in by"),
        ):
            with self.subTest(used):
                error = check_layers.edge_error(program, used, LAYERS, allowed)
                self.assertEqual(error and error[: len(reason)], reason)

    def test_the_loader_does_not_know_the_harness(self):
        allowed = check_layers.allowed_areas(LAYERS["areas"])["loader"]
        harness = {"adapters", "worker", "records", "runner", "measure", "gate"}
        self.assertEqual(allowed & harness, set())

    def test_unknown_area_says_what_to_do(self):
        query = RECORDED.replace(b"//lib/tar:", b"//lib/zip:")
        complaints = check_layers.check(query, LAYERS)
        self.assertIn("lib/zip is not in dev/layers.toml: add", complaints[-1])


class AllowedAreasTest(unittest.TestCase):
    def test_closure(self):
        table = {"a": [], "b": ["a"], "c": ["b"], "d": []}
        allowed = check_layers.allowed_areas(table)
        self.assertEqual(allowed["c"], {"a", "b", "c"})
        self.assertEqual(allowed["d"], {"d"})

    def test_real_table_has_no_circle(self):
        self.assertIn("base", check_layers.allowed_areas(LAYERS["areas"]))

    def test_circle_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "uses itself"):
            check_layers.allowed_areas({"a": ["b"], "b": ["a"]})

    def test_unknown_name_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no line for b"):
            check_layers.allowed_areas({"a": ["b"]})


if __name__ == "__main__":
    unittest.main()
