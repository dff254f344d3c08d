"""bench/fresh_set.py: what it draws is the same everywhere, as its manifest says, and no matrix is drawn twice.

    fresh_set_test.py ROOT

Skipped (77) without numpy.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("fresh_set_test: skipped: no numpy")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "report")]
import fresh_set  # noqa: E402
from table import fresh_family  # noqa: E402

# Every family, small: drawn in no time.
SMALL = {
    fresh_set.rectangular: (300, 50, 4),
    fresh_set.dense_blocks: (400, 3, 7, 3),
    fresh_set.hypersparse: (2000, 900, 400),
    fresh_set.sparse_band: (500, 40, 6),
    fresh_set.toeplitz: (600, 5, 90),
    fresh_set.narrow_band: (400, 6),
    fresh_set.arrow: (300, 2, 1),
    fresh_set.bordered_blocks: (20, 10, 7, 4),
    fresh_set.small_world: (300, 3, 20),
    fresh_set.preferential: (300, 4),
    fresh_set.communities: (400, 10, 6, 2),
    fresh_set.kronecker: (3, 5, 5),
    fresh_set.permuted_mesh: (9, 12, 2),
    fresh_set.geometric: (500, 9),
    fresh_set.staircase: (8, 20, 30, 4),
    fresh_set.popular_columns: (300, 200, 5),
    fresh_set.heavy_rows: (200, 300, 2000),
    fresh_set.ratings: (300, 100, 3000),
    fresh_set.pruned: (64, 96, 100),
    fresh_set.pruned_groups: (64, 96, 2, 4),
    fresh_set.hypercube: (8,),
    fresh_set.voxels: (9, 40),
    fresh_set.factor: (300, 12),
}
# First digits of SHA-256 over their checksums, seed 1.
ALL_OF_THEM = "9eb86c0005bdf0ee"


def read_mtx(path):
    """(rows, cols, entries) by text alone, and whether the entries are in order."""
    banner, size, *lines = path.read_text().splitlines()
    assert banner == "%%MatrixMarket matrix coordinate pattern general", banner
    rows, cols, nnz = map(int, size.split())
    pairs = [tuple(map(int, line.split())) for line in lines]
    assert len(pairs) == nnz == len(set(pairs)), path
    return rows, cols, pairs


class Families(unittest.TestCase):
    def test_each_is_known_here(self):
        for families, _ in fresh_set.SETS.values():
            self.assertEqual(set(SMALL), set(families))

    def test_entries_are_distinct_sorted_and_inside(self):
        for family, parameters in SMALL.items():
            with self.subTest(family.__name__):
                rows, cols, entries = fresh_set.draw((family, parameters, 5))
                self.assertGreater(len(entries), 0)
                self.assertTrue((np.diff(entries) > 0).all())
                self.assertTrue(0 <= entries[0] and entries[-1] < rows * cols)

    def test_the_seed_alone_decides(self):
        for family, parameters in SMALL.items():
            with self.subTest(family.__name__):
                one, again, other = (fresh_set.checksum(*fresh_set.draw((family, parameters, seed))) for seed in [1, 1, 2])
                self.assertEqual(one, again)
                if family not in (fresh_set.arrow, fresh_set.hypercube):  # nothing of theirs is drawn
                    self.assertNotEqual(one, other)

    def test_numbers_are_the_same_on_every_machine(self):
        drawn = [fresh_set.checksum(*fresh_set.draw((family, parameters, 1))) for family, parameters in SMALL.items()]
        self.assertEqual(fresh_set.hashlib.sha256("".join(drawn).encode()).hexdigest()[:16], ALL_OF_THEM, drawn)

    def test_what_the_families_promise(self):
        def lengths(family):
            rows, cols, entries = fresh_set.draw((family, SMALL[family], 3))
            return np.bincount(entries // cols, minlength=rows), np.bincount(entries % cols, minlength=cols)
        self.assertLess(lengths(fresh_set.hypersparse)[0].mean(), 1)
        self.assertEqual(set(lengths(fresh_set.pruned_groups)[0]), {48})
        self.assertEqual(set(lengths(fresh_set.hypercube)[0]), {9})
        self.assertEqual(sorted(lengths(fresh_set.arrow)[0])[-2:], [300, 300])
        for family in (fresh_set.heavy_rows, fresh_set.ratings):
            rows, _ = lengths(family)
            self.assertGreater(rows.max(), 8 * np.median(rows))
        columns = lengths(fresh_set.popular_columns)[1]
        self.assertGreater(columns.max(), 8 * np.median(columns))
        for family in (fresh_set.small_world, fresh_set.preferential, fresh_set.communities, fresh_set.geometric,
                       fresh_set.permuted_mesh, fresh_set.voxels):
            rows, cols, entries = fresh_set.draw((family, SMALL[family], 3))
            with self.subTest(family.__name__):
                self.assertTrue(np.array_equal(np.sort(entries % cols * cols + entries // cols), entries), "symmetric")
                self.assertEqual(np.count_nonzero(entries // cols == entries % cols), rows)


class Set(unittest.TestCase):
    def test_it_is_large_enough_and_no_two_are_alike(self):
        recipes = fresh_set.recipes()
        self.assertGreaterEqual(len(recipes), 40)
        self.assertGreaterEqual(len({family for family, _, _ in recipes.values()}), 12)
        self.assertEqual(len({(family, parameters) for family, parameters, _ in recipes.values()}), len(recipes))
        self.assertEqual([fresh_family(name) for name in recipes], [family.__name__ for family, _, _ in recipes.values()])
        seeds = [{seed for _, _, seed in fresh_set.recipes(k).values()} for k in (1, 2)]
        self.assertEqual([len(s) for s in seeds], [len(recipes)] * 2)
        self.assertFalse(seeds[0] & seeds[1])

    def test_its_kin_are_others(self):
        fresh, kin = ({(family, parameters): seed for family, parameters, seed in fresh_set.recipes(1, of).values()}
                      for of in ("fresh", "kin"))
        self.assertFalse(set(fresh) & set(kin))
        self.assertFalse(set(fresh.values()) & set(kin.values()))
        self.assertEqual(len(kin), len(set(kin.values())))
        for name in fresh_set.recipes(1, "kin"):
            self.assertRegex(name, "^kin1_")
            self.assertIsNone(fresh_family(name), "a report does not count it among the fresh")


class Program(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run([sys.executable, str(ROOT / "bench" / "fresh_set.py"), *map(str, arguments)],
                              capture_output=True, text=True)

    def test_files_are_as_the_manifest_says(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            done = self.call(folder, "--jobs", 2, "--only", "fresh1_hypersparse_60000_60000_15000",
                             "fresh1_staircase_200_100_150_8", "fresh1_hypersparse_300000_50000_100000")
            self.assertEqual(done.returncode, 0, done.stderr)
            manifest = json.loads((folder / "manifest.json").read_text())["matrices"]
            self.assertEqual({m["name"] for m in manifest}, {path.stem for path in folder.glob("*.mtx")})
            self.assertEqual(len({m["checksum"] for m in manifest}), 3)
            for m in manifest:
                rows, cols, pairs = read_mtx(folder / f"{m['name']}.mtx")
                self.assertEqual((rows, cols, len(pairs)), (m["rows"], m["cols"], m["nnz"]))
                entries = np.array([(i - 1) * cols + j - 1 for i, j in pairs])
                self.assertEqual(fresh_set.checksum(rows, cols, entries), m["checksum"])
                self.assertEqual(m["checksum"], fresh_set.checksum(*fresh_set.draw(fresh_set.recipes()[m["name"]])))

    def test_an_unknown_name_is_an_error(self):
        done = self.call("folder", "--only", "arrow", "bow")
        self.assertEqual((done.returncode, done.stderr), (1, "no family or matrix is called bow: see --list\n"))

    def test_the_list_is_the_set(self):
        self.assertEqual(self.call("--list").stdout.split(), list(fresh_set.recipes()))


if __name__ == "__main__":
    unittest.main()
