"""Published releases: copies at targets outside of the database, each whole or not there at all."""

from tableveil.publishing.directory import DirectoryTarget
from tableveil.publishing.edition import Edition, PolicyOf, Target, read_edition
from tableveil.publishing.requests import ask, due_at, existing, failed, planned_faults, published, removed, take_back
