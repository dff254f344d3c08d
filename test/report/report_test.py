"""The reports of the benchmark (bench/report): what they read, what they print, what they say when something is missing.
Nucleus of roofline.py: the table of `ncu --csv`, which cannot be had without a GPU.

    report_test.py ROOT
"""
import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "bench" / "report"
sys.path.insert(0, str(REPORT))
import accuracy  # noqa: E402
import roofline  # noqa: E402
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
    return {"matrix": matrix, "type": "fp32", "compute": "full", "group": group, "more_terms": 3, "rounding": 0, "rows": 2,
            "unit_roundoff": u, "max_error": 2 * u, "mean_error": u / 2, "max_bound_share": 0.25,
            "mean_bound_share": 0.125, "worst_row": group + "-1", "compared": 64, "violations": 0, "failures": []} | more


class Accuracy(unittest.TestCase):
    def run_of(self, *results):
        return {"schema": "bcsc-accuracy-1", "machine": MACHINE, "cols": 32, "matrices": [{"name": "a"}, {"name": "b"}],
                "left_out": [], "results": list(results)}

    def test_the_worst_and_the_mean_over_the_matrices(self):
        u = 2.0 ** -24
        text = accuracy.report(self.run_of(
            result("a", "units"), result("b", "units", max_error=6 * u, mean_error=u, max_bound_share=0.5)))
        self.assertIn("| units | c = 3 | 2 | 2 | 6 | 0.75 | 0.5 | 0.12 | b |", text)
        self.assertIn("Nothing is beyond its bound.", text)

    def test_precisions_have_tables_and_promises_have_lines(self):
        text = accuracy.report(self.run_of(
            result("a", "plan"), result("a", "units", more_terms=16), result("a", "units"),
            result("a", "units", compute="tf32", rounding=2.0 ** -11),
            result("a", "plan", type="fp64", unit_roundoff=2.0 ** -53)))
        self.assertEqual([line for line in text.splitlines() if line.endswith(":")],
                         ["fp32, u = 2⁻²⁴:", "TF32, u = 2⁻²⁴:", "fp64, u = 2⁻⁵³:"])
        self.assertEqual(text.count("| units | c = 3 |"), 1)
        self.assertEqual(text.count("| units | c = 16 |"), 1)
        self.assertEqual(text.count("| units | c = 3, values rounded by 4.9e-04 |"), 1)

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

    def test_the_page_of_the_project_has_the_markers(self):
        page = (ROOT / "docs" / "performance.md").read_text()
        self.assertEqual((page.count(accuracy.OPENING), page.count(accuracy.CLOSING)), (1, 1))

    def test_a_file_of_another_program_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run.json"
            run.write_text(json.dumps({"schema": "bcsc-bench-1"}))
            with self.assertRaisesRegex(SystemExit, "not a file of bench/accuracy"):
                table.read_run(str(run), "bcsc-accuracy-1", "bench/accuracy")


if __name__ == "__main__":
    unittest.main()
