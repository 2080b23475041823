"""One job from policy to payout sweep: read, count every combination of values, sweep, store the result."""

import json

from tableveil.counting import BaseHistogram, build_base, read_combinations
from tableveil.errors import InvalidError
from tableveil.game.sweep import Sweep, SweptGame, SweptSource, payout_sweep
from tableveil.hierarchy import UncountableError
from tableveil.lattice import Lattice
from tableveil.pipelines.lattice import check_enumerable
from tableveil.pipelines.privacy import check_contained, check_population
from tableveil.pipelines.quality import uncountable
from tableveil.pipelines.read import dictionaries_of, hierarchies_of
from tableveil.pipelines.work import JobContext, Work, policy_work, store_result
from tableveil.policy import Policy
from tableveil.requests.payout_sweep import SweptGains, safe_harbor_of
from tableveil.source import fingerprint, population_fingerprint, resolve_source
from tableveil.state import jobs, payout_sweeps
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.migrate import fingerprint_key
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS


def run_payout_sweep(job: JobContext, policy: Policy, swept: SweptGains) -> int:
    """Stores a payout sweep and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, report = job.rows, job.report
    report.phase(JobPhase.READING)
    source, policy, faults = resolve_source(session, policy)
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
    hierarchies = hierarchies_of(session, policy)
    # One transaction, so that all reads see one state of the rows.
    with session.reading():
        key = fingerprint_key(session.ledger)
        mark, population_mark = fingerprint(session, source, key), population_fingerprint(session, source, key)
        read = dictionaries_of(session, source, policy, hierarchies)
        report.phase(JobPhase.COUNTING)
        base, lattice = build_base(session, read.source, read.generalized), read.lattice
    if faults := check_population(policy, base) or check_contained(session.embedded, base):
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
    check_enumerable(base, lattice)
    report.phase(JobPhase.SEARCHING)
    sweep = _sweep(job, policy, swept, base, lattice)
    game = policy.stakes

    def result(number: int) -> payout_sweeps.PayoutSweep:
        return payout_sweeps.PayoutSweep(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            source=session.recorded(source.reference),
            source_fingerprint=mark,
            population_fingerprint=population_mark,
            records=base.records,
            population_records=base.population_records,
            quasi_identifiers=tuple(attribute.column for attribute in policy.quasi_identifiers),
            publisher_benefit=game.publisher_benefit,
            adversary_cost=game.adversary_cost,
            break_even=policy.break_even,
            if_method_known=swept.if_method_known,
            lattice_size=str(sweep.lattice_size),
            counted=sweep.counted,
            sweep_seconds=sweep.seconds,
            seconds=report.elapsed(),
            policy=job.document,
            points=sweep.points,
        )

    return store_result(job, PAYOUT_SWEEPS, result)


def payout_sweep_work(policy: Policy, swept: SweptGains, document: str) -> Work:
    """The work for a payout sweep."""
    gains = [f"{gain:f}" for gain in swept.gains]
    options = json.dumps({"gains": gains, "if_method_known": swept.if_method_known}, separators=(",", ":"))
    return policy_work(
        JobKind.PAYOUT_SWEEP, policy, document, lambda job: run_payout_sweep(job, policy, swept), options
    )


def _sweep(job: JobContext, policy: Policy, swept: SweptGains, base: BaseHistogram, lattice: Lattice) -> Sweep:
    try:
        combinations, has_population = read_combinations(job.session, base), base.population is not None
        source = SweptSource(combinations, has_population, base.withheld, lattice, safe_harbor_of(policy))
        game = SweptGame(policy.stakes, swept.gains, policy.break_even, swept.if_method_known)
        return payout_sweep(source, game, job.control, job.report.on_progress)
    except UncountableError as error:
        raise uncountable(policy, error, "the game's information loss") from None
