"""The classes that a source's records had in earlier releases, as one more counted attribute."""

from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import column, left_join, number, table
from tableveil.classes import EarlierClasses
from tableveil.errors import Warned
from tableveil.policy import PrivacyModel

EARLIER = "earlier_people"
"""The temporary table of a source's records with a row in the earlier releases, by `identifier`, with their `code`."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The combinations of earlier classes that records had; the source's column `identifier` finds them.

    Joint classes meet the `inherited` models, which the earlier policies ask for beyond the new one's; `met` names them
    with their releases. Others are `unjudged`. `renewed` says of whom rows recur there, by release, under other keys.
    """

    known: EarlierClasses
    identifier: str
    inherited: tuple[PrivacyModel, ...] = ()
    met: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    renewed: tuple[Warned, ...] = ()

    def joined(self, query: exp.Select, of: str, as_: str) -> tuple[exp.Select, exp.Expr]:
        """Joins the query to the people under the alias `as_`; returns it and the code of each row's combination."""
        same = exp.EQ(this=column(self.identifier, of), expression=column("identifier", as_))
        without_row = number(len(self.known.records))
        joined = left_join(query, table(EARLIER, alias=as_), same)
        return joined, exp.Coalesce(this=column("code", as_), expressions=[without_row])
