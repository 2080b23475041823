"""Privacy models: which equivalence classes may be released."""

from tableveil.privacy.left_behind import LeftBehindRule, left_behind, left_behind_rule, sets_of_readers
from tableveil.privacy.model import Conjunction, Facts, ReleaseRule
from tableveil.privacy.pool import suppressed_pool, with_pool
from tableveil.privacy.registry import privacy_of
