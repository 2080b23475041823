"""A utility report as the store has it, for tests of what is made of one."""

from datetime import datetime

from tableveil.state.utility_reports import StoredUtility
from tableveil.usefulness import Association, Bin, ColumnSpread, ColumnUtility, MovedRate, UtilityReport

AGE = ColumnUtility(
    column='age <"&>',
    type="INTEGER",
    role="QUASI_IDENTIFIER",
    treatment="level 1 of 3",
    loss=0.25,
    squared_error=False,
    before=ColumnSpread(
        1000, 0, 60, 30.5, 4.0, (0.0, 3.0, 15.0, 30.0, 45.0, 57.0, 59.0), (Bin("[0, 50)", 900), Bin("[50, 100)", 100))
    ),
    after=ColumnSpread(
        900, 10, 2, 31.0, 9.0, (24.5, 24.5, 24.5, 24.5, 24.5, 74.5, 74.5),
        (Bin("[0, 49]", 800), Bin("[50, 99]", 90), Bin(None, 10)),
    ),
)  # fmt: skip

CITY = ColumnUtility(
    column="city",
    type="VARCHAR",
    role="SENSITIVE",
    treatment="as it is",
    loss=None,
    squared_error=False,
    before=ColumnSpread(1000, 100, 2, None, None, (), (Bin("é\x00", 600), Bin("", 300), Bin(None, 100))),
    after=ColumnSpread(900, 0, 1, None, None, (), (Bin("é\x00", 900),)),
)

BORN = ColumnUtility(
    column="born",
    type="DATE",
    role="QUASI_IDENTIFIER",
    treatment="mean of its class",
    loss=0.0625,
    squared_error=True,
    before=ColumnSpread(
        1000, 0, 365, 0.0, 1.0, (-10.0, -5.0, -1.0, 0.0, 1.0, 5.0, 10.0), (Bin("[1970-01-01, 1971-01-01)", 1000),)
    ),
    after=ColumnSpread(0, 0, 0, None, None, (), ()),
)


def utility_report(number: int = 2, job: int = 4) -> StoredUtility:
    report = UtilityReport(
        columns=(AGE, CITY, BORN),
        associations=(
            Association(AGE.column, "city", "cramers_v", 0.5, 0.25),
            Association(AGE.column, "born", "correlation", -0.75, None),
            Association(AGE.column, "born", "cramers_v", None, None),
            Association("city", "born", "cramers_v", 0.125, 0.125),
        ),
        rates=(
            MovedRate("city", None, "born", "1970-01-01", 500, 125, 400, 200),
            MovedRate("city", "A & B", "born", None, 300, 0, 290, 1),
        ),
        notes=("100 of 1,000 records are suppressed: what the release tells is of the others.",),
    )
    asked = '{"release":"releases/3"}'
    return StoredUtility(number, job, datetime(2024, 2, 29, 12, 30, 15, 123456), 3, report, 1.5, asked)
