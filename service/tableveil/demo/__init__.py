"""The demo: a generated table of hospital discharges, and `policy.yaml`, which anonymizes it."""

from tableveil.demo.discharges import MAXIMUM_ROWS, batches, create_discharges
