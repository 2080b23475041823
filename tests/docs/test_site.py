"""The site of the docs: it is built, its links lead somewhere, and it loads nothing from another origin."""

from pathlib import Path

import pytest

from tests.site.build import ROOT, build, installed, rewritten
from tests.site.checked import faults

DOCS = ROOT / "docs"


@pytest.mark.skipif(not installed(), reason="needs Zensical, of the extra `docs`")
def test_the_site_is_whole_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site)
    assert not list(faults(site))
    assert (site / "search.json").is_file()
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert all((site / page).is_file() for page in pages)
    page = (site / "guides" / "operator.html").read_text(encoding="utf-8")
    assert all(str(other) in page or other.name == "operator.html" for other in pages if other.parts[0] != "guides")


def test_links_out_of_the_docs_lead_to_the_repository() -> None:
    page = rewritten(DOCS / "guides" / "developer.md", DOCS)
    assert "](../explanations/architecture.md)" in page
    assert "](https://github.com/tableveil/tableveil/blob/main/" in rewritten(DOCS / "reference" / "etl.md", DOCS)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('<a href="gone.html">x</a>', "leads nowhere"),
        ('<a href="other.html#gone">x</a>', "names no heading"),
        ('<script src="https://elsewhere.example/x.js"></script>', "loads https://elsewhere.example/x.js"),
        ('<img src="//elsewhere.example/x.png">', "loads //elsewhere.example/x.png"),
        ('<link rel="stylesheet" href="https://fonts.example/x.css">', "loads https://fonts.example/x.css"),
    ],
)
def test_faults_are_found(content: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f'<a href="other.html#here">x</a><a href="https://ok.example">x</a>{content}')
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (only,) = faults(tmp_path)
    assert fault in only


def test_a_relative_folder_is_checked_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "guides").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text('<a href="guides/a.html">x</a><a href="gone.html">x</a>')
    (tmp_path / "site" / "guides" / "a.html").write_text('<a href="../index.html">x</a>')
    monkeypatch.chdir(tmp_path)
    assert list(faults(Path("site"))) == ["index.html: gone.html leads nowhere"]


def test_styles_and_scripts_are_looked_into(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text("@import 'https://fonts.example/x.css';")
    (tmp_path / "x.js").write_text('fetch("https://elsewhere.example")')
    (tmp_path / "y.css").write_text("a { background: url(data:image/png;base64,) }")
    assert len(list(faults(tmp_path))) == 2
