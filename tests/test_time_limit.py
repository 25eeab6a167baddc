"""--time-limit: a claim that takes too long is stopped, the others run, a checkpoint stays."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from repro.harness.time_limit import OutOfTime
from repro.training import Spec, Store


def test_a_claim_that_takes_too_long_is_stopped_and_the_others_run(demo):
    body = """
    import time
    import pytest

    @pytest.mark.construct
    def test_holds(claim):
        claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
        try:
            while True:
                time.sleep(0.05)
        except Exception:  # the limit is no failure of the work, and passes by
            pass
    """
    demo.claim("lemma-1", body)
    demo.claim("lemma-2")
    done = demo.run("--time-limit", "5")
    assert done.returncode == 1
    assert "OutOfTime: stopped after 5 s (--time-limit)" in done.stdout
    assert demo.result("lemma-1")["verdict"] == "not-run"
    assert demo.result("lemma-1")["why"] == (
        "test_holds interrupted: stopped after 5 s (--time-limit)"
    )
    assert demo.result("lemma-1")["checks"][0]["ok"], "what it had measured is kept"
    assert demo.result("lemma-2")["verdict"] == "holds"


@dataclass(frozen=True)
class Slow(Spec):
    kind: ClassVar[str] = "slow"
    version: ClassVar[int] = 1


def test_a_training_that_is_out_of_time_keeps_its_checkpoint(tmp_path):
    def train(spec, workspace):
        workspace.checkpoint(1, 2, {})
        raise OutOfTime

    with pytest.raises(OutOfTime):
        Store(tmp_path).get(Slow(), train)
    assert len([*tmp_path.glob("slow/*.checkpoint")]) == 1
