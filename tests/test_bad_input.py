"""Bad input gets a clear error, and nothing is lost."""

import json

import pytest


def refused(demo, *arguments, code=4, **environment):
    """Run, and return what was said; nothing may have been run."""
    done = demo.run(*arguments, **environment)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "passed" not in done.stdout
    assert "INTERNALERROR" not in said
    return said


def test_a_claim_file_without_entry_is_told_what_to_add(demo):
    demo.claim("lemma-1")
    (demo.root / "claims/demo2025/test_theorem_7_2_surprise.py").write_text(
        "def test_x(claim):\n    pass\n"
    )
    said = refused(demo, "-k", "lemma_1")
    assert "claims/demo2025/test_theorem_7_2_surprise.py: no entry" in said
    assert "demo2025/theorem-7.2" in said


REFUSED = {
    "--scale=huge": "(choose from smoke, laptop, paper)",
    "--device=tpu": "--device tpu: unknown; there is auto, cpu, cuda, cuda:N, mps",
    "--device=cuda:77": "--device cuda:77: not on this machine; there is cpu",
    "--threads=many": "--threads takes a positive number or 'auto', got 'many'",
    "--store-device=cuda": "--store-device goes with --store-mode readonly",
    "--time-limit=-1": "--time-limit takes seconds, got -1",
}


@pytest.mark.parametrize("option", REFUSED)
def test_an_option_that_cannot_be_is_refused_with_what_can(demo, option):
    demo.claim("lemma-1")
    assert REFUSED[option] in refused(demo, option).replace(
        "'smoke', 'laptop', 'paper'", "smoke, laptop, paper"
    )


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_defect_of_the_ledger_names_file_entry_and_field(demo, workers):
    demo.claim("lemma-1", uses=["demo2025/lemma-9"])
    said = refused(demo, workers)
    file = demo.root / "claims/ledger.toml"
    assert f"{file}: entry demo2025/lemma-1: field 'uses' names 'demo2025/lemma-9'" in said


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
    only_read = ["--store-mode", "readonly", "--store-device", "cuda"]
    assert demo.run("--store", "file/below", *only_read).returncode == 0


@pytest.mark.parametrize("damage", ["truncated", "newer schema"])
def test_a_damaged_record_is_set_aside_and_said_and_the_others_are_kept(demo, damage):
    demo.claim("lemma-1")
    demo.claim("lemma-2")
    demo.run()
    record = next(demo.artifacts.glob("claims/demo2025/lemma-1/tests/test_holds*.json"))
    whole = json.loads(record.read_text())
    newer = json.dumps({**whole, "schema": 99})
    record.write_text(newer if damage == "newer schema" else record.read_text()[:100])
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
