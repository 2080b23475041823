"""Guesses the roles of a table's columns, and proposes hierarchies and a k: a draft for the owner."""

from tableveil.drafting.choosing import MOST_CHOSEN, ColumnChoice, choose_columns, hiding
from tableveil.drafting.draft import (
    ColumnDraft,
    as_role,
    combined_marks,
    draft_columns,
    is_number_of_homes,
    is_number_of_people,
    numbers_people_by_name,
    person_column,
    unique,
)
from tableveil.drafting.facts import PARTIAL_DATES, PARTIAL_DATES_BACKWARDS, PERIODS, PERIODS_BACKWARDS, ColumnFacts
from tableveil.drafting.figures import Figures, columns_to_measure
from tableveil.drafting.hierarchies import may_be_code, propose_hierarchy
from tableveil.drafting.meanings import Meaning, meaning_of
from tableveil.drafting.policy_draft import PolicyDraft, Remark, RemarkKind, draft_policy
from tableveil.drafting.roles import agreement, guess_role, guessed_quasi_identifiers, identifies_by_name
from tableveil.drafting.widening import widened
