"""The measuring programs of bench/ on the CPU, on small matrices: what they measure is complete and right (how long it
takes is not judged), and without a GPU they say that they are skipped.

    programs_test.py EDGES ACCURACY COLD_PRODUCT CPU_PEERS CG_ITERATIONS
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = dict(zip(["edges", "accuracy", "cold_product", "cpu_peers", "cg_iterations"], map(os.path.abspath, sys.argv[1:6])))
NOT_MET, SKIPPED = 3, 77


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out.json"

    def call(self, name, *arguments, status=(0,)):
        done = subprocess.run([PROGRAMS[name], *arguments, "--out", str(self.out)], capture_output=True, text=True,
                              env=os.environ | {"OMP_NUM_THREADS": "2"})
        self.assertIn(done.returncode, status, done.stdout + done.stderr)
        return done, json.loads(self.out.read_text()) if self.out.is_file() else None

    def test_edges_measures_every_n_layout_and_placing(self):
        # 3: on a busy machine any promise of time may fail; results may not.
        _, run = self.call("edges", "--device", "cpu", "--seconds", "0.0005", "--other-cols", "3,8", "--cols", "1,2,7,8,9",
                           "--type", "fp32,fp64", "stencil5:9,7", "rmat:6,4,seed=1", status=(0, NOT_MET))
        self.assertEqual(run["summary"]["failures"], 0)
        self.assertEqual(run["summary"]["steps"], 2 * 2 * 2 * 3)  # 1 to 2, 7 to 8, 8 to 9
        self.assertEqual(run["summary"]["misaligned"], 2 * 2 * 2 * 2 * 5)
        for matrix in run["matrices"]:
            self.assertEqual({(c["type"], c["layout"]) for c in matrix["cases"]},
                             {(t, o) for t in ("fp32", "fp64") for o in ("row-major", "col-major")})
            for case in matrix["cases"]:
                self.assertEqual([p["cols"] for p in case["odd"]["products"]], [1, 2, 7, 8, 9])
                products = case["odd"]["products"] + case["misaligned"]["products"]
                for product in products:
                    self.assertLessEqual(product["bound_share"], 1)
                    self.assertGreater(product["warm"]["median"], 0)
                self.assertEqual(len({p["placing"] for p in products}), 6)
                for pair in case["deterministic"]["products"]:
                    self.assertTrue(pair["same_bits"])

    def test_edges_says_what_the_time_left_out(self):
        done, run = self.call("edges", "stencil5:9,7", "--device", "cpu", "--limit", "0")
        self.assertEqual(run["left_out"], ["stencil5:9,7: the time is over"])
        self.assertIn("left out: stencil5:9,7", done.stdout)

    def test_accuracy_has_every_type_and_algorithm_of_the_tables(self):
        _, run = self.call("accuracy", "uniform:60,50,0.5,seed=1", "--device", "cpu")
        types = {r["type"] for r in run["results"]}
        self.assertLessEqual({"fp32", "fp64"}, types)
        for value_type in types:
            some = [r for r in run["results"] if r["type"] == value_type]
            self.assertLessEqual({"plan", "rows", "blocks", "columns"} if value_type in ("fp32", "fp64") else {"plan"},
                                 {r["group"] for r in some})
            for r in some:
                self.assertEqual((r["violations"], r["failures"]), (0, []))
                self.assertGreaterEqual(r["max_error"], r["mean_error"])
                self.assertGreater(r["mean_error"], 0)  # values with all their digits: sums are rounded
                self.assertLessEqual(r["max_bound_share"], 1)
                self.assertEqual(r["compared"], r["rows"] * 60 * 32)

    def test_cold_product_counts_its_bytes(self):
        _, run = self.call("cold_product", "stencil5:20,20", "--device", "cpu", "--cols", "8", "--samples", "0")
        point, = run["points"]
        self.assertTrue(point["right"])
        counted = point["bytes"]
        csr = 401 * 4 + point["nnz"] * 8
        self.assertEqual(counted["least"], csr + 2 * 400 * 8 * 4)
        self.assertEqual(counted["c"], 400 * 8 * 4)
        self.assertGreaterEqual(counted["gathered"], counted["b"])  # no column is empty
        self.assertEqual(counted["l2"], counted["a"] + counted["gathered"] + counted["c"])
        self.assertNotIn("cold", point)

    def test_profiling_needs_a_gpu(self):
        done, _ = self.call("cold_product", "stencil5:9,7", "--device", "cpu", "--profile", status=(1,))
        self.assertIn("only on a GPU", done.stderr)

    def test_cpu_peers_keeps_its_time(self):
        done, run = self.call("cpu_peers", "--seconds", "0", "--cols", "1,8", "stencil5:9,7")
        self.assertEqual(run["cases"], [])
        self.assertEqual(len(run["left_out"]), 4)
        self.assertIn("left out for want of time: 4 cases", done.stdout.splitlines()[-1])

    def test_cpu_peers_ends_with_two_lines(self):
        done, run = self.call("cpu_peers", "--seconds", "60", "--rounds", "4", "--cols", "8", "stencil5:9,7")
        self.assertEqual((len(run["cases"]), run["left_out"]), (2, []))
        for case in run["cases"]:
            self.assertEqual({e["samples"] for e in case["entries"]}, {4})
        lines = done.stdout.splitlines()[-2:]
        self.assertTrue(lines[1].endswith("left out for want of time: 0 cases"), lines)
        if "eigen_over_plan" in run["cases"][0]:
            self.assertIn("over 2 cases", lines[0])

    def test_cg_iterations_counts_iterations(self):
        _, run = self.call("cg_iterations", "--device", "cpu", "--rhs", "3", "--first", "4", "--second", "9", "--samples",
                           "3", "stencil5:40,40", "stencil5:9,7", "uniform:20,10,0.5,seed=1")
        self.assertEqual([p["name"] for p in run["points"]][0], "stencil5:40,40")
        self.assertEqual(len(run["left_out"]), 3 - len(run["points"]))
        self.assertIn("not square", run["left_out"][-1])
        for point in run["points"]:
            self.assertEqual(point["rhs"], 3)
            self.assertAlmostEqual(point["share"] * 3 * point["ours"]["median"], point["together"]["median"])
            if "rival" in point:
                self.assertAlmostEqual(point["ratio"] * point["ours"]["median"], point["rival_seconds"]["median"])

    def test_on_a_gpu_they_measure_and_without_one_they_are_skipped(self):
        for name in ("edges", "accuracy", "cold_product", "cg_iterations"):
            with self.subTest(name):
                done, run = self.call(name, "stencil5:9,7", status=(0, NOT_MET, SKIPPED))
                if done.returncode == SKIPPED:
                    self.assertIn(f"{name}: skipped: ", done.stdout)
                elif name == "edges":
                    self.assertEqual(run["summary"]["failures"], 0)
                elif name == "accuracy":
                    self.assertEqual([r for r in run["results"] if r["violations"] or r["failures"]], [])
                elif name == "cold_product":
                    point, = run["points"]
                    self.assertAlmostEqual(point["roof_share"], point["bytes"]["least"] / run["machine"]["copy_bandwidth"]
                                           / point["cold_swept"]["median"])

    def test_help_has_examples(self):
        for name, program in PROGRAMS.items():
            with self.subTest(name):
                text = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
                self.assertRegex(text.lower(), r"examples:\n  " + name)

    def test_a_bad_matrix_is_an_error_that_names_it(self):
        for name in ("edges", "accuracy", "cold_product", "cg_iterations"):
            with self.subTest(name):
                done, _ = self.call(name, "no_such:1", "--device", "cpu", status=(1,))
                self.assertIn("no_such", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
