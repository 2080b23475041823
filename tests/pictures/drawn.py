"""The pictures that are drawn here: tables of the ten rows, a hierarchy, the lattice, and who may do what."""

from collections.abc import Collection, Mapping, Sequence
from statistics import mean

from tableveil.hierarchy import ValueKind, label_values
from tableveil.hierarchy.definition import RuleHierarchy
from tableveil.server.call import declared
from tableveil.server.services import DESCRIPTORS
from tests.pictures.svg import WIDTH_OF_CHARACTER, Picture
from tests.pictures.ten_rows import Rows, TenRows, Visit

ROW = 24


def ten_rows_picture(ten: TenRows) -> str:
    """The source beside the release, with the first class marked."""
    picture = Picture("Ten patients, and the nine of them that were released", 760, 366)
    _table(
        picture,
        (10, 24),
        "patients: ten rows of the source",
        ("name", "age", "town", "diagnosis"),
        ten.source,
        marked=range(3),
        gone=[9],
    )
    picture.arrow(342, 166, 392)
    _table(
        picture,
        (410, 24),
        "patients_released: the rows that analysts see",
        ("age", "town", "diagnosis"),
        ten.released,
        marked=range(3),
    )
    picture.text(410, 24 + 12.4 * ROW, "Marked: one class. Its rows have the same labels,", "small marked")
    picture.text(410, 24 + 13.1 * ROW, "so nobody can tell which of them is Ann's.", "small marked")
    picture.text(10, 24 + 12.4 * ROW, "Jon is suppressed: nobody else is like him.", "small gone")
    picture.text(10, 24 + 13.1 * ROW, "Names are never released.", "small soft")
    return str(picture)


def recoding_picture(ten: TenRows) -> str:
    """The release by one transformation beside that by local recoding; labels that kept more are marked."""
    picture = Picture("The same patients released by full-domain generalization and by local recoding", 760, 340)
    finer = [i for i, (one, other) in enumerate(zip(ten.released, ten.recoded, strict=True)) if one != other]
    columns = ("age", "town", "diagnosis")
    _table(picture, (10, 24), "full-domain: one level for each column", columns, ten.released)
    _table(picture, (410, 24), "local recoding: each class has its own levels", columns, ten.recoded, marked=finer)
    picture.text(10, 24 + 11.4 * ROW, "Ann's class needs counties,", "small soft")
    picture.text(10, 24 + 12.1 * ROW, "so all classes get counties.", "small soft")
    picture.text(410, 24 + 11.4 * ROW, "Marked: two classes keep their town,", "small marked")
    picture.text(410, 24 + 12.1 * ROW, "as all three of their rows share it.", "small marked")
    return str(picture)


def _table(
    picture: Picture,
    at: tuple[float, float],
    title: str,
    columns: Sequence[str],
    rows: Rows,
    marked: Collection[int] = (),
    gone: Collection[int] = (),
) -> None:
    x, y = at
    widths = [
        max(len(text) for text in (name, *(row[j] for row in rows))) * WIDTH_OF_CHARACTER + 18
        for j, name in enumerate(columns)
    ]
    lefts = [x + sum(widths[:j]) for j in range(len(columns))]
    picture.text(x, y, title, "strong")
    picture.line(x, y + 1.5 * ROW, x + sum(widths), y + 1.5 * ROW)
    for left, name in zip(lefts, columns, strict=True):
        picture.text(left + 6, y + 1.2 * ROW, name, "soft")
    for i, row in enumerate(rows):
        top = y + (1.6 + i) * ROW
        if i in marked:
            picture.box(x, top + 1, sum(widths), ROW - 2, "mark")
        elif i in gone:
            picture.box(x, top + 1, sum(widths), ROW - 2, "warn")
        for left, text in zip(lefts, row, strict=True):
            picture.text(left + 6, top + 0.7 * ROW, text, "gone" if i in gone else "")


def hierarchy_picture(ten: TenRows, hierarchy: RuleHierarchy) -> str:
    """The labels of the patients' ages at each level, as a tree; the level of the release is marked."""
    texts = [row[1] for row in ten.source]
    labels = [texts, *label_values(hierarchy, ValueKind.INTEGER, [int(text) for text in texts], texts).labels]
    picture = Picture("The hierarchy of the patients' ages", 760, 60 * len(labels))
    lefts = [190 + 58 * i for i in range(len(texts))]
    above: dict[str | None, float] = {}
    for level in reversed(range(len(labels))):
        y = 60 * (len(labels) - level) - 30
        picture.text(
            10,
            y + 5,
            ("level 0: the year", "level 1: ten years", "level 2: twenty years", "level 3: any age")[level],
            "soft",
        )
        middles = {
            label: mean([left for left, other in zip(lefts, labels[level], strict=True) if other == label])
            for label in labels[level]
        }
        for label, parent in sorted(set(zip(labels[level], labels[min(level + 1, len(labels) - 1)], strict=True))):
            if above:
                picture.line(middles[label], y - 12, above[parent], y - 48, "edge")
        for label, x in middles.items():
            wide = max(len(str(label)) * WIDTH_OF_CHARACTER + 10, 34)
            picture.box(x - wide / 2, y - 12, wide, 24, "mark" if level == ten.best[0] else "box")
            picture.text(x, y + 5, str(label), "", "middle")
        above = middles
    return str(picture)


