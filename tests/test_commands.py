"""python -m repro: each command has its own help, says what is missing, and ends."""

import signal
import subprocess
import sys

import pytest
from demo import Demo, _listen_to_ctrl_c, wait_for

from repro.__main__ import COMMANDS, main
from repro.results import codec
from repro.results.types import Result, Results, Run

HELD = """
import time
from pathlib import Path
import pytest

@pytest.mark.construct
def test_holds(claim):
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
    Path("reached").touch()
    while not Path("release").exists():
        time.sleep(0.02)
"""


def test_every_command_has_its_own_help(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        out = capsys.readouterr().out
        assert out.startswith(f"usage: python -m repro {name} ")
        assert ("--every" in out) == (name == "watch")
    with pytest.raises(SystemExit):
        main(["list", "--every", "2"])
    said = "python -m repro list: error: unrecognized arguments: --every 2"
    assert said in capsys.readouterr().err


def test_a_report_of_nothing_is_refused_and_makes_no_page(demo, capsys):
    demo.claim("lemma-1")
    assert main(["report", "--project", str(demo.root)]) == 2
    told = f"{demo.artifacts}: no test has written a result here; run pytest first\n"
    assert capsys.readouterr().err == told
    assert not demo.artifacts.exists()


def test_a_missing_file_of_diff_is_named_with_what_to_do(tmp_path, capsys):
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{tmp_path / 'a.json'}: there is no such file; a run writes artifacts/")
    assert "Errno" not in err


def test_diff_takes_the_folder_of_a_run_and_that_of_a_snapshot(tmp_path, capsys):
    run, snapshot = tmp_path / "artifacts", tmp_path / "reference"
    for file, verdict in (
        (snapshot / "results.json.gz", "holds"),
        (run / "results.json", "failed"),
    ):
        claim = Result(
            id="demo2025/lemma-1", paper="demo2025", kind="lemma", number="1", verdict=verdict
        )
        codec.write(file, Results(title="", run=Run(id="r"), claims=[claim]))
    assert main(["diff", str(snapshot), str(run)]) == 1
    assert "holds" in capsys.readouterr().out
    assert main(["diff", str(snapshot), str(snapshot)]) == 0


def test_statements_are_listed_with_the_verdicts_of_the_snapshot_until_something_has_run(
    demo, capsys
):
    demo.claim("lemma-1")
    demo.claim("lemma-2")
    demo.entry("lemma-3", status="pending")
    file = demo.artifacts / "reference/results.json.gz"
    file.parent.mkdir(parents=True)
    claim = Result(
        id="demo2025/lemma-1", paper="demo2025", kind="lemma", number="1", verdict="refuted"
    )
    codec.write(file, Results(title="", run=Run(id="r"), claims=[claim]))

    assert main(["list", "--project", str(demo.root)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Nothing has run here. The verdicts are those of the snapshot {file}.",
        "",
        "refuted  demo2025/lemma-1  The lemma-1  claims/demo2025/test_lemma_1_demo.py",
        "not-run  demo2025/lemma-2  The lemma-2  claims/demo2025/test_lemma_2_demo.py",
        "pending  demo2025/lemma-3  The lemma-3  (no claim yet)",
    ]
    demo.run("claims/demo2025/test_lemma_2_demo.py")
    assert main(["list", "--project", str(demo.root)]) == 0
    verdicts = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert verdicts == ["not-run", "holds", "pending"]


def watching(demo: Demo) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "repro", "watch", "--every", "0.1"],
        cwd=demo.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=_listen_to_ctrl_c, start_new_session=True,
    )  # fmt: skip
    demo.started.append(process)
    return process


def test_loose_checks_are_listed_with_their_line_and_reason(demo, capsys):
    body = """
    import pytest
    from repro.bounds import chosen

    @pytest.mark.parametrize("n", [1, 2], ids="n={}".format)
    @pytest.mark.construct
    def test_holds(n, claim):
        error = claim.measured("error", 0.001 * n, equation="(1)")
        error.at_most(chosen(0.1, "a tenth decides"))
        error.at_most(chosen(0.1, "of it") + theorem(0.1, "(1)"))
        error.at_most(chosen(0.01, "close"))
    """
    file = demo.claim("lemma-1", body)
    assert demo.run("-q").returncode == 0
    assert main(["loose", "--project", str(demo.root)]) == 1
    line = (
        file.read_text().splitlines().index('    error.at_most(chosen(0.1, "a tenth decides"))') + 1
    )
    assert capsys.readouterr().out.splitlines() == [
        f"claims/demo2025/{file.name}:{line} test_holds: error",
        "    50x, 2 checks: a tenth decides",
        "2 of 7 checks are loose; kinds: 1",
    ]


def test_watch_ends_with_the_run_or_at_ctrl_c(demo):
    demo.claim("lemma-1", HELD)
    run = demo.start("-q", "-n0")
    wait_for(demo.root / "reached", run)
    stopped, patient = watching(demo), watching(demo)
    for process in (stopped, patient):
        assert process.stdout is not None
        assert "main demo2025/lemma-1 test_holds" in process.stdout.readline()
    stopped.send_signal(signal.SIGINT)
    assert "Traceback" not in stopped.communicate(timeout=60)[0]
    assert stopped.returncode == 130
    (demo.root / "release").touch()
    said, _ = patient.communicate(timeout=60)
    assert said.splitlines()[-1] == "finished: 2 of 2 tests have reported"
    assert patient.returncode == 0
    run.communicate(timeout=60)
    assert watching(demo).communicate(timeout=60)[0] == "nothing is running\n"
