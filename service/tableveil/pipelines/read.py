"""A job's input from its source before the search: rows, hierarchies, dictionaries, and the base histogram."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tableveil.backend import Session, WarehouseSession, table
from tableveil.counting import BaseHistogram, CountedColumns, build_base, equal_records
from tableveil.dictionary import (
    Dictionary,
    JointDictionary,
    SensitiveDictionary,
    build_aggregated,
    build_dictionary,
    build_pairs,
    build_people,
    build_sensitive,
    build_units,
    listed_levels,
    new_hierarchy,
    read_together,
)
from tableveil.dictionary.closed import check_closed
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault, InfeasibleError, InvalidError, Warned, depending_on, must_decide, shortened
from tableveil.hierarchy import InlineLevels, RuleHierarchy, StoredLevels, ValueKind
from tableveil.hierarchy.definition import ListedHierarchy
from tableveil.lattice import Lattice
from tableveil.lifecycle import check_kept, check_place, check_read, check_target, find_earlier, find_new_keys, named
from tableveil.loading import unbound_note
from tableveil.pipelines.inherited import Inherited, with_earlier_models
from tableveil.pipelines.known_classes import check_known_classes
from tableveil.pipelines.lattice import lattice_of
from tableveil.pipelines.privacy import (
    check_contained,
    check_population,
    columns_of_people,
    counted_columns,
    ordered_columns,
    plays_in_population,
)
from tableveil.pipelines.quality import joint_dictionaries
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.policy import JobPart, KAnonymity, Policy, Role
from tableveil.risk import ClassSizes
from tableveil.source import Fingerprint, Source, check_facts, full_fingerprint, records_in, resolve_source
from tableveil.source.collectible import check_collectible
from tableveil.source.lists import lists_among, lists_in
from tableveil.source.people import set_aside as set_aside_of_people
from tableveil.state.hierarchies import NewHierarchy, create_all
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import compared_releases, policies_of


@dataclass(slots=True)
class FoundHierarchies:
    """Per column its hierarchy, with the rows of listed ones, and its name in the evidence; all faults."""

    found: dict[str, tuple[InlineLevels | RuleHierarchy, str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Counted:
    """The source, read and counted in one snapshot."""

    policy: Policy
    source: Source
    base: BaseHistogram
    lattice: Lattice
    sizes_before: ClassSizes

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        """The dictionaries of the quasi-identifiers."""
        return self.base.dictionaries


@dataclass(frozen=True, slots=True)
class Dictionaries:
    """The counted columns, in policy order, and the transformations of the generalized ones.

    The `policy` has the models of earlier releases' policies, too, if it is judged together with some. `source` has so
    many `records`, without those that are `set_aside` because of a NULL in an aggregated column. `people` are numbered
    if some have several records, and their `pairs` with the values of sensitive columns, where a model counts who has a
    value; `of_rows` warns of their rows, and `of_lists` of columns that look like lists. Records had classes in the
    `earlier` releases.
    """

    policy: Policy
    source: Source
    generalized: tuple[Dictionary, ...]
    columns: CountedColumns
    lattice: Lattice
    records: int
    set_aside: int
    of_rows: tuple[Warned, ...] = ()
    of_lists: tuple[Warned, ...] = ()

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """Warnings from reading, for the owner; they hold no value."""
        spelled = (
            Warned(
                f"{dictionary.values.respelled:,} values of {shortened(dictionary.column.name)} differ from others in "
                "case, spaces, characters that do not show, or Unicode form only: l-diversity takes them for the same.",
                count_of=dictionary.values.respelled,
                field=dictionary.column.name,
            )
            for dictionary in self.columns.sensitive
            if dictionary.values.respelled
        )
        return (*self.of_lists, *spelled, *self.of_rows)

    def counted(self, session: WarehouseSession) -> BaseHistogram:
        """The base histogram."""
        return build_base(session, self.source, self.generalized, self.columns, self.set_aside)


def check_request(session: WarehouseSession, policy: Policy) -> tuple[Source | None, Policy, list[Fault]]:
    """Faults that show without reading the source's rows; the source; and the policy with all known roles."""
    source, policy, faults = resolve_source(session, policy)
    faults = [*faults, *check_target(session, policy, source)]
    if JobPart.KNOWN_CLASSES in policy.parts:
        faults += check_known_classes(session.embedded, policy)
    return source, policy, faults


