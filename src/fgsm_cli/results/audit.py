"""What ``fgsm audit`` finds."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from .counts import ModelSource, Source, versions

Verdict = Literal["pass", "suspicious", "fail"]


@dataclass(frozen=True)
class Finding:
    """One check of an audit: what was measured, what it would mean, the verdict."""

    name: str
    measured: str
    meaning: str
    verdict: Verdict


@dataclass(frozen=True)
class Audit:
    """Whether a model's accuracy under attack can be trusted: what ``fgsm audit`` finds."""

    model: ModelSource
    data: Source
    epsilon: float
    findings: tuple[Finding, ...]
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all checks."""
        found = {finding.verdict for finding in self.findings}
        return "fail" if "fail" in found else "suspicious" if "suspicious" in found else "pass"

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "command": "audit",
            "verdict": self.verdict,
            "epsilon": self.epsilon,
            "checks": [asdict(finding) for finding in self.findings],
            "model": asdict(self.model),
            "data": asdict(self.data),
            "files": list(self.files),
            "versions": versions(),
            "warnings": list(self.warnings),
        }
