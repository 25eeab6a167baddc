"""Bad input gets a clear error, and nothing is lost."""

import json
import os
import subprocess
import sys

import pytest


def refused(demo, *arguments, code=4, **environment):
    """Run, and return what was said; nothing may have been run."""
    done = demo.run(*arguments, **environment)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "passed" not in done.stdout
    assert "INTERNALERROR" not in said
    return said


def test_an_unknown_scale_is_told_which_exist(demo):
    demo.claim("lemma-1")
    said = refused(demo, "--scale", "huge").replace("'", "")
    assert "invalid choice: huge (choose from smoke, laptop, paper)" in said


def test_an_unknown_device_is_told_which_exist(demo):
    demo.claim("lemma-1")
    assert "--device tpu: unknown; there is auto, cpu, cuda, cuda:N, mps" in refused(
        demo, "--device", "tpu"
    )


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_cuda_without_cuda_is_told_what_is_there(demo, device):
    import torch

    if torch.cuda.is_available() and device == "cuda":
        pytest.skip("there is CUDA here")
    demo.claim("lemma-1")
    assert f"--device {device}: not on this machine; there is cpu" in refused(
        demo, "--device", device
    )


def test_threads_must_be_a_number_or_auto(demo):
    demo.claim("lemma-1")
    assert "--threads takes a positive number or 'auto', got 'many'" in refused(
        demo, "--threads", "many"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "entry demo2025/lemma-1: unknown field 'colour'"),
        ({"uses": ["demo2025/lemma-9"]}, "entry demo2025/lemma-1: field 'uses' names 'demo2025/lemma-9'"),
        ({"uses": ["demo2025/lemma-1"]}, "entry demo2025/lemma-1: field 'uses' closes a cycle"),
        ({"status": "true"}, "entry demo2025/lemma-1: field 'status': unknown value 'true'"),
    ],
    ids=["unknown field", "uses nothing", "cycle", "status"],
)  # fmt: skip
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_defect_of_the_ledger_names_file_entry_and_field(demo, change, said, workers):
    demo.claim("lemma-1", **change)
    text = refused(demo, workers)
    assert str(demo.root / "claims/ledger.toml") in text
    assert said in text


def test_an_id_that_stands_twice_is_refused(demo):
    demo.claim("lemma-1")
    ledger = demo.root / "claims/ledger.toml"
    head, entry = ledger.read_text().split("[[statement]]")
    demo.ledger(head + "[[statement]]" + entry + "[[statement]]" + entry)
    assert "entry demo2025/lemma-1: field 'id' stands twice" in refused(demo)


def test_a_claim_file_without_entry_is_told_what_to_add(demo):
    demo.claim("lemma-1")
    (demo.root / "claims/demo2025/test_theorem_7_2_surprise.py").write_text(
        "def test_x(claim):\n    pass\n"
    )
    said = refused(demo, "-k", "lemma_1")
    assert "claims/demo2025/test_theorem_7_2_surprise.py: no entry" in said
    assert "demo2025/theorem-7.2" in said


@pytest.mark.parametrize("option", ["--artifacts", "--store"])
def test_a_folder_that_cannot_be_written_is_said_before_any_claim_runs(demo, option):
    demo.claim("lemma-1")
    (demo.root / "file").write_text("not a folder")
    said = refused(demo, option, "file/below")
    assert "file/below cannot be written" in said
    assert f"choose another folder with {option}" in said


@pytest.mark.parametrize("option", ["--artifacts", "--store"])
def test_a_folder_elsewhere_that_pytest_would_take_for_a_path_is_refused(demo, option, tmp_path):
    demo.claim("lemma-1")
    elsewhere = tmp_path.parent / f"elsewhere {option}"
    said = refused(demo, option, str(elsewhere))
    assert f"write {option}={elsewhere}, with '='" in said
    assert demo.run(f"{option}={elsewhere}").returncode == 0
    assert demo.run("claims", option, str(elsewhere)).returncode == 0


def test_a_folder_of_another_project_does_not_become_the_root(demo, tmp_path):
    """pytest would name every claim by the other's root, and no result would be kept."""
    demo.claim("lemma-1")
    other = tmp_path.parent / "other project"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.pytest]\nminversion = "9.0"\n')
    said = refused(demo, "--data", str(other), "claims")
    assert "unrecognized arguments: --data" in said
    assert demo.run(f"--data={other}", "claims").returncode == 0


def test_a_readonly_store_need_not_be_writable(demo):
    demo.claim("lemma-1")
    (demo.root / "file").write_text("not a folder")
    assert demo.run("--store", "file/below", "--store-mode", "readonly").returncode == 0


@pytest.mark.parametrize("damage", ["truncated", "newer schema", "foreign", "not a list"])
def test_a_damaged_record_is_set_aside_and_said_and_the_others_are_kept(demo, damage):
    demo.claim("lemma-1")
    demo.claim("lemma-2")
    demo.run()
    record = next(demo.artifacts.glob("claims/demo2025/lemma-1/tests/test_holds*.json"))
    whole = json.loads(record.read_text())
    record.write_text({
        "truncated": record.read_text()[:100],
        "newer schema": json.dumps({**whole, "schema": 99}),
        "foreign": json.dumps({"schema": 1, "hello": "world"}),
        "not a list": json.dumps({**whole, "checks": "many"}),
    }[damage])  # fmt: skip
    done = demo.run("claims/demo2025/test_lemma_2_demo.py")
    assert done.returncode == 0
    assert f"set aside as {record.name}.set-aside-" in done.stdout
    assert len(list(record.parent.glob(f"{record.name}.set-aside-*"))) == 1
    assert demo.result("lemma-1")["verdict"] == "not-run"
    assert demo.result("lemma-2")["verdict"] == "holds"
    assert "set aside" in demo.page()
    assert demo.run().returncode == 0
    assert demo.result("lemma-1")["verdict"] == "holds"


def test_damaged_durations_and_lists_of_tests_cost_nothing(demo):
    demo.claim("lemma-1")
    demo.run("-n2")
    (demo.artifacts / "durations.json").write_text("{")
    (demo.artifacts / "claims/demo2025/lemma-1/collected.json").write_text("[]")
    (demo.artifacts / "results.json").write_text("nonsense")
    assert demo.run("-n2").returncode == 0
    assert demo.result("lemma-1")["verdict"] == "holds"


def test_an_older_pytest_is_refused_in_one_line(demo):
    """As pytest 8 would see it: its version is faked, everything else is real."""
    demo.claim("lemma-1")
    (demo.root / "old.py").write_text(
        "import pytest\npytest.version_tuple, pytest.__version__ = (8, 4, 2), '8.4.2'\n"
    )
    said = refused(demo, "-p", "old", PYTHONPATH=str(demo.root))
    assert [line for line in said.splitlines() if line] == [
        "ERROR: claims need pytest 9 or newer, this is 8.4.2: pip install 'pytest>=9,<10'"
    ]


def test_without_a_project_the_plugin_does_nothing(tmp_path):
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout
    assert not {"artifacts", "store"} & set(os.listdir(tmp_path))


def test_trainings_of_another_device_are_only_read(demo):
    demo.claim("lemma-1")
    done = demo.run("--store-device", "cuda")
    assert done.returncode == 4
    assert "--store-device goes with --store-mode readonly" in done.stdout + done.stderr
    assert demo.run("--store-device", "cuda", "--store-mode", "readonly").returncode == 0
