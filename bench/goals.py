"""The performance goals, group by group: each function measures whole processes and gives rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import inputs
import kills
from process import (
    BENCH,
    PYTHON,
    ROOT,
    STEELYARD,
    WORK,
    BenchError,
    Command,
    Spent,
    cpu,
    interleaved,
    peak,
    per_unit,
    run,
    slope,
)
from rows import Row

Said = Callable[[str], None]
STORE = WORK / "store.db"
MANY, FEW = 10_000, 2_000
STAGES = {
    "no_store": "before the store", "no_run": "before the first commit", "within": "within", "done": "after the end"
}  # fmt: skip


def grade(suite: Path, traces: Path, *, store: Path | None = STORE, more: Sequence[str] = ()) -> Command:
    """Grade into a new store (or into none); some of what is graded fails, so the exit code is 1."""
    kept = ("--store", str(store)) if store else ("--no-store",)
    return Command(
        argv=(STEELYARD, "grade", str(suite), str(traces), "--quiet", *kept, *more),
        fresh=(store,) if store else (),
        codes=(0, 1),
    )


def floor(work: str, *files: Path) -> Command:
    return Command(argv=(PYTHON, str(BENCH / "floors.py"), work, *map(str, files)))


def inside(work: str, *arguments: object) -> Command:
    return Command(argv=(PYTHON, str(BENCH / "inside.py"), work, *map(str, arguments)))


def answer_of(spent: Spent) -> dict[str, float]:
    """What a program of `inside.py` printed."""
    found: dict[str, float] = json.loads(spent.out)
    return found


def fixed(runs: int, said: Said) -> list[Row]:
    """What every command costs before it does anything."""
    one = inputs.answers(1)
    found = interleaved(
        {
            "bare Python": Command(argv=(PYTHON, "-c", "pass")),
            "import": Command(argv=(PYTHON, "-c", "import steelyard")),
            "help": Command(argv=(STEELYARD, "--help")),
            "grade 1": grade(*one),
        },
        runs,
        said=said,
    )  # fmt: skip
    bare = cpu(found["bare Python"])
    return [
        Row(work="`import steelyard`", unit="s", reached=cpu(found["import"]), limit=0.15, floor=bare),
        Row(work="`steelyard --help`", unit="s", reached=cpu(found["help"]), limit=0.25, floor=bare),
        Row(
            work="grade 1 sample, store and all",
            unit="s",
            reached=cpu(found["grade 1"]),
            limit=0.5,
            floor=bare,
        ),
    ]


def outputs(runs: int, said: Said) -> list[Row]:
    """10,000 recorded outputs, one equality check each, verdicts durable."""
    many, few = inputs.answers(MANY), inputs.answers(FEW)
    found = interleaved(
        {
            "floor 10,000": floor("grade", *many),
            "grade 10,000": grade(*many),
            "floor 2,000": floor("grade", *few),
            "grade 2,000": grade(*few),
        },
        runs,
        said=said,
    )  # fmt: skip
    more = MANY - FEW
    return [
        Row(
            work="grade 10,000 recorded outputs, one `equals` check each, durable", unit="s",
            reached=cpu(found["grade 10,000"]), limit=1.2, floor=cpu(found["floor 10,000"]),
        ),
        Row(
            work="the same, each further sample", unit="µs",
            reached=1e6 * per_unit(found["grade 10,000"], found["grade 2,000"], more), limit=60,
            floor=1e6 * per_unit(found["floor 10,000"], found["floor 2,000"], more),
        ),
    ]  # fmt: skip


def checks(runs: int, said: Said) -> list[Row]:
    """What each further check of a task costs, by kind: the slope over 1, 2, 5 and 10 checks."""
    tasks, trials, counts = 100, 20, (1, 2, 5, 10)
    rows = []
    for kind in inputs.KINDS:
        files = {count: inputs.checked(kind, count, tasks, trials) for count in counts}
        commands = {f"{kind} × {count}": grade(*files[count]) for count in counts}
        commands |= {f"floor {kind} × {count}": floor("checks", *files[count]) for count in (1, 10)}
        found = interleaved(commands, min(runs, 3), warm_up=kind == inputs.KINDS[0], said=said)
        ours = slope({count: cpu(found[f"{kind} × {count}"]) for count in counts})
        bare = slope({count: cpu(found[f"floor {kind} × {count}"]) for count in (1, 10)})
        each = 1e6 / (tasks * trials)
        work = f"each further check on a trial: `{kind}`"
        rows.append(Row(work=work, unit="µs", reached=ours * each, limit=25, floor=max(bare * each, 0.01)))
    return rows


def memory(runs: int, said: Said) -> list[Row]:
    """Peak memory of 100,000 outputs, in both shapes; once each, since it hardly varies."""
    rows = []
    for tasks, trials, limit in ((100, 1_000, 150), (100_000, 1, 350)):
        files = inputs.answers(tasks, trials)
        work = f"{tasks:,} tasks × {trials:,} trials"
        found = interleaved(
            {f"floor {work}": floor("grade", *files), work: grade(*files)}, 1, warm_up=False, said=said
        )
        ours, bare = found[work], found[f"floor {work}"]
        note = f"{cpu(ours):.1f} s"
        rows.append(
            Row(
                work=f"peak memory: {work}",
                unit="MB",
                reached=peak(ours),
                limit=limit,
                floor=peak(bare),
                note=note,
            )
        )
    return rows


def trace(runs: int, said: Said) -> list[Row]:
    """Traces of 50 calls: decode, parse arguments, match the trajectory."""
    many, few = inputs.trajectories(1_000), inputs.trajectories(200)
    found = interleaved(
        {
            "floor 1,000 traces": floor("trajectories", *many),
            "1,000 traces": grade(*many),
            "floor 200 traces": floor("trajectories", *few),
            "200 traces": grade(*few),
        },
        min(runs, 3),
        said=said,
    )  # fmt: skip
    return [
        Row(
            work="each trace of 50 calls: decode, parse arguments, match 50 calls `in_order`, keep", unit="ms",
            reached=1e3 * per_unit(found["1,000 traces"], found["200 traces"], 800), limit=0.5,
            floor=1e3 * per_unit(found["floor 1,000 traces"], found["floor 200 traces"], 800),
        )
    ]  # fmt: skip


def rescore(runs: int, said: Said) -> list[Row]:
    """A kept run of 10,000 samples with three verdicts each, loaded and scored again."""
    store, rows = WORK / "rescore.db", WORK / "rescore.jsonl"
    rows.unlink(missing_ok=True)
    said("grading what is rescored")
    run(grade(*inputs.answers(MANY, checks=3), store=store, more=("--out", str(rows))))
    show = Command(argv=(STEELYARD, "show", "latest", "--json", "--store", str(store)))
    found = interleaved({"floor": floor("rows", rows), "show --json": show}, runs, said=said)
    return [
        Row(
            work="load 10,000 samples × 3 verdicts from the store and score (`show --json`)", unit="s",
            reached=cpu(found["show --json"]), limit=0.9, floor=cpu(found["floor"]),
        )
    ]  # fmt: skip


def million_store(said: Said) -> Path:
    """A store with 1,000,000 verdicts; made again whenever what writes it changed."""
    source = ROOT / "src" / "steelyard"
    files = [*sorted(source.glob("store/*.py")), *sorted(source.glob("model/*.py")), BENCH / "inside.py"]
    mark = sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    place = WORK / f"million-{mark}.db"
    if not place.exists():
        for old in WORK.glob("million-*"):
            old.unlink()
        said("making a store of 1,000,000 verdicts")
        suite, _ = inputs.answers(1_000, checks=5)
        run(inside("make-million", place, suite))
    return place


def million(runs: int, said: Said) -> list[Row]:
    """Rescoring and a what-if at 1,000,000 verdicts."""
    place = million_store(said)
    several = min(runs, 3)
    show = Command(argv=(STEELYARD, "show", "latest", "--json", "--store", str(place)))
    found = interleaved(
        {"bincount": inside("bincount", 1_000, 200), "1,000,000 verdicts": show},
        several,
        warm_up=False,
        said=said,
    )
    said("what-if")
    changed = answer_of(run(inside("what-if", place)))
    if changed["verdicts"] != 1_000_000 or not changed["after"] > changed["before"]:
        raise BenchError(f"the what-if did not change the average as it should: {changed}")
    bare = sorted(answer_of(spent)["seconds"] for spent in found["bincount"])[several // 2]
    ours = found["1,000,000 verdicts"]
    return [
        Row(
            work="1,000,000 verdicts: load from the store, score, headlines (`show --json`)", unit="s",
            reached=cpu(ours), limit=3, floor=bare, note=f"peak {peak(ours):,.0f} MB",
        ),
        Row(
            work="a what-if of an average on 1,000,000 loaded verdicts, in process", unit="ms",
            reached=1e3 * changed["seconds"], limit=50, floor=1e3 * bare,
        ),
    ]  # fmt: skip


def huge(runs: int, said: Said) -> list[Row]:
    """One tool output of 200 MB, and one trace of 50,000 steps."""
    rows = []
    for name, files in (
        ("a tool output of 200 MB", inputs.huge_output()),
        ("a trace of 50,000 steps", inputs.endless()),
    ):
        look = Command(argv=(STEELYARD, "trace", str(files[1])))
        commands = {
            f"floor, {name}": floor("decode", files[1]),
            f"grade {name}": grade(*files),
            f"show {name}": look,
        }
        found = interleaved(commands, 1, warm_up=False, said=said)
        bare = found[f"floor, {name}"]
        graded = found[f"grade {name}"]
        if graded[0].code != 0:
            raise BenchError(f"{name} was not graded right: exit {graded[0].code}")
        for word in ("grade", "show"):
            ours = found[f"{word} {name}"]
            note = f"{cpu(ours):.1f} s; decoding alone {cpu(bare):.1f} s"
            rows.append(
                Row(
                    work=f"{word} {name}",
                    unit="MB",
                    reached=peak(ours),
                    limit=500,
                    floor=peak(bare),
                    note=note,
                )
            )
    return rows


def html(runs: int, said: Said) -> list[Row]:
    """The page of 10,000 trials."""
    work = "HTML report of 10,000 trials"
    if "--html" not in run(Command(argv=(STEELYARD, "show", "--help"))).out:
        return [Row(work=work, unit="MB", reached=None)]
    store, page = WORK / "html.db", WORK / "report.html"
    said("grading what is reported")
    run(grade(*inputs.checked("equals", 3, 1_000, 10), store=store))
    show = (STEELYARD, "show", "latest", "--quiet", "--store", str(store))
    found = interleaved(
        {
            "without the page": Command(argv=show),
            "with it": Command(argv=(*show, "--html", str(page)), fresh=(page,)),
        },
        min(runs, 3),
        said=said,
    )  # fmt: skip
    extra = per_unit(found["with it"], found["without the page"], 1)
    beside = sum(file.stat().st_size for file in WORK.glob("report*/**/*") if file.is_file()) / 1e6
    note = f"written in {extra:.1f} s of CPU beyond `show`" + (
        f"; {beside:.1f} MB more in a folder" if beside else ""
    )
    return [
        Row(
            work=f"{work}: size of the file",
            unit="MB",
            reached=page.stat().st_size / 1e6,
            limit=15,
            note=note,
        )
    ]


def kill(runs: int, said: Said, moments: int = 50) -> list[Row]:
    """SIGKILL at random moments of a grading of 5,000 trials, then `--resume`."""
    said(f"{moments} kills")
    made = json.loads(run(inside("kills", moments, WORK / "kills")).out)
    command = grade(*inputs.answers(500, 10), store=kills.STORE)
    resumed, cached = kills.overhead(command, 5_000, min(runs, 3), said=said)
    unit = f"of {moments}"
    stages = ", ".join(f"{count} {STAGES[stage]}" for stage, count in sorted(made["stages"].items()))
    return [
        Row(
            work="`kill -9` at random moments of 5,000 trials, then `--resume`: the same verdict table, nothing double",
            unit=unit, reached=made["equal"], limit=moments, at_least=True,
            note="; ".join([stages, *made["wrong"][:3]]),
        ),
        Row(
            work="the same: no committed check was run again", unit=unit, reached=made["once"], limit=moments,
            at_least=True, note=f"{made['committed']:,} verdicts were committed",
        ),
        Row(
            work="resume of a run that lacks only its end, beyond a fully cached re-grade", unit="s",
            reached=max(resumed - cached, 0.0), limit=0.5, note=f"{resumed:.2f} s against {cached:.2f} s",
        ),
    ]  # fmt: skip


def judge(runs: int, said: Said) -> list[Row]:
    """Judges do not exist yet."""
    return [
        Row(work="judge of 200 ms latency at concurrency 64 and 256: achieved / ideal", unit="", reached=None)
    ]


GROUPS: Mapping[str, Callable[[int, Said], list[Row]]] = {
    "fixed": fixed,
    "grade": outputs,
    "checks": checks,
    "memory": memory,
    "trace": trace,
    "rescore": rescore,
    "million": million,
    "huge": huge,
    "html": html,
    "kill": kill,
    "judge": judge,
}
