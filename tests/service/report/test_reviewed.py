"""Pages for reviewers, who get no values of the source."""

from dataclasses import replace

from tableveil.convert.classifications import classification_to_proto
from tableveil.convert.utility_reports import utility_report_to_proto
from tableveil.report import classification, utility
from tableveil.report.html import as_html
from tableveil.state.seen import Audience
from tests.service.classification_samples import classification as a_classification
from tests.service.utility_samples import utility_report


def test_pages_without_the_values_of_the_source() -> None:
    report, assessed = utility_report(), a_classification()
    page = as_html(utility.page(utility_report_to_proto(replace(report, audience=Audience.REVIEWER))))
    assert "told to its stewards alone" in page
    assert "A &amp; B" not in page
    assert "A &amp; B" in as_html(utility.page(utility_report_to_proto(report)))
    (first, *_) = assessed.assessments
    owners = as_html(classification.page(classification_to_proto(assessed)))
    page = as_html(classification.page(classification_to_proto(replace(assessed, audience=Audience.REVIEWER))))
    assert first.class_labels[1][:2] in owners
    assert len(page) < len(owners)