def resolve_fully(
    session: WarehouseSession, policy: Policy, store: bool, *, is_trial: bool = False
) -> tuple[Source, Policy, FoundHierarchies]:
    """The source, the policy with a role for every column, and the hierarchies with the rows of listed ones.

    Nobody asks what stands at the target of a trial.
    """
    source, policy, faults = check_request(session, policy)
    if source is None or faults:
        raise _invalid(faults)
    check_place(session, policy, source, is_trial=is_trial)
    # Rows that the policy writes out may come from any of the tables.
    schemas = {session.recorded(read).schema for read in source.tables}
    own_schema = schemas.pop() if len(schemas) == 1 else ""
    return source, policy, hierarchies_of(session, policy, own_schema if store else None)


def read_dictionaries(
    session: WarehouseSession,
    source: Source,
    policy: Policy,
    hierarchies: FoundHierarchies,
    policy_of: PolicyOf | None = None,
) -> tuple[Fingerprint, Dictionaries]:
    """The source's fingerprint, and the dictionaries of its columns, with people's classes in earlier releases.

    `policy_of` reads the policies of these releases.
    """
    mark = full_fingerprint(session, source, fingerprint_key(session.ledger), policy.person_column)
    together_with = check_read(session, policy, source, mark)
    if not together_with:
        dictionaries = dictionaries_of(session, source, policy, hierarchies, mark)
        _check_identified(policy, dictionaries)
        return mark, dictionaries
    # A release that is listed, but not seen, reads as if it were missing.
    with depending_on(compared_releases(session.ledger).intersection(together_with)):
        assert policy_of is not None, "the policies of earlier releases are read"
        inherited = _inherited(session, source, policy, together_with, policy_of)
        dictionaries = dictionaries_of(session, source, inherited.policy, hierarchies, mark)
        _check_identified(policy, dictionaries)
        earlier = find_earlier(session, inherited.policy, source, together_with, dictionaries.columns.people)
        if earlier is not None:
            renewed = find_new_keys(session, policy, mark.sketch, together_with)
            earlier = replace(earlier, inherited=inherited.models, met=inherited.met, unjudged=inherited.unjudged)
            earlier = replace(earlier, renewed=renewed)
        return mark, replace(dictionaries, columns=replace(dictionaries.columns, earlier=earlier))


def _inherited(
    session: WarehouseSession, source: Source, policy: Policy, together_with: Sequence[int], policy_of: PolicyOf
) -> Inherited:
    """The policy with the models of the policies of earlier releases, which joint classes have to meet, too."""
    check_kept(session, together_with)
    documents = policies_of(session.ledger, together_with)
    policies = [(named([number]), policy_of(text)) for number, text in documents]
    if strange := list(_known_otherwise(source, policy, policies)):
        raise _invalid(strange)
    return with_earlier_models(policy, policies)


def _check_identified(policy: Policy, read: Dictionaries) -> None:
    """Raises `InvalidError` if the ledger could not tell which of a person's records is which."""
    if read.columns.people is not None and policy.release.left_behind is not None and not policy.record_column:
        actual = f"{policy.release.left_behind}, although people have several records, without a record_column"
        hint = "The ledger cannot tell which record is which: name the column that identifies one as record_column."
        raise _invalid([Fault("release.left_behind", actual, "a record_column, or one row per person", hint)])


def _known_otherwise(source: Source, policy: Policy, earlier: Iterable[tuple[str, Policy]]) -> Iterator[Fault]:
    """Faults of earlier releases, by name, whose people or records another column of the source identifies.

    A column that was only renamed is not there under its old name. Equal values of two columns would be one person.
    """
    names = {column.name for column in source.with_all().columns}
    for release, earlier_policy in earlier:
        for which in ("person_column", "record_column"):
            own, other = getattr(policy, which), getattr(earlier_policy, which)
            if own and other and own != other and other in names:
                hint = f"Name that column as {which}. Or leave the release out of together_with, by a repeat_reason."
                actual = f"{release}, whose {which} is another column of the source"
                yield Fault("release.together_with", actual, f"releases by the same {which}", hint)


