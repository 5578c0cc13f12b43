# SPDX-License-Identifier: Apache-2.0
"""The style of the page of a calendar."""

COLOURS = 6
"""The number of colours for the viewer's leases; white text is legible on
each of them."""

CSS = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --paper: #ffffff; --ink: #1b2430; --faint: #5b6675;
  --line: #e3e7ec; --edge: #ccd3db; --weekend: #f1f3f7; --now-line: #d11f3f;
  --taken: #d9dee5; --taken-2: #cdd4dd; --taken-ink: #36414f;
  --shared: #eef1f5; --shared-2: #dfe5ec;
  --held: #fbe3b3; --held-2: #f4d28c; --held-ink: #5c3d00;
  --c0: #1d5fbf; --c1: #0b6e62; --c2: #7a35c7; --c3: #a8440c; --c4: #a11e6c;
  --c5: #4d6600; --mine: var(--faint); --rim: #00000026;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161c; --paper: #1a2028; --ink: #e6eaf0; --faint: #a3afbd;
    --line: #29313c; --edge: #3a4553; --weekend: #1f2630; --now-line: #ff6b81;
    --taken: #36404d; --taken-2: #2e3743; --taken-ink: #d3dae3;
    --shared: #262e38; --shared-2: #313b47;
    --held: #4a3a12; --held-2: #5b4818; --held-ink: #ffe2a3;
    --c0: #2c6fd1; --c1: #0f7a6d; --c2: #8747d1; --c3: #b34e14; --c4: #b02d7b;
    --c5: #587400; --rim: #ffffff26;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem clamp(.75rem, 3vw, 2.5rem) 3rem;
  max-width: 110rem; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "Noto Sans", Roboto,
    "DejaVu Sans", sans-serif;
}
h1 { margin: 0; font-size: 1.6rem; letter-spacing: -.01em; }
h2 { margin: 2rem 0 .6rem; font-size: 1.1rem; }
.span { margin: .15rem 0 .9rem; color: var(--faint); }
.legend {
  display: flex; flex-wrap: wrap; gap: .35rem 1.25rem; margin: 0 0 1rem;
  padding: 0; list-style: none; font-size: .87rem; color: var(--faint);
}
.legend li { white-space: nowrap; }
.swatch {
  display: inline-block; width: 1.5em; height: .85em; margin-right: .45em;
  border-radius: .2em; vertical-align: -.06em;
}
.swatch.now {
  width: 2px; height: 1.1em; margin-left: .5em; background: var(--now-line);
}
.frame {
  overflow: auto; max-height: 88vh; background: var(--paper);
  border: 1px solid var(--edge); border-radius: .6rem;
  box-shadow: 0 1px 3px #0000000f;
}
:focus-visible { outline: 3px solid var(--c0); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; }
.chart {
  width: 100%; table-layout: fixed;
  min-width: calc(var(--names) + var(--times) * var(--least));
  --names: 11rem;
}
.chart .names { width: var(--names); }
.chart th { font-weight: 500; text-align: center; background: var(--paper); }
.chart thead { position: sticky; top: 0; z-index: 3; }
.chart thead tr:first-child th {
  padding: .45rem .4rem .1rem; font-size: .87rem; font-weight: 600;
  text-align: left; white-space: nowrap;
}
.chart thead tr:first-child th + th { border-left: 1px solid var(--line); }
.chart thead tr:first-child th span {
  position: sticky; left: calc(var(--names) + .4rem);
}
.chart thead tr:last-child th {
  padding: .1rem 0 .4rem; font-size: .8rem; color: var(--faint);
  border-left: 1px solid var(--line); border-bottom: 1px solid var(--edge);
}
.chart thead tr:last-child th.weekend { background: var(--weekend); }
.chart thead abbr {
  display: block; font-size: .72rem; text-decoration: none; cursor: default;
}
.chart thead b { font-weight: 600; color: var(--ink); }
.chart th[rowspan], .chart th[scope=row] {
  position: sticky; left: 0; z-index: 2; padding: .35rem .9rem;
  text-align: left; border-right: 1px solid var(--edge);
}
.chart thead tr:first-child th[rowspan] {
  padding: .45rem .9rem; font-size: .87rem; color: var(--faint);
  vertical-align: bottom; border-bottom: 1px solid var(--edge);
}
.chart th[scope=row] span {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow: hidden; overflow-wrap: anywhere; line-height: 1.2;
  font-variant-numeric: tabular-nums;
}
.chart tbody tr + tr > * { border-top: 1px solid var(--line); }
.chart td {
  position: relative; height: 2.4rem; padding: .3rem 0;
  background-image: var(--days);
}
.chart td.nothing {
  padding: 1rem; text-align: center; color: var(--faint); background: none;
}
.chart tbody tr:hover th { color: var(--c0); }
.with-now td:not(.nothing)::before {
  content: ""; position: absolute; top: 0; bottom: 0; left: var(--now);
  width: 2px; margin-left: -1px; background: var(--now-line);
}
.chart ul {
  position: relative; height: calc(var(--lanes) * 1.8rem); margin: 0;
  padding: 0; list-style: none;
}
.bar {
  position: absolute; top: calc(var(--lane) * 1.8rem + .1rem);
  height: 1.6rem; min-width: 3px; border-radius: .35rem;
  border: 1px solid var(--rim); background-clip: padding-box;
  font-size: .8rem; line-height: 1.5rem; white-space: nowrap;
}
.bar > a { color: inherit; text-decoration: none; }
.bar > a:hover { text-decoration: underline; }
.bar:focus-within { outline: 3px solid var(--c0); outline-offset: 1px; }
.bar > a:focus-visible { outline: none; }
.bar .name {
  display: block; padding: 0 .45rem; overflow: hidden;
  text-overflow: ellipsis;
}
.bare .name { width: 0; padding: 0; }
.bare { border-radius: .2rem; }
.before, .after { border-width: 0; border-radius: .2rem; }
.before .name, .after .name {
  position: absolute; top: 0; max-width: var(--room); color: var(--ink);
  text-shadow: 0 0 2px var(--paper), 0 0 2px var(--paper);
}
.after .name { left: 100%; padding-left: .3rem; }
.before .name { right: 100%; padding-right: .3rem; }
.from-before { border-top-left-radius: 0; border-bottom-left-radius: 0; }
.goes-on { border-top-right-radius: 0; border-bottom-right-radius: 0; }
.own { background-color: var(--mine); color: #fff; }
.waits {
  color: var(--ink); border: 2px dashed var(--mine);
  background-color: var(--paper); line-height: calc(1.5rem - 2px);
}
.taken {
  color: var(--taken-ink);
  background: repeating-linear-gradient(135deg, var(--taken) 0 6px,
    var(--taken-2) 6px 12px);
}
.shared {
  color: var(--taken-ink); border-style: dashed; border-color: var(--edge);
  background: repeating-linear-gradient(90deg, var(--shared) 0 4px,
    var(--shared-2) 4px 8px);
}
.held {
  color: var(--held-ink);
  background: repeating-linear-gradient(45deg, var(--held) 0 5px,
    var(--held-2) 5px 10px);
}
.c0 { --mine: var(--c0); }
.c1 { --mine: var(--c1); }
.c2 { --mine: var(--c2); }
.c3 { --mine: var(--c3); }
.c4 { --mine: var(--c4); }
.c5 { --mine: var(--c5); }
.legend .own {
  background: linear-gradient(100deg, var(--c0) 0 33%, var(--c2) 33% 67%,
    var(--c1) 67%);
}
.list { width: 100%; font-size: .87rem; }
.list th, .list td {
  padding: .5rem .9rem; text-align: left; font-weight: 400;
  font-variant-numeric: tabular-nums;
}
.list thead th { font-weight: 600; color: var(--faint); }
.list tbody th { font-weight: 600; }
.list th[scope=row], .list td { overflow-wrap: anywhere; }
.list th[scope=row], .list td:last-child { min-width: 10rem; }
.list tbody tr > * { border-top: 1px solid var(--line); }
.list tbody tr:target, .list tbody tr:target > * {
  background: var(--held); color: var(--held-ink);
}
.list [data-heading=Status], .list [data-heading=Start],
.list [data-heading=End] { white-space: nowrap; }
.list td:last-child { color: var(--faint); font-size: .8rem; }
details { margin-top: 1rem; }
summary {
  margin-bottom: .6rem; font-weight: 600; color: var(--faint);
  cursor: pointer;
}
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap;
}
@media (max-width: 40rem) {
  body { padding-top: 1rem; font-size: 14px; }
  .chart { --names: 5.75rem; }
  .chart thead tr:first-child th[rowspan], .chart th[scope=row] {
    padding: .35rem .4rem; font-size: .8rem;
  }
}
@media screen and (max-width: 56rem) {
  .list, .list tr, .list th { display: block; }
  .list thead { display: none; }
  .list tbody {
    display: grid; grid-template-columns: repeat(auto-fill,
      minmax(17rem, 1fr));
  }
  .list tbody tr {
    padding: .7rem .9rem; box-shadow: 0 0 0 .5px var(--line);
  }
  .list tbody tr > * { padding: .05rem 0; border: none; }
  .list tbody th { font-size: 1rem; padding-bottom: .25rem; }
  .list td { display: flex; gap: .75rem; }
  .list td::before {
    content: attr(data-heading); flex: 0 0 4.5rem; color: var(--faint);
  }
}
@page { size: landscape; margin: 12mm; }
@media print {
  body { max-width: none; padding: 0; background: none; }
  h2, summary { break-after: avoid; }
  .frame { max-height: none; overflow: visible; box-shadow: none; }
  tr { break-inside: avoid; }
  .bar, .swatch, td, th { print-color-adjust: exact; }
  details::details-content { content-visibility: visible; }
}
"""
