"""The reports of the benchmark (bench/report): what they read, what they print, what they say when something is missing.
Nucleus of roofline.py: the table of `ncu --csv`, which cannot be had without a GPU.

    report_test.py ROOT
"""
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "bench" / "report"
sys.path.insert(0, str(REPORT))
import accuracy  # noqa: E402
import chart  # noqa: E402
import cpu  # noqa: E402
import dense  # noqa: E402
import efforts  # noqa: E402
import fitted  # noqa: E402
import merge_times  # noqa: E402
import pages  # noqa: E402
import promises  # noqa: E402
import roofline  # noqa: E402
import sets  # noqa: E402
import table  # noqa: E402

HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
          '"CC","Section Name","Metric Name","Metric Unit","Metric Value"')


def ncu_line(launch, kernel, metric, unit, value):
    return (f'"{launch}","42","cold_product","127.0.0.1","{kernel}","1","13","(128, 1, 1)","(4000, 1, 1)","0","9.0",'
            f'"Command line profiler metrics","{metric}","{unit}","{value}"')


TWO_LAUNCHES = "\n".join([
    "==PROF== Connected to process 42 (cold_product)",
    '==PROF== Profiling "rowwise_kernel" - 0: 0%....50%....100% - 2 passes',
    "==PROF== Disconnected from process 42",
    HEADER,
    ncu_line(0, "void rowwise_kernel<32, 4>(float const *, float *)", "dram__bytes_read.sum", "byte", "1,250,000"),
    ncu_line(0, "void rowwise_kernel<32, 4>(float const *, float *)", "dram__bytes_write.sum", "Mbyte", "2.5"),
    ncu_line(0, "void rowwise_kernel<32, 4>(float const *, float *)", "lts__t_bytes.sum", "Kbyte", "4,000.5"),
    ncu_line(0, "void rowwise_kernel<32, 4>(float const *, float *)", "lts__t_sectors_srcunit_tex.sum", "sector", "100"),
    ncu_line(0, "void rowwise_kernel<32, 4>(float const *, float *)", "gpu__time_duration.sum", "us", "33.5"),
    ncu_line(1, "add_partials", "dram__bytes_read.sum", "byte", "50"),
    ncu_line(1, "add_partials", "dram__bytes_write.sum", "byte", "0"),
    ncu_line(1, "add_partials", "lts__t_bytes.sum", "byte", "n/a"),
    ncu_line(1, "add_partials", "lts__t_sectors_srcunit_tex.sum", "", "7"),
    ncu_line(1, "add_partials", "gpu__time_duration.sum", "nsecond", "1,500"),
    "right: all 512 entries"])


