"""What commands say when they cannot do their work."""

import pytest

from stoker.cli.options import flag_settings, kind_meant
from stoker.cli.terminal import failed
from stoker.errors import FieldError, StokerError


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("no workload found", "no workload found"),
        (FieldError("--flag x", "is not known"), "--flag x: is not known"),
        (PermissionError(13, "Permission denied", "out/a.yaml"), "out/a.yaml: Permission denied"),
        ("a\x1b[31m\nb", "a\\x1b[31m\\nb"),
    ],
)
def test_a_failure_is_one_line_and_an_exit_status(
    reason: object, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with the command in front; a user's text does not act on the terminal."""
    assert failed("render", reason) == 2
    assert capsys.readouterr() == ("", f"stoker render: {shown}\n")


@pytest.mark.parametrize("word", ["rule", "rules", "promrule", "PrometheusRule"])
def test_a_kind_is_called_as_for_kubectl_and_a_rule_shortly(word: str) -> None:
    """By kind, plural or short name, and without `prometheus` in front."""
    assert kind_meant(word).name == "PrometheusRule"


def test_a_word_that_means_no_kind_is_told_which_is_near() -> None:
    """Or which there are."""
    with pytest.raises(StokerError, match="no kind probs; did you mean `Probe`"):
        kind_meant("probs")
    with pytest.raises(StokerError, match=r"no kind zzz; there are Prometheus, .*ScrapeConfig"):
        kind_meant("zzz")


def test_flags_of_the_operator_are_given_with_dashes_or_without() -> None:
    """Whoever copies them from a Deployment need not take the dashes off."""
    assert flag_settings(["controller-id=a", "--workers=7", "-log-level=warn"]) == flag_settings(
        ["--controller-id=a", "workers=7", "log-level=warn"]
    )
    assert flag_settings(["--workers=7"]).workers == 7
