#!/usr/bin/env python3
"""Records two machines that become one site, as a picture for the README.

usage: recording.py FLOTILLA FILE.svg

FLOTILLA is the built program. Two hosts are made on a LAN inside this machine (lan.sh), with real
Avahi; what is shown is what was typed there and what came back. The picture is an SVG whose lines
appear one after another; who has asked for less motion sees all at once.
"""
import html
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
HOSTS = {"north": "1", "ward": "2"}
EDIT = "UPDATE patient SET ward = 'B' WHERE id = 'p-117'"
SCHEMA = """CREATE TABLE patient(id TEXT PRIMARY KEY NOT NULL, name TEXT, ward TEXT);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
  INSERT INTO patient SELECT 'p-' || i, 'Patient ' || i, 'A' FROM n;"""
# Host, what is typed, and whether its answer is the code that `join` gets.
STEPS = [
    ("north", 'flotilla init clinic.db --site "North clinic" --name north --all', False),
    ("north", "flotilla run clinic.db --background", False),
    ("north", "flotilla invite clinic.db", True),
    ("ward", "flotilla join clinic.db CODE --name ward", False),
    ("ward", "flotilla run clinic.db --background", False),
    ("ward", f"sqlite3 -cmd '.timeout 5000' clinic.db \"{EDIT}\"", False),
    ("ward", "flotilla wait clinic.db --for all", False),
    ("north", "sqlite3 clinic.db \"SELECT * FROM patient WHERE id = 'p-117'\"", False),
    ("north", "flotilla status clinic.db", False),
]
COLUMNS, LINE, LEFT, TOP_EDGE, WIDTH = 100, 19, 18, 52, 8.43


def lan(lab, *words):
    """What a command of lan.sh prints, on both streams in their order."""
    done = subprocess.run(
        [str(TOP / "scripts/lan.sh"), *words], env={**os.environ, **lab}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"recording.py: {' '.join(words)}: {done.stdout}")
    return done.stdout


def record(program):
    """The lines that were typed and printed: host or None, text."""
    lab = {"FLOTILLA_BIN": str(pathlib.Path(program).resolve().parent)}
    lab["FLOTILLA_LAB"] = lan(lab, "up", "2", str(os.getpid())).strip().splitlines()[-1]
    lines, code = [], ""
    try:
        lan(lab, "exec", "1", "sqlite3", "clinic.db", SCHEMA)
        for host, typed, gives_code in STEPS:
            typed = typed.replace("CODE", code)
            said = lan(lab, "exec", HOSTS[host], "sh", "-c", typed)
            lines.append((host, typed))
            lines += [(None, line) for line in said.rstrip("\n").splitlines()]
            if gives_code:
                code = said.split()[0]
        for host in HOSTS.values():
            lan(lab, "exec", host, "flotilla", "stop", "clinic.db")
    finally:
        lan(lab, "down")
    return lines


def folded(lines):
    """The lines as a terminal shows them: cut at its width, and indented where they go on."""
    for host, text in lines:
        room = COLUMNS - (len(host) + 2 if host else 0)
        yield host, text[:room]
        for start in range(room, len(text), COLUMNS):
            yield "", text[start:start + COLUMNS]


def picture(lines):
    """The SVG. A typed line appears after a pause, what it prints soon after it."""
    rows, time, y = [], 0.3, TOP_EDGE
    for host, text in folded(lines):
        time += 1.4 if host else 0.12
        parts = html.escape(text, quote=False)
        if host:
            parts = f'<tspan class="p">{host}$</tspan> <tspan class="t">{parts}</tspan>'
        rows.append(
            f'<text x="{LEFT}" y="{y}" style="animation-delay:{time:.2f}s">{parts}</text>')
        y += LINE
    width, height = round(2 * LEFT + COLUMNS * WIDTH), y + 4
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>Two machines become one site, and an edit of one is in the file of the other</title>
<style>
text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d1d9;
  white-space: pre; opacity: 0; animation: come 0.15s forwards }}
.p {{ fill: #7ee787 }} .t {{ fill: #ffffff }}
@keyframes come {{ to {{ opacity: 1 }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ opacity: 1; animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>
<circle cx="22" cy="20" r="6" fill="#ff5f56"/><circle cx="42" cy="20" r="6" fill="#ffbd2e"/>
<circle cx="62" cy="20" r="6" fill="#27c93f"/>
{chr(10).join(rows)}
</svg>
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(picture(record(sys.argv[1])), encoding="utf-8")


main()
