"""Releases worlds by jobs of a real server, and reads what an adversary gets."""

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa

from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.server import ServeSettings, TableveilServer
from tableveil.v1 import job_service_pb2
from tests.adversary.related import worlds
from tests.adversary.related.attack import (
    Released,
    could_be,
    few,
    few_by_coarser,
    few_by_differences,
    lost_anchors,
    released,
)
from tests.adversary.related.worlds import World

PEOPLE = ("town", "age", "sex")


def publish(path: Path, world: World, *, fixed: bool = True) -> dict[str, pa.Table]:
    """The released tables of a world, by the names of the policy, from a new database: no other has these people."""
    with duckdb.connect(path) as connection:
        for name, data in worlds.tables(world).items():
            connection.from_arrow(data).create(name)
    policy, faults = read_policy(json.dumps(worlds.document(world, fixed=fixed)), "json")
    assert not faults
    server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=2))
    try:
        with Client(server.address) as client:
            job = client.wait(client.submit(policy).name)
            assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job
            names = {"people": "released", **{name: f"released_{name}" for name in world.events}}
            return {name: client.read_table(job.result, target) for name, target in names.items()}
    finally:
        server.close()


def as_released(world: World, tables: Mapping[str, pa.Table]) -> Released:
    """The tables as an adversary joins them."""
    people = {row["person"]: tuple(_text(row[name]) for name in PEOPLE) for row in tables["people"].to_pylist()}
    assert len(people) == tables["people"].num_rows, "a key is that of two people"
    rows = [
        (row["person"], (name, *(_text(row[column]) for column in world.columns(name))))
        for name in world.events
        for row in tables[name].to_pylist()
    ]
    return released(people, rows)


def findings(world: World, found: Released, seed: int = 1) -> list[str]:
    """All that an adversary finds out against the promise; it knows the world where the promise allows it."""
    own = {person.number: tuple(map(_text, worlds.class_of(world, person))) for person in world.people}
    of: dict[int, Counter[object]] = {person: Counter() for person in own}
    for name, events in world.events.items():
        for event, label in zip(events, worlds.labels_of(world, name), strict=True):
            of[event.person][name, *map(_text, label)] += 1
    problems = [str(one) for one in few(found, world.k, world.m)[:1]]
    if few_by_coarser(Random(seed), found, world.k, world.m):
        problems.append("vaguer knowledge leaves fewer than k keys")
    if world.m == 2 and few_by_differences(found, world.k, partial(worlds.span, world), range(0, 60, 7)):
        problems.append("days between two rows leave fewer than k keys")
    if world.anchor in ("FIRST_EVENT", "PREVIOUS_EVENT") and lost_anchors(
        found, world.k, world.m, *worlds.anchored(world)
    ):
        problems.append("a missing first row leaves fewer than k keys")
    if not could_be(found, own, of):
        problems.append("keys cannot be different people of the source")
    if world.cap is not None and any(rows.total() > world.cap for rows in found.rows.values()):
        problems.append("a key has more rows than the policy allows")
    return problems


def _text(value: object) -> str | None:
    return None if value is None else str(value)
