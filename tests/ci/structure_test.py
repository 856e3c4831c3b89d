#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What .ci/check-structure says of a small made-up tree, sound and with each fault by itself."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / ".ci/check-structure"

# A tree of one form, with what has misled readers of sources: braces in strings and comments,
# separated digits, two openings of one function, constructors that initialise with braces.
SOUND = {
    "kernels/core/plan/forms.h": "enum class Form : int { kShift };\n"
                                 "enum class CostClass : int { kShift, kShiftWide };\n",
    "kernels/core/plan/forms.cc":
        'const FormInfo kForms[kFormCount] = {\n'
        '    {Form::kShift, KernelKind::kShift, CostClass::kShift, 2,\n'
        '     "shift", "shift", "one "\n     "tap", true, true, 1},\n};\n',
    "kernels/core/plan/cost_table.cc": "{{\n  {{1.5, 0}},  // shift\n  {{-2, 0.5}},  // wide\n}}\n"
                                       "case CostClass::kShift:\ncase CostClass::kShiftWide:\n",
    "kernels/cuda/shift/shift.cu":
        "// Moves samples: Tile::width of them, see Tile::Tile, std::string and tile.cuh.\n"
        '#include "kernels/cuda/shift/tile.cuh"\n'
        'namespace convolve {\nnamespace {\nconstexpr char kBrace[] = "}}}", kQuote = \'"\';\n'
        "#if CUDA\nvoid shift(int) {\n#else\nvoid shift() {\n#endif\n  /* { */\n}\n"
        "}  // namespace\n}  // namespace convolve\n",
    "kernels/cuda/shift/tile.cuh":
        "namespace convolve {\nextern const int kDeclared;\nstruct Declared;\n"
        "template <int kSide, bool kSmall = kSide <= 2>\nstruct Tile {\n"
        "  Tile() : width{1'000}, height(2) {}\n  int width, height;\n};\n}\n",
    "kernels/cuda/shift/row.cuh": "namespace convolve {\nextern const int kDeclared;\n"
                                  "struct Declared;\n}\n",
    "tests/unit/forms_test.cc": 'TEST(Forms, Shift) { use("shift"); }\n',
    "tests/benchmarks/forms.cc": "void all() {\n  for (const FormInfo& info : kForms) use();\n}\n",
}
ROW = "kernels/cuda/shift/row.cuh"
FORMS = "kernels/core/plan/forms.cc"


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def run(*arguments):
    """(exit status, lines of output)."""
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def check(changes, *arguments):
    """(exit status, lines of output) for the sound tree with these files changed."""
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), {**SOUND, **changes})
        return run("--root", folder, *arguments)


