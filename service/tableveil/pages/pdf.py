"""Pages as PDF/UA, by WeasyPrint, which is an extra."""

import datetime
import hashlib
import logging
import os
from typing import Never

from tableveil.errors import InvalidError


def as_pdf(html: str, attached: tuple[str, str] | None = None) -> bytes:
    """The page as the bytes of a PDF file, equal for equal pages; a file may be `attached`, by its name and its text.

    Raises:
        InvalidError: WeasyPrint, or a library that it needs, is not installed.
    """
    try:
        from weasyprint import HTML, Attachment
        from weasyprint.urls import URLFetcher
    except (ImportError, OSError) as error:
        hint = "Install tableveil[pdf], and Pango, which WeasyPrint draws texts with; or choose HTML."
        raise InvalidError.of("PDF_UNAVAILABLE", "format", "PDF", "HTML, as WeasyPrint is not here", hint) from error

    class Nothing(URLFetcher):  # type: ignore[misc] # the library has no types
        """Fetches nothing: pages hold all they need, and an address in one would have come from a table."""

        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Never:
            raise ValueError("a page needs nothing from elsewhere")

    # Without HarfBuzz-Subset, fontTools writes the fonts, and the time with them unless this says another.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    # It warns of properties that only browsers know.
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    attachments = [
        Attachment(string=text, name=name, description=name, created=moment, modified=moment)
        for name, text in filter(None, (attached,))
    ]
    made = HTML(string=html, url_fetcher=Nothing()).write_pdf(
        attachments=attachments, pdf_variant="pdf/ua-1", pdf_identifier=hashlib.sha256(html.encode()).digest()[:16]
    )
    assert isinstance(made, bytes)
    return made
