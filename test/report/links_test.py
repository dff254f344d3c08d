"""Links of the documents: each relative one leads to a file of the tree, each #anchor to a heading, and where the code names
a document or an entry of docs/history, it is there.

    links_test.py ROOT
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["bench", "converters", "docs", "examples", "include", "kernels", "lib", "matrices", "packaging", "test", "tools"]
SOURCES = {".cpp", ".hpp", ".cu", ".cuh", ".h", ".py", ".build", ".md", ""}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"\bdocs/[\w/.-]+\.md\b")
ENTRY = re.compile(r"\bhistory, (\d+)")


def pages():
    return [*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.md"))]


def sources():
    return [p for folder in FOLDERS if (ROOT / folder).is_dir() for p in (ROOT / folder).rglob("*")
            if p.is_file() and p.suffix in SOURCES and "results" not in p.parts]


def prose(page):
    """Without blocks and spans of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda code: code[0] if "](" not in code[0] else "", text)


def anchors(page):
    """As GitHub makes them: lower case, blanks to hyphens, other punctuation dropped."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [LINK.sub(lambda link: link[0][1:link[0].index("]")], heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


class Links(unittest.TestCase):
    def test_each_link_leads_somewhere(self):
        found = 0
        for page in pages():
            for target in LINK.findall(prose(page)):
                path, _, anchor = target.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                found += 1
                with self.subTest(page=str(page.relative_to(ROOT)), link=target):
                    file = page.parent / path if path else page
                    self.assertTrue(file.exists(), f"{target}: no such file")
                    if anchor and file.suffix == ".md":
                        self.assertIn(anchor, anchors(file))
        self.assertGreater(found, 50)

    def test_documents_that_the_sources_name_exist(self):
        for source in sources():
            for name in set(NAMED.findall(source.read_text(encoding="utf-8", errors="replace"))):
                with self.subTest(source=str(source.relative_to(ROOT)), name=name):
                    self.assertTrue((ROOT / name).is_file())

    def test_entries_of_the_history_that_are_named_are_there(self):
        entries = [int(n) for page in (ROOT / "docs" / "history").glob("*.md")
                   for n in re.findall(r"^### (\d+)\.", page.read_text(encoding="utf-8"), re.MULTILINE)]
        self.assertEqual(sorted(set(entries)), list(range(1, max(entries) + 1)))
        for source in sources():
            for number in ENTRY.findall(source.read_text(encoding="utf-8", errors="replace")):
                with self.subTest(source=str(source.relative_to(ROOT)), entry=number):
                    self.assertIn(int(number), entries)


if __name__ == "__main__":
    unittest.main()