class Structure(unittest.TestCase):
    def expect(self, changes, *problems):
        """These problems and no others, each a whole line."""
        status, lines = check(changes)
        self.assertEqual((status, lines[:-1]), (1 if problems else 0, list(problems)))
        self.assertRegex(lines[-1], rf"^check-structure: \d+ sources, {len(problems)} problems$")

    def test_a_sound_tree_has_no_problems(self):
        self.expect({})

    def test_a_tree_without_sources_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertNotEqual(run("--root", folder)[0], 0)

    def test_full_rooms(self):
        full = {f"plugin/part{k}.{end}": "" for k in range(20) for end in ("h", "cc")}
        self.expect(full)
        self.expect({**full, "plugin/more.h": ""},
                    "plugin: 21 sources; a room has at most 20")

    def test_forms_without_a_room_or_a_class(self):
        for before, after, problem in (
                ('"shift",\n', '"shift",', None),
                ('"shift", "shift"', '"shift", "gone"', "there is no room kernels/cuda/gone"),
                ("CostClass::kShift", "CostClass::kGone", "CostClass has no kGone"),
                ("kShift, 2", "kShift, 3", "CostClass ends before the 3 classes from kShift on")):
            with self.subTest(after):
                changed = {FORMS: SOUND[FORMS].replace(before, after)}
                self.expect(changed, *([f"{FORMS}: form shift: {problem}"] if problem else []))

    def test_forms_without_constants(self):
        table = "kernels/core/plan/cost_table.cc"
        self.expect({table: SOUND[table].replace("case CostClass::kShiftWide", "// gone")},
                    f"{FORMS}: form shift: {table} does not know CostClass::kShiftWide")
        self.expect({table: SOUND[table].replace("{{-2, 0.5}},", "")},
                    f"{table}: 1 measured rows for 2 cost classes")

    def test_a_table_of_forms_that_cannot_be_read(self):
        self.expect({FORMS: "const FormInfo kForms[kFormCount] = {};\n"},
                    f"{FORMS}: its rows are not the values of Form, in order")

    def test_forms_that_nothing_tests(self):
        self.expect({"tests/unit/forms_test.cc": '// "shift"\n'},
                    f"{FORMS}: form shift: no test in tests/kernels or tests/unit names it")
        self.expect({"tests/benchmarks/forms.cc": ""},
                    f"{FORMS}: form shift: no benchmark offers it")

    def test_pages_of_forms_once_there_are_pages(self):
        self.expect({"docs/kernels/shift.md": "The form `shift`.\n"})
        self.expect({"docs/kernels/shift.md": "It shifts.\n"},
                    f"{FORMS}: form shift: docs/kernels/shift.md does not mention `shift`")
        self.expect({"docs/kernels/box.md": ""},
                    f"{FORMS}: form shift: there is no docs/kernels/shift.md")

    def test_each_form_has_a_row_in_the_architecture(self):
        self.expect({"docs/architecture.md": "| form |\n| `shift` | one tap |\n"})
        self.expect({"docs/architecture.md": "The form `shift`.\n"},
                    f"{FORMS}: form shift: docs/architecture.md has no row for `shift`")

    def test_documents_count_the_formats(self):
        said = {"plugin/formats.h": "FormatRow kFormats[] = {\n    {GST_VIDEO_FORMAT_I420},\n"
                                    "    {GST_VIDEO_FORMAT_NV12, 1},\n};\n",
                "README.md": "2 of its 111\n", "docs/formats.md": "2 of its 111\n",
                "docs/testing.md": "all 2 formats\n"}
        self.expect(said)
        self.expect({**said, "docs/testing.md": "all 12 format\n"},
                    "docs/testing.md: does not say 'all 2 formats', as plugin/formats.h has them")

    def test_second_definitions(self):
        twice = "is defined in kernels/cuda/shift/tile.cuh, too"
        self.expect({ROW: "namespace convolve {\nnamespace {\nclass Tile final {};\n}\n}\n"},
                    f"{ROW}: convolve::Tile {twice}")
        self.expect({ROW: "namespace convolve {\nconstexpr int kOne = 1, kBrace = 2;\n}\n"},
                    f"{ROW}: convolve::kBrace is defined in kernels/cuda/shift/shift.cu, too")
        self.expect({ROW: "namespace convolve::other {\nstruct Tile {};\n}\n"})
        self.expect({ROW: "namespace convolve {\nint f() {\n  constexpr int kBrace = 1;\n}\n}\n"})

    def test_names_in_comments(self):
        line = f"{ROW}:2: comment: "
        for comment, problem in (
                ("see Tile::widht", line + "Tile has no widht"),
                ("see Tyle::width", line + "Tyle::width: nothing is called Tyle"),
                ("see shift/gone.cuh.", line + "there is no file shift/gone.cuh"),
                ("see convolve::Tile::height, shift.cu, <cuda.h> and GstVideoFrame::info", None)):
            with self.subTest(comment):
                self.expect({ROW: f"\n// {comment}\n"}, *([problem] if problem else []))
        self.expect({"tests/unit/a.py": "a = 1\nb = 'gone.h'  # see gone.h\n"},
                    "tests/unit/a.py:2: comment: there is no file gone.h")

    def test_a_macro_before_a_namespace_is_no_function(self):
        lines = "  void one();\n" * 100
        self.expect({ROW: "DEFINE_TYPE(Thing, thing)\n\nnamespace {\n" + lines + "}\n"})

    def test_long_functions(self):
        def function(lines):
            body = '  if (const auto f = [] { return "}"; }) f();\n' * (lines - 2)
            return {ROW: f"namespace convolve {{\nint long_one()\n    const {{\n{body}}}\n}}\n"}
        self.expect(function(80))
        self.expect(function(81),
                    f"{ROW}:3: long_one() has 81 lines; a function has at most 80")

    def test_report(self):
        lines = check({}, "--report")[1]
        self.assertIn("| `kernels/cuda/shift` | 3 | 27 | 9 | 14 `shift.cu` | 6 `shift` |", lines)
        self.assertIn("| `tests` | 2 | 4 | 2 | 3 `forms.cc` | 3 `all` |", lines)
        self.assertRegex(lines[-2], r"^\| all \| 8 \| \d+ \|")

    def test_long_files(self):
        self.expect({ROW: "\n" * 400})
        self.expect({ROW: "\n" * 401}, f"{ROW}: 401 lines; a file has at most 400")
        self.expect({"tests/unit/long.cc": "\n" * 401})


class CompileTimes(unittest.TestCase):
    LOG = ("# ninja log v5\n0\t9000\t0\tshift.cu.o\ta\n0\t2500\t0\tshift.cu.o\tb\n"
           "500\t1500\t0\tlib/a.cc.o\tc\n0\t7000\t0\tgone.cu.o\td\n0\t8000\t0\tlib.so\te\n")

    def times(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder), {".ninja_log": self.LOG, "shift.cu.o": "",
                                         "lib/a.cc.o": "", "lib.so": ""})
            return run("--compile-times", folder, *arguments)

    def test_the_last_time_of_each_object_counts(self):
        self.assertEqual(self.times(), (0, ["     2.5 core-seconds for 1 CUDA sources",
                                            "     1.0 core-seconds for 1 others",
                                            "     2.5 s  shift.cu.o", "     1.0 s  lib/a.cc.o"]))

    def test_the_limit(self):
        self.assertEqual(self.times("--limit-seconds", "2.5")[0], 0)
        status, lines = self.times("--limit-seconds", "2")
        self.assertEqual((status, lines[-1]),
                         (1, "shift.cu.o took 2.5 s; a CUDA source takes at most 2 s"))


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if outcome.wasSuccessful() else 1)
