"""Checks models of identities, membership and the game: over the written rows, with the population counted again."""

import math
from fractions import Fraction

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import JobPart, Policy, privacy
from tableveil.risk import ClassSizes, population_uniqueness
from tableveil.verification.game import check_game, needs_people
from tableveil.verification.owners import check_largest_share, check_shares, check_units, count_owners
from tableveil.verification.text import Name, at_least, at_most, quoted
from tableveil.verification.written import Written


def check_people(
    session: WarehouseSession, policy: Policy, source_records: int, written: Written, *, own_levels: bool = False
) -> list[str]:
    """The models that do not hold; `judged_classes` has the classes, the suppressed records' pool as one.

    With `own_levels`, it needs the tables of `read_own_levels`. It leaves the table of `count_owners`.
    """
    others = (
        privacy.SensitiveModel
        | privacy.Profitability
        | privacy.NoAttack
        | privacy.SafeHarbor
        | privacy.KnownFacts
        | privacy.SensitiveShare
    )
    models = [model for model in policy.privacy_models if not isinstance(model, others)]
    counted = counts_people(policy)
    if counted and own_levels:
        # Labels of several levels overlap: people are counted by all labels that their values are among.
        session.embedded.stage(
            "peopled",
            "SELECT c.class, c.size, coalesce(k.people, 0) AS population FROM judged_classes AS c "
            "LEFT JOIN counted AS k USING (class) WHERE NOT c.pool",
        )
    elif counted:
        _count_population(session, policy, written)
    problems = []
    if JobPart.PEOPLE in policy.parts:
        problems += count_owners(session.embedded, policy, written, own_levels=own_levels)
        problems += check_shares(session.embedded, policy, written, own_levels=own_levels)
    problems += check_units(session.embedded, policy, written, own_levels=own_levels) if policy.also_count else []
    problems += check_largest_share(session.embedded, written)
    for model in models:
        problems += _check_model(session, policy, model, source_records, written)
    problems += check_game(session, policy, source_records, written) if JobPart.GAME in policy.parts else []
    if counted:
        session.embedded.execute("DROP TABLE IF EXISTS temp.main.population_classes")
        session.embedded.execute("DROP TABLE temp.main.peopled")
    return problems


def counts_people(policy: Policy) -> bool:
    """Whether a model of the policy counts people of the population."""
    of_game = JobPart.GAME in policy.parts and needs_people(policy)
    return of_game or any(
        isinstance(m, privacy.KMap | privacy.DeltaPresence | privacy.Inclusion) for m in policy.privacy_models
    )


def _check_model(
    session: WarehouseSession, policy: Policy, model: privacy.PrivacyModel, source_records: int, written: Written
) -> list[str]:
    embedded = session.embedded
    match model:
        case privacy.KAnonymity(k):
            return _smaller(
                embedded, "people", written.owned_classes, k, f"k = {k}", "people" if written.person else "records"
            )
        case privacy.Dominance(share):
            numerator, denominator = at_most(share)
            beyond = embedded.value(
                f"SELECT count(*) FROM {written.owned_classes} "
                f"WHERE most::HUGEINT * {denominator} > size::HUGEINT * {numerator}"
            )
            return [f"{beyond} classes are not of {model}"] if beyond else []
        case privacy.KMap(k):
            return _smaller(embedded, "population", "peopled", k, f"k = {k} of the population")
        case privacy.EstimatedKMap():
            population = _population_size(session, policy, source_records, written)
            size = smallest_in_sample(model, source_records, population)
            return _smaller(embedded, "size", "judged_classes", size, f"{size}, of which {model} asks")
        case privacy.DeltaPresence():
            return _check_presence(session, model, written)
        case privacy.Inclusion():
            outside = embedded.value("SELECT count(*) FROM peopled WHERE population < size")
            return [f"{outside} classes have more records than the population"] if outside else []
        case privacy.AverageRisk(threshold):
            numerator, denominator = at_most(threshold)
            holds = f"count(*) * {denominator}::HUGEINT <= coalesce(sum(size), 0) * {numerator}"
        case privacy.SampleUniqueness(threshold):
            numerator, denominator = at_most(threshold)
            holds = f"count(*) FILTER (size = 1) * {denominator}::HUGEINT <= coalesce(sum(size), 0) * {numerator}"
        case privacy.PopulationUniqueness():
            population = _population_size(session, policy, source_records, written)
            return _check_uniqueness(embedded, model, population)
        case _:
            raise AssertionError(f"{model} is not checked here")
    return [] if embedded.value(f"SELECT {holds} FROM judged_classes") else [f"the released records are not of {model}"]


def _smaller(session: Session, size: str, classes: str, least: int, asked: str, counted: str = "records") -> list[str]:
    smallest = session.value(f"SELECT min({size}) FROM {classes}")
    if smallest is None or smallest >= least:
        return []
    return [f"a released class has {smallest} {counted}, fewer than {asked}"]


