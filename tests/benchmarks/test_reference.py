"""The runner of reference cases: what it finds, what it lists, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import AGES_GONE, AGES_GROUPED, ROOT, Runner, case, reference, write
