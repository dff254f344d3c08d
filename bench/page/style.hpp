#pragma once

/// What the page carries with it besides its content.
namespace bcsc::bench {

/// Colours: Okabe and Ito, told apart by colour-blind readers; c0 is the plan, c1 its rival. Lighter ones in the dark.
inline constexpr const char* page_style = R"(
:root{--paper:#fff;--ink:#1a1a1a;--faint:#666;--rule:#ddd;--tint:#f5f5f5;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#a06a00;--c5:#56b4e9;--c6:#7a5cc0;--c7:#777}
@media (prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#e6e6e6;--faint:#a0a0a0;--rule:#3a3d44;--tint:#22252b;
--c0:#4cb1f0;--c1:#ff8f45;--c2:#2fd0a0;--c3:#e6a5cb;--c4:#e69f00;--c5:#8fd3f7;--c6:#b39df0;--c7:#9a9a9a}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:78rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;margin:0 0 .4rem}
p{margin:.4rem 0;max-width:62rem}.faint,figcaption,caption{color:var(--faint);font-size:.85rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1.6rem 2rem}
figure{margin:0;min-width:0}figure>svg{display:block;width:100%;height:auto}
.keys{margin:.2rem 0;color:var(--ink)}.key{display:inline-block;margin-right:.9rem;white-space:nowrap}.key svg{margin-right:.35rem}
svg text{fill:var(--faint);font:11px system-ui,sans-serif}
.grid{stroke:var(--rule);stroke-width:.7;fill:none}
.l{fill:none;stroke-width:1.8;stroke-linejoin:round}.dash{stroke-dasharray:5 3}.m{fill-opacity:.75}.o{fill:none;stroke-width:1.1}
.m:hover,.o:hover{stroke:var(--ink);stroke-width:2.5}
.m.c0{fill:var(--c0)}.m.c1{fill:var(--c1)}.m.c2{fill:var(--c2)}.m.c4{fill:var(--c4)}
.l.c0,.o.c0{stroke:var(--c0)}.l.c1,.o.c1{stroke:var(--c1)}.l.c2{stroke:var(--c2)}.l.c3{stroke:var(--c3)}
.l.c4{stroke:var(--c4)}.l.c5{stroke:var(--c5)}.l.c6{stroke:var(--c6)}.l.c7{stroke:var(--c7)}
.wide{overflow-x:auto;margin:.8rem 0}.tall{max-height:40rem;overflow:auto}.tall .wide{overflow:visible;margin:0}
.tall thead th{position:sticky;top:0;background:var(--paper);z-index:1}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0}
th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th{vertical-align:bottom;white-space:normal}.w{text-align:left}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--c0)}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
tbody tr:hover{background:var(--tint)}
td:first-child,th:first-child{position:sticky;left:0;background:var(--paper);min-width:6rem;max-width:16rem;white-space:normal;overflow-wrap:anywhere}
#cases td:first-child,#matrices td:first-child{min-width:11rem}
#environment td{white-space:normal;min-width:10rem}
@media (max-width:40rem){body{padding:.7rem}svg text{font-size:12.5px}th,td{padding:.2rem .4rem}td:first-child,th:first-child{max-width:9rem}}
@media print{:root{--paper:#fff;--ink:#000;--faint:#444;--rule:#bbb;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#a06a00;--c5:#56b4e9;--c6:#7a5cc0;--c7:#777}
body{max-width:none;font-size:11px}.wide,.tall{overflow:visible;max-height:none}.tall thead th,td:first-child,th:first-child{position:static}table{font-size:8px}th,td{padding:1px 3px;white-space:normal;overflow-wrap:anywhere}
.plots{grid-template-columns:1fr 1fr}figure,tr{break-inside:avoid}thead{display:table-header-group}}
)";

/// Sorts a table by the column whose header is pressed, again: the other way. Cells without a number come last.
inline constexpr const char* page_script = R"(
document.querySelectorAll("th button").forEach(function (button) {
  button.addEventListener("click", function () {
    var head = button.parentNode, table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
    var turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    var key = function (row) {
      var cell = row.cells[at], value = cell.getAttribute("data-v");
      return value === null ? (cell.textContent === "–" ? null : cell.textContent) : Number(value);
    };
    var order = function (a, b) {
      var x = key(a), y = key(b);
      if (x === null || y === null) return (x === null) - (y === null);
      if (typeof x === typeof y) return turn * (typeof x === "number" ? x - y : x.localeCompare(y));
      return typeof x === "number" ? -1 : 1;
    };
    Array.from(body.rows).sort(order).forEach(function (row) { body.appendChild(row); });
    table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
  });
});
)";

}  // namespace bcsc::bench
