"""The chart of README.md: one dot for each case on a logarithmic axis, a line for each set, as SVG.

Written by hand rather than by a plotting library, so that equal results give equal bytes everywhere.
"""
import math
from xml.sax.saxutils import escape

from sets import mean
from table import geometric_mean

COLOURS = {"seen": "#4c78a8", "unseen": "#e4572e", "fresh": "#2a9d4a"}
LABELS = {"seen": "choice fitted to this matrix", "unseen": "matrix left out of the fit",
          "fresh": "matrix newer than the fit"}
WIDTH, LEFT, RIGHT, TOP, LINE = 860, 210, 70, 64, 26
SPREAD = 3.2  # px between the bands of dots that seen, unseen and fresh matrices have within a line


def axis(cases):
    """(lowest, highest, ticks): round numbers around all ratios."""
    ratios = [c["ratios"]["warm"] for c in cases]
    steps = [m * 10.0 ** e for e in range(-3, 4) for m in (1, 1.5, 2, 3, 5, 7)]
    low = max(s for s in steps if s <= min(ratios))
    high = min(s for s in steps if s >= max(ratios))
    return low, high, [s for s in steps if low <= s <= high]


def text(x, y, words, **style):
    attributes = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(words)}</text>'


def dots(points, colour):
    """One path: a subpath of no length is drawn as a round cap."""
    places = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return f'<path d="{places}" stroke="{colour}" stroke-width="4.5" stroke-opacity="0.7" stroke-linecap="round"/>'


def draw(sets, title):
    """The chart of [(name, cases)]; a case is one of sets.read_cases."""
    cases = [c for _, some in sets for c in some]
    low, high, ticks = axis(cases)
    height = TOP + LINE * len(sets) + 44
    bottom = TOP + LINE * len(sets)

    def place(ratio):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ratio / low) / math.log(high / low)

    kinds = [k for k in COLOURS if any(c["kind"] == k for c in cases)]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
             text(12, 22, title, font_size=15, font_weight="bold")]
    x = LEFT
    for kind in kinds:
        parts += [dots([(x, 42)], COLOURS[kind]), text(x + 8, 46, LABELS[kind], font_size=12)]
        x += 210
    parts += [f'<path d="M{x} 35v14" stroke="#222" stroke-width="2.5"/>',
              text(x + 8, 46, "geometric mean", font_size=12)]
    for tick in ticks:
        colour = "#222" if tick == 1 else "#ddd"
        parts += [f'<path d="M{place(tick):.1f} {TOP}V{bottom}" stroke="{colour}"/>',
                  text(round(place(tick), 1), bottom + 16, f"{tick:g}×", text_anchor="middle")]
    for i, (name, some) in enumerate(sets):
        y = TOP + LINE * (i + 0.5)
        parts.append(text(LEFT - 10, y + 4.5, name, text_anchor="end"))
        for at, kind in enumerate(kinds):
            band = y + SPREAD * (2 * at - len(kinds) + 1)
            points = sorted((place(c["ratios"]["warm"]), band) for c in some if c["kind"] == kind)
            if points:
                parts.append(dots(points, COLOURS[kind]))
        middle = place(geometric_mean([c["ratios"]["warm"] for c in some]))
        parts += [f'<path d="M{middle:.1f} {y - 9:g}v18" stroke="#222" stroke-width="2.5"/>',
                  text(WIDTH - RIGHT + 12, y + 4.5, f"{mean(some)}×", font_weight="bold")]
    parts += [text(LEFT, bottom + 34, "← cuSPARSE faster", font_size=12),
              text(WIDTH - RIGHT, bottom + 34, "bcsc faster →", font_size=12, text_anchor="end"), "</svg>"]
    return "\n".join(parts) + "\n"
