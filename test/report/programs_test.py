"""The measuring programs of bench/ on the CPU, on small matrices: what they measure is complete and right (how long it
takes is not judged), and without a GPU they say that they are skipped.

    programs_test.py EDGES ACCURACY COLD_PRODUCT CPU_PEERS CG_ITERATIONS EFFORTS CONFIG_TIMES PRECISIONS SOLVE_TIMES
"""
import gzip
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NAMES = ["edges", "accuracy", "cold_product", "cpu_peers", "cg_iterations", "efforts", "config_times", "precisions",
         "solve_times"]
PROGRAMS = dict(zip(NAMES, map(os.path.abspath, sys.argv[1:])))
PRECISIONS_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "solvers" / "precisions.py"
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
        return done, json.loads(self.out.read_text()) if self.out.is_file() and self.out.suffix == ".json" else None

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
                self.assertEqual(r["compared"], r["configs"] * 60 * 32)

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

    def test_cpu_peers_goes_on_with_what_a_file_holds(self):
        for self.out in (self.out, self.out.with_suffix(".json.gz")):
            for matrix in ("stencil5:9,7", "stencil5:7,9", "stencil5:9,7"):
                self.call("cpu_peers", "--rounds", "1", "--cols", "8", "--types", "fp32", matrix)
            text = self.out.read_bytes()
            run = json.loads(gzip.decompress(text) if self.out.suffix == ".gz" else text)
            self.assertEqual([c["matrix"] for c in run["cases"]], ["stencil5:9,7", "stencil5:7,9"])
            self.assertEqual(len(run["dates"]), 3)

    def test_cg_iterations_counts_iterations(self):
        _, run = self.call("cg_iterations", "--device", "cpu", "--rhs", "3", "--first", "4", "--second", "9", "--samples",
                           "3", "stencil5:40,40", "stencil5:9,7", "uniform:20,10,0.5,seed=1")
        self.assertEqual([p["name"] for p in run["points"]][0], "stencil5:40,40")
        self.assertEqual(len(run["left_out"]), 3 - len(run["points"]))
        self.assertIn("not square", run["left_out"][-1])
        for point in run["points"]:
            self.assertEqual(point["rhs"], 3)
            self.assertAlmostEqual(point["share"] * 3 * point["ours"]["median"], point["together"]["median"])
            self.assertGreater(point["together_product"]["median"], 0)
            if "rival" in point:
                self.assertAlmostEqual(point["ratio"] * point["ours"]["median"], point["rival_seconds"]["median"])

    def test_solve_times_has_every_way_once(self):
        _, run = self.call("solve_times", "--device", "cpu", "--rhs", "3", "--repeats", "2", "--shares", "0.01,1e-4",
                           "elasticity:4,3,3", "uniform:20,10,0.5,seed=1")
        point, = run["points"]
        self.assertEqual(point["near_nullspace"], "rigid-body modes")
        corrections = [f"jacobi, {kind}:{share}" for kind in ("reliable", "refine") for share in ("0.01", "0.0001")]
        self.assertEqual([(s["name"], s["rhs"]) for s in point["solves"]],
                         [("jacobi", 1), *((name, 1) for name in corrections), ("jacobi", 3), ("jacobi, block", 3), ("amg", 1),
                          ("amg in fp32", 1), ("amg", 3), ("amg in fp32", 3), ("ic0", 1), ("ic0", 3)])
        for s in point["solves"]:
            self.assertEqual(s["reason"], "converged", s)
            self.assertLessEqual(s["true_residual"], 1e-10)
            self.assertEqual((len(s["runs"]), min(s["runs"])), (2, s["seconds"]))
        self.assertEqual([(s["name"], s["rhs"]) for s in point["setups"]],
                         [("amg", 1), ("amg in fp32", 1), ("amg", 3), ("amg in fp32", 3), ("ic0", 1)])
        solves = {(s["name"], s["rhs"]): s for s in point["solves"]}
        self.assertLess(solves["jacobi, block", 3]["iterations"], solves["jacobi", 3]["iterations"])
        seconds = {key: s["seconds"] for key, s in solves.items()}
        self.assertAlmostEqual(point["ratios"]["jacobi over its refine in fp32"],
                               seconds["jacobi", 1] / min(seconds[name, 1] for name in corrections[2:]))
        for name in ("amg", "amg in fp32"):
            self.assertAlmostEqual(point["ratios"][f"{name} of all right-hand sides over one's"],
                                   seconds[name, 3] / seconds[name, 1])
        self.assertIn("not square", run["left_out"][0])

    def test_solve_times_keeps_its_time_and_tells_of_no_convergence(self):
        _, run = self.call("solve_times", "stencil5:9,7", "--device", "cpu", "--seconds", "0", "--only", "fp64,amg")
        self.assertEqual(len(run["left_out"]), 5)
        self.assertEqual(run["points"][0]["solves"], [])
        # 1e-17 lies below what fp64 allows.
        _, run = self.call("solve_times", "stencil5:9,7", "--device", "cpu", "--tolerance", "1e-17", "--only", "fp64",
                           status=(NOT_MET,))
        self.assertEqual(run["points"][0]["solves"][0]["reason"], "stagnated")

    def test_precisions_of_several_right_hand_sides(self):
        _, run = self.call("precisions", "--device", "cpu", "--only", "variants", "--points", "60", "--features", "20",
                           "--rhs", "3", "--repeats", "2")
        self.assertEqual((run["system"]["rhs"], run["system"]["repeats"]), (3, 2))
        self.assertEqual(len(run["variants"]), 38)
        for v in run["variants"]:
            self.assertEqual(v["reason"] == "converged", v["true_residual"] <= 1e-10, v)

    def test_efforts_are_held_against_the_best_that_was_timed_with_them(self):
        _, run = self.call("efforts", "--device", "cpu", "--cols", "1,8", "--rounds", "3", "--type", "fp32,fp64",
                           "stencil5:9,7", "uniform:60,50,0.5,seed=1")
        timings = ("warm", "single", "cold")
        ratios = {effort: [] for effort in ("predict", "check", "search")}
        for matrix in run["matrices"]:
            self.assertEqual([(c["cols"], c["type"]) for c in matrix["cases"]],
                             [(n, t) for t in ("fp32", "fp64") for n in (1, 8)])
            for case in matrix["cases"]:
                self.assertEqual(case["failures"], [])
                self.assertEqual(len({p["name"] for p in case["products"]}), len(case["products"]))
                self.assertEqual({len(p[t]["seconds"]) for p in case["products"] for t in timings}, {3})
                medians = {p["name"]: {t: p[t]["median"] for t in timings} for p in case["products"]}
                ours = {p["name"] for p in case["products"] if p["ours"]}
                best = min(medians[name]["warm"] for name in ours)
                self.assertEqual(medians[case["best"]]["warm"], best)
                # The quickest configs take part.
                self.assertLessEqual(set(sorted(case["swept"], key=case["swept"].get)[:1]), ours)
                self.assertEqual([e["effort"] for e in case["efforts"]], list(ratios))
                for one in case["efforts"]:
                    chosen = medians[one["product"]]
                    self.assertIn(one["product"], ours)
                    self.assertAlmostEqual(one["over_best"], chosen["warm"] / best)
                    ratios[one["effort"]].append(one["over_best"])
                    self.assertEqual(one["tried"] == 0, one["effort"] == "predict" or one["trial_seconds"] == 0)
                    for t in timings:
                        rivals = [medians[p["name"]][t] for p in case["products"] if not p["ours"]]
                        self.assertEqual(f"{t}_ratio" in one, rivals != [])
                        if rivals:
                            self.assertAlmostEqual(one[f"{t}_ratio"], min(rivals) / chosen[t])
            for how in matrix["remembering"]:
                self.assertEqual(set(how), {"cols", "type", "host"})  # on a CPU A lies on the host
                self.assertTrue(how["host"]["remembered"])
        for effort, found in ratios.items():
            total = run["summary"][effort]
            self.assertEqual(total["cases"], 8)
            self.assertAlmostEqual(total["worst"], max(found))
            self.assertAlmostEqual(total["within_10_percent"], sum(r <= 1.1 for r in found) / 8)
            self.assertAlmostEqual(total["over_best"] ** 8, math.prod(found))

    def test_efforts_begins_nothing_after_its_limit(self):
        done, run = self.call("efforts", "stencil5:9,7", "--device", "cpu", "--limit", "0")
        self.assertEqual(run["left_out"], ["stencil5:9,7: the time is over"])

    def test_config_times_takes_every_config_or_those_that_were_near(self):
        matrices = ["stencil5:9,7", "uniform:60,50,0.5,seed=1"]
        _, run = self.call("config_times", "--device", "cpu", "--cols", "1,8", "--type", "fp32,fp64", *matrices)
        self.assertEqual([m["name"] for m in run["matrices"]], matrices)
        for matrix in run["matrices"]:
            self.assertEqual({(c["type"], c["cols"]) for c in matrix["cases"]},
                             {(t, n) for t in ("fp32", "fp64") for n in (1, 8)})
            for case in matrix["cases"]:
                self.assertGreater(len(case["configs"]), 10)
                self.assertTrue(all(us > 0 for us in case["configs"].values()), case)

        # Anew: other times, of which three configs are near.
        run["matrices"] = run["matrices"][1:]
        case = run["matrices"][0]["cases"] = run["matrices"][0]["cases"][:1]
        configs = case[0]["configs"]
        near = list(configs)[2:5]
        for i, name in enumerate(configs):
            configs[name] = 10 + i if name in near else 100
        run["matrices"].append({"name": "no such matrix", "cases": case})
        like = self.out.with_name("like.json")
        like.write_text(json.dumps(run))
        done, again = self.call("config_times", "--device", "cpu", "--like", str(like), "--near", "1.3")
        matrix, = again["matrices"]
        self.assertEqual(matrix["name"], matrices[1])
        self.assertEqual([(c["type"], c["cols"], set(c["configs"])) for c in matrix["cases"]],
                         [(case[0]["type"], case[0]["cols"], set(near))])
        self.assertIn("no such matrix: ", done.stdout)
        _, whole = self.call("config_times", "--device", "cpu", "--like", str(like))
        self.assertEqual(set(whole["matrices"][0]["cases"][0]["configs"]), set(configs))

    def test_precisions_has_every_variant_once(self):
        # Few points far from 0: Q's rounding error in bf16 is beyond its smallest eigenvalue, which is 1.
        _, run = self.call("precisions", "--device", "cpu", "--points", "96", "--features", "24", "--offset", "3", "--order",
                           "24", "--sweep-iterations", "200")
        precisions = ["fp64", "fp32", "3xtf32", "tf32", "bf16"]
        corrections = ["none", "recompute:50", "reliable:0.1", "refine:0.1"]
        pairs = {(p, c) for p in precisions for c in corrections} - {("fp64", "refine:0.1")}
        self.assertEqual(sorted((v["precision"], v["correction"], v["beta"]) for v in run["variants"]),
                         sorted((*pair, beta) for pair in pairs for beta in ("fr", "pr")))
        for v in run["variants"]:
            self.assertEqual(v["reason"] == "converged", v["true_residual"] <= 1e-10, v)
            self.assertEqual("emulated" in v["how"], "tf32" in v["precision"], v)
        self.assertEqual(sorted((c["precision"], c["correction"], c["given"], c["condition"]) for c in run["conditions"]),
                         sorted((*pair, given, 10.0 ** d) for pair in pairs for given in "bx" for d in range(2, 10)))
        for c in run["conditions"]:
            self.assertEqual(c["reason"] == "converged", c["true_residual"] <= 1e-10, c)
            self.assertLessEqual(c["iterations"], 200)
            if c["reason"] == "converged" and c["given"] == "x":
                # ||x - x*|| <= condition ||A (x - x*)|| / ||A||, and ||b|| <= ||A|| ||x*||.
                self.assertLessEqual(c["error"], 1.1e-10 * c["condition"])
        smallest = {f["precision"]: f["min_ritz_value"]["value"] for f in run["formed"]}
        self.assertAlmostEqual(smallest["fp64"], 1, places=6)  # X X' + I of rank 24 and order 96
        self.assertLess(smallest["bf16"], 0)
        for f in run["formed"]:
            if f["precision"] == "bf16":
                self.assertIn(f["reason"], ("not_positive_definite", "inconsistent"))
        self.assertEqual(len(run["recurrence"]), 4)
        self.assertLessEqual(run["recurrence"][0]["rr"], 1e-6)
        self.assertGreater(run["recurrence"][0]["true_rr"], 1e-4)

        def script(*arguments, status=0):
            done = subprocess.run([sys.executable, str(PRECISIONS_SCRIPT), *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            return done
        tables = script("variants", "--from", str(self.out)).stdout
        self.assertEqual(tables.count("| converged |"),
                         sum(v["reason"] == "converged" for v in run["variants"] + run["formed"]))
        self.assertIn(f"commit {run['machine']['git_hash']}", tables)
        picture = self.out.with_name("map.png")
        has_matplotlib = importlib.util.find_spec("matplotlib") is not None
        done = script("conditions", "--from", str(self.out), "--picture", str(picture), status=0 if has_matplotlib else 1)
        for row in run["conditions"]:
            if row["reason"] != "converged":
                self.assertIn(f"({row['reason']})", done.stdout)
        if has_matplotlib:
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertLess(picture.stat().st_size, 300e3)
        else:
            self.assertIn("needs matplotlib", done.stderr)
        run["variants"] = [v | {"iterations": 5 * v["iterations"]} if v["correction"] == "refine:0.1" else v
                           for v in run["variants"]]
        self.out.write_text(json.dumps(run))
        self.assertIn("not kept: tf32", script("variants", "--from", str(self.out), status=1).stdout)
        del run["variants"]
        self.out.write_text(json.dumps(run))
        self.assertIn("has no variants", script("variants", "--from", str(self.out), status=1).stderr)

    def test_precisions_runs_by_its_script(self):
        done = subprocess.run([sys.executable, str(PRECISIONS_SCRIPT), "variants", "--program", PROGRAMS["precisions"],
                               "--json", str(self.out), "--", "--points", "60", "--features", "20"],
                              capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(list(json.loads(self.out.read_text()))[4:7], ["recurrence", "seconds", "variants"])

    def test_precisions_emulates_nothing_on_a_gpu(self):
        done, run = self.call("precisions", "--only", "variants", "--points", "96", "--features", "24", status=(0, SKIPPED))
        if done.returncode == SKIPPED:
            self.assertIn("precisions: skipped: ", done.stdout)
            return
        for v in run["variants"]:
            self.assertNotIn("emulated", v["how"])
            self.assertEqual("TF32" in v["how"], "tf32" in v["precision"], v)

    def test_on_a_gpu_they_measure_and_without_one_they_are_skipped(self):
        for name in ("edges", "accuracy", "cold_product", "cg_iterations", "efforts", "config_times", "solve_times"):
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
        for name in ("edges", "accuracy", "cold_product", "cg_iterations", "efforts", "solve_times"):
            with self.subTest(name):
                done, _ = self.call(name, "no_such:1", "--device", "cpu", status=(1,))
                self.assertIn("no_such", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
