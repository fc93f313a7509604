"""What dev/mutate.py changes, and what it leaves alone."""

import pathlib
import unittest

import mutate


def news(line):
    return [
        line[: m.start] + m.new + line[m.end :]
        for m in mutate.mutants_of_line(pathlib.Path("f.cc"), 1, line)
    ]


class MutateTest(unittest.TestCase):
    def test_comparisons_and_conditions(self):
        self.assertEqual(
            news("  if (a < b) return;"),
            ["  if (a <= b) return;", "  if (!(a < b)) return;"],
        )
        self.assertEqual(
            news("  x = a == b && c;"),
            ["  x = a != b && c;", "  x = a == b || c;"],
        )

    def test_numbers_and_truths(self):
        self.assertEqual(
            news("constexpr int kN = 7;"), ["constexpr int kN = 8;"]
        )
        self.assertEqual(news("double x = 0.5;"), ["double x = 1.0;"])
        self.assertEqual(news("double x = 0.0;"), ["double x = 1.0;"])
        self.assertEqual(news("bool b = true;"), ["bool b = false;"])
        self.assertEqual(news("return x[i + n];"), ["return x[i - n];"])

    def test_what_stays(self):
        for line in [
            "// if (a < b) 7",
            "#include <map>",
            "std::vector<int> x;",
            'Say("a < 7 && true");',
            "int32_t x1;",
            "CHECK(a < b);",
            "x = 'a';",
            "out << text;",
            "const auto* p;",
        ]:
            self.assertEqual(news(line), [], line)

    def test_a_condition_over_two_lines_is_left(self):
        self.assertEqual(news("  if (Is(a,"), [])

    def test_the_rest_of_the_file_stays(self):
        text = "int a = 1;\nint b = 2;\n"
        mutant = mutate.Mutant(pathlib.Path("f.cc"), 2, 8, 9, "3")
        self.assertEqual(
            mutate.changed(mutant, text), "int a = 1;\nint b = 3;\n"
        )

    def test_tests_are_not_mutated(self):
        files = {str(file) for file in mutate.files_of(["lib/stats"])}
        self.assertIn("lib/stats/change_points.cc", files)
        self.assertIn("lib/stats/summary.h", files)
        self.assertNotIn("lib/stats/summary_test.cc", files)
        self.assertNotIn("lib/stats/change_points_fuzz.cc", files)

    def test_a_sample_is_found_in_every_area(self):
        for folder in ["gate", "stats", "tar", "loader", "records"]:
            files = mutate.files_of([f"lib/{folder}"])
            found = [m for file in files for m in mutate.mutants_of(file)]
            self.assertGreater(len(found), 100, folder)


if __name__ == "__main__":
    unittest.main()