# --- the population -------------------------------------------------------------------------------------------------


def _population(policy: Policy, written: Written) -> Name:
    table = policy.population.table if policy.population is not None else None
    # Without a table of its own the population is the source's, of which the source is a subset.
    return (written.rows[0], table.schema or "main", table.table) if table is not None else written.source


def _count_population(session: WarehouseSession, policy: Policy, written: Written) -> None:
    """The population's classes at the released levels, and the number of its people who could be each class's."""
    rows = quoted(*_population(policy, written))
    _count_labels(session, "population_classes", rows, written)
    keys = range(len(written.labels))
    same = " AND ".join(f"p.q{j} IS NOT DISTINCT FROM c.q{j}" for j in keys)
    session.embedded.stage(
        "peopled",
        "SELECT c.class, c.size, coalesce(p.records, 0) AS population "
        f"FROM judged_classes AS c LEFT JOIN population_classes AS p ON {same} WHERE NOT c.pool",
    )
    # A suppressed record may belong to any person whose labels no released class has, or who has none.
    everybody = session.value(f"SELECT count(*) FROM {rows}")
    session.embedded.execute(
        f"INSERT INTO peopled SELECT class, size, {everybody} - (SELECT coalesce(sum(population), 0) FROM peopled) "
        "FROM judged_classes WHERE pool"
    )


def _count_labels(session: WarehouseSession, name: str, rows: str, written: Written) -> None:
    """Makes the table of the classes that rows of the source's columns fall into at the released levels."""
    labels, joins, condition = written.released_labels("p")
    session.collect(
        name, f"SELECT {', '.join(labels)}, count(*) AS records FROM {rows} AS p {joins} WHERE {condition} GROUP BY ALL"
    )


def _check_presence(session: WarehouseSession, model: privacy.DeltaPresence, written: Written) -> list[str]:
    (low, low_of), (high, high_of) = at_least(model.minimum), at_most(model.maximum)
    embedded = session.embedded
    outside = embedded.value(
        f"SELECT count(*) FROM peopled WHERE size::HUGEINT * {low_of} < population::HUGEINT * {low} "
        f"OR size::HUGEINT * {high_of} > population::HUGEINT * {high}"
    )
    problems = [f"{outside} classes are not of {model}"] if outside else []
    if low:
        _count_labels(session, "source_classes", written.source_rows, written)
        keys = ", ".join(f"q{j}" for j in range(len(written.labels)))
        absent = embedded.value(
            f"SELECT count(*) FROM (SELECT {keys} FROM population_classes EXCEPT SELECT {keys} FROM source_classes)"
        )
        embedded.execute("DROP TABLE temp.main.source_classes")
        if absent:
            problems.append(f"{absent} classes of the population have no record in the source, against {model}")
    return problems


# --- estimates ------------------------------------------------------------------------------------------------------


def _population_size(session: WarehouseSession, policy: Policy, source_records: int, written: Written) -> int:
    population = policy.population
    if population is not None and population.size is not None:
        return population.size
    if population is not None and population.sampling_fraction is not None:
        return round(source_records / Fraction(population.sampling_fraction))
    size: int = session.value(f"SELECT count(*) FROM {quoted(*_population(policy, written))}")
    return size


def _check_uniqueness(session: Session, model: privacy.PopulationUniqueness, population: int) -> list[str]:
    """The search uses these estimators, too; the verification counts their inputs itself."""
    for pool in (False, True):
        rows = session.arrays(
            "SELECT size, count(*) AS classes FROM judged_classes WHERE pool = ? GROUP BY size ORDER BY size", [pool]
        )
        share = population_uniqueness(ClassSizes(rows["size"], rows["classes"]), population, model.estimator)
        if share is None or share > Fraction(model.threshold):
            return [f"the released records are not of {model}"]
    return []


def smallest_in_sample(model: privacy.EstimatedKMap, records: int, population: int) -> int:
    """The least size k' that a class of k people reaches in the sample with at most the significance's probability.

    The number of its people in the sample is Poisson distributed with mean k times the sampling fraction; for the
    zero-truncated estimator, given that it is not 0 (El Emam and Dankar 2008, D3 and D4). It is k at most.
    """
    if records >= population:
        return model.k
    mean = model.k * records / population
    truncated = model.estimator is privacy.CellSizes.ZERO_TRUNCATED_POISSON
    possible = -math.expm1(-mean) if truncated else 1.0
    below, size = (0.0 if truncated else math.exp(-mean)), 1
    # The last digits must not demand one record more.
    while size < model.k and (possible - below) / possible > float(model.significance) + 1e-12:
        below += math.exp(size * math.log(mean) - mean - math.lgamma(size + 1))
        size += 1
    return size
