"""A release as the ledger has it."""

from datetime import datetime
from decimal import Decimal

import numpy as np

from tableveil.errors import must_decide
from tableveil.policy import ReleaseKind, TableReference
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import Proof, Release, RunnerUp, Searched

SIZES = ClassSizes(np.array([1, 5], np.int64), np.array([3, 2**40], np.int64))

RELEASE = Release(
    number=7,
    job=3,
    created_at=datetime(2026, 1, 2, 12, 30, 15, 123456),
    source=TableReference("db", "main", 'it"s; a table'),
    source_fingerprint="abcd",
    target_schema="main",
    target_name="released",
    kind=ReleaseKind.TABLE,
    repeat_reason="",
    needs_approval=False,
    records=2**40,
    suppressed_records=5,
    classes=9,
    score=0.1,
    quality_model="loss",
    proof=Proof(
        optimal=True,
        lower_bound=0.1,
        strategy="exact",
        seconds=0.25,
        counter="numpy",
        counting="",
        searched=Searched("1" + "0" * 30, 8, 11, {"loss": "4"}, (RunnerUp((2,), 0.75, 1), RunnerUp((0,), 0.8, 0)), 0.0),
    ),
    attributes=(
        AttributeResult("zip", 1, 3, 0.5, 80, 8, "a rule", 2.0, ((0, 40), (1, 55))),
        AttributeResult("age", 0, 0, 0.5, 80, 8, "", None, (), "mean"),
    ),
    objects=(ReleaseObject("released", ObjectKind.ROWS, 95, "mark"), ReleaseObject("a", ObjectKind.CLASSES, 9)),
    risk_before=ProsecutorRisk(100, 60, 1.0, 0.6, 0.1, 40, ((Decimal("0.05"), 90), (Decimal("5E-8"), 100))),
    risk_after=ProsecutorRisk(95, 9, 0.4, 0.2, 0.05, 0, ()),
    risk_by_size=ProsecutorRisk(95, 9, 0.2, 0.1, 0.05, 0, ()),
    seconds=2.5,
    phase_seconds={"searching": 0.25},
    versions={"tableveil": "0.1.0"},
    warnings=(must_decide("careful"),),
    policy='{"a": "é"}',
)
