"""The page of `bcsc bench --report`: its numbers are computed again from the JSON by other means, it is well-formed, and it
refers to nothing outside of itself. Uses the committed results of an H200, and a run on the CPU.

    page_test.py ROOT BCSC
"""
import gzip
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM = pathlib.Path(sys.argv.pop(2)).resolve()
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
RESULTS = ROOT / "bench" / "results" / "nvidia-h200"
LATEST = [RESULTS / name for name in ("plan-fp32-real.json.gz", "plan-fp32-nets-2.json.gz", "plan-narrow-2.json.gz")]


def bench(*arguments, code=0):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run([PROGRAM, "bench", *map(str, arguments)], capture_output=True, text=True, env=environment,
                          stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def read(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Page:
    """A page taken apart: XML that anybody's parser reads."""

    def __init__(self, path):
        self.text = pathlib.Path(path).read_text(encoding="utf-8")
        self.tree = ElementTree.fromstring(self.text)

    def table(self, name):
        """The rows of a table: {header: value}; a number with all its digits where a cell has one."""
        [found] = [t for t in self.tree.iter("table") if t.get("id") == name]
        header = ["".join(th.itertext()) for th in found.find("thead").iter("th")]
        return [dict(zip(header, (float(td.get("data-v")) if td.get("data-v") else "".join(td.itertext())
                                  for td in tr.iter("td")))) for tr in found.find("tbody").iter("tr")]

    def svg(self, name):
        [found] = [s for s in self.tree.iter("svg") if s.get("id") == name]
        return found


def merged(paths):
    cases = {}
    for path in paths:
        for c in read(path)["cases"]:
            cases[c["matrix"], c["type"], c["layout"], c["cols"]] = c
    return list(cases.values())


def median_of(entry, timing="warm"):
    return entry[timing]["median"] if entry["status"] == "ok" and entry.get(timing) else None


def best(case, group, timing="warm"):
    times = [median_of(e, timing) for e in case["entries"] if e["group"] == group and e["layout"] == case["layout"]]
    return min((t for t in times if t is not None), default=None)


def ratio(case, rival, timing="warm"):
    plan, other = best(case, "plan", timing), best(case, rival, timing)
    return other / plan if plan and other else None


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


class H200(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        bench("--results", ",".join(map(str, LATEST)), "--report", cls.folder.name)
        cls.page = Page(pathlib.Path(cls.folder.name) / "report.html")
        cls.cases = merged(LATEST)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def same_spread(self, row, ratios):
        low, middle, high = quartiles(ratios)
        self.assertEqual(row["cases"], len(ratios))
        for key, value in [("geometric mean", statistics.geometric_mean(ratios)), ("lower quartile", low),
                           ("median", middle), ("upper quartile", high), ("worst", min(ratios)),
                           ("slower", sum(r < 1 for r in ratios) / len(ratios))]:
            self.assertAlmostEqual(row[key], value, delta=1e-9 * abs(value) + 1e-12, msg=key)

    def test_three_timings(self):
        rows = {row["timing"]: row for row in self.page.table("timings")}
        for timing, name in [("warm", "back to back"), ("single", "one at a time"), ("cold", "cold")]:
            self.same_spread(rows[name], [r for c in self.cases if (r := ratio(c, "cusparse", timing))])

    def test_types_and_columns(self):
        for row in self.page.table("by-columns"):
            some = [c for c in self.cases if c["type"] == row["type"] and c["cols"] == row["N"]]
            self.same_spread(row, [r for c in some if (r := ratio(c, "cusparse"))])

    def test_kinds(self):
        rows = {row["kind"]: row for row in self.page.table("by-kind")}
        self.same_spread(rows["uniform"], [r for c in self.cases if c["matrix"].startswith("uniform:")
                                           and (r := ratio(c, "cusparse"))])
        self.same_spread(rows["all"], [r for c in self.cases if (r := ratio(c, "cusparse"))])

    def test_contenders(self):
        profile = {}
        count = 0
        for c in self.cases:
            if best(c, "plan") is None:
                continue
            count += 1
            times = {e["name"]: t for e in c["entries"]
                     if e["layout"] == c["layout"] and e["bounded"] and (t := median_of(e))}
            for name, seconds in times.items():
                profile.setdefault(name, []).append(seconds / min(times.values()))
        rows = {row["contender"]: row for row in self.page.table("contenders")}
        self.assertEqual(set(rows), set(profile))
        for name, ratios in profile.items():
            self.assertEqual(rows[name]["timed"], len(ratios))
            self.assertAlmostEqual(rows[name]["fastest"], sum(r <= 1 for r in ratios) / count)
            self.assertAlmostEqual(rows[name]["2 times"], sum(r <= 2 for r in ratios) / count)

    def test_break_even(self):
        for row in self.page.table("conversion"):
            products, never, convert = [], 0, []
            for c in self.cases:
                plan, rival = best(c, "plan"), best(c, "cusparse")
                if c["cols"] != row["N"] or plan is None or rival is None:
                    continue
                [entry] = [e for e in c["entries"] if e["name"] == "plan"]
                convert.append(entry["convert_seconds"])
                if rival > plan:
                    products.append(math.ceil(entry["convert_seconds"] / (rival - plan)))
                else:
                    never += 1
            self.assertEqual(row["cases"], len(convert))
            self.assertAlmostEqual(row["median time"], statistics.median(convert))
            self.assertAlmostEqual(row["paid back after: lower quartile"], quartiles(products)[0])
            self.assertAlmostEqual(row["median"], statistics.median(products))
            self.assertAlmostEqual(row["never"], never / len(convert))

    def test_every_case(self):
        shown = {(row["matrix"], row["type"], row["N"]): row for row in self.page.table("cases")}
        self.assertEqual(len(shown), sum(best(c, "plan") is not None for c in self.cases))
        ratios = [row["ratio"] for row in shown.values() if isinstance(row["ratio"], float)]
        self.assertEqual(ratios, sorted(ratios), "the worst first")
        for c in self.cases:
            if best(c, "plan") is None:
                continue
            row = shown[c["matrix"], c["type"], c["cols"]]
            [plan] = [e for e in c["entries"] if e["name"] == "plan"]
            self.assertEqual(row["kernel"], plan["kernel"])
            self.assertAlmostEqual(row["GFLOP/s"], plan["gflops"])
            self.assertAlmostEqual(row["error / bound"], plan["bound_share"])
            if (r := ratio(c, "cusparse")) is not None:
                self.assertAlmostEqual(row["ratio"], r)

    def test_summary_sentence(self):
        ratios = [r for c in self.cases if (r := ratio(c, "cusparse"))]
        said = re.search(r'id="summary-warm"><b>([\d.]+)×</b>.*?of (\d+) products.*?Slower in ([\d.]+) %; worst ([\d.]+)',
                         self.page.text, re.DOTALL)
        self.assertEqual(said[1], f"{statistics.geometric_mean(ratios):.2f}")
        self.assertEqual(int(said[2]), len(ratios))
        self.assertEqual(said[3], f"{100 * sum(r < 1 for r in ratios) / len(ratios):.1f}")
        self.assertEqual(said[4], f"{min(ratios):.2f}")

    def test_every_point_is_drawn_and_named(self):
        with_rival = sum(ratio(c, "cusparse") is not None for c in self.cases)
        with_plan = sum(best(c, "plan") is not None for c in self.cases)
        circles = list(self.page.svg("roofline").iter("circle"))
        self.assertEqual(len(circles), with_rival + with_plan)
        losses = [p for p in self.page.svg("ratios").iter("path") if p.get("class") == "m c1"]
        self.assertEqual(len(losses), sum(r < 1 for c in self.cases if (r := ratio(c, "cusparse"))))
        for mark in circles + losses:
            self.assertTrue(mark.find("title").text)

    def test_roof_is_the_copy_bandwidth(self):
        machine = read(LATEST[-1])["machine"]
        titles = [p.find("title").text for p in self.page.svg("roofline").iter("path") if p.find("title") is not None]
        self.assertIn(f"HBM, copying: {machine['copy_bandwidth'] * 1e-9:.0f} GB/s", titles)

    def test_environment(self):
        rows = {row["environment"]: row for row in self.page.table("environment")}
        for path in LATEST:
            machine = read(path)["machine"]
            self.assertIn(machine["git_hash"], rows["bcsc"][path.name])
            self.assertEqual(rows["cusparse"][path.name], machine["versions"]["cusparse"])
            self.assertIn("580.159.04", rows["driver, SM clock (now, most), memory clock (now, most)"][path.name])
        checksums = {row["matrix"]: row["checksum"] for row in self.page.table("matrices")}
        for m in read(LATEST[1])["matrices"]:
            self.assertEqual(checksums[m["name"]], m["checksum"])

    def test_nothing_outside_is_referred_to(self):
        text = self.page.text
        self.assertLess(len(text.encode()), 3 << 20)
        self.assertNotRegex(text, r"https?://|//[a-z]|@import|url\((?!#)|<link|<img|<iframe|<object|fetch\(|XMLHttp")
        for element in self.page.tree.iter():
            for attribute, value in element.attrib.items():
                self.assertNotIn(attribute, ("src", "href", "srcset", "action"), (element.tag, value))
                self.assertFalse(attribute.startswith("on"), attribute)
        names = [e.get("id") for e in self.page.tree.iter() if e.get("id")]
        self.assertEqual(len(names), len(set(names)), "ids are unique")
        used = set(re.findall(r"url\(#([^)]+)\)", text))
        self.assertLessEqual(used, set(names))

    def test_pages_and_paper_and_the_dark_are_thought_of(self):
        for told in ("prefers-color-scheme:dark", "@media print", "width=device-width", "max-width:40rem"):
            self.assertIn(told, self.page.text)

    def test_equal_records_give_equal_bytes(self):
        with tempfile.TemporaryDirectory() as other:
            bench("--results", ",".join(map(str, LATEST)), "--report", other)
            self.assertEqual((pathlib.Path(other) / "report.html").read_bytes(),
                             (pathlib.Path(self.folder.name) / "report.html").read_bytes())
            self.assertEqual(os.listdir(other), ["report.html"], "nothing is left beside it")


class Cpu(unittest.TestCase):
    def test_a_run_leaves_its_records_and_its_page(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "new"
            bench("--suite", "dnn", "--quick", "--cols", "8", "--device", "cpu", "--seconds", "0.001", "--report", report)
            self.assertEqual(sorted(os.listdir(report)), ["report.html", "results.json.gz"])
            run, page = read(report / "results.json.gz"), Page(report / "report.html")
            self.assertEqual(len(run["cases"]), 3)
            [row] = [r for r in page.table("by-kind") if r["kind"] == "all"]
            ratios = [c["ratio"] for c in run["cases"]]
            self.assertAlmostEqual(row["geometric mean"], statistics.geometric_mean(ratios))
            self.parameters(run, page.table("parameters"))
            again = pathlib.Path(folder) / "again"
            bench("--results", report / "results.json.gz", "--report", again)
            self.assertEqual(Page(again / "report.html").table("cases"), page.table("cases"))
            done = bench("--compare", report / "results.json.gz", report / "results.json.gz", "--json")
            told = json.loads(done.stdout)
            self.assertEqual(told["ours"]["slower"] + told["ours"]["faster"], 0)

    def parameters(self, run, rows):
        """The config that loses the least over all matrices, from the sweeps."""
        self.assertTrue(rows)
        for row in rows:
            losses = {}
            for c in run["cases"]:
                times = c["sweep"][row["kernel"]]
                for config, seconds in times.items():
                    losses.setdefault(config, []).append(math.log(seconds / min(times.values())))
            whole = {config: sum(v) for config, v in losses.items() if len(v) == len(run["cases"])}
            # The JSON has five digits of a sweep's times.
            self.assertAlmostEqual(sum(losses[row["config"]]), min(whole.values()), places=3)
            loss = math.exp(min(whole.values()) / len(run["cases"]))
            self.assertAlmostEqual(row["time over the best of each matrix"], loss, places=3)

    def test_hostile_names_stay_text(self):
        with tempfile.TemporaryDirectory() as folder:
            name = pathlib.Path(folder) / "<script>alert(1)<\u00b5&\"'.mtx"
            name.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n")
            bench(name, "--cols", "2", "--device", "cpu", "--seconds", "0.001", "--report", folder)
            page = Page(pathlib.Path(folder) / "report.html")
            self.assertEqual(len(list(page.tree.iter("script"))), 1)
            self.assertEqual(page.table("matrices")[0]["matrix"], name.name.removesuffix(".mtx"))


if __name__ == "__main__":
    unittest.main()
