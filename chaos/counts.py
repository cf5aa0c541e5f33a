"""The numbers that are printed of a part of the chaos."""

from __future__ import annotations

from collections import Counter

from chaos.ledger import Findings


def counts(findings: Findings) -> Counter[str]:
    """How often each ending came, and how calls were answered, for the printed counts."""
    kinds = Counter(str(notice["kind"]) for notice in findings.notices)
    for call in findings.calls:
        if call.answer == "error":
            kinds["name taken" if "is running already" in call.error else "call refused"] += 1
        elif call.answer == "lost":
            kinds["call lost"] += 1
    return kinds