def dictionaries_of(
    session: WarehouseSession,
    source: Source,
    policy: Policy,
    hierarchies: FoundHierarchies,
    mark: Fingerprint | None = None,
) -> Dictionaries:
    """The dictionaries of all counted columns, for the source without the records set aside.

    The `mark` of the rows, if it is made, knows how many there are, and about how many values.
    """
    estimated = mark.values if mark is not None else None
    known_records = mark.sketch.records if mark is not None and mark.sketch is not None else None
    facts = check_facts(session, source, policy, estimated, known_records)
    faults = [*hierarchies.faults, *facts.faults]
    source = source.clustered([attribute.column for attribute in policy.aggregated])
    records = records_in(session, source) if source.complete else facts.records
    counted = counted_columns(session, source, policy, records)
    identifiers = [attribute.column for attribute in policy.quasi_identifiers]
    if session.most_collected is not None:
        check_collectible(session, source, identifiers, counted, estimated)
    dictionaries, sensitive, aggregated = [], [], []
    generalized = [source.column(a.column) for a in policy.quasi_identifiers if a.aggregation is None]
    together = read_together(session, source, generalized, estimated or {}) if records else {}
    for i, attribute in enumerate(policy.attributes if records else ()):
        hierarchy, reference = hierarchies.found.get(attribute.column, (None, ""))
        of = CodedAttribute(attribute, hierarchy, reference, i, f"attributes[{i}]")
        if attribute.aggregation is not None:
            positions, unfit = build_aggregated(session.embedded, source, of)
            faults += unfit
            aggregated += [positions] if positions is not None else []
        elif attribute.role is Role.QUASI_IDENTIFIER and of.hierarchy is not None:
            dictionary, unfit = build_dictionary(session, source, of, together.get(attribute.column))
            faults += unfit
            dictionaries += [dictionary] if dictionary is not None else []
        if attribute.role is Role.SENSITIVE and attribute.column in counted:
            values, unfit = build_sensitive(session, source, of, attribute.column in ordered_columns(policy))
            faults += unfit
            sensitive += [values] if values is not None else []
    if policy.release.close_open_ends:
        faults += check_closed(session.embedded, dictionaries)
    joint: list[JointDictionary] = []
    if records and JobPart.CLASSIFICATION in policy.parts:
        joint, unfit = joint_dictionaries(session, source, policy)
        faults += unfit
    lattice = None
    if len(dictionaries) == len(policy.quasi_identifiers):
        lattice, unfit = lattice_of(policy, [dictionary.levels.top for dictionary in dictionaries])
        faults += unfit
    set_aside = facts.records - records
    if not faults and not records:
        raise _too_few(policy, 1, records, set_aside)
    if faults or lattice is None:
        raise _invalid(faults)
    people, pairs, of_rows = None, [], (*facts.warnings, *unbound_note(session, policy, source))
    # Records that an earlier release has may be several of one person, although those that are left are not.
    numbered = facts.people is not None or (policy.record_column and policy.release.left_behind is not None)
    if numbered and policy.person_column is not None:
        people = build_people(session, source, policy.person_column, ordered=policy.method.ordered_people)
        of_rows += tuple(set_aside_of_people(session, source, policy.person_column)) if set_aside else ()
        by_people = columns_of_people(policy)
        of_people = [dictionary for dictionary in sensitive if dictionary.attribute.column in by_people]
        pairs = [build_pairs(session, source, people, dictionary, i) for i, dictionary in enumerate(of_people)]
    person = people.column.name if people is not None else ""
    units = tuple(build_units(session, source, name, person, i) for i, name in enumerate(policy.also_count))
    return Dictionaries(
        policy,
        source,
        tuple(dictionaries),
        CountedColumns(tuple(sensitive), tuple(aggregated), tuple(joint), people, tuple(pairs), units),
        lattice,
        records,
        set_aside,
        of_rows,
        tuple(_undecided_lists(session, source, policy, sensitive)),
    )


