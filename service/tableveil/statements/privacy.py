"""The clause PRIVACY: which column has which role, and who is a person."""

from tableveil.document.nodes import Mapping, Node
from tableveil.statements.tokens import StatementTokens
from tableveil.statements.values import FieldPlaces, Values
from tableveil.v1 import policy_pb2

ROLES = ("IDENTIFYING", "QUASI_IDENTIFIER", "SENSITIVE", "INSENSITIVE")

_FIELDS = policy_pb2.Attribute.DESCRIPTOR.fields_by_name


class PrivacyClause:
    """Reads the clause into the fields of a policy; the next token opens its bracket."""

    def __init__(self, tokens: StatementTokens, places: FieldPlaces) -> None:
        self._tokens = tokens
        self._places = places
        self._values = Values(tokens, places)
        self._attributes: list[Node] = []
        self.fields = Mapping()
        tokens.expect("(")
        for _ in tokens.items(")"):
            self._item()
        if self._attributes:
            self.fields.entries.append(("attributes", self._attributes))

    def _item(self) -> None:
        tokens = self._tokens
        if tokens.is_next("PERSON"):
            self._once("person_column")
            tokens.accept("PERSON")
            # The person's column is never released.
            column = self._attribute("IDENTIFYING").entries[0][1]
            self.fields.entries.append(("person_column", column))
        elif tokens.is_next("ROWS"):
            self._once("rows_are_people")
            tokens.expect("ROWS", "ARE", "PEOPLE")
            self.fields.entries.append(("rows_are_people", "true"))
        elif tokens.is_next("OTHERS"):
            self._once("default_role")
            tokens.accept("OTHERS")
            self.fields.entries.append(("default_role", self._role()))
        else:
            self._columns(self._role("PERSON", "ROWS ARE PEOPLE", "OTHERS"))

    def _once(self, path: str) -> None:
        """Notes the place of a field that may be said once."""
        if path in self._places:
            self._tokens.refuse(self._tokens.offset, "a clause of this kind once more", "each kind once")
        self._places.note(path)

    def _role(self, *others: str) -> str:
        for role in ROLES:
            if self._tokens.accept(role):
                return role
        self._tokens.refuse_next(f"one of {', '.join((*others, *ROLES))}", *others, *ROLES)

    def _columns(self, role: str) -> None:
        """The columns of a role: some in brackets, or one and how it is treated."""
        tokens = self._tokens
        if tokens.accept("("):
            for _ in tokens.items(")", least=1):
                self._attribute(role)
            return
        entries = self._attribute(role).entries
        path = f"attributes[{len(self._attributes) - 1}]"
        if tokens.accept("USING"):
            entries.append(("hierarchy", self._values.value(f"{path}.hierarchy", _FIELDS["hierarchy"])))
        if tokens.accept("LEVELS"):
            entries.append(("minimum_level", self._values.value(f"{path}.minimum_level")))
            tokens.expect("TO")
            entries.append(("maximum_level", self._values.value(f"{path}.maximum_level")))
        if tokens.accept("WITH"):
            tokens.expect("(")
            for _ in tokens.items(")"):
                entries.append(self._values.named(path, _FIELDS, "="))

    def _attribute(self, role: str) -> Mapping:
        path = f"attributes[{len(self._attributes)}]"
        self._places.note(path)
        attribute = Mapping([("column", self._tokens.name("a column")), ("role", role)])
        self._attributes.append(attribute)
        return attribute