class NcuTables(unittest.TestCase):
    def test_launches_units_and_thousands(self):
        first, second = roofline.parse_ncu(TWO_LAUNCHES)
        self.assertEqual(first["kernel"], "void rowwise_kernel<32, 4>(float const *, float *)")
        self.assertEqual(first["dram__bytes_read.sum"], 1250000)
        self.assertEqual(first["dram__bytes_write.sum"], 2.5e6)
        self.assertEqual(first["lts__t_bytes.sum"], 4000500)
        self.assertEqual(first["lts__t_sectors_srcunit_tex.sum"], 100)
        self.assertAlmostEqual(first["gpu__time_duration.sum"], 33.5e-6)
        self.assertEqual(second["dram__bytes_write.sum"], 0)
        self.assertAlmostEqual(second["gpu__time_duration.sum"], 1.5e-6)

    def test_a_metric_that_one_launch_lacks_is_no_sum(self):
        total = roofline.add_up(roofline.parse_ncu(TWO_LAUNCHES))
        self.assertEqual(total["dram__bytes_read.sum"], 1250050)
        self.assertEqual(total["lts__t_sectors_srcunit_tex.sum"], 107)
        self.assertNotIn("lts__t_bytes.sum", total)
        self.assertEqual(len(total["kernels"]), 2)

    def test_an_unknown_unit_is_an_error_that_names_it(self):
        text = "\n".join([HEADER, ncu_line(0, "k", "dram__bytes_read.sum", "furlong", "1")])
        with self.assertRaisesRegex(roofline.Problem, "furlong"):
            roofline.parse_ncu(text)

    def test_no_counters_is_said_why(self):
        for text, why in [("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "administrators"),
                          ("==ERROR== Failed to find metric dram__bytes.sum", "Failed to find metric dram__bytes.sum"),
                          ("==WARNING== No kernels were profiled.", "no kernel"), ("", "no kernel"),
                          (HEADER, "no kernel")]:
            with self.subTest(text), self.assertRaisesRegex(roofline.Problem, why):
                roofline.parse_ncu(text)


MACHINE = {"gpu_name": "A GPU", "cpu_model": "A CPU", "threads": 2, "git_hash": "abc", "date": "2026-11-21T00:00:00Z",
           "copy_bandwidth": 4e12}


def cold_run(names):
    points = [{"name": name, "kernel": "rowwise-l32", "cols_of_b": 128, "right": True, "cold_swept": {"median": 50e-6},
               "roof_seconds": 25e-6, "roof_share": 0.5, "bytes": {"least": 1e6, "l2": 1600.0}} for name in names]
    return {"schema": "bcsc-cold-product-1", "machine": MACHINE, "points": points}


def script(path, text):
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class Roofline(unittest.TestCase):
    """The whole script with a driver and an ncu that only pretend."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def call(self, *arguments):
        return subprocess.run([sys.executable, str(REPORT / "roofline.py"), *arguments], capture_output=True, text=True)

    def driver(self, names=("one:1", "two:2"), status=0):
        (self.path / "run.json").write_text(json.dumps(cold_run(names)))
        return script(self.path / "cold_product", f"""
import shutil, sys
if {status}: sys.exit({status})
shutil.copy({str(self.path / 'run.json')!r}, sys.argv[sys.argv.index('--out') + 1])
""")

    def ncu(self, text):
        (self.path / "table.csv").write_text(text)
        return script(self.path / "ncu", f"""
import shutil, sys
assert '--profile' in sys.argv and '--profile-from-start' in sys.argv, sys.argv
shutil.copy({str(self.path / 'table.csv')!r}, sys.argv[sys.argv.index('--log-file') + 1])
""")

    def test_measured_bytes_stand_beside_the_models(self):
        out = self.path / "roofline.json"
        done = self.call("--driver", self.driver(), "--ncu", self.ncu(TWO_LAUNCHES), "--out", str(out), "one:1", "two:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.startswith("| one:1")]
        # Read 1.25 MB, written 2.5: 3.75 times the least; 107 sectors of 32 bytes are 2.14 times the model of L2.
        self.assertEqual(lines, ["| one:1 | rowwise-l32 | 50.0 | 25.0 | **50 %** | 1.0 | 1.3 | 2.5 | 3.75 | 0.0 | 0.0 | "
                                 "2.14 | – | 35.0 |"])
        again = self.call("--from", str(out))
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual(json.loads(out.read_text())["points"][1]["measured"]["dram__bytes_read.sum"], 1250050)

    def test_without_counters_the_rest_is_told(self):
        done = self.call("--driver", self.driver(), "--ncu", self.ncu("==ERROR== ERR_NVGPUCTRPERM"), "one:1", "two:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("**50 %**", done.stdout)
        self.assertIn("No counters: one:1: the driver lets only administrators", done.stdout)
        missing = self.call("--driver", self.driver(), "--ncu", str(self.path / "nowhere"), "one:1", "two:2")
        self.assertIn("nowhere: No such file", missing.stdout)

    def test_a_metric_that_is_not_known_is_done_without(self):
        ncu = self.ncu(TWO_LAUNCHES)
        text = pathlib.Path(ncu).read_text()
        script(pathlib.Path(ncu), text.split("\n", 1)[1] + """
if 'lts__t_sectors_srcunit_tex.sum' in sys.argv[sys.argv.index('--metrics') + 1]:
    with open(sys.argv[sys.argv.index('--log-file') + 1], 'w') as log:
        log.write('==ERROR== Failed to find metric lts__t_sectors_srcunit_tex.sum')
""")
        done = self.call("--driver", self.driver(), "--ncu", ncu, "one:1", "two:2")
        self.assertNotIn("No counters", done.stdout)
        self.assertIn("3.75", done.stdout)

    def test_without_a_gpu_it_is_skipped(self):
        self.assertEqual(self.call("--driver", self.driver(status=77)).returncode, 77)

    def test_a_driver_that_fails_is_an_error(self):
        done = self.call("--driver", self.driver(status=1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("left no results", done.stderr)

    def test_a_folder_is_refused(self):
        done = self.call("--driver", self.driver(), "--ncu", self.ncu(TWO_LAUNCHES), "folder")
        self.assertEqual(done.returncode, 1)
        self.assertIn("one by one", done.stderr)


def result(matrix, group, **more):
    u = more.get("unit_roundoff", 2.0 ** -24)
    return {"matrix": matrix, "type": "fp32", "compute": "full", "group": group, "more_terms": 3, "rounding": 0, "configs": 2,
            "unit_roundoff": u, "max_error": 2 * u, "mean_error": u / 2, "max_bound_share": 0.25,
            "mean_bound_share": 0.125, "worst_config": group + "-1", "compared": 64, "violations": 0, "failures": []} | more


class Accuracy(unittest.TestCase):
    def run_of(self, *results):
        return {"schema": "bcsc-accuracy-1", "machine": MACHINE, "cols": 32, "matrices": [{"name": "a"}, {"name": "b"}],
                "left_out": [], "results": list(results)}

    def test_the_worst_and_the_mean_over_the_matrices(self):
        u = 2.0 ** -24
        text = accuracy.report(self.run_of(
            result("a", "warp"), result("b", "warp", max_error=6 * u, mean_error=u, max_bound_share=0.5)))
        self.assertIn("| warp | c = 3 | 2 | 2 | 6 | 0.75 | 0.5 | 0.12 | b |", text)
        self.assertIn("Nothing is beyond its bound.", text)

    def test_precisions_have_tables_and_promises_have_lines(self):
        text = accuracy.report(self.run_of(
            result("a", "plan"), result("a", "warp", more_terms=16), result("a", "warp"),
            result("a", "warp", compute="tf32", rounding=2.0 ** -11),
            result("a", "plan", type="fp64", unit_roundoff=2.0 ** -53)))
        self.assertEqual([line for line in text.splitlines() if line.endswith(":")],
                         ["fp32, u = 2⁻²⁴:", "TF32, u = 2⁻²⁴:", "fp64, u = 2⁻⁵³:"])
        self.assertEqual(text.count("| warp | c = 3 |"), 1)
        self.assertEqual(text.count("| warp | c = 16 |"), 1)
        self.assertEqual(text.count("| warp | c = 3, values rounded by 4.9e-04 |"), 1)

    def test_what_is_wrong_is_said(self):
        text = accuracy.report(self.run_of(result("a", "tiled", violations=3, max_bound_share=2.0),
                                           result("b", "tiled", violations=1, max_error=None, mean_error=None,
                                                  max_bound_share=None, mean_bound_share=None)))
        self.assertIn("**Beyond the bound**: tiled fp32 on a: tiled-1; tiled fp32 on b: tiled-1.", text)
        self.assertIn("not finite", text)

    def test_it_is_put_between_the_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            page, run = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "run.json"
            page.write_text(f"before\n{accuracy.OPENING}\nold\n{accuracy.CLOSING}\nbehind\n")
            run.write_text(json.dumps(self.run_of(result("a", "plan"))))
            subprocess.run([sys.executable, str(REPORT / "accuracy.py"), "--into", str(page), str(run)], check=True)
            text = page.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith("behind\n"))
            self.assertIn("| **plan** |", text)
            self.assertNotIn("old", text)

    def test_a_file_of_another_program_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run.json"
            run.write_text(json.dumps({"schema": "bcsc-bench-1"}))
            with self.assertRaisesRegex(SystemExit, "not a file of bench/accuracy"):
                table.read_run(str(run), "bcsc-accuracy-1", "bench/accuracy")


class Fit:
    """Stands in for fitted.Fit: a matrix is of the kind that its name ends in."""

    def kind(self, matrix):
        return matrix.rsplit("-", 1)[1]


def entry(group, name=None, **seconds):
    return {"group": group, "name": name or group, "layout": "row-major", "status": "ok",
            "warm": None} | {timing: {"median": value} for timing, value in seconds.items()}


def bench_case(matrix, *entries, cols=32, value_type="fp32"):
    return {"matrix": matrix, "cols": cols, "type": value_type, "layout": "row-major", "ratio": 1.0,
            "entries": list(entries)}


def bench_run(*cases, nnz=30000):
    names = {c["matrix"] for c in cases}
    return {"schema": "bcsc-bench-1", "main_rival": "cusparse", "machine": MACHINE, "cases": list(cases),
            "matrices": [{"name": name, "nnz": nnz, "rows": 1000, "cols": 100} for name in names]}


class Sets(unittest.TestCase):
    def cases(self, *runs):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, run in enumerate(runs):
                paths.append(pathlib.Path(folder) / f"{i}.json")
                paths[-1].write_text(json.dumps(run))
            return sets.read_cases(paths, Fit())

    def header(self, cases):
        return [h.strip() for h in sets.table(sets.sets_of(cases)).splitlines()[0].strip("|").split("|")]

    def test_columns_are_those_that_the_files_hold(self):
        warm = bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=2)))
        self.assertEqual(self.header(self.cases(warm)),
                         ["set, type, N", "cases", "back to back", "seen", "worst", "slower"])
        every = {"warm": 1, "single": 1, "cold": 1}
        whole = bench_run(*[bench_case(f"a-{kind}", entry("plan", **every), entry("cusparse", warm=2, single=3, cold=4))
                            for kind in ["seen", "unseen", "fresh"]])
        self.assertEqual(self.header(self.cases(whole)),
                         ["set, type, N", "cases", "back to back", "one at a time", "cold", "seen", "unseen", "fresh",
                          "worst", "slower"])

    def test_each_timing_has_its_own_best_rival(self):
        case, = self.cases(bench_run(bench_case(
            "a-seen", entry("plan", warm=1, cold=2), entry("cusparse", "alg2", warm=2, cold=9),
            entry("cusparse", "alg3", warm=3, cold=3), entry("cublas", warm=0.1, cold=0.1))))
        self.assertEqual(case["ratios"], {"warm": 2, "cold": 1.5, sets.ANY: 2})

    def test_a_failed_rival_does_not_count(self):
        case, = self.cases(bench_run(bench_case(
            "a-seen", entry("plan", warm=1), entry("cusparse", warm=1) | {"status": "failed"}, entry("cusparse", warm=5))))
        self.assertEqual(case["ratios"], {"warm": 5, sets.ANY: 5})

    def test_an_inaccurate_rival_counts_in_a_column_of_its_own(self):
        inaccurate = entry("cusparse", warm=2) | {"status": "inaccurate"}
        cases = self.cases(bench_run(bench_case("a-seen", entry("plan", warm=1), inaccurate, entry("cusparse", warm=5)),
                                     bench_case("b-seen", entry("plan", warm=1), entry("cusparse", warm=8))))
        self.assertEqual(self.header(cases)[2:4], ["back to back", sets.ANY])
        self.assertIn("| 2 | **6.32** | 4.00 |", sets.table(sets.sets_of(cases)))

    def test_the_fresh_set_is_a_set_of_its_own(self):
        names = ["fresh1_small_world_100_5_10", "bcsstk17", "rmat:17,16,seed=1", "rail_4284"]
        self.assertEqual([sets.family_of(name) for name in names], ["fresh set", "real", "R-MAT", "real"])
        self.assertEqual(table.fresh_family(names[0]), "small_world")

    def test_the_rival_of_tf32_is_named(self):
        run = bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=5)))
        self.assertNotIn("TF32", sets.floor_sentence(self.cases(run)))
        self.assertIn("cuSPARSE in fp32", sets.floor_sentence(self.cases(run | {"compute": "tf32"})))

    def test_of_three_runs_the_median_counts(self):
        runs = [bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=r))) for r in [3, 1, 2]]
        case, = self.cases(*runs)
        self.assertEqual(case["ratios"], {"warm": 2, sets.ANY: 2})

    def test_two_or_four_runs_are_refused(self):
        run = bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=2)))
        for count in [2, 4]:
            with self.subTest(count), self.assertRaisesRegex(SystemExit, f"a-seen, N = 32 fp32 stands in {count}"):
                self.cases(*[run] * count)

    def test_of_two_builds_the_later_one_counts(self):
        def run(git_hash, date, rival):
            made = bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=rival)))
            return made | {"machine": MACHINE | {"git_hash": git_hash, "date": date}}
        former = [run("abc", f"2026-11-2{day}T00:00:00Z", 2) for day in (1, 2, 3)]
        case, = self.cases(*former, run("def", "2026-11-24T00:00:00Z", 5))
        self.assertEqual(case["ratios"]["warm"], 5)
        with self.assertRaisesRegex(SystemExit, "stands in 2"):
            self.cases(*former, *[run("def", "2026-11-24T00:00:00Z", 5)] * 2)

    def test_small_matrices_count(self):
        run = bench_run(bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=2)), nnz=5)
        self.assertEqual(len(self.cases(run)), 1)

    def test_worst_and_slower(self):
        text = sets.table(sets.sets_of(self.cases(bench_run(
            bench_case("a-seen", entry("plan", warm=1), entry("cusparse", warm=4)),
            bench_case("b-unseen", entry("plan", warm=4), entry("cusparse", warm=1))))))
        self.assertIn("| all | 2 | **1.00** | 4.00 | 0.25 | 0.25 (b-unseen, N = 32) | 1 |", text)

    def test_the_brief_table_has_each_case_in_one_line_and_in_the_last(self):
        cases = pages.Results(ROOT).cases
        *parts, (last, everything) = sets.brief_sets_of(cases)
        self.assertEqual(last, "all")
        self.assertEqual(sorted(map(id, everything)), sorted(id(c) for _, some in parts for c in some))


class Charts(unittest.TestCase):
    def cases(self):
        return [{"kind": kind, "ratios": {"warm": ratio}} for kind, ratio in
                [("seen", 0.8), ("seen", 2.5), ("unseen", 6.0), ("fresh", 1.0)]]

    def test_a_dot_for_each_case_and_a_key_for_each_kind(self):
        picture = chart.draw([("all", self.cases())], "A < B")
        self.assertEqual(picture.count("h0"), 4 + 3)
        for colour in chart.COLOURS.values():
            self.assertIn(colour, picture)
        self.assertIn("A &lt; B", picture)

    def test_all_ratios_lie_within_the_axis(self):
        low, high, ticks = chart.axis(self.cases())
        self.assertLess(low, 0.8)
        self.assertGreater(high, 6)
        self.assertIn(1, ticks)

    def test_only_kinds_that_occur_are_explained(self):
        picture = chart.draw([("all", self.cases()[:2])], "title")
        self.assertNotIn(chart.LABELS["fresh"], picture)


class Table(unittest.TestCase):
    def test_a_timing_that_a_file_does_not_hold_has_no_mean(self):
        old = {"matrix": "a", "type": "fp32", "cols": 8, "ratio": 2.0, "cold_ratio": None}
        new = old | {"matrix": "b", "ratio": 8.0, "single_ratio": 3.0, "cold_ratio": 1.5}
        self.assertIn("| fp32 | 8 | 1 | **2.00** | – | – | 2.00 (a) | 0 % |", table.means([old]))
        self.assertIn("| fp32 | 8 | 2 | **4.00** | 3.00 | 1.50 | 2.00 (a) | 0 % |", table.means([old, new]))


class Fitted(unittest.TestCase):
    def test_the_generator_is_the_standard_s(self):
        number = fitted.mersenne_twister(5489)
        self.assertEqual([number() for _ in range(10000)][-1], 4123659995)  # [rand.predef]

    def test_two_thirds_of_the_names_or_all(self):
        names = {"a", "b", "c", "d", "e"}
        self.assertEqual(len(fitted.draw_seen(names, 1)), 4)
        self.assertLess(fitted.draw_seen(names, 1), names)
        self.assertEqual(fitted.draw_seen(names, 0), names)

    def test_the_choice_knows_cases_of_the_seen_matrices_and_no_others(self):
        fit = fitted.Fit()
        self.assertFalse(fit.seen & fit.unseen)
        lines = []
        with gzip.open(ROOT / "lib" / "choice" / "costs" / "nvidia-h200.gz") as file:
            for line in file:
                lines.append(line.decode("ascii").split())
                if lines[-1][0].startswith("residuals"):
                    file.read(int(lines[-1][2]) + 1)  # their code, and the end of its line
        made_by = next(words[1:] for words in lines if words[0] == "from")
        self.assertEqual([pathlib.Path(file).name for file in made_by[3:]], fit.files)
        # With the weights of N and of non-zeros of lib/choice/neighbours.hpp.
        for in_place, key, of_n, of_nnz in [(False, "case", 2, 0.6), (True, "case-in-place", 1, 0.5)]:
            known = {}
            at = []
            for _, value_type, *at_or_same in (words for words in lines if words[0] == key):
                at = [old if new == "=" else float(new) for old, new in zip(at or at_or_same, at_or_same)]
                known.setdefault(value_type, []).append((at[0], at[1]))
            for value_type in ["fp32", "fp64", "fp16", "bf16"]:
                timed = {(m["name"], m["nnz"], c["cols"]) for run in fit.runs.values()
                         if run.get("in_place", False) == in_place
                         for m in run["matrices"] for c in m["cases"] if c["type"] == value_type}
                seen = [(of_n * math.log2(cols), of_nnz * math.log2(nnz)) for name, nnz, cols in timed if name in fit.seen]
                with self.subTest(in_place=in_place, type=value_type):
                    self.assertLessEqual(len(known[value_type]), len(seen))
                    self.assertGreater(len(known[value_type]), 0.5 * len(seen))
                    near = [min(max(abs(x - a), abs(y - b)) for a, b in seen) for x, y in known[value_type]]
                    self.assertLess(max(near), 0.051)  # told with one decimal
                    self.assertTrue(any(name in fit.unseen for name, _, _ in timed))

    def test_a_matrix_without_times_is_fresh(self):
        fit = fitted.Fit()
        self.assertEqual((fit.kind("elasticity:30,30,30"), fit.kind("elasticity:45,45,45"), fit.kind("elasticity:7,7,7")),
                         ("seen", "unseen", "fresh"))


class MergedTimes(unittest.TestCase):
    def run_of(self, program, day, **configs):
        case = {"cols": 8, "type": "fp32", "configs": configs, "rivals": {}}
        return {"schema": "bcsc-config-times-1", "machine": "a GPU", "git_hash": program, "clocks": "", "versions": {},
                "date": f"2026-11-{day}", "in_place": False,
                "matrices": [{"name": "a", "checksum": "1", "cases": [case]}]}

    def times_of(self, *runs):
        whole = merge_times.merged(list(runs))
        (matrix,) = whole["matrices"]
        (case,) = matrix["cases"]
        return whole, case["configs"]

    def test_a_later_programs_time_counts_and_of_one_programs_the_least(self):
        later = self.run_of("new", 27, mma=90, fma="out of memory")
        earlier = self.run_of("old", 22, mma=80, rowwise=70, fma=60)
        whole, times = self.times_of(later, earlier)
        self.assertEqual(times, {"mma": 90, "rowwise": 70, "fma": 60})
        self.assertEqual((whole["git_hash"], whole["date"]), ("new", "2026-11-27"))
        self.assertEqual([run["git_hash"] for run in whole["runs"]], ["old", "new"])
        again, times = self.times_of(whole, self.run_of("new", 28, mma=85, rowwise=75))
        self.assertEqual(times, {"mma": 85, "rowwise": 70, "fma": 60})
        self.assertEqual(len(again["runs"]), 3)

    def test_of_short_times_the_least_counts(self):
        self.assertEqual(self.times_of(self.run_of("old", 22, mma=4), self.run_of("new", 27, mma=9))[1], {"mma": 4})

    def test_other_machines_and_other_matrices_of_a_name_are_refused(self):
        other = self.run_of("new", 27, mma=9)
        with self.assertRaises(SystemExit):
            self.times_of(self.run_of("old", 22, mma=4), other | {"machine": "another GPU"})
        other["matrices"][0]["checksum"] = "2"
        with self.assertRaises(SystemExit):
            self.times_of(self.run_of("old", 22, mma=4), other)

    def test_what_is_learnt_from_is_kept_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            runs = {"judged": self.run_of("old", 22, mma=40), "learn": self.run_of("old", 23, mma=50)}
            runs["judged"]["matrices"].append({**runs["judged"]["matrices"][0], "name": "b"})
            runs["place"] = {**runs["judged"], "in_place": True}
            for name, run in runs.items():
                (folder / f"{name}.json").write_text(json.dumps(run))
            subprocess.run([sys.executable, REPORT / "merge_times.py", folder / "of", folder / "judged.json",
                            folder / "place.json", "--learn", folder / "learn.json"], check=True, capture_output=True)
            names = {part: [m["name"] for m in table.read_run(folder / f"of-{part}.json.gz", "bcsc-config-times-1")["matrices"]]
                     for part in ("judged", "learn")}
            self.assertEqual(names, {"judged": ["b"], "learn": ["a"]})


class Promises(unittest.TestCase):
    def product(self, placing, over):
        return {"cols": 8, "placing": placing, "over_packed": over}

    def run_of(self):
        def case(layout, steps, over, same_kernel):
            return {"type": "fp32", "layout": layout,
                    "odd": {"steps": [{"from": n, "to": n + 1, "ratio": r} for n, r in enumerate(steps, 7)]},
                    "misaligned": {"products": [{"cols": 8, "placing": "packed"}, self.product("B + 1", over)]},
                    "deterministic": {"products": [{"same_bits": True, "same_kernel": same_kernel, "over_free": 1.25}]}}
        cases = [case("row-major", [1.1, 2.0], 1.5, True), case("col-major", [1.0, 1.2], 1.0, False)]
        return {"machine": MACHINE, "matrices": [{"name": "a", "cases": cases}],
                "summary": {"promised_step": 1.3, "promised_misaligned": 1.15, "steps": 4, "steps_above_promise": 1,
                            "worst_step": {"ratio": 2.0, "what": "a, 8 to 9"}, "misaligned": 2,
                            "misaligned_above_promise": 1, "worst_misaligned": {"ratio": 1.5, "what": "a, N = 8"}}}

    def test_what_is_kept_and_what_is_not(self):
        text = promises.report(self.run_of())
        self.assertIn("**3 of 4 steps keep it**; the worst is 2.00 (a, 8 to 9)", text)
        self.assertIn("| a | 1 of 2 | 2.00 (8 to 9) | 0 of 2 | 1.20 (8 to 9) |", text)
        self.assertIn("| row-major, N = 8 | 1 of 1 | 1.50 | 1.50 |", text)
        self.assertIn("2 of 2 left the same bits", text)
        self.assertIn("in 1 the plan takes another kernel, 1.25 times as long at worst", text)


class Efforts(unittest.TestCase):
    def case(self, over, gain, timed):
        def effort(name):
            return {"effort": name, "product": "a", "trial_seconds": timed, "trial_setup_seconds": 2 * timed,
                    "tried": 0 if name == "predict" else 3, "over_best": over, "warm_ratio": gain}
        return {"cols": 8, "type": "fp32", "efforts": [effort(name) for name in ("predict", "check")]}

    def run_of(self):
        def how(seconds):
            return {"remembered": True, "predict_seconds": 0.001, "by_name_seconds": 0.0045, "remembered_seconds": seconds}
        return {"main_rival": "cusparse", "matrices": [
            {"name": "old", "cases": [self.case(1.0, 2.0, 0.002)], "remembering": [{"host": how(0.005)}]},
            {"name": "new", "cases": [self.case(1.21, 0.95, 0.006), self.case(1.0, 0.5, 0.004)],
             "remembering": [{"host": how(0.0015) | {"remembered": False}}]}]}

    def test_kinds_of_matrices_have_lines_of_their_own(self):
        over, warm, remembered = efforts.tables(self.run_of(), lambda matrix: "seen" if matrix == "old" else "fresh")
        self.assertIn("| `predict`, fresh | 2 | 1.100 | 50.0 % | 1.21 (new, N = 8 fp32) | – | – |", over)
        self.assertIn("| `check`, seen and fresh | 3 | 1.066 | 66.7 % | 1.21 (new, N = 8 fp32) | 4.0, 6.0 | 8.0 |", over)
        self.assertNotIn("`search`", over)  # not in the file
        self.assertTrue(warm.startswith("Against the fastest cusparse, back to back:"))
        self.assertIn("| `check`, seen | 1 | 2.00 | 100.0 % | 100.0 % | 2.00 (old, N = 8 fp32) |", warm)
        self.assertIn("| `check`, fresh | 2 | 0.69 | 0.0 % | 50.0 % | 0.50 (new, N = 8 fp32) |", warm)
        self.assertIn("| A on the host | 1 | 4.00, 4.00 | 0.0 % | 0.50, 0.50 | 100.0 % |", remembered)


class Peers(unittest.TestCase):
    def run_of(self, **groups):
        cases = [{"matrix": "a", "cols": 8, "type": "fp32", "nnz": 5,
                  "entries": [{"group": g, "median": seconds} for g, seconds in groups.items()]}]
        return {"machine": MACHINE | {"context": "cpu: 2 threads, avx512", "versions": {"eigen": "3.4.0"}}, "cases": cases}

    def test_rivals_that_were_measured_have_columns(self):
        text = cpu.report(self.run_of(plan=2, eigen=3))
        self.assertIn("| products | cases | Eigen | worst |", text)
        for products in ["N = 8", "fp32", "all"]:
            self.assertIn(f"| {products} | 1 | **1.50** | 1.50 (a, N = 8, fp32) |", text)

    def test_mkl_is_the_faster_of_its_two(self):
        for mm, mv in [(4, 1), (1, 4)]:
            text = cpu.report(self.run_of(**{"plan": 2, "eigen": 3, "mkl": mm, "mkl-mv": mv}))
            self.assertIn("| N = 8 | 1 | **1.50** | 1.50 (a, N = 8, fp32) | **0.50** | 0.50 (a, N = 8, fp32) |", text)
        self.assertIn("**2.00**", cpu.report(self.run_of(plan=2, mkl=4)))

    def test_in_one_sentence(self):
        self.assertEqual(cpu.summary(self.run_of(plan=2, eigen=3)),
                         "A CPU, 2 threads, Eigen 3.4.0, abc: 1 matrices, 1 products: **1.50** times as fast as Eigen, "
                         "worst 1.50 (a, N = 8, fp32).")

    def test_says_whose_threads_they_were(self):
        run = self.run_of(plan=2, eigen=3)
        run["machine"]["context"] = "cpu: 2 threads of its own, avx512"
        self.assertIn("A CPU, 2 threads of its own, Eigen 3.4.0", cpu.summary(run))


class Dense(unittest.TestCase):
    def test_by_the_share_of_zeros(self):
        text = dense.table([bench_run(bench_case("uniform:1000,100,0.7,seed=1", entry("plan", warm=2),
                                                 entry("cublas-tf32", warm=1), entry("cublas", "cublas-fp32", warm=3)))])
        self.assertIn("| dense in | 70 % zeros |", text)
        self.assertIn("| fp32, N = 32 | 1.50 |", text)
        self.assertIn("| TF32, N = 32 | 0.50 |", text)


class Pages(unittest.TestCase):
    """What is committed is what the command makes of the committed results."""

    def test_the_committed_pages_are_what_the_results_make(self):
        for path, text in pages.render(ROOT).items():
            with self.subTest(path):
                self.assertEqual((ROOT / path).read_text(encoding="utf-8"), text)

    def test_a_changed_figure_is_found_and_mended(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copy(ROOT / "README.md", root)
            shutil.copytree(ROOT / "docs", root / "docs")
            os.symlink(ROOT.resolve() / "bench", root / "bench")
            page = root / "README.md"
            good = page.read_text(encoding="utf-8")
            page.write_text(good.replace("Worst: 0.", "Worst: 9.", 1), encoding="utf-8")
            call = [sys.executable, str(REPORT / "pages.py"), "--root", str(root)]
            check = subprocess.run([*call, "--check"], capture_output=True, text=True)
            self.assertEqual((check.returncode, check.stdout, check.stderr),
                             (1, "README.md: not what bench/results makes\n", ""))
            self.assertEqual(subprocess.run(call, capture_output=True).returncode, 0)
            self.assertEqual(page.read_text(encoding="utf-8"), good)
            self.assertEqual(subprocess.run([*call, "--check"], capture_output=True).returncode, 0)

    def test_a_page_without_its_marker_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(SystemExit, "page.md: must hold <!-- a -->"):
            table.between("text", "new", "<!-- a -->", "<!-- /a -->", "page.md")


if __name__ == "__main__":
    unittest.main()