def _undecided_lists(
    session: WarehouseSession, source: Source, policy: Policy, counted: Sequence[SensitiveDictionary]
) -> Iterator[Warned]:
    """Warnings of sensitive columns that look like lists, of which the policy does not say whether they are."""
    dictionaries = {dictionary.column.name: dictionary.table_name for dictionary in counted}
    for attribute in policy.sensitive:
        name = attribute.column
        if attribute.elements is not None or source.column(name).kind is not ValueKind.TEXT:
            continue
        values = dictionaries.get(name)
        lists = lists_among(session.embedded, table(values)) if values else lists_in(session, source, name)
        if lists is not None:
            yield must_decide(
                f"{lists.told(name)}. Models judge whole cells: a class of E11 and E11|HIV has two values, although "
                f"E11 is in every row. Say in attributes {lists.answer}.",
                field=name,
            )


def check_enough(policy: Policy, read: Dictionaries) -> None:
    """Raises `InfeasibleError` if there are fewer records than a class needs, and not all may be suppressed."""
    smallest = policy.k or 1
    if read.records < smallest and policy.suppressible(read.records) < read.records:
        raise _too_few(policy, smallest, read.records, read.set_aside)


def _too_few(policy: Policy, smallest: int, records: int, set_aside: int) -> InfeasibleError:
    others = f", besides {set_aside:,} that are set aside because of NULLs" if set_aside else ""
    model = next((i for i, model in enumerate(policy.privacy_models) if model == KAnonymity(smallest)), None)
    return InfeasibleError.of(
        "TOO_FEW_RECORDS",
        "source" if model is None or not records else f"privacy_models[{model}]",
        f"classes of at least {smallest:,} records asked of {records:,} records{others}",
        f"at most {records:,}" if records else "at least one record to release",
    )


def count_classes(session: WarehouseSession, policy: Policy, read: Dictionaries) -> Counted:
    """Counts the combinations of values, in the transaction that read the dictionaries.

    Raises:
        InvalidError: the source's people are not a part of the population.
    """
    base = read.counted(session)
    embedded = session.embedded
    check_people(embedded, policy, base)
    sizes_before = ClassSizes(*equal_records(embedded, read.source, base))
    return Counted(policy, read.source, base, read.lattice, sizes_before)


def check_people(session: Session, policy: Policy, base: BaseHistogram) -> None:
    """Raises `InvalidError` if the policy needs the source's people to be in the population, and they are not."""
    faults = check_population(policy, base)
    if not faults and plays_in_population(policy):
        faults = check_contained(session, base)
    if faults:
        raise _invalid(faults)


def hierarchies_of(session: WarehouseSession, policy: Policy, store_in: str | None = None) -> FoundHierarchies:
    """The hierarchies of all columns that have one; with a schema to `store_in`, new rows are stored there."""
    hierarchies, new = FoundHierarchies(), dict[str, NewHierarchy]()
    tables = [(policy.source.table or "source_query", policy.attributes, "", 0)]
    for event in () if policy.related is None else policy.related.events:
        tables.append((event.table.table, event.attributes, event.qualified(""), event.first))
    for table_name, attributes, prefix, first in tables:
        for i, attribute in enumerate(attributes, first):
            definition, column = attribute.hierarchy, f"{prefix}{attribute.column}"
            if isinstance(definition, ListedHierarchy):
                name = f"{table_name}.{attribute.column}"
                levels, reference, faults = listed_levels(session, definition, f"attributes[{i}].hierarchy", name)
                hierarchies.faults.extend(faults)
                if levels is not None:
                    hierarchies.found[column] = (levels, reference)
                    if store_in is not None and not isinstance(definition, StoredLevels):
                        new[column] = new_hierarchy(session, definition, levels, name, store_in)
            elif definition is not None:
                hierarchies.found[column] = (definition, str(definition))
    stored = create_all(session.ledger, [*new.values()]) if new else []
    for column, version in zip(new, stored, strict=True):
        hierarchies.found[column] = (hierarchies.found[column][0], version.reference)
    return hierarchies


def _invalid(faults: list[Fault]) -> InvalidError:
    return InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