def lattice_picture(ten: TenRows) -> str:
    """The transformations of the ten rows, from the finest at the bottom, and what the search did with each."""
    top = tuple(map(max, zip(*ten.visits, strict=True)))
    height = sum(top)
    picture = Picture("The lattice of the ten rows, and what the search did", 760, 78 * (height + 1) + 56)
    places = {at: (380 + 122 * (at[0] - at[1] - 0.5), 40 + 78 * (height - sum(at))) for at in ten.visits}
    for at, (x, y) in places.items():
        for j in range(len(at)):
            if at[j] < top[j]:
                x2, y2 = places[(*at[:j], at[j] + 1, *at[j + 1 :])]
                picture.line(x, y - 22, x2, y2 + 22, "edge")
    for at, (x, y) in places.items():
        visit = ten.visits[at]
        picture.box(x - 74, y - 22, 148, 44, "mark" if at == ten.best else "box" if visit.checked else "hidden")
        picture.text(x, y - 4, f"age {at[0]}, town {at[1]}", "strong" if visit.checked else "soft", "middle")
        picture.text(x, y + 13, _said(visit, at == ten.best), "small" if visit.checked else "small soft", "middle")
    below = 78 * (height + 1) + 30
    checked = sum(visit.checked for visit in ten.visits.values())
    picture.text(10, below, "Solid: the search counted its classes. Dashed: excluded without counting.", "small soft")
    picture.text(
        10,
        below + 17,
        f"It counted {checked} of {len(ten.visits)}, and has proven that none scores less.",
        "small soft",
    )
    return str(picture)


def _said(visit: Visit, best: bool) -> str:
    if not visit.checked:
        return visit.reason
    if visit.score is None:
        return "counted: not valid"
    return f"{'best: ' if best else 'valid: '}loss {visit.score:.4f}"


TASKS: Mapping[str, str] = {
    "load and describe tables, draft policies": "TableService/LoadTable",
    "make releases": "JobService/SubmitJob",
    "publish and withdraw releases": "ReleaseService/PublishRelease",
    "read the risk of each source row": "RiskService/ReadRecordRisks",
    "decide about a release of somebody else": "ReleaseService/ApproveRelease",
    "read a release's account": "ReleaseService/GetRelease",
    "read released rows": "ReleaseService/ReadObject",
    "read and verify the audit": "AuditService/VerifyAudit",
    "cancel jobs (a steward: its own)": "JobService/CancelJob",
    "make backups, see the server's state": "AdminService/BackupDatabase",
    "give roles": "AccessService/AddGrant",
    "give tokens, make schemas": "AccessService/CreateToken",
}
"""Tasks, each with a method that it takes."""

ROLES = ("steward", "approver", "analyst", "auditor", "operator", "admin")


def roles_picture() -> str:
    """The roles that may do each task, as the protos declare them."""
    methods = {name.partition("v1.")[2]: access for name, access in declared(DESCRIPTORS).items()}
    picture = Picture("Who may do what", 760, 100 + 30 * len(TASKS))
    lefts = [345 + 74 * i for i in range(len(ROLES))]
    for left, role in zip(lefts, ROLES, strict=True):
        picture.text(left, 28, role, "strong", "middle")
    for i, (task, method) in enumerate(TASKS.items()):
        y = 62 + 30 * i
        picture.line(10, y - 19, 750, y - 19, "edge")
        picture.text(10, y, task)
        roles = {str(role).lower() for role in methods[method].roles}
        for left, role in zip(lefts, ROLES, strict=True):
            if role in roles:
                picture.dot(left, y - 5)
    picture.line(10, 62 + 30 * len(TASKS) - 19, 750, 62 + 30 * len(TASKS) - 19, "edge")
    below = 72 + 30 * len(TASKS)
    picture.text(10, below, "Everybody acts within the scope of a grant: a schema, a table or a release.", "small soft")
    picture.text(10, below + 17, "Operators, the audit, tokens and schemas are for the whole server.", "small soft")
    return str(picture)
