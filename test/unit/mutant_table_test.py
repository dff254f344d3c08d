"""Every fault of tools/mutant_table.py can still be planted: its old text stands exactly once in its file, and the new one
differs.

    mutant_table_test.py ROOT
"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from mutant_table import MUTANTS  # noqa: E402


class MutantTable(unittest.TestCase):
    def test_every_fault_can_be_planted(self):
        for mutant in MUTANTS:
            with self.subTest(mutant.name):
                text = (ROOT / mutant.file).read_text()
                self.assertEqual(text.count(mutant.old), 1, f"{mutant.file}: {mutant.old!r}")
                self.assertNotEqual(mutant.old, mutant.new)
                self.assertTrue(mutant.tests)


if __name__ == "__main__":
    unittest.main()
