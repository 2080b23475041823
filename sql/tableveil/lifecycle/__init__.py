"""The life of a release: checked against the ledger, published or tried, approved, swapped in, withdrawn and erased."""

from tableveil.lifecycle.approval import check_pending, decide
from tableveil.lifecycle.erase import Erased, erase
from tableveil.lifecycle.evidence import Evidence, Solution
from tableveil.lifecycle.gates import check_admitted, check_place, check_read
from tableveil.lifecycle.guards import check_guards, labels_of
from tableveil.lifecycle.ledger import (
    check_ledger,
    check_readers,
    named,
    notes_of_numbers,
    releases_of_same_people,
    releases_of_tables,
    unseen_matches,
)
from tableveil.lifecycle.promote import Promotion, check_trial, promote
from tableveil.lifecycle.publish import PublicationTerms, Rehearsal, publish, rehearse, writing
from tableveil.lifecycle.repeated import REHEARSED, repeated_by_reason
from tableveil.lifecycle.standing import place_of, refuse_trial, require_current, require_here, require_public
from tableveil.lifecycle.swap import recover
from tableveil.lifecycle.target import check_existing, check_target
from tableveil.lifecycle.together import JointFigures, check_kept, find_earlier, find_new_keys, joint_figures
from tableveil.lifecycle.withdraw import withdraw
